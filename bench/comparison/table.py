"""The results as Markdown."""

from .bar import Bar, bars
from .result import Results

TITLES = {
    "linux": "Linux sources",
    "image": "Disk image",
    "half": "Files of 200 kB, half random half zeros",
    "small": "500,000 files of 100 B in 250,000 directories",
    "small200": "200,000 files of 100 B in 100,000 directories",
}


def markdown(results: Results, machine: str) -> str:
    lines = [machine, ""]
    for dataset, title in TITLES.items():
        medians = results.medians(dataset)
        if not medians:
            continue
        lines += [f"### {title}", "", "| step | tool | wall s | CPU s | peak MB | repository MB | load | runs |"]
        lines.append("|---|---|---|---|---|---|---|---|")
        steps = dict.fromkeys(step for rows in medians.values() for step in rows)
        for step in steps:
            for tool, rows in medians.items():
                if step in rows:
                    row = rows[step]
                    cells = f"{row.wall:.2f} | {row.cpu:.2f} | {row.peak:.0f} | {row.repository:.1f} | {row.load:.1f}"
                    lines.append(f"| {step} | {tool} | {cells} | {results.count(dataset, tool)} |".replace("tar | zstd", "tar \\| zstd"))
        lines.append("")
    lines += ["### Bars", "", "| data | what | copal | limit | from | |", "|---|---|---|---|---|---|"]
    lines += [_bar(bar) for bar in bars(results)]
    versions = {run.tool: run.version for run in results.runs}
    lines += ["", "Versions: " + "; ".join(f"{tool}: {version}" for tool, version in versions.items()) + "."]
    failures = dict.fromkeys(f"{run.dataset}, {run.tool}, run {run.number}: {run.failed.strip()}" for run in results.failures())
    lines += ["", *(f"* failed: {failure}" for failure in failures)] if failures else []
    return "\n".join(lines) + "\n"


def _bar(bar: Bar) -> str:
    verdict = "met" if bar.is_met else "**missed**"
    return f"| {bar.dataset} | {bar.what} | {bar.measured:.2f} {bar.unit} | {bar.limit:.2f} {bar.unit} | {bar.against} | {verdict} |"
