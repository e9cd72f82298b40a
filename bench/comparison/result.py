"""What was measured: one line of JSON for each run, appended as soon as it is over, and the medians of them."""

import dataclasses
import json
import os
import statistics

from .series import Row


@dataclasses.dataclass
class Run:
    """One run of one tool on one data set."""

    dataset: str
    tool: str
    version: str
    number: int
    seconds: float
    rows: list[Row]
    failed: str


class Results:
    """The file of runs."""

    def __init__(self, path: str):
        self.path = path
        self.runs: list[Run] = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    fields = json.loads(line)
                    fields["rows"] = [Row(**row) for row in fields["rows"]]
                    self.runs.append(Run(**fields))

    def add(self, run: Run) -> None:
        self.runs.append(run)
        with open(self.path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(dataclasses.asdict(run)) + "\n")

    def has(self, dataset: str, tool: str, version: str, number: int) -> bool:
        """Whether this run is over and all its steps were done."""
        key = (dataset, tool, version, number)
        return any((run.dataset, run.tool, run.version, run.number) == key and not run.failed for run in self.runs)

    def medians(self, dataset: str) -> dict[str, dict[str, Row]]:
        """For each tool and step the medians over its whole runs, of the version that was measured last."""
        found: dict[str, dict[str, Row]] = {}
        newest = {run.tool: run.version for run in self.runs if run.dataset == dataset}
        for tool, version in newest.items():
            runs = [run for run in self.runs if (run.dataset, run.tool, run.version) == (dataset, tool, version)]
            runs = [run for run in runs if not run.failed] or runs
            steps = dict.fromkeys(row.step for run in runs for row in run.rows)
            found[tool] = {step: _median([row for run in runs for row in run.rows if row.step == step]) for step in steps}
        return found

    def count(self, dataset: str, tool: str) -> int:
        return sum(1 for run in self.runs if (run.dataset, run.tool) == (dataset, tool) and not run.failed)

    def failures(self) -> list[Run]:
        """Runs that ended early and were not made good by a later one."""
        return [run for run in self.runs if run.failed and not self.has(run.dataset, run.tool, run.version, run.number)]


def _median(rows: list[Row]) -> Row:
    numbers = {
        field.name: statistics.median(getattr(row, field.name) for row in rows)
        for field in dataclasses.fields(Row)
        if field.name != "step"
    }
    return Row(step=rows[0].step, **numbers)
