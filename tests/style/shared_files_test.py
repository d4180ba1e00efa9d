"""shared_files.py finds tests that could meet at a path, and no others."""

import unittest

from shared_files import collisions


def test(name, command, **properties):
    return {"name": name, "command": command,
            "properties": [{"name": key, "value": value} for key, value in properties.items()]}


class SharedFiles(unittest.TestCase):
    def found(self, *tests):
        return collisions(list(tests), "/b")

    def test_two_writers(self):
        found = self.found(test("a", ["p", "-o", "/b/x"]), test("b", ["p", "-o", "/b/x"]))
        self.assertEqual(len(found), 1)
        self.assertIn("'a' and 'b'", found[0])

    def test_a_writer_and_a_reader_in_lists_of_cmake(self):
        found = self.found(test("a", ["cmake", "-DARGS=train;-o;/b/x"]),
                           test("b", ["cmake", "-DARGS=report;/b/x"]))
        self.assertEqual(len(found), 1)

    def test_two_readers_and_paths_elsewhere(self):
        self.assertFalse(self.found(test("a", ["p", "/b/x"]), test("b", ["p", "/b/x"]),
                                    test("c", ["p", "-o", "/c/x"]), test("d", ["p", "-o", "/c/x"])))

    def test_a_lock_of_both(self):
        lock = {"RESOURCE_LOCK": ["x"]}
        one = test("a", ["p", "-o", "/b/x"], **lock)
        self.assertFalse(self.found(one, test("b", ["p", "/b/x"], **lock)))
        self.assertEqual(len(self.found(one, test("b", ["p", "/b/x"]))), 1)

    def test_a_fixture_of_a_fixture(self):
        self.assertFalse(self.found(
            test("a", ["p", "-o", "/b/x"], FIXTURES_SETUP=["f"]),
            test("b", ["q"], FIXTURES_REQUIRED=["f"], FIXTURES_SETUP=["g"]),
            test("c", ["p", "-o", "/b/x"], FIXTURES_REQUIRED=["g"])))


if __name__ == "__main__":
    unittest.main()
