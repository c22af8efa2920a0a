"""What `mutations.py` promises: stale faults are refused, and a fault never stays in the tree."""

import pathlib
import tempfile
import unittest

import mutations

ENTRY = """
[[mutation]]
name = "{name}"
fault = "f"
file = "a.rs"
find = "{find}"
replace = "x"
suite = "s"
tests = "all()"
"""


class Mutations(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        (self.root / "a.rs").write_text("one two two")

    def read(self, *entries):
        return mutations.read("[suites]\ns = []\n" + "".join(entries), self.root)

    def entry(self, find, name="n"):
        return ENTRY.format(name=name, find=find)

    def test_the_list_is_not_stale(self):
        faults, _ = mutations.read((mutations.ROOT / mutations.LIST).read_text(), mutations.ROOT)
        self.assertGreater(len(faults), 100)

    def test_what_is_not_there_once_is_stale(self):
        for find, count in [("two", 2), ("three", 0)]:
            with self.assertRaisesRegex(mutations.Refused, f"stale: its text is {count} times in a.rs"):
                self.read(self.entry(find))

    def test_what_makes_no_sense_is_refused(self):
        for entries in [
            [self.entry("one"), self.entry("one")],
            [self.entry("one").replace('"s"', '"other"')],
            [self.entry("one").replace("tests", "filter")],
            [self.entry("one") + 'command = ["false"]'],
        ]:
            with self.assertRaises(mutations.Refused):
                self.read(*entries)
        faults, _ = self.read(self.entry("one", "a"), self.entry("one", "b"))
        self.assertEqual([fault.name for fault in mutations.chosen(faults, ["b"])], ["b"])
        other = self.entry("one", "c").replace('"s"', '"t"')
        faults, _ = mutations.read("[suites]\ns = []\nt = []\n" + self.entry("one", "a") + other, self.root)
        self.assertEqual([fault.name for fault in mutations.chosen(faults, ["t"])], ["c"])
        with self.assertRaisesRegex(mutations.Refused, "no such faults: b, d"):
            mutations.chosen(faults, ["b", "d"])

    def test_a_fault_is_taken_back_whatever_happens(self):
        [fault], _ = self.read(self.entry("one"))
        with self.assertRaises(ZeroDivisionError), mutations.applied(fault, self.root):
            self.assertEqual((self.root / "a.rs").read_text(), "x two two")
            raise ZeroDivisionError
        self.assertEqual((self.root / "a.rs").read_text(), "one two two")

    def test_the_seed_is_found(self):
        output = "  stderr ---\n    thread 'main' panicked at a.rs:1:2:\n    seed 17:\n    > 3: it leads\n    seed 18:"
        self.assertEqual(mutations.SEED.search(output)[1], "seed 17")
        self.assertIsNone(mutations.SEED.search("THALWEG_SEED_BASE=1 repeats this run\nthe seed 17: it"))

    def test_the_first_failure_is_found(self):
        lines = {
            "        FAIL [   0.012s] (1/6) thalweg-log::integration a::b": "thalweg-log::integration a::b",
            "     TIMEOUT [  60.002s] (─────) thalweg::integration a::b": "thalweg::integration a::b",
            "     SIGABRT [   0.012s] thalweg a::b": "thalweg a::b",
            "        PASS [   0.012s] (1/6) thalweg a::b": None,
            "        SLOW [>  60.000s] (1/6) thalweg a::b": None,
            "     Summary [  15.681s] 6 tests run: 6 passed, 71 skipped": None,
        }
        for line, name in lines.items():
            found = mutations.LINE.match(line)
            self.assertEqual(found and found[1], name, line)


if __name__ == "__main__":
    unittest.main()
