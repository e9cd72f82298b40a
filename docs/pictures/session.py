#!/usr/bin/env python3
"""Draws a terminal session with the command as an SVG: each line is typed in a terminal of its own, and shown as it was said.

usage: session.py COPAL [--check], where COPAL is the built command. With --check nothing is written: the exit code says
whether session.svg shows what the command says today, but for ids, numbers, times and the recovery code.
"""

import fcntl
import html
import os
import pty
import random
import re
import select
import shutil
import signal
import string
import struct
import sys
import termios
import time
from pathlib import Path

PICTURE = Path(__file__).with_name("session.svg")
COLUMNS, ROW, CHARACTER, MARGIN, BAR = 108, 19, 8.4, 18, 34
PASSPHRASE = "a harbour in winter"
# What only a build for tests says.
WITHOUT = "this program was built without the reader"
PROMPTS = (b"New passphrase: ", b"The same again: ")
SCRIPT = """\
copal init
copal backup ~/Documents
rm ~/Documents/recipes/soup.txt
copal backup ~/Documents
copal snapshots
copal restore latest:recipes/soup.txt --target ~/Documents/recipes
copal check --read-data
"""


def folder(length):
    """A new folder whose path is so long: what stands for it in the picture moves no column."""
    while True:
        path = Path("/tmp/" + "".join(random.choices(string.ascii_lowercase, k=length - len("/tmp/"))))
        try:
            path.mkdir(mode=0o700)
            return path
        except FileExistsError:
            pass


def say(line, environment, home):
    """Types a line in a terminal; gives what is on the screen when it has ended."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(home)
        os.execve("/bin/bash", ["bash", "-c", line], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    said = b""
    while True:
        if not select.select([terminal], [], [], 60)[0]:
            os.kill(process, signal.SIGKILL)
            sys.exit(f"{line}: nothing for a minute after {said.decode()}")
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
        if said.endswith(PROMPTS):
            # It asks before it turns off the echo.
            while termios.tcgetattr(terminal)[3] & termios.ECHO:
                time.sleep(0.01)
            os.write(terminal, PASSPHRASE.encode() + b"\n")
    ended = os.waitpid(process, 0)[1]
    # Not before: it would hang up on a process that is about to end.
    os.close(terminal)
    if ended != 0:
        sys.exit(f"{line}: {said.decode()}")
    lines = [line for line in said.decode().replace("\r\n", "\n").split("\n") if WITHOUT not in line]
    # What was drawn over is gone.
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line.rsplit("\r", 1)[-1]).rstrip() for line in lines]


def session(copal):
    """Every line of the session, those that are typed with their prompt."""
    home, disk = folder(len("/home/ada")), folder(len("/media/disk"))
    try:
        (home / "bin").mkdir()
        (home / "bin/copal").symlink_to(copal.resolve())
        for name, size in [("letter.txt", 2_000), ("recipes/bread.txt", 3_000), ("recipes/soup.txt", 4_000), ("harbour.jpg", 4_800_000)]:
            (home / "Documents" / name).parent.mkdir(parents=True, exist_ok=True)
            (home / "Documents" / name).write_bytes(random.Random(name).randbytes(size))
        environment = {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", "TERM": "xterm", "TZ": "UTC", "LANG": "C.UTF-8"}
        environment |= {"COPAL_REPOSITORY": f"{disk}/backup", "COPAL_HOST": "laptop", "COLUMNS": str(COLUMNS)}
        shown = []
        for line in SCRIPT.splitlines():
            said = say(line, environment, home)
            while said and not said[-1]:
                said.pop()
            shown += ["$ " + line, *said, ""]
            # One passphrase is asked for in the picture; a machine that keeps it in a file is not asked again.
            (home / "passphrase").write_text(PASSPHRASE)
            environment["COPAL_PASSWORD_FILE"] = str(home / "passphrase")
        return [line.replace(str(home), "/home/ada").replace(str(disk), "/media/disk") for line in shown[:-1]]
    finally:
        shutil.rmtree(home)
        shutil.rmtree(disk)


def drawn(lines):
    """The picture. Lines come one after the other; where nothing moves, all are there."""
    height, width = BAR + ROW * len(lines) + MARGIN, round(2 * MARGIN + COLUMNS * CHARACTER)
    rows, when = [], 0.0
    for at, line in enumerate(lines):
        typed = line.startswith("$ ")
        when += 0.06 if not typed else 0.6 if at else 0.0
        text = html.escape(line)
        if typed:
            text = f'<tspan class="p">$</tspan> <tspan class="c">{html.escape(line[2:])}</tspan>'
        rows.append(f'<text x="{MARGIN}" y="{BAR + ROW * (at + 1) - 5}" style="animation-delay:{when:.2f}s">{text}</text>')
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>A session with copal</title>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d5e0da; white-space: pre; animation: wait 1ms backwards; }}
.p {{ fill: #74c8a6; }} .c {{ fill: #fff; font-weight: 600; }}
@keyframes wait {{ from, to {{ opacity: 0; }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none; }} }}
</style>
<rect width="{width}" height="{height}" rx="10" fill="#14201b"/>
<circle cx="22" cy="18" r="6" fill="#3d5a4d"/><circle cx="42" cy="18" r="6" fill="#3d5a4d"/><circle cx="62" cy="18" r="6" fill="#3d5a4d"/>
{chr(10).join(rows)}
</svg>
"""


def same(picture):
    """What two runs of one session have in common."""
    text = html.unescape(re.sub(r"<[^>]+>", "", picture.split("</style>")[1]))
    text = re.sub(r"copal-recovery-1-\S+", "CODE", text)
    text = re.sub(r"\b[0-9a-f]{8,}\b", "ID", text)
    text = re.sub(r"\d+(\.\d+)?( (ms|s|[KM]iB|B)\b)?", "N", text)
    return re.sub(r"[ -]+", " ", text).splitlines()


def main():
    """Writes the picture, or checks it; gives the exit code."""
    picture = drawn(session(Path(sys.argv[1])))
    if sys.argv[2:] != ["--check"]:
        PICTURE.write_text(picture)
        return 0
    there, now = same(PICTURE.read_text()), same(picture)
    for old, new in zip(there, now):
        if old != new:
            print(f"session.svg shows {old!r}, the command says {new!r}: run {Path(__file__).name} once more")
    return 0 if there == now else 1


if __name__ == "__main__":
    sys.exit(main())
