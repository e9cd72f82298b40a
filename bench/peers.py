#!/usr/bin/env python3
"""Compares Copal with its peers: time, processor time, memory and repository size, on data made or found on this machine.

    bench/peers.py prepare --linux DIR          makes the data sets once (root; about 25 GB)
    bench/peers.py run --runs 3                 measures, and writes results.jsonl, results.json and results.md
    bench/peers.py report                       writes the tables again

DIR holds versions of the Linux sources, one directory each, in the order of their names. Tools are looked for on PATH (copal: target/release, walk:
`statwalk` of this folder's Rust package); what is not there is left out, and numbers of other peers stand in the bars as dated. `run` may be stopped and
started again: it takes up what is missing. Runs of the tools alternate. Each run has a home, a cache and a repository of its own, on a machine where
everything is in the page cache; `sync` goes before each step, and restores go to an ext4 that was made for it.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time

from comparison import tool as tools
from comparison.bar import bars
from comparison.dataset import datasets, warm
from comparison.result import Results, Run
from comparison.series import Series
from comparison.table import markdown

ONCE = "borg,tar | zstd -3,rsync,rustic@small,restic@small"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "report"])
    parser.add_argument("--place", default="/var/tmp/copal-peers", help="where data, work and results are (%(default)s)")
    parser.add_argument("--linux", default="", help="directory of versions of the Linux sources")
    parser.add_argument("--versions", type=int, default=6, help="how many of them, at most (%(default)s)")
    parser.add_argument("--data", default="linux,image,half,small", help="data sets, by name (%(default)s; also small200)")
    parser.add_argument("--only", default="", help="tools, by name")
    parser.add_argument("--runs", type=int, default=3, help="runs of each tool (%(default)s)")
    parser.add_argument("--once", default=ONCE, help="tools that run only once, everywhere or at one data set (%(default)s)")
    parser.add_argument("--minutes", type=float, default=0, help="start nothing after this time")
    parser.add_argument("--scale", type=float, default=1, help="make the data smaller, to try the script")
    options = parser.parse_args()
    if options.what != "report" and os.geteuid() != 0:
        parser.error("file systems are made and mounted: this needs root")
    # However it is stopped: what is mounted is unmounted, and what is made in part goes away.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("stopped; start again to go on"))
    place = os.path.join(options.place, "" if options.scale == 1 else f"scale-{options.scale}")
    os.makedirs(place, exist_ok=True)
    results = Results(os.path.join(place, "results.jsonl"))
    if options.what == "prepare":
        for dataset in chosen(options):
            dataset.prepare(os.path.join(place, "data"))
    elif options.what == "run":
        measure(options, place, results)
    report(place, results)


def chosen(options: argparse.Namespace):
    versions = []
    if options.linux:
        names = sorted(os.listdir(options.linux))[: options.versions]
        versions = [version(os.path.realpath(os.path.join(options.linux, name))) for name in names]
    found = {dataset.name: dataset for dataset in datasets(versions or ["?"] * options.versions, options.scale)}
    unknown = set(options.data.split(",")) - set(found)
    if unknown:
        raise SystemExit(f"no such data set: {', '.join(sorted(unknown))}; known are {', '.join(found)}")
    return [found[name] for name in options.data.split(",")]


def version(directory: str) -> str:
    """The directory itself, or the only one in it, as packages unpack."""
    names = os.listdir(directory)
    below = os.path.join(directory, names[0])
    return below if len(names) == 1 and os.path.isdir(below) else directory


def measure(options: argparse.Namespace, place: str, results: Results) -> None:
    started = time.monotonic()
    work = os.path.join(place, "work")
    os.makedirs(work, exist_ok=True)
    for dataset in chosen(options):
        data = os.path.join(place, "data")
        missing = [state for state in dataset.states(data) if not os.path.exists(state)]
        if missing:
            print(f"{dataset.name}: {missing[0]} is not there; run prepare")
            continue
        selected = tools.selected(options.only)
        versions = {tool.name: tool.version_line() for tool in selected}
        # Whoever writes first after a pause finds memory that the host has taken back, and pays for it: everybody has that place in turn.
        turn = [selected[at:] + selected[:at] for at in range(len(selected))]
        planned = [(number, tool) for number in range(1, options.runs + 1) for tool in turn[(1 - number) % len(turn)]]
        once = {words.removesuffix(f"@{dataset.name}") for words in options.once.split(",")}
        planned = [(number, tool) for number, tool in planned if number == 1 or tool.name not in once]
        planned = [(number, tool) for number, tool in planned if not results.has(dataset.name, tool.name, versions[tool.name], number)]
        if not planned:
            continue
        with dataset.shown(data, work) as states:
            for state in states:
                warm(state)
            for number, tool in planned:
                if options.minutes and time.monotonic() - started > options.minutes * 60:
                    print("the time is over; start again to go on")
                    return
                begun = time.monotonic()
                rows, failed = Series(tool, dataset, states, work).run()
                seconds = time.monotonic() - begun
                results.add(Run(dataset.name, tool.name, versions[tool.name], number, seconds, rows, failed))
                steps = ", ".join(f"{row.step} {row.wall:.2f}" for row in rows)
                print(f"{dataset.name} {tool.name} {number}: {seconds:.0f} s; {steps}{'; FAILED ' + failed if failed else ''}", flush=True)


def machine() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = {line.split(":", 1)[1].strip() for line in file if line.startswith("model name")}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} × {', '.join(names)}, {memory:.0f} GiB of memory, {platform.system()} {platform.release()}; {time.strftime('%Y-%m-%d')}"


def report(place: str, results: Results) -> None:
    if not results.runs:
        return
    with open(os.path.join(place, "results.md"), "w", encoding="utf-8") as file:
        file.write(markdown(results, machine()))
    medians = {
        dataset: {tool: [vars(row) for row in rows.values()] for tool, rows in results.medians(dataset).items()}
        for dataset in dict.fromkeys(run.dataset for run in results.runs)
    }
    judged = [{**vars(bar), "met": bar.is_met} for bar in bars(results)]
    with open(os.path.join(place, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"machine": machine(), "medians": medians, "bars": judged}, file, indent=1)
    print(f"written: {place}/results.md, {place}/results.json")


if __name__ == "__main__":
    main()
