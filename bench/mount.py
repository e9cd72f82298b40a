#!/usr/bin/env python3
"""Measures mounts of copal, of restic and of rustic: `find`, `cat` of a whole tree, a directory of many entries, random reads.

    bench/mount.py TREE WORK [--many 100000] [--image 3000000000] [--reads 2000]

TREE is a directory to save; WORK takes about three times as much. Run as root, or with fusermount3.
"""

import argparse
import os
import random
import signal
import subprocess
import time
from pathlib import Path

PASSWORD = "benchmark"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tree", type=Path)
    arguments.add_argument("work", type=Path)
    arguments.add_argument("--many", type=int, default=100_000)
    arguments.add_argument("--image", type=int, default=3_000_000_000)
    arguments.add_argument("--reads", type=int, default=2_000)
    arguments.add_argument("--only", default="copal,restic,rustic")
    options = arguments.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    many, image = options.work / "many", options.work / "image"
    if not many.exists():
        many.mkdir()
        for number in range(options.many):
            (many / f"file {number:06}").touch()
    if not image.exists():
        with image.open("wb") as file:
            for _ in range(options.image // 1_000_000):
                # Half of it can be compressed.
                file.write(os.urandom(500_000) + bytes(500_000))
    sources = [options.tree.resolve(), many.resolve(), image.resolve()]
    for tool in options.only.split(","):
        measure(tool, sources, options)


def measure(tool, sources, options):
    repository, at = options.work / f"{tool}-repository", options.work / f"{tool}-mount"
    at.mkdir(exist_ok=True)
    environment = dict(
        os.environ,
        HOME=str(options.work / "home"),
        COPAL_REPOSITORY=str(repository),
        COPAL_PASSWORD=PASSWORD,
        RESTIC_REPOSITORY=str(repository),
        RESTIC_PASSWORD=PASSWORD,
        RUSTIC_REPOSITORY=str(repository),
        RUSTIC_PASSWORD=PASSWORD,
    )
    if not repository.exists():
        subprocess.run([tool, "init"], env=environment, check=True, capture_output=True)
        subprocess.run([tool, "backup", *map(str, sources)], env=environment, check=True, capture_output=True)
    tree, many, image = sources
    print(f"{tool}: find {timed(tool, at, environment, lambda top: count(top, tree)):.2f} s")
    print(f"{tool}: cat {timed(tool, at, environment, lambda top: cat(top, tree)):.2f} s")
    print(f"{tool}: list {timed(tool, at, environment, lambda top: os.listdir(inside(top, many))):.2f} s")
    seconds = timed(tool, at, environment, lambda top: reads(inside(top, image), options.reads))
    print(f"{tool}: {options.reads / seconds:.0f} reads of 4 KiB a second")


def timed(tool, at, environment, act):
    """Seconds of an act on a new mount, whose caches are empty."""
    # rustic shows by host and time, or one snapshot as its top.
    snapshot, top = (["latest"], at) if tool == "rustic" else ([], at / "snapshots" / "latest")
    process = subprocess.Popen([tool, "mount", str(at), *snapshot], env=environment, stdout=subprocess.DEVNULL)
    try:
        while not (os.path.ismount(at) and os.path.lexists(top)):
            time.sleep(0.05)
            if process.poll() is not None:
                raise SystemExit(f"{tool} mount has ended")
        started = time.monotonic()
        act(top)
        return time.monotonic() - started
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        if os.path.ismount(at) or not os.path.exists(at):
            # rustic leaves its mount behind.
            subprocess.run(["umount", at], check=True)


def inside(top, path):
    return top / path.relative_to("/")


def count(top, path):
    subprocess.run(["find", f"{inside(top, path)}", "-ls"], check=True, stdout=subprocess.DEVNULL)


def cat(top, path):
    command = f"find '{inside(top, path)}' -type f -print0 | xargs -0 cat"
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)


def reads(path, number):
    choose, size = random.Random(1), path.stat().st_size
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    for _ in range(number):
        assert len(os.pread(file, 4096, choose.randrange(size // 4096) * 4096)) == 4096
    os.close(file)


main()
