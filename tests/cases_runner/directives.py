"""What a .pk test file says about itself: its cases, its items, and the `//!` comments in it.

A directive stands at the end of the line that it speaks of:

    //! error PK0301: a|b         an error with this code on this line; `a` or `b` occurs in its text
    //! error anywhere: word      … anywhere in the item that holds the comment
    //! error @+1 PK0301          … one line further down
    //! warning …, //! remark …   the same for the other severities
    //! label: word               a secondary label on this line
    //! note: word, help: word, fix: word      of a diagnostic whose primary span is on this line
    //! runtime error: race|bounds: word       the tests that launch this kernel and are named fault… fail so, on this line
    //! runtime warning: semaphore             a test that launches this kernel reports this and passes
"""

import re
from dataclasses import dataclass, field

CASE_SEPARATOR = re.compile(r"^// ---\s*$")
ITEM_START = re.compile(r"^(?:export\s+)?(kernel|fn|test|mesh|const|import)\b\s*([A-Za-z_]\w*)?")
DIRECTIVE = re.compile(
    r"^(?P<kind>(?:runtime )?(?:error|warning|remark)|label|note|help|fix)\b"
    r"(?P<anywhere>\s+anywhere\b)?(?:\s+@(?P<offset>[+-]\d+))?(?:\s+(?P<code>PK\d{4}))?\s*(?::\s*(?P<rest>.*\S))?\s*$"
)
SEVERITIES = ("error", "warning", "remark")


class BadDirective(Exception):
    """A `//!` comment that says nothing: a mistake in the test file."""


@dataclass
class Item:
    """A kernel, function or test: the lines that it covers."""

    kind: str
    name: str
    first_line: int
    last_line: int
    launches: set = field(default_factory=set)

    def holds(self, line):
        return self.first_line <= line <= self.last_line


@dataclass
class Directive:
    kind: str  # "error", "label", "runtime error", …
    line: int  # the line it speaks of
    anywhere: bool
    code: str  # or ""
    words: list  # one of them must occur; empty: any text
    classes: list  # of run-time errors
    item: Item

    def __str__(self):
        parts = [self.kind] + (["anywhere"] if self.anywhere else []) + ([self.code] if self.code else [])
        tail = [": " + "|".join(texts) for texts in (self.classes, self.words) if texts]
        return " ".join(parts) + "".join(tail)


@dataclass
class Case:
    """One independent program: a whole file, or a part between `// ---` lines, padded so that line numbers stay."""

    path: str
    text: str
    items: list
    directives: list
    first_line: int = 1

    def item_at(self, line):
        return next((item for item in self.items if item.holds(line)), None)

    def tests(self, fault):
        return [item for item in self.items if item.kind == "test" and item.name.startswith("fault") == fault]

    def of_kind(self, *kinds):
        return [d for d in self.directives if d.kind in kinds]


def find_items(lines):
    items = []
    for number, line in enumerate(lines, 1):
        start = ITEM_START.match(line)
        if start:
            if items:
                items[-1].last_line = number - 1
            items.append(Item(start[1], start[2] or "", number, len(lines)))
    for item in items:
        body = "\n".join(line.split("//")[0] for line in lines[item.first_line - 1 : item.last_line])
        item.launches = set(re.findall(r"\blaunch\s+([A-Za-z_]\w*)", body))
    return items


def parse_directive(text, line, path, items):
    match = DIRECTIVE.match(text.strip())
    if not match:
        raise BadDirective(f"{path}:{line}: `//! {text.strip()}` is no directive")
    kind, rest = match["kind"], match["rest"] or ""
    classes = []
    if kind.startswith("runtime"):
        head, _, rest = rest.partition(":")
        classes = [word.strip() for word in head.split("|") if word.strip()]
        if not classes and not match["code"]:
            raise BadDirective(f"{path}:{line}: `//! {text.strip()}` names no class")
    if kind in ("label", "note", "help", "fix") and not rest:
        raise BadDirective(f"{path}:{line}: `//! {text.strip()}` names no text")
    words = [word.strip().lower() for word in rest.split("|") if word.strip()]
    item = next((item for item in items if item.holds(line)), None)
    return Directive(kind, line + int(match["offset"] or 0), bool(match["anywhere"]), match["code"] or "", words, classes, item)


def parse_directives(lines, path, items):
    directives = []
    for number, line in enumerate(lines, 1):
        for text in line.split("//!")[1:]:
            directives.append(parse_directive(text, number, path, items))
    return directives


def make_case(path, lines, first_line):
    items = find_items(lines)
    return Case(path, "\n".join(lines) + "\n", items, parse_directives(lines, path, items), first_line)


def read_cases(path, split):
    """The cases of a file. With `split`, `// ---` lines separate them."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    separators = [n for n, line in enumerate(lines) if CASE_SEPARATOR.match(line)] if split else []
    if not separators:
        return [make_case(path, lines, 1)]
    starts = [0] + [n + 1 for n in separators]
    ends = separators + [len(lines)]
    return [make_case(path, [""] * start + lines[start:end], start + 1) for start, end in zip(starts, ends)]
