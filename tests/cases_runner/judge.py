"""Compares what pkc reports on a case with what the case announces. Every function returns a list of complaints."""

import os
from collections import Counter

from compiler import apply_edits, describe, texts
from directives import SEVERITIES

PARTS = {
    "note": lambda d: d["notes"],
    "help": lambda d: d["help"],
    "fix": lambda d: [fix["message"] for fix in d["fixes"]],
}


def says(directive, text):
    return not directive.words or any(word in text for word in directive.words)


def stands_right(directive, line):
    if not directive.anywhere:
        return line == directive.line
    return directive.item is not None and directive.item.holds(line)


def announces(directive, diagnostic):
    """Whether `diagnostic` is (one of) what an error, warning or remark directive announces."""
    return (
        diagnostic["severity"] == directive.kind
        and (not directive.code or diagnostic["code"] == directive.code)
        and stands_right(directive, diagnostic["line"])
    )


def judge_check(case, diagnostics, strict):
    """Each announced diagnostic must be there, and (strict: of any severity; else: errors) no other."""
    complaints = []
    announced = case.of_kind(*SEVERITIES)
    for directive in announced:
        candidates = [d for d in diagnostics if announces(directive, d)]
        if not candidates:
            complaints.append(f"line {directive.line}: announced but not reported: {directive}")
        elif not any(says(directive, texts(d)) for d in candidates):
            complaints.append(f"line {directive.line}: `{'|'.join(directive.words)}` does not occur in: {describe(candidates[0])}")
    for diagnostic in diagnostics:
        matters = strict or diagnostic["severity"] == "error"
        if matters and not any(announces(directive, diagnostic) for directive in announced):
            complaints.append(f"not announced: {describe(diagnostic)}")
    return complaints + judge_parts(case, diagnostics)


def judge_parts(case, diagnostics):
    """Labels, notes, help and fixes that the case asks for."""
    complaints = []
    for directive in case.of_kind("label", *PARTS):
        if directive.kind == "label":
            found = [label["message"] for d in diagnostics for label in d["labels"] if stands_right(directive, label["line"])]
        else:
            found = [text for d in diagnostics if stands_right(directive, d["line"]) for text in PARTS[directive.kind](d)]
        if not any(says(directive, text.lower()) for text in found):
            complaints.append(f"line {directive.line}: no {directive}; there is: {found}")
    return complaints


def judge_fixes(case, diagnostics, check_text):
    """Each fix alone makes its diagnostic vanish, and what it writes parses. It may uncover a mistake that this one hid."""
    before = Counter((d["code"], d["message"]) for d in diagnostics)
    complaints = []
    for diagnostic in diagnostics:
        key = (diagnostic["code"], diagnostic["message"])
        for fix in diagnostic["fixes"]:
            left = check_text(apply_edits(case.text, fix["edits"]))
            after = Counter((d["code"], d["message"]) for d in left)
            if after[key] >= before[key]:
                complaints.append(f"fix `{fix['message']}` does not repair: {describe(diagnostic)}")
            for d in left:
                if d["code"].startswith("PK01") and after[(d["code"], d["message"])] > before[(d["code"], d["message"])]:
                    complaints.append(f"fix `{fix['message']}` of {describe(diagnostic)}\n        brings {describe(d)}")
    return complaints


def concerns(directive, test):
    """Whether a run-time directive speaks of `test`: it stands in a kernel that the test launches, a function, or the test itself."""
    item = directive.item
    return item is not None and (item.kind == "fn" or item is test or item.name in test.launches)


def shows_line(case, diagnostic, directive):
    name = os.path.basename(case.path)
    places = [(diagnostic["file"], diagnostic["line"])]
    places += [(label["file"], label["line"]) for label in diagnostic["labels"]]
    return directive.anywhere or any(os.path.basename(file) == name and line == directive.line for file, line in places)


def is_announced_fault(case, diagnostic, directive):
    severity = directive.kind.split()[1]
    return (
        diagnostic["severity"] == severity
        and (not directive.classes or diagnostic.get("class") in directive.classes)
        and (not directive.code or diagnostic["code"] == directive.code)
        and shows_line(case, diagnostic, directive)
        and says(directive, texts(diagnostic))
    )


def judge_fault(case, test, result, seen):
    """A test named fault… fails as one of the directives of its kernels says. Directives met are added to `seen`."""
    directives = [d for d in case.of_kind("runtime error") if concerns(d, test)]
    if not directives:
        return [f"test {test.name}: no `//! runtime error` stands in what it launches"]
    if result is None:
        return [f"test {test.name}: pkc ran no such test"]
    met = [d for d in directives if any(is_announced_fault(case, diagnostic, d) for diagnostic in result["diagnostics"])]
    seen.update(id(d) for d in met)
    if met and result["status"] == "fail":
        return []
    reported = "".join(f"\n        {describe(d)}" for d in result["diagnostics"])
    wanted = "; ".join(f"line {d.line}: {d}" for d in directives)
    return [f"test {test.name}: {result['status']}, announced is {wanted}; reported is:{reported or ' nothing'}"]


def judge_pass(case, test, result, strict, seen):
    """Every other test passes, and (strict) reports nothing that is not announced."""
    if result is None:
        return [f"test {test.name}: pkc ran no such test"]
    if result["status"] == "skip":
        return []
    expected = [d for d in case.of_kind("runtime warning") if concerns(d, test)]
    complaints = []
    for diagnostic in result["diagnostics"]:
        met = [d for d in expected if is_announced_fault(case, diagnostic, d)]
        seen.update(id(d) for d in met)
        if not met and (strict or diagnostic["severity"] == "error"):
            complaints.append(f"test {test.name}: {describe(diagnostic)}")
    if result["mismatch"]:
        mismatch = result["mismatch"]
        first = mismatch["first"][0] if mismatch["first"] else {}
        complaints.append(f"test {test.name}: {mismatch['differing']} of {mismatch['total']} elements differ, first {first}")
    if result["status"] == "fail" and not complaints:
        complaints.append(f"test {test.name}: failed")
    return complaints


def judge_unmet(case, seen):
    """Run-time directives that no test met."""
    unmet = [d for d in case.of_kind("runtime error", "runtime warning") if id(d) not in seen]
    return [f"line {d.line}: no test met: {d}" for d in unmet]
