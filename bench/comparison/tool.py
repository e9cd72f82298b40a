"""The tools, and how each is used: `r` is the repository, `d` the source, `out` an empty directory, `n` a snapshot's name."""

import dataclasses
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable

SECRET = "measured"

Command = list[str]


@dataclasses.dataclass
class Tool:
    """How to use a tool. A step that is None cannot be done with it. References are no peers: no bar is set by them."""

    name: str
    program: str
    version: Command
    init: Callable[[str], Command]
    backup: Callable[[str, str, str], Command]
    restore: Callable[[str, str, str, str], Command] | None
    check: Callable[[str, str], Command] | None
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    is_reference: bool = False

    def is_there(self) -> bool:
        return shutil.which(self.program) is not None

    def version_line(self) -> str:
        """What the tool calls itself, and the start of its program's SHA-256: builds of one version differ."""
        with open(shutil.which(self.program) or self.program, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:8]
        done = subprocess.run(self.version, capture_output=True, text=True, check=False)
        lines = (done.stdout or done.stderr).strip().splitlines()
        return f"{lines[0] if lines else self.name} ({digest})"



def shell(line: str) -> Command:
    return ["sh", "-c", line]


def tools() -> list[Tool]:
    """All of them, in the order in which they are measured."""
    return [
        Tool(
            "copal", "copal", ["copal", "version"],
            lambda r: ["copal", "-q", "-r", r, "init"],
            lambda r, d, n: ["copal", "-q", "-r", r, "backup", d],
            lambda r, d, out, n: ["copal", "-q", "-r", r, "restore", f"latest:{d}", "--target", out],
            lambda r, n: ["copal", "-q", "-r", r, "check", "--read-data"],
            {"COPAL_PASSWORD": SECRET},
        ),
        Tool(
            "bupstash", "bupstash", ["bupstash", "version"],
            lambda r: shell(f"bupstash new-key -o '{r}.key' && bupstash init -r '{r}'"),
            # Without --xattrs, which it does not save by itself and which makes it slower.
            lambda r, d, n: ["bupstash", "put", "-q", "--compression", "zstd:3", "-k", f"{r}.key", "-r", r, f"version={n}", d],
            lambda r, d, out, n: ["bupstash", "restore", "-q", "-k", f"{r}.key", "-r", r, "--into", out, f"version={n}"],
            # It has no check: reading a snapshot whole is the nearest.
            lambda r, n: shell(f"bupstash get -q -k '{r}.key' -r '{r}' version={n} >/dev/null"),
        ),
        Tool(
            "rustic", "rustic", ["rustic", "--version"],
            lambda r: ["rustic", "-r", r, "init"],
            lambda r, d, n: ["rustic", "-r", r, "backup", d],
            lambda r, d, out, n: ["rustic", "-r", r, "restore", f"latest:{d}", out],
            lambda r, n: ["rustic", "-r", r, "check", "--read-data"],
            {"RUSTIC_PASSWORD": SECRET, "RUSTIC_NO_PROGRESS": "true", "RUSTIC_LOG_LEVEL": "error"},
        ),
        Tool(
            "restic", "restic", ["restic", "version"],
            lambda r: ["restic", "-q", "-r", r, "init"],
            lambda r, d, n: ["restic", "-q", "-r", r, "backup", d],
            lambda r, d, out, n: ["restic", "-q", "-r", r, "restore", f"latest:{d}", "--target", out],
            lambda r, n: ["restic", "-q", "-r", r, "check", "--read-data"],
            {"RESTIC_PASSWORD": SECRET, "RESTIC_PROGRESS_FPS": "0.01"},
        ),
        Tool(
            "borg", "borg", ["borg", "--version"],
            lambda r: ["borg", "init", "-e", "repokey-blake2", r],
            lambda r, d, n: ["borg", "create", "-C", "zstd,3", f"{r}::{n}", d],
            lambda r, d, out, n: shell(f"cd '{out}' && borg extract '{r}::{n}'"),
            lambda r, n: ["borg", "check", "--verify-data", r],
            {"BORG_PASSPHRASE": SECRET},
        ),
        Tool(
            "tar | zstd -3", "zstd", ["zstd", "--version"],
            lambda r: ["mkdir", r],
            lambda r, d, n: shell(f"tar -cf - -C '{d}' . | zstd -q -3 -T1 -o '{r}/{n}.tar.zst'"),
            lambda r, d, out, n: shell(f"zstd -qdc '{r}/{n}.tar.zst' | tar -xf - -C '{out}'"),
            None,
            is_reference=True,
        ),
        Tool(
            "rsync", "rsync", ["rsync", "--version"],
            lambda r: ["mkdir", r],
            lambda r, d, n: ["rsync", "-aHAX", "--delete", f"{d}/", f"{r}/"],
            lambda r, d, out, n: ["rsync", "-aHAX", f"{r}/", f"{out}/"],
            None,
            is_reference=True,
        ),
        Tool(
            "walk", "statwalk", ["echo", "statwalk"],
            lambda r: ["mkdir", r],
            lambda r, d, n: ["statwalk", d],
            None,
            None,
            is_reference=True,
        ),
    ]


def selected(names: str) -> list[Tool]:
    """Those of these names (all, if empty) that are installed. A name that is not known is an error."""
    all_tools = tools()
    known = {tool.name for tool in all_tools}
    wanted = set(names.split(",")) if names else known
    if wanted - known:
        raise SystemExit(f"no such tool: {', '.join(sorted(wanted - known))}; known are {', '.join(sorted(known))}")
    return [tool for tool in all_tools if tool.name in wanted and tool.is_there()]


def environment(tool: Tool, home: str) -> dict[str, str]:
    """Nothing of the user's own settings reaches the tool."""
    places = {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config"}
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": home, **places, **tool.environment}
