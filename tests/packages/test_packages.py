"""Installs, runs and removes what a release holds: packages, image, manifests, installer, inventories.

Usage: test_packages.py WORK, where WORK has a release in `release`, its program `copal`, a `script` that stands for other
machines' programs, and the key `key` that signs it.
"""

import sys, unittest

import contents, installer, inventories

if __name__ == "__main__":
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromModule, (contents, installer, inventories)))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.skipped)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)
