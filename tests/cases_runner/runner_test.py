"""The runner's own failures: a test file that is wrong about a program must not pass."""

import os
import tempfile
import unittest

import judge
from compiler import apply_edits
from directives import BadDirective, make_case, read_cases


def case_of(text):
    return make_case("case.pk", text.split("\n"), 1)


def diagnostic(code="PK0301", severity="error", line=1, message="text", **more):
    whole = {"code": code, "severity": severity, "line": line, "message": message, "file": "case.pk"}
    whole.update({"labels": [], "notes": [], "help": [], "fixes": []})
    whole.update(more)
    return whole


def outcome(status, *diagnostics):
    return {"status": status, "diagnostics": list(diagnostics), "mismatch": None}


class Check(unittest.TestCase):
    def complaints(self, text, *diagnostics, strict=True):
        return judge.judge_check(case_of(text), list(diagnostics), strict)

    def test_announced_and_reported(self):
        self.assertEqual(self.complaints("x  //! error PK0301: text", diagnostic()), [])

    def test_missing(self):
        self.assertEqual(len(self.complaints("x  //! error PK0301")), 1)

    def test_other_code_is_missing_and_unannounced(self):
        self.assertEqual(len(self.complaints("x  //! error PK0301", diagnostic("PK0302"))), 2)

    def test_other_line(self):
        self.assertEqual(len(self.complaints("x\ny  //! error PK0301", diagnostic())), 2)

    def test_offset(self):
        self.assertEqual(self.complaints("x\ny  //! error @-1 PK0301", diagnostic()), [])

    def test_wrong_word(self):
        self.assertEqual(len(self.complaints("x  //! error PK0301: word|other", diagnostic())), 1)

    def test_word_in_help_in_other_case(self):
        self.assertEqual(self.complaints("x  //! error: WORD", diagnostic(help=["a Word"])), [])

    def test_two_directives_on_one_line(self):
        both = [diagnostic(), diagnostic("PK0302")]
        self.assertEqual(self.complaints("x  //! error PK0301 //! error PK0302", *both), [])

    def test_anywhere_stays_in_the_item(self):
        text = "kernel a() { //! error anywhere\n}\nkernel b() {\n}"
        self.assertEqual(self.complaints(text, diagnostic(line=2)), [])
        self.assertEqual(len(self.complaints(text, diagnostic(line=3))), 2)

    def test_warning_matters_if_strict(self):
        warning = diagnostic(severity="warning")
        self.assertEqual(len(self.complaints("x", warning)), 1)
        self.assertEqual(self.complaints("x", warning, strict=False), [])
        self.assertEqual(self.complaints("x  //! warning: text", warning), [])

    def test_label(self):
        labelled = diagnostic(labels=[{"file": "case.pk", "line": 2, "message": "seen here"}])
        self.assertEqual(self.complaints("x  //! error\ny  //! label: here", labelled), [])
        self.assertEqual(len(self.complaints("x  //! error\ny  //! label: there", labelled)), 1)

    def test_unknown_directive(self):
        for text in ("x  //! eror PK0301", "x  //! runtime error", "x  //! note", "x  //! error PK301"):
            with self.assertRaises(BadDirective):
                case_of(text)


class Fixes(unittest.TestCase):
    fix = {"message": "repair it", "edits": [{"line": 1, "column": 2, "end_line": 1, "end_column": 3, "text": "é"}]}

    def complaints(self, after):
        return judge.judge_fixes(case_of("xyz"), [diagnostic(fixes=[self.fix])], lambda text: after)

    def test_edits_count_code_points(self):
        self.assertEqual(apply_edits("éyz\nb", self.fix["edits"]), "éez\nb".replace("e", "é"))

    def test_insertions_at_two_lines(self):
        edits = [
            {"line": 2, "column": 1, "end_line": 2, "end_column": 1, "text": "- "},
            {"line": 1, "column": 1, "end_line": 1, "end_column": 1, "text": "+ "},
        ]
        self.assertEqual(apply_edits("a\nb", edits), "+ a\n- b")

    def test_repairs(self):
        self.assertEqual(self.complaints([]), [])

    def test_does_not_repair(self):
        self.assertEqual(len(self.complaints([diagnostic()])), 1)

    def test_brings_a_syntax_error(self):
        self.assertEqual(len(self.complaints([diagnostic("PK0101")])), 1)

    def test_uncovers_another_mistake(self):
        self.assertEqual(self.complaints([diagnostic("PK0605")]), [])


class Runs(unittest.TestCase):
    text = "kernel k() {\n    x;  //! runtime error: race: y\n}\ntest fault_a { launch k(); }\ntest b { launch k(); }"

    def fault(self, result, text=text):
        case = case_of(text)
        seen = set()
        return judge.judge_fault(case, case.tests(fault=True)[0], result, seen) + judge.judge_unmet(case, seen)

    def test_announced(self):
        race = diagnostic("PK0901", line=2, message="on y", **{"class": "race"})
        self.assertEqual(self.fault(outcome("fail", race)), [])

    def test_line_of_a_label_counts(self):
        label = {"file": "case.pk", "line": 2, "message": ""}
        race = diagnostic("PK0901", line=1, message="on y", labels=[label], **{"class": "race"})
        self.assertEqual(self.fault(outcome("fail", race)), [])

    def test_other_class_line_or_text(self):
        for change in ({"class": "bounds"}, {"line": 1}, {"message": "on z"}):
            race = diagnostic("PK0901", **{"line": 2, "message": "on y", "class": "race", **change})
            self.assertEqual(len(self.fault(outcome("fail", race))), 2)

    def test_fault_that_passes(self):
        self.assertEqual(len(self.fault(outcome("pass"))), 2)

    def test_fault_without_directive(self):
        self.assertEqual(len(self.fault(outcome("fail"), "test fault_a { }")), 1)

    def test_right_test_that_fails(self):
        case = case_of(self.text)
        test = case.tests(fault=False)[0]
        self.assertEqual(judge.judge_pass(case, test, outcome("pass"), True, set()), [])
        self.assertEqual(len(judge.judge_pass(case, test, outcome("fail"), True, set())), 1)
        self.assertEqual(len(judge.judge_pass(case, test, None, True, set())), 1)


class Splitting(unittest.TestCase):
    def test_cases_keep_their_lines(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "two.pk")
            with open(path, "w", encoding="utf-8") as file:
                file.write("a  //! error PK0101\n// ---\nb  //! error PK0102\n")
            first, second = read_cases(path, split=True)
            self.assertEqual([d.line for d in first.directives], [1])
            self.assertEqual([d.line for d in second.directives], [3])
            self.assertEqual(second.text.split("\n")[2][0], "b")
            self.assertEqual(len(read_cases(path, split=False)), 1)


if __name__ == "__main__":
    unittest.main()
