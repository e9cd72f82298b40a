"""What Copal is to reach, and whether it does."""

import dataclasses

from . import dated
from .result import Results
from .series import Row
from .tool import tools

Medians = dict[str, dict[str, Row]]

COPAL = "copal"


@dataclasses.dataclass
class Bar:
    """One demand: what was measured must not exceed the limit."""

    dataset: str
    what: str
    measured: float
    limit: float
    unit: str
    against: str

    @property
    def is_met(self) -> bool:
        return self.measured <= self.limit


def bars(results: Results) -> list[Bar]:
    """All that the results allow to judge."""
    found: list[Bar] = []
    linux = results.medians("linux")
    reference = linux.get("bupstash", {}).get("first")
    factor = dated.scale(reference.wall) if reference else None
    for name in ("linux", "image", "half", "small", "small200"):
        medians = results.medians(name)
        if COPAL in medians:
            found += Judge(name, medians, factor).bars()
    return found


class Judge:
    """Judges one data set."""

    def __init__(self, dataset: str, medians: Medians, factor: float | None):
        self.dataset, self.ours, self.factor = dataset, medians[COPAL], factor
        references = {tool.name for tool in tools() if tool.is_reference}
        self.peers = {tool: rows for tool, rows in medians.items() if tool != COPAL and tool not in references}
        self.references = {tool: rows for tool, rows in medians.items() if tool in references}

    def bars(self) -> list[Bar]:
        found: list[Bar | None] = []
        later = [step for step in self.ours if step.startswith("version ")]
        if self.dataset == "linux":
            found += [self.wall("first", 0.65), self.wall("first", 0.5, "first (aim)"), self.wall("version 2", 0.5)]
            found += [self.wall("unchanged", 0.5), self.against_walk(), self.wall("restore", 0.6), self.after_increments()]
            found += [self.wall("check", 0.3)]
            found += [self.size(step) for step in ["first", *later]]
        elif self.dataset == "image":
            found += [self.wall("first", 0.6), *(self.wall(step, 0.6) for step in later), self.size("first")]
            found += [self.size(step) for step in later]
        elif self.dataset == "half":
            found += [self.wall("first", 0.6), *(self.wall(step, 0.6) for step in later), self.wall("restore", 0.6)]
            found += [self.growth(later[-1])] if later else []
        else:
            found += [self.wall("first", 0.5), self.wall("unchanged", 0.5), self.wall("restore", 0.5), self.content()]
        found += [self.memory()]
        return [bar for bar in found if bar]

    def wall(self, step: str, share: float, title: str = "") -> Bar | None:
        """At most this share of the fastest peer's time."""
        if step not in self.ours:
            return None
        times = {tool: rows[step].wall for tool, rows in self.peers.items() if step in rows}
        for tool, seconds in dated.WALL.get(self.dataset, {}).get(step, {}).items():
            if tool not in self.peers and self.factor:
                times[f"{tool}, dated, scaled by {self.factor:.2f}"] = seconds * self.factor
        if not times:
            return None
        fastest = min(times, key=times.__getitem__)
        against = f"{share} × {times[fastest]:.2f} ({fastest})"
        return Bar(self.dataset, title or step, self.ours[step].wall, share * times[fastest], "s", against)

    def against_walk(self) -> Bar | None:
        walk = self.references.get("walk", {}).get("unchanged")
        if not walk or "unchanged" not in self.ours:
            return None
        return Bar(self.dataset, "unchanged, against the walk", self.ours["unchanged"].wall, 2.5 * walk.wall, "s", f"2.5 × {walk.wall:.2f}")

    def after_increments(self) -> Bar | None:
        """The restore after the increments, against that of the first."""
        before, after = self.ours.get("restore of the first"), self.ours.get("restore")
        if not before or not after:
            return None
        return Bar(self.dataset, "restore after increments", after.wall, 1.2 * before.wall, "s", f"1.2 × {before.wall:.2f} (copal, first)")

    def size(self, step: str) -> Bar | None:
        sizes = {tool: rows[step].repository for tool, rows in self.peers.items() if step in rows}
        return self._below(f"repository after {step}", self.ours.get(step), lambda row: row.repository, sizes)

    def growth(self, last: str) -> Bar | None:
        sizes = {
            tool: rows[last].repository - rows["first"].repository
            for tool, rows in self.peers.items()
            if last in rows and "first" in rows
        }
        return self._below("growth", self.ours.get(last), lambda row: row.repository - self.ours["first"].repository, sizes)

    def _below(self, what, row, value, others) -> Bar | None:
        if not row or not others:
            return None
        least = min(others, key=others.__getitem__)
        return Bar(self.dataset, what, value(row), others[least], "MB", f"{others[least]:.1f} ({least})")

    def content(self) -> Bar | None:
        """The repository of many small files: their content and 24 bytes for each entry."""
        files = {"small": 500_000, "small200": 200_000}[self.dataset]
        limit = (100 * files + 24 * (files + files // 2)) / 1e6
        return Bar(self.dataset, "repository", self.ours["first"].repository, limit, "MB", "content + 24 B per entry")

    def memory(self) -> Bar:
        limit = 200 if self.dataset.startswith("small") else 300
        peak = max(row.peak for row in self.ours.values())
        return Bar(self.dataset, "peak memory of all steps", peak, limit, "MB", f"{limit}")
