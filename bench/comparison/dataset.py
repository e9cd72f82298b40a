"""The data: states of one source, one after another, made once and kept.

A state is a directory, or an ext4 in a file where it matters that what did not change keeps its inode and times: the next state is then a copy of the file
system in which only the differences were written, as an update in place does it."""

import contextlib
import dataclasses
import filecmp
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator

from . import disk

Step = Callable[[str], None]


@dataclasses.dataclass
class Dataset:
    """`make[i]` turns the state before, shown to it as a directory, into state i. `scratch` and `inodes` are what a restored
    state needs."""

    name: str
    title: str
    make: list[Step]
    scratch: int
    inodes: int
    has_unchanged: bool = False
    restores_first: bool = False
    has_check: bool = False

    def states(self, root: str) -> list[str]:
        return [os.path.join(root, f"{self.name}-{number}.img") for number in range(1, len(self.make) + 1)]

    def prepare(self, root: str) -> None:
        """Makes the states that are missing."""
        os.makedirs(root, exist_ok=True)
        before = None
        for make, state in zip(self.make, self.states(root), strict=True):
            if not os.path.exists(state):
                print(f"making {state}", flush=True)
                partial = state + ".partial"
                if before is None:
                    disk.make(partial, self.scratch, self.inodes)
                else:
                    disk.run("cp", "--sparse=always", before, partial)
                with disk.mounted(partial, state + ".mount") as at:
                    source = os.path.join(at, "source")
                    os.makedirs(source, exist_ok=True)
                    make(source)
                os.rmdir(state + ".mount")
                os.rename(partial, state)
            before = state

    @contextlib.contextmanager
    def shown(self, root: str, work: str) -> Iterator[list[str]]:
        """All states as directories, read once, so that the first tool finds a warm cache like the others."""
        with contextlib.ExitStack() as stack:
            places = []
            for number, state in enumerate(self.states(root), 1):
                at = stack.enter_context(disk.mounted(state, os.path.join(work, f"state-{number}"), is_read_only=True))
                places.append(os.path.join(at, "source"))
            yield places


def warm(directory: str) -> None:
    """Reads everything, so that it lies in the page cache."""
    buffer = bytearray(1 << 20)
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb", buffering=0) as file:
                    while file.readinto(buffer):
                        pass


