"""What one tool does with one data set: backups of all states, restores, a check, each measured."""

import dataclasses
import os
import shutil
import subprocess
import tempfile
import time

from . import disk, process
from .dataset import Dataset
from .tool import Tool, environment


@dataclasses.dataclass
class Row:
    """One step: wall and processor seconds, peak megabytes, the repository's megabytes afterwards, the machine's load before."""

    step: str
    wall: float
    cpu: float
    peak: float
    repository: float
    load: float


class Series:
    """One run, with a home and a repository of its own."""

    def __init__(self, tool: Tool, dataset: Dataset, states: list[str], work: str):
        self.tool, self.dataset, self.states, self.work = tool, dataset, states, work
        self.rows: list[Row] = []

    def run(self) -> tuple[list[Row], str]:
        """The rows, and why there are no more of them, if a step failed."""
        base = tempfile.mkdtemp(prefix="series-", dir=self.work)
        self.repository = os.path.join(base, "repository")
        self.home = os.path.join(base, "home")
        os.mkdir(self.home)
        self.environment = environment(self.tool, self.home)
        try:
            self._steps()
            return self.rows, ""
        except process.Failed as failed:
            return self.rows, str(failed)
        finally:
            shutil.rmtree(base)

    def _steps(self) -> None:
        tool, last = self.tool, len(self.states)
        made = subprocess.run(
            tool.init(self.repository), env=self.environment, cwd=self.home, capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            raise process.Failed(f"{tool.name} makes no repository: {made.stderr[-500:]}")
        for number, state in enumerate(self.states, 1):
            with disk.bound(state, os.path.join(self.work, "source")) as place:
                self._measure("first" if number == 1 else f"version {number}", tool.backup(self.repository, place, f"v{number}"))
                if number == 1 and self.dataset.has_unchanged:
                    time.sleep(1.1)  # some tools trust no file that is as young as the backup
                    self._measure("unchanged", tool.backup(self.repository, place, "v1b"))
            if number == 1 and last > 1 and self.dataset.restores_first:
                self._restore("restore of the first", 1)
        self._restore("restore", last)
        if tool.check and self.dataset.has_check:
            self._measure("check", tool.check(self.repository, f"v{last}"))

    def _restore(self, step: str, number: int) -> None:
        if not self.tool.restore:
            return
        with disk.fresh(self.work, self.dataset.scratch, self.dataset.inodes) as out:
            place = os.path.join(self.work, "source")
            self._measure(step, self.tool.restore(self.repository, place, out, f"v{number}"))
            expected, found = disk.files_below(self.states[number - 1]), disk.files_below(out)
            if expected > found:
                raise process.Failed(f"{self.tool.name} restored {found} files of {expected}")

    def _measure(self, step: str, words: list[str]) -> None:
        os.sync()
        load = os.getloadavg()[0]
        usage = process.measure(words, self.environment, self.home)
        size = disk.bytes_below(self.repository) / 1e6
        self.rows.append(Row(step, usage.wall, usage.cpu, usage.peak, size, load))
