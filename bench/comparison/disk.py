"""File systems of one's own: an ext4 in a file, mounted. Needs root."""

import contextlib
import os
import subprocess
from collections.abc import Iterator


def run(*words: str) -> None:
    """Runs a command that must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed: {done.stderr.strip()}")


def make(image: str, size: int, inodes: int) -> None:
    """Makes an empty file system in a sparse file."""
    with open(image, "wb") as file:
        file.truncate(size)
    run("mkfs.ext4", "-q", "-F", "-N", str(inodes), "-m", "0", "-E", "lazy_itable_init=1,nodiscard", image)


@contextlib.contextmanager
def mounted(image: str, at: str, is_read_only: bool = False) -> Iterator[str]:
    """Mounts the file system; the loop device reads the file directly, so that content is not cached twice."""
    os.makedirs(at, exist_ok=True)
    options = ["--find", "--show", "--direct-io=on"] + (["--read-only"] if is_read_only else [])
    device = subprocess.run(["losetup", *options, image], capture_output=True, text=True, check=True).stdout.strip()
    try:
        run("mount", "-t", "ext4", "-o", "ro,noatime" if is_read_only else "noatime,noinit_itable", device, at)
        try:
            yield at
        finally:
            run("umount", at)
    finally:
        run("losetup", "--detach", device)


@contextlib.contextmanager
def bound(directory: str, at: str) -> Iterator[str]:
    """Shows a directory at another place."""
    os.makedirs(at, exist_ok=True)
    run("mount", "--bind", directory, at)
    try:
        yield at
    finally:
        run("umount", at)


@contextlib.contextmanager
def fresh(directory: str, size: int, inodes: int) -> Iterator[str]:
    """A new, empty file system; it vanishes whole afterwards. ext4 slows down where many files were deleted, so that a
    directory used again would measure what was there before."""
    image = os.path.join(directory, "fresh.img")
    try:
        make(image, size, inodes)
        with mounted(image, os.path.join(directory, "fresh")) as at:
            os.mkdir(os.path.join(at, "out"))
            yield os.path.join(at, "out")
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(image)


def bytes_below(path: str) -> int:
    """The sum of the files' lengths."""
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names)


def files_below(path: str) -> int:
    """How many entries there are that are no directories."""
    return sum(len(names) for _, _, names in os.walk(path))