def update(source: str, version: str) -> None:
    """Makes the tree like the version; what is the same is left alone."""
    for folder, directories, names in os.walk(version):
        relative = os.path.relpath(folder, version)
        here = os.path.normpath(os.path.join(source, relative))
        os.makedirs(here, exist_ok=True)
        for name in set(os.listdir(here)) - set(directories) - set(names):
            path = os.path.join(here, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        links = [name for name in directories if os.path.islink(os.path.join(folder, name))]
        for name in names + links:
            old, new = os.path.join(here, name), os.path.join(folder, name)
            if not is_same(old, new):
                if os.path.lexists(old):
                    os.unlink(old)
                shutil.copy2(new, old, follow_symlinks=False)


def is_same(old: str, new: str) -> bool:
    if not os.path.lexists(old):
        return False
    if os.path.islink(new) or os.path.islink(old):
        return os.path.islink(new) and os.path.islink(old) and os.readlink(old) == os.readlink(new)
    return filecmp.cmp(old, new, shallow=False)


def linux(versions: list[str]) -> Dataset:
    """Versions of the Linux sources, the next written over the one before."""

    def first(version: str) -> Step:
        return lambda source: disk.run("cp", "-aT", version, source)

    makes = [first(versions[0])] + [lambda source, version=version: update(source, version) for version in versions[1:]]
    return Dataset(
        "linux", f"Linux sources, {len(versions)} versions", makes, 3 << 30, 120_000,
        has_unchanged=True, restores_first=True, has_check=True,
    )


def image(scale: float) -> Dataset:
    """A disk image in which packages are installed, twice: what the machine itself has."""

    def install(source: str, folders: list[str], removed: list[str], is_new: bool) -> None:
        path = os.path.join(source, "disk.img")
        if is_new:
            disk.make(path, int((3 << 30) * scale), max(int(200_000 * scale), 1000))
        with disk.mounted(path, source + "-inner") as at:
            room = int((3 << 30) * scale * 0.8)
            for folder in removed:
                shutil.rmtree(os.path.join(at, folder.lstrip("/")), ignore_errors=True)
            for folder in folders:
                copy_up_to(folder, os.path.join(at, folder.lstrip("/")), room - used(at))
        os.rmdir(source + "-inner")

    steps = [
        (["/usr/bin", "/usr/share"], [], True),
        (["/usr/include", "/usr/lib/python3", "/usr/lib/python3.11", "/usr/lib/git-core"], ["/usr/share/doc"], False),
        (["/usr/lib/x86_64-linux-gnu"], [], False),
    ]
    makes = [lambda source, step=step: install(source, *step) for step in steps]
    return Dataset("image", "3 GB disk image", makes, int((4 << 30) * scale) + (64 << 20), 1000)


def used(at: str) -> int:
    status = os.statvfs(at)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def copy_up_to(folder: str, to: str, room: int) -> None:
    """Copies a directory's files in order until the room is used up."""
    for here, directories, names in os.walk(folder):
        directories.sort()
        there = os.path.join(to, os.path.relpath(here, folder))
        os.makedirs(there, exist_ok=True)
        for name in sorted(names):
            path = os.path.join(here, name)
            metadata = os.lstat(path)
            if not stat.S_ISREG(metadata.st_mode):
                continue
            room -= -(-metadata.st_size // 4096) * 4096
            if room < 0:
                return
            shutil.copy2(path, os.path.join(there, name))


def half(scale: float) -> Dataset:
    """Files of 200 kB, half random half zeros; of each next state a tenth deleted, a tenth new, a tenth half rewritten."""
    count = int(5000 * scale)

    def write(path: str, noise: random.Random) -> None:
        with open(path, "wb") as file:
            file.write(noise.randbytes(100_000) + bytes(100_000))

    def first(source: str) -> None:
        noise = random.Random(1)
        for number in range(count):
            write(os.path.join(source, f"f{number:05}"), noise)

    def change(turn: int) -> Step:
        def apply(source: str) -> None:
            noise = random.Random(turn)
            names = sorted(os.listdir(source))
            chosen = noise.sample(names, 2 * count // 10)
            for name in chosen[: count // 10]:
                os.unlink(os.path.join(source, name))
            for name in chosen[count // 10 :]:
                with open(os.path.join(source, name), "r+b") as file:
                    file.seek(50_000)
                    file.write(noise.randbytes(100_000))
            for number in range(count // 10):
                write(os.path.join(source, f"n{turn}{number:05}"), noise)

        return apply

    size = int((2 << 30) * scale) + (64 << 20)
    return Dataset("half", f"{count} files of 200 kB, half random half zeros", [first, change(2), change(3)], size, count * 2 + 1000)


def small(name: str, files: int) -> Dataset:
    """Files of 100 random bytes, two in each directory."""
    directories = files // 2

    def first(source: str) -> None:
        noise = random.Random(1)
        for number in range(directories):
            above = os.path.join(source, f"{number // 500:04}")
            if number % 500 == 0:
                os.mkdir(above)
            here = os.path.join(above, f"{number % 500:03}")
            os.mkdir(here)
            for which in "ab":
                with open(os.path.join(here, which), "wb") as file:
                    file.write(noise.randbytes(100))

    size = files * 12_000 + (256 << 20)
    return Dataset(
        name, f"{files} files of 100 B in {directories} directories", [first], size, files * 2 + 1000, has_unchanged=True
    )


def datasets(linux_versions: list[str], scale: float) -> list[Dataset]:
    """All, in the order in which they are measured."""
    found = [linux(linux_versions)] if linux_versions else []
    return [*found, image(scale), half(scale), small("small", int(500_000 * scale)), small("small200", int(200_000 * scale))]
