"""The command line of pkc: exit codes, output formats, fixes, inputs and outputs. The environment variable PKC names the binary."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

PKC = os.environ["PKC"]

GOOD = """kernel scale(in x: f32[N], in s: f32, out y: f32[N]) where N % 64 == 0 mesh(grid b: N / 64) {
    y[b * 64 +: 64] = x[b * 64 +: 64] * s;
}

test scales {
    expect_equal(launch scale(iota(f32[128]), 2.0), iota(f32[128]) * 2.0);
}

test scales_by_one {
    expect_equal(launch scale(iota(f32[64]), 1.0), iota(f32[64]));
}
"""
WRONG_RESULT = GOOD.replace("* 2.0);", "* 3.0);")
UNFINISHED = "kernel copy(in x: f32[64], out y: f32[64]) mesh(grid b: 1) {\n    y[...] = x[...]\n}\n"
PRIVATE = """kernel copy(in x: f32[64], out y: f32[64]) mesh(wg w: 1) {
    scoped (buf: smem f32[64]) {
        buf[...] = x[...];
        y[...] = buf[...];
    }
}
"""
ADDS = "kernel adds(in n: i32, out y: i32[1]) mesh(grid b: 1) {\n    assert(n > 0, \"positive\");\n    y[0] = n + 1;\n}\n"
SPINS = "kernel spins(in n: i32, out y: i32[1]) mesh(grid b: 1) {\n    var i = 0;\n    while i >= 0 { i = 1 - i; }\n    y[0] = n;\n}\n"


class Pkc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text, name="a.pk"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def pkc(self, *arguments, status=0):
        done = subprocess.run([PKC, *arguments], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def lines(self, *arguments, status=0):
        return [json.loads(line) for line in self.pkc(*arguments, status=status).stdout.splitlines()]


class Usage(Pkc):
    def test_wrong_command_lines_exit_with_2(self):
        good = self.file(GOOD)
        for arguments in (
            [],
            ["frobnicate"],
            ["check"],
            ["check", "--format=xml", good],
            ["check", "--target=sm_1", good],
            ["check", "-Wno-PK9999", good],
            ["explain", "PK9999"],
            ["build", "--emit=ir", "--kernel=nowhere", good],
            ["build", "--emit=ir", "-D", "N=many", good],
            ["build", "--emit=ir", "--print-after=nothing", good],
            ["run", "--kernel=nowhere", good],
            ["test", "--check=everything", good],
        ):
            with self.subTest(arguments=arguments):
                self.pkc(*arguments, status=2)

    def test_help_and_version(self):
        self.assertIn("check", self.pkc("--help").stdout)
        self.assertIn("--fix", self.pkc("check", "--help").stdout)
        self.assertRegex(self.pkc("--version").stdout, r"pkc \d+\.\d+")


class Check(Pkc):
    def test_a_right_file_says_nothing(self):
        done = self.pkc("check", self.file(GOOD))
        self.assertEqual(done.stdout + done.stderr, "")

    def test_errors_of_all_files_are_reported(self):
        files = [self.file(UNFINISHED, "a.pk"), self.file(GOOD, "b.pk"), self.file(PRIVATE, "c.pk")]
        done = self.pkc("check", *files, status=1)
        self.assertIn("error[PK0101]", done.stderr)
        self.assertIn("error[PK0301]", done.stderr)
        self.assertIn("2 errors", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_files_that_cannot_be_read(self):
        for path in (str(self.folder / "nothing.pk"), str(self.folder)):
            (found,) = self.lines("check", "--format=json", path, status=1)
            self.assertEqual(found["code"], "PK0001")
            self.assertIn(path, found["message"])

    def test_bytes_that_are_not_utf8(self):
        path = self.folder / "latin.pk"
        path.write_bytes(b"// \xe4\n" + GOOD.encode())
        (found,) = self.lines("check", "--format=json", str(path), status=1)
        self.assertEqual(found["code"], "PK0102")

    def test_nesting_is_limited(self):
        kernel = GOOD[: GOOD.index("test")]
        deep = kernel.replace("* s;", "* " + "(" * 5000 + "s" + ")" * 5000 + ";")
        (found,) = self.lines("check", "--format=json", self.file(deep), status=1)
        self.assertEqual(found["code"], "PK0107")

    def test_an_empty_file_is_right(self):
        self.pkc("check", self.file(""))

    def test_json(self):
        (found,) = self.lines("check", "--format=json", self.file(PRIVATE), status=1)
        self.assertEqual((found["code"], found["severity"], found["line"]), ("PK0301", "error", 2))
        self.assertTrue(found["fixes"][0]["edits"])

    def test_sarif(self):
        log = json.loads(self.pkc("check", "--format=sarif", self.file(PRIVATE), status=1).stdout)
        self.assertEqual(log["runs"][0]["results"][0]["ruleId"], "PK0301")

    def test_fixes_are_written(self):
        for text, code in ((UNFINISHED, "PK0101"), (PRIVATE, "PK0301")):
            with self.subTest(code=code):
                path = self.file(text)
                done = self.pkc("check", "--fix", path)
                self.assertIn("1 fix applied", done.stderr)
                self.assertNotEqual(pathlib.Path(path).read_text(encoding="utf-8"), text)
                self.pkc("check", path)

    def test_fix_leaves_a_right_file_alone(self):
        path = self.file(GOOD)
        before = os.stat(path).st_mtime_ns
        self.pkc("check", "--fix", path)
        self.assertEqual(os.stat(path).st_mtime_ns, before)


class Explain(Pkc):
    def test_one_code_in_any_spelling(self):
        page = self.pkc("explain", "PK0301").stdout
        self.assertTrue(page.startswith("# PK0301: "))
        self.assertEqual(self.pkc("explain", "pk0301").stdout, page)
        self.assertEqual(self.pkc("explain", "301").stdout, page)

    def test_the_list_has_a_title_for_every_code(self):
        rows = self.pkc("explain").stdout.splitlines()
        self.assertGreater(len(rows), 80)
        for row in rows:
            self.assertRegex(row, r"^PK\d{4}  \S")


class Format(Pkc):
    def test_check_and_write(self):
        path = self.file(GOOD.replace("    y[", "  y["))
        self.pkc("fmt", "--check", path, status=1)
        self.pkc("fmt", path)
        self.assertEqual(pathlib.Path(path).read_text(encoding="utf-8"), GOOD)
        self.pkc("fmt", "--check", path)

    def test_a_file_with_syntax_errors_stays(self):
        path = self.file(UNFINISHED)
        self.pkc("fmt", path, status=1)
        self.assertEqual(pathlib.Path(path).read_text(encoding="utf-8"), UNFINISHED)


class Build(Pkc):
    def test_stages(self):
        path = self.file(GOOD)
        self.assertIn("scale", self.pkc("build", "--emit=ast", path).stdout)
        ir = self.pkc("build", "--emit=ir", path).stdout
        self.assertIn("scale", ir)
        out = self.folder / "out.ir"
        self.pkc("build", "--emit=ir", "-o", str(out), path)
        self.assertEqual(out.read_text(encoding="utf-8"), ir)
        self.assertIn("elaborate", self.pkc("build", "--emit=ir", "--time-passes", path).stderr)
        self.pkc("build", "--emit=ir", "--print-after=elaborate", path)

    def test_errors_and_unwritable_outputs_exit_with_1(self):
        self.pkc("build", "--emit=ir", self.file(UNFINISHED, "b.pk"), status=1)
        self.pkc("build", "--emit=ir", "-o", str(self.folder / "no" / "out.ir"), self.file(GOOD), status=1)


class Test(Pkc):
    def test_right_tests(self):
        done = self.pkc("test", self.file(GOOD))
        self.assertIn("2 passed, 0 failed", done.stdout)

    def test_selection(self):
        path = self.file(GOOD)
        self.assertIn("1 passed", self.pkc("test", "--filter=by_one", path).stdout)
        self.assertIn("1 passed", self.pkc("test", "--test=scales", path).stdout)
        self.assertIn("2 passed", self.pkc("test", "--filter=scales", path).stdout)

    def test_a_wrong_result_shows_the_first_elements(self):
        path = self.file(WRONG_RESULT)
        done = self.pkc("test", path, status=1)
        self.assertIn("127 of 128 elements differ", done.stdout)
        self.assertIn("[1]", done.stdout)
        first, second, summary = self.lines("test", "--format=json", path, status=1)
        self.assertEqual((first["status"], second["status"]), ("fail", "pass"))
        self.assertEqual(first["mismatch"]["first"][0]["index"], [1])
        self.assertEqual(summary, {"passed": 1, "failed": 1, "skipped": 0})

    def test_a_file_with_errors_runs_nothing(self):
        self.pkc("test", self.file(UNFINISHED), status=1)

    def test_the_step_limit_ends_a_thread_that_never_ends(self):
        path = self.file(SPINS + "test ends { launch spins(1); }\n")
        result, _ = self.lines("test", "--format=json", "--step-limit=1000", path, status=1)
        self.assertEqual(result["diagnostics"][0]["code"], "PK0914")


def write_npy(path, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path):
    raw = path.read_bytes()
    length = struct.unpack("<H", raw[8:10])[0]
    data = raw[10 + length :]
    return list(struct.unpack(f"<{len(data) // 4}f", data))


class Run(Pkc):
    def test_files_in_and_out(self):
        write_npy(self.folder / "x.npy", [float(i) for i in range(64)])
        out = self.folder / "y.npy"
        self.pkc("run", self.file(GOOD), "--in", f"x={self.folder / 'x.npy'}", "--in", "s=2.0", "--out", f"y={out}")
        self.assertEqual(read_npy(out), [2.0 * i for i in range(64)])

    def test_generated_inputs_and_shown_results(self):
        done = self.pkc("run", self.file(GOOD), "-D", "N=128", "--in", "x=iota", "--in", "s=3.0")
        self.assertIn("y: f32[128] = 0", done.stdout)

    def test_missing_inputs_exit_with_2(self):
        self.pkc("run", self.file(GOOD), "-D", "N=128", "--in", "x=iota", status=2)
        self.pkc("run", self.file(GOOD), "--in", "x=iota", "--in", "s=1.0", status=2)

    def test_a_kernel_that_fails_exits_with_3(self):
        path = self.file(ADDS)
        self.assertIn("y: i32[1] = 6", self.pkc("run", path, "--in", "n=5").stdout)
        done = self.pkc("run", path, "--in", "n=-5", status=3)
        self.assertIn("PK0909", done.stderr)

    def test_a_refused_launch_exits_with_3(self):
        done = self.pkc("run", self.file(GOOD), "-D", "N=100", "--in", "x=iota", "--in", "s=1.0", status=3)
        self.assertIn("PK0907", done.stderr)


class Documents(Pkc):
    def test_builtins_are_json(self):
        rows = json.loads(self.pkc("builtins", "--json").stdout)
        self.assertIn("wgmma", [row["spelling"] for row in rows])

    def test_pages_are_markdown(self):
        self.assertTrue(self.pkc("doc").stdout.startswith("# Operations"))
        self.assertIn("PK0301", self.pkc("doc", "--diagnostics").stdout)


if __name__ == "__main__":
    unittest.main()
