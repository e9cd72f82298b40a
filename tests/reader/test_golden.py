#!/usr/bin/env python3
"""Runs the reader against docs/format.md, the golden vectors and the golden repository. The last line is `N passed, M failed`."""

import sys
import unittest

from cases import choices, document, keys, records, repository, restores, trees


MODULES = (choices, document, keys, records, trees, repository, restores)


class Counting(unittest.TextTestResult):
    """Counts the tests that passed; a class that could not be set up fails as often as it has tests."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    """Runs everything; gives the exit code."""
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module) for module in MODULES)
    total = suite.countTestCases()
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Counting).run(suite)
    print(f"{result.passed} passed, {total - result.passed} failed")
    return 0 if result.passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
