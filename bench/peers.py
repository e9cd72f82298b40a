#!/usr/bin/env python3
"""Compares backup tools on versions of one tree.

    bench/peers.py [--runs N] [--only NAME,...] VERSION_1 VERSION_2 ... 

Each version is renamed to one place for its turn, so that paths are the same. Measured are, for each tool that is installed: the first backup of
version 1, the same again unchanged, each further version, a restore of the last, a check that reads all data; wall and processor seconds, the peak memory
of the largest process, the repository's bytes. Medians of N runs, each with a repository, a home and a cache of its own. Tools are looked for on PATH; for
copal, build it first (cargo build --release) and put target/release on PATH.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SECRET = "measured"


class Tool:
    """How to use a tool; every command is a list of words."""

    def __init__(self, name, program, init, backup, restore, check, environment=None):
        self.name, self.program = name, program
        self.init, self.backup, self.restore, self.check = init, backup, restore, check
        self.environment = environment or {}


def tools():
    yield Tool(
        "copal", "copal",
        lambda r: ["copal", "-q", "-r", r, "init"],
        lambda r, d, n: ["copal", "-q", "-r", r, "backup", d],
        lambda r, d, out, n: ["copal", "-q", "-r", r, "restore", f"latest:{d}", "--target", out],
        lambda r: ["copal", "-q", "-r", r, "check", "--read-data"],
        {"COPAL_PASSWORD": SECRET},
    )
    yield Tool(
        "borg", "borg",
        lambda r: ["borg", "init", "-e", "repokey-blake2", r],
        lambda r, d, n: ["borg", "create", "-C", "zstd,3", f"{r}::v{n}", d],
        lambda r, d, out, n: ["sh", "-c", f"cd '{out}' && borg extract '{r}::v{n}'"],
        lambda r: ["borg", "check", "--verify-data", r],
        {"BORG_PASSPHRASE": SECRET},
    )
    yield Tool(
        "bupstash", "bupstash",
        lambda r: ["sh", "-c", f"bupstash new-key -o '{r}.key' && bupstash init -r '{r}'"],
        lambda r, d, n: ["bupstash", "put", "-q", "-k", f"{r}.key", "-r", r, f"version={n}", d],
        lambda r, d, out, n: ["bupstash", "restore", "-q", "-k", f"{r}.key", "-r", r, "--into", out, f"version={n}"],
        None,
    )
    yield Tool(
        "restic", "restic",
        lambda r: ["restic", "-q", "-r", r, "init"],
        lambda r, d, n: ["restic", "-q", "-r", r, "backup", d],
        lambda r, d, out, n: ["restic", "-q", "-r", r, "restore", "latest", "--target", out],
        lambda r: ["restic", "-q", "-r", r, "check", "--read-data"],
        {"RESTIC_PASSWORD": SECRET},
    )
    yield Tool(
        "rustic", "rustic",
        lambda r: ["rustic", "-r", r, "init"],
        lambda r, d, n: ["rustic", "-r", r, "backup", d],
        lambda r, d, out, n: ["rustic", "-r", r, "restore", f"latest:{d}", out],
        lambda r: ["rustic", "-r", r, "check", "--read-data"],
        {"RUSTIC_PASSWORD": SECRET},
    )
    yield Tool(
        "tar | zstd -3", "zstd",
        lambda r: ["mkdir", r],
        lambda r, d, n: ["sh", "-c", f"tar -cf - '{d}' 2>/dev/null | zstd -q -3 -T1 -o '{r}/v{n}.tar.zst'"],
        lambda r, d, out, n: ["sh", "-c", f"zstd -qdc '{r}/v{n}.tar.zst' | tar -xf - -C '{out}'"],
        None,
    )


def measure(words, environment):
    """Runs a command; gives wall seconds, processor seconds, peak megabytes."""
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            raise SystemExit(f"{' '.join(words)} failed: {errors.read()[-500:].decode(errors='replace')}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def bytes_below(path):
    total = 0
    for folder, _, files in os.walk(path):
        total += sum(os.lstat(os.path.join(folder, name)).st_size for name in files)
    return total / 1e6


def run(tool, versions, place):
    """One run of a tool; gives rows of (step, wall, cpu, rss, repository megabytes)."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="peers-") as base:
        home, repository = os.path.join(base, "home"), os.path.join(base, "repository")
        os.mkdir(home)
        environment = dict(os.environ, HOME=home, XDG_CACHE_HOME=home + "/cache", XDG_STATE_HOME=home + "/state", **tool.environment)

        def step(name, words):
            os.sync()
            rows.append((name, *measure(words, environment), bytes_below(repository)))

        subprocess.run(tool.init(repository), env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for number, version in enumerate(versions, 1):
            os.rename(version, place)
            try:
                step("first backup" if number == 1 else f"version {number}", tool.backup(repository, place, f"{number}"))
                if number == 1:
                    step("unchanged", tool.backup(repository, place, "1b"))
            finally:
                os.rename(place, version)
        out = os.path.join(base, "out")
        os.mkdir(out)
        step("restore", tool.restore(repository, place, out, f"{len(versions)}"))
        shutil.rmtree(out)
        if tool.check:
            step("check, all data", tool.check(repository))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("versions", nargs="+")
    options = parser.parse_args()
    versions = [os.path.abspath(version) for version in options.versions]
    place = os.path.join(os.path.dirname(versions[0]), "measured")
    print(f"load before: {os.getloadavg()[0]:.2f}; medians of {options.runs}")
    print("| tool | step | wall s | CPU s | peak MB | repository MB |\n|---|---|---|---|---|---|")
    for tool in tools():
        if shutil.which(tool.program) is None or (options.only and tool.name not in options.only.split(",")):
            continue
        runs = [run(tool, versions, place) for _ in range(options.runs)]
        for steps in zip(*runs):
            wall, cpu, rss, size = (statistics.median(step[i] for step in steps) for i in range(1, 5))
            print(f"| {tool.name} | {steps[0][0]} | {wall:.2f} | {cpu:.2f} | {rss:.0f} | {size:.1f} |")
        sys.stdout.flush()
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
