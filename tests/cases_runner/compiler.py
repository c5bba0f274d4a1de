"""Runs pkc as a child process and reads its JSON lines."""

import json
import subprocess
from dataclasses import dataclass


class CompilerFault(Exception):
    """pkc crashed, hung, or printed what is not JSON: never what a test expects."""


@dataclass
class Compiler:
    path: str
    timeout: float
    test_flags: list

    def check(self, file):
        """All diagnostics of `pkc check`."""
        return self._lines(["check", "--format=json", file])

    def test(self, file, names):
        """The result objects of the tests called `names`, by name."""
        flags = [flag for name in names for flag in ("--test", name)]
        lines = self._lines(["test", "--format=json", *self.test_flags, *flags, file])
        return {line["test"]: line for line in lines if "test" in line}

    def _lines(self, arguments):
        command = [self.path, *arguments]
        shown = " ".join(command)
        try:
            done = subprocess.run(command, capture_output=True, timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired:
            raise CompilerFault(f"no end after {self.timeout:g} s: {shown}") from None
        errors = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode not in (0, 1):
            raise CompilerFault(f"exit status {done.returncode}: {shown}\n{errors}")
        try:
            return [json.loads(line) for line in done.stdout.decode("utf-8").splitlines() if line.strip()]
        except ValueError as error:
            raise CompilerFault(f"output is not JSON ({error}): {shown}\n{errors}") from None


def texts(diagnostic):
    """Everything that a diagnostic says, in lower case."""
    parts = [diagnostic["message"], diagnostic.get("span_label", "")]
    parts += [label["message"] for label in diagnostic["labels"]]
    parts += diagnostic["notes"] + diagnostic["help"] + [fix["message"] for fix in diagnostic["fixes"]]
    return "\n".join(parts).lower()


def describe(diagnostic):
    kind = diagnostic.get("class") or diagnostic["severity"]
    return f"line {diagnostic['line']}: {kind} {diagnostic['code']}: {diagnostic['message']}"


def apply_edits(text, edits):
    """`text` with the edits of one fix; columns count code points, as Python's strings do."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(line, column):
        return starts[line - 1] + column - 1

    spans = [(offset(e["line"], e["column"]), offset(e["end_line"], e["end_column"]), e["text"]) for e in edits]
    for begin, end, replacement in sorted(spans, key=lambda span: span[0], reverse=True):
        text = text[:begin] + replacement + text[end:]
    return text
