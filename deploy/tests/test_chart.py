#!/usr/bin/env python3
"""Holds the chart against deploy/README.md. The last line is `N passed, M failed`."""

import sys
import unittest

from cases import journey, rendered


class Counting(unittest.TextTestResult):
    """Counts the tests that passed."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    """Runs everything; gives the exit code."""
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module) for module in (rendered, journey))
    total = suite.countTestCases()
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Counting).run(suite)
    print(f"{result.passed} passed, {total - result.passed} failed")
    return 0 if result.passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
