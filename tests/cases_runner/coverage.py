#!/usr/bin/env python3
"""Fails while a diagnostic or an operation has no test.

    coverage.py --pkc build/bin/pkc --tests tests/pk --pages frontend/explain

A diagnostic is tested by a `//!` comment with its code or run-time class, or by the failing example of its explain page, which
explain_test compiles. An operation is tested where a program under tests/pk uses its spelling. Exemptions have a reason, and fail
when they become unnecessary.
"""

import argparse
import json
import os
import re
import subprocess
import sys

CODE_EXEMPTIONS = {
    "PK0001": "a file that cannot be read: the test of the command line",
    "PK0102": "bytes that are not UTF-8: the lexer's test",
    "PK0107": "hundreds of levels: the parser's test",
    "PK0110": "IR text: the test of the IR's text form",
    "PK0911": "IR that the compiler does not make: the interpreter's test",
    "PK0914": "needs a limit on the command line: the interpreter's test",
}
OPERATION_EXEMPTIONS = {}

CLASS_ROW = re.compile(r"^\| \[(PK\d{4})\]\S* \| \w+ \| (\w*) \|", re.MULTILINE)


def run(pkc, *arguments):
    return subprocess.run([pkc, *arguments], check=True, capture_output=True, text=True).stdout


def read_texts(folder, ending):
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(ending):
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    yield file.read()


def tested_codes(tests, pages, classes):
    """Codes that directives name, by themselves or by their class, and those of failing examples."""
    tested = set()
    for text in tests:
        for comment in re.findall(r"//!(.*)", text):
            tested.update(re.findall(r"PK\d{4}", comment))
            match = re.match(r"\s*runtime \w+(?: anywhere)?:?\s*([\w|]*)", comment)
            for word in match[1].split("|") if match else []:
                tested.update(code for code, name in classes.items() if name == word)
    for page in pages:
        tested.update(re.findall(r"^```pk \w+ (PK\d{4})", page, re.MULTILINE))
    return tested


def complaints(kind, everything, tested, exemptions):
    listed = [f"{kind} {name} has no test" for name in everything if name not in tested and name not in exemptions]
    listed += [f"the exemption of {kind} {name} is unnecessary" for name in exemptions if name in tested or name not in everything]
    return listed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--pkc", "--tests", "--pages"):
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()

    classes = dict(CLASS_ROW.findall(run(arguments.pkc, "doc", "--diagnostics")))
    tests = list(read_texts(arguments.tests, ".pk"))
    codes = tested_codes(tests, read_texts(arguments.pages, ".md"), classes)
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(re.sub(r"//.*", "", text) for text in tests)))
    operations = [row["spelling"] for row in json.loads(run(arguments.pkc, "builtins")) if re.fullmatch(r"\w+", row["spelling"])]

    found = complaints("diagnostic", list(classes), codes, CODE_EXEMPTIONS)
    found += complaints("operation", operations, used, OPERATION_EXEMPTIONS)
    print("\n".join(found) or f"{len(classes)} diagnostics and {len(operations)} operations have tests")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
