#!/usr/bin/env python3
"""Runs .pk files that say what they expect (directives.py lists the comments) against a pkc binary.

    pk_cases.py [--pkc build/bin/pkc] [--lenient] [--jobs N] [-v] FILE-OR-DIRECTORY…

Strict, the default: every diagnostic of any severity is announced, fixes are applied and must repair, `// ---` lines separate
independent cases. Lenient: only errors are exhaustive, and fixes are not tried. Programs that must fail run one a process.
"""

import argparse
import concurrent.futures
import os
import sys
import tempfile
from dataclasses import dataclass, field

import judge
from compiler import Compiler, CompilerFault
from directives import BadDirective, read_cases


@dataclass
class FileResult:
    path: str
    complaints: list = field(default_factory=list)
    tests: int = 0
    skipped: int = 0


def check_text(compiler, case, text, directory):
    """Diagnostics of `text`, which stands in for the case's file."""
    path = os.path.join(directory, os.path.basename(case.path))
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return compiler.check(path)


def run_tests(compiler, case, path, strict, result):
    seen = set()
    complaints = []
    right, faults = case.tests(fault=False), case.tests(fault=True)
    if right:
        results = compiler.test(path, [test.name for test in right])
        for test in right:
            complaints += judge.judge_pass(case, test, results.get(test.name), strict, seen)
        result.skipped += sum(1 for r in results.values() if r["status"] == "skip")
    for test in faults:
        try:
            outcome = compiler.test(path, [test.name]).get(test.name)
        except CompilerFault as fault:
            complaints.append(f"test {test.name}: {fault}")
            continue
        if outcome is not None and outcome["status"] == "skip":
            result.skipped += 1
            continue
        complaints += judge.judge_fault(case, test, outcome, seen)
    result.tests += len(right) + len(faults)
    return complaints if result.skipped else complaints + judge.judge_unmet(case, seen)


def run_case(compiler, case, strict, result):
    with tempfile.TemporaryDirectory(prefix="pk_cases_") as directory:
        path = os.path.join(directory, os.path.basename(case.path))
        diagnostics = check_text(compiler, case, case.text, directory)
        complaints = judge.judge_check(case, diagnostics, strict)
        if strict:
            complaints += judge.judge_fixes(case, diagnostics, lambda text: check_text(compiler, case, text, directory))
        if not any(d["severity"] == "error" for d in diagnostics):
            check_text(compiler, case, case.text, directory)  # The fixes have overwritten the file.
            complaints += run_tests(compiler, case, path, strict, result)
        return complaints


def run_file(compiler, path, strict):
    result = FileResult(path)
    try:
        cases = read_cases(path, split=strict)
        for case in cases:
            result.complaints += run_case(compiler, case, strict, result)
    except (BadDirective, CompilerFault, OSError, UnicodeDecodeError) as error:
        result.complaints.append(str(error))
    return result


def find_files(paths):
    files = []
    for path in paths:
        if os.path.isdir(path):
            found = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(".pk")]
            files += sorted(found)
        else:
            files.append(path)
    return files


def show(result, arguments):
    skipped = f", {result.skipped} skipped" if result.skipped else ""
    word = "FAIL" if result.complaints else "ok  "
    print(f"{word}  {result.path}  ({result.tests} tests{skipped})")
    for complaint in result.complaints:
        print(f"      {complaint}")
    if result.complaints:
        mode = " --lenient" if arguments.lenient else ""
        print(f"      again: {sys.argv[0]} --pkc {arguments.pkc}{mode} {result.path}")
    sys.stdout.flush()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="FILE-OR-DIRECTORY")
    parser.add_argument("--pkc", default="build/bin/pkc")
    parser.add_argument("--lenient", action="store_true", help="only errors are exhaustive; fixes are not tried")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run of pkc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--test-flag", action="append", default=[], help="a flag for `pkc test`, as --test-flag=--schedule=random")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    files = find_files(arguments.paths)
    if not files:
        print("pk_cases: there is no .pk file in", *arguments.paths, file=sys.stderr)
        return 2
    if not os.access(arguments.pkc, os.X_OK):
        print(f"pk_cases: cannot run `{arguments.pkc}`; give the compiler with --pkc", file=sys.stderr)
        return 2
    compiler = Compiler(arguments.pkc, arguments.timeout, arguments.test_flag)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(lambda path: run_file(compiler, path, not arguments.lenient), files):
            show(result, arguments)
            failed += bool(result.complaints)
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
