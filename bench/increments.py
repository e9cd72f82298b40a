#!/usr/bin/env python3
"""Measures Copal after twelve increments: one tree is brought from each version of the Linux sources to the next in two or three parts, each
saved; then the first and the last state are restored.

    bench/increments.py --linux DIR [--place DIR]

DIR holds six versions, one directory each, in the order of their names. copal is looked for on PATH. Needs root: restores go to a file system made for them.
"""

import argparse
import hashlib
import os
import shutil
import tempfile

from comparison import disk, process
from comparison.dataset import is_same, warm
from comparison.tool import environment, selected
from peers import version

PARTS = [3, 3, 2, 2, 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linux", required=True, help="directory of versions of the Linux sources")
    parser.add_argument("--place", default="/var/tmp", help="where there is room for a tree, a repository and a restore")
    options = parser.parse_args()
    names = sorted(os.listdir(options.linux))
    if len(names) <= len(PARTS):
        parser.error(f"{len(PARTS) + 1} versions are needed, there are {len(names)}")
    versions = [version(os.path.realpath(os.path.join(options.linux, name))) for name in names]
    work = tempfile.mkdtemp(prefix="increments-", dir=options.place)
    try:
        measure(versions, work)
    finally:
        shutil.rmtree(work)


def measure(versions: list[str], work: str) -> None:
    (tool,) = selected("copal")
    repository, source, home = (os.path.join(work, name) for name in ("repository", "source", "home"))
    os.mkdir(home)
    surroundings = environment(tool, home)

    def step(name: str, words: list[str]) -> None:
        os.sync()
        usage = process.measure(words, surroundings, home)
        size = disk.bytes_below(repository) / 1e6
        print(f"| {name} | {usage.wall:.2f} s | {usage.cpu:.2f} s | {usage.peak:.0f} MB | {size:.1f} MB |", flush=True)

    def restore(name: str, snapshot: str) -> None:
        with disk.fresh(work, 3 << 30, 120_000) as out:
            step(name, ["copal", "-q", "-r", repository, "restore", snapshot, "--target", out])

    step("init", tool.init(repository))
    disk.run("cp", "-aT", versions[0], source)
    warm(source)
    step("first", tool.backup(repository, source, ""))
    restore("restore of the first", f"latest:{source}")
    number = 0
    for parts, after in zip(PARTS, versions[1:], strict=False):
        for part in range(parts):
            change(source, after, part, parts)
            warm(source)
            number += 1
            step(f"increment {number}", tool.backup(repository, source, ""))
    restore("restore of the last", f"latest:{source}")


def change(source: str, after: str, part: int, parts: int) -> None:
    """Brings those files to the version after whose names fall into this part; what is the same is left alone."""

    def is_due(relative: str) -> bool:
        return hashlib.sha256(relative.encode()).digest()[0] % parts == part

    for top, other in ((after, source), (source, after)):
        for folder, directories, names in os.walk(top):
            links = [name for name in directories if os.path.islink(os.path.join(folder, name))]
            for name in names + links:
                relative = os.path.relpath(os.path.join(folder, name), top)
                old, new = os.path.join(source, relative), os.path.join(after, relative)
                if not is_due(relative) or (top == source and os.path.lexists(os.path.join(other, relative))):
                    continue
                if top == source:
                    os.unlink(old)
                elif not is_same(old, new):
                    os.makedirs(os.path.dirname(old), exist_ok=True)
                    if os.path.lexists(old):
                        os.unlink(old)
                    shutil.copy2(new, old, follow_symlinks=False)


if __name__ == "__main__":
    main()
