"""Numbers of peers that could not be had, taken on another machine of 2 cores, with data of the same kind."""

# data set -> step -> tool -> wall seconds; then the repository's megabytes after the step, where they are known
WALL = {
    "linux": {
        "first": {"bupstash": 4.7, "restic": 9.1, "kopia": 8.4, "rustic": 13.9, "borg": 16.1},
        "unchanged": {"bupstash": 0.65, "kopia": 1.0, "restic": 2.6},
        "version 2": {"kopia": 1.6, "duplicacy": 1.6, "restic": 2.9},
        "restore": {"bupstash": 5.5, "rustic": 6.6, "restic": 7.9},
        "check": {"bupstash": 2.4, "rustic": 2.9},
    },
    "image": {"first": {"rustic": 5.9}, "version 2": {"restic": 4.5}},
    "half": {"first": {"bupstash": 1.9, "borg": 2.8, "rustic": 2.8, "restic": 4.2}},
    "small200": {"first": {"duplicacy": 5.5, "restic": 8.5}, "unchanged": {"bupstash": 3.7}, "restore": {"bupstash": 13.3}},
}

REFERENCE = ("linux", "first", "bupstash")


def scale(measured: float) -> float:
    """How much slower this machine is, by bupstash's first backup of the Linux sources."""
    dataset, step, tool = REFERENCE
    return measured / WALL[dataset][step][tool]
