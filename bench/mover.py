#!/usr/bin/env python3
"""Measures `copal mover backup` as Velero measures its uploaders: the shapes of its performance guide, in MinIO, within one
core and 1 GB of a control group.

    bench/mover.py WORK [--cases 1,2.1,3] [--memory 1000] [--scale 0.01]

`copal` and `minio` are looked for on PATH. Needs root, and room in WORK: the source as an ext4 in a file, and what is stored.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import time

from comparison.disk import fresh
from comparison.process import Failed, measure

# Files, their bytes, and a tree of directories: how many each has, and how deep it is. Its leaves hold the files.
CASES = {
    "1": (4_194_304, 0, 8, 7),
    "2.1": (235_298, 100, 7, 6),
    "2.2": (470_596, 100, 7, 6),
    "2.3": (705_894, 100, 7, 6),
    "2.4": (2_097_152, 100, 8, 7),
    "3": (10_625, 1 << 20, 5, 4),
    "4": (16, 1_000_000_000, 1, 0),
}
GROUP = "copal-mover"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", help="a directory for sources, store and home")
    parser.add_argument("--cases", default=",".join(CASES), help="which ones (%(default)s)")
    parser.add_argument("--memory", type=int, default=1000, help="limit in MB (%(default)s)")
    parser.add_argument("--scale", type=float, default=1, help="share of the files, to try the script")
    options = parser.parse_args()
    work = os.path.abspath(options.work)
    os.makedirs(work, exist_ok=True)
    print("| case | files | directories | s | processor s | peak, MB | stored, MB |\n|---|---|---|---|---|---|---|")
    for name in options.cases.split(","):
        files, size, width, depth = CASES[name]
        files = max(1, int(files * options.scale))
        directories = sum(width**level for level in range(depth + 1))
        # A directory takes a block, and so does a file that holds anything.
        room = (directories + (files if size else 0)) * 4096 + files * size + (files + directories) * 512
        with fresh(work, int(room * 1.1) + (1 << 30), files + directories + 10_000) as source:
            make(source, files, size, width, depth)
            print(f"| {name} | {files:,} | {directories:,} | " + row(work, source, files, options.memory) + " |", flush=True)


def make(at: str, files: int, size: int, width: int, depth: int) -> None:
    """Files of noise, dealt to the leaves of the tree in turn."""
    leaves = [at]
    for _ in range(depth):
        leaves = [os.path.join(leaf, str(number)) for leaf in leaves for number in range(width)]
        for leaf in leaves:
            os.mkdir(leaf)
    for number in range(files):
        with open(os.path.join(leaves[number % len(leaves)], f"f{number}"), "wb") as file:
            for start in range(0, size, 1 << 24):
                file.write(os.urandom(min(1 << 24, size - start)))


def row(work: str, source: str, files: int, memory: int) -> str:
    """Saves the source into a new repository; what there is to say of it."""
    store, home = os.path.join(work, "store"), os.path.join(work, "home")
    for directory in (store, home):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
    os.makedirs(os.path.join(store, "bucket"))
    with server(store) as address, group(memory) as entered:
        environment = dict(
            os.environ,
            HOME=home,
            COPAL_REPOSITORY="s3://bucket/volume",
            COPAL_PASSWORD="benchmark",
            AWS_ENDPOINT_URL_S3=address,
            AWS_ACCESS_KEY_ID="minioadmin",
            AWS_SECRET_ACCESS_KEY="minioadmin",
        )
        subprocess.run(["copal", "init"], env=environment, check=True, capture_output=True)
        os.sync()
        try:
            used = measure(entered + ["copal", "mover", "backup", "--id", "volume", source], environment, work)
        except Failed as failed:
            return f"failed: {failed}"
        listed = subprocess.run(["copal", "snapshots", "--json"], env=environment, check=True, capture_output=True)
        saved = json.loads(listed.stdout)[-1]["files"]
        if saved != files:
            raise SystemExit(f"the snapshot has {saved} files instead of {files}")
        stored = sum(
            os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(os.path.join(store, "bucket")) for name in names
        )
    return f"{used.wall:.1f} | {used.cpu:.1f} | {used.peak:.0f} | {stored / 1e6:.1f}"


@contextlib.contextmanager
def server(store: str):
    """MinIO on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    child = subprocess.Popen(
        ["minio", "server", store, "--address", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        host, port = address.split(":")
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
                break
            time.sleep(0.1)
        yield f"http://{address}"
    finally:
        child.terminate()
        child.wait()


@contextlib.contextmanager
def group(memory: int):
    """A control group of one core and so much memory, the page cache included; the words that enter it."""
    root = "/sys/fs/cgroup"
    if os.path.exists(f"{root}/cgroup.controllers"):
        limits = {f"{root}/{GROUP}": {"memory.max": memory * 10**6, "memory.swap.max": 0, "cpu.max": "100000 100000"}}
    else:
        limits = {
            f"{root}/memory/{GROUP}": {"memory.limit_in_bytes": memory * 10**6},
            f"{root}/cpu/{GROUP}": {"cpu.cfs_period_us": 100_000, "cpu.cfs_quota_us": 100_000},
        }
    for directory, files in limits.items():
        os.makedirs(directory, exist_ok=True)
        for file, limit in files.items():
            with open(f"{directory}/{file}", "w", encoding="ascii") as set_to:
                set_to.write(str(limit))
    enter = "".join(f"echo $$ > {directory}/cgroup.procs; " for directory in limits)
    try:
        yield ["sh", "-c", enter + 'exec "$@"', "sh"]
    finally:
        for directory in limits:
            os.rmdir(directory)


if __name__ == "__main__":
    main()
