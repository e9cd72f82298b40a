"""What the tests of packages share: a release in a folder, and how its programs are run."""

import os, pathlib, subprocess, sys, tempfile, unittest

WORK = pathlib.Path(sys.argv.pop(1)).absolute()
RELEASE, PROGRAM = WORK / "release", (WORK / "copal").read_bytes()
VERSION = next(RELEASE.glob("copal-*-oci.tar")).name.split("-")[1]
HERE = f"copal-{VERSION}-{os.uname().machine}-unknown-linux-musl"
PROCESSOR = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def run(*command, **options):
    options = {"check": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    return subprocess.run([str(word) for word in command], **options)


def file(ending):
    return RELEASE / f"copal-{VERSION}-{ending}"


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
        self.addCleanup(run, "rm", "-rf", self.folder)

    def assert_runs(self, program):
        self.assertIn(VERSION, run(program, "version", env={}).stdout)
