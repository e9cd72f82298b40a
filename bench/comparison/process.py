"""A command that is measured, with all processes it starts."""

import contextlib
import dataclasses
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time

PAGE = os.sysconf("SC_PAGE_SIZE")
PERIOD = 0.05


class Failed(Exception):
    """The command ended with an error."""


@dataclasses.dataclass
class Usage:
    """Wall and processor seconds; the peak of the memory of the tree in megabytes."""

    wall: float
    cpu: float
    peak: float


def measure(words: list[str], environment: dict[str, str], directory: str) -> Usage:
    """Runs a command to its end. Processor time is the kernel's account of the process and all descendants it waited for;
    memory is the largest sum over the tree that was seen, at twenty samples a second, or what the kernel noted as the peak
    of the largest process, if that is more. The kernel's note begins with the memory of this script, from which the command
    was started: a note that is no more than that tells nothing."""
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        child = subprocess.Popen(
            words, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            start_new_session=True,
        )
        seen = [0]
        ended = threading.Event()
        sampler = threading.Thread(target=_sample, args=(child.pid, seen, ended))
        sampler.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            # Stopped: what is mounted can only be unmounted when nobody uses it.
            os.killpg(child.pid, signal.SIGKILL)
            os.wait4(child.pid, 0)
            raise
        finally:
            wall = time.monotonic() - start
            ended.set()
            sampler.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            raise Failed(f"{' '.join(words)} ended with {child.returncode}: {errors.read()[-500:].decode(errors='replace')}")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = max(seen[0] * PAGE, used.ru_maxrss * 1024 if used.ru_maxrss > own else 0) / 1e6
    return Usage(wall, used.ru_utime + used.ru_stime, peak)


def _sample(pid: int, seen: list[int], ended: threading.Event) -> None:
    while not ended.wait(PERIOD):
        seen[0] = max(seen[0], sum(_resident(process) for process in _tree(pid)))


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as children:
                    found.extend(int(child) for child in children.read().split())
    return found


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1])
    except (OSError, IndexError):
        return 0
