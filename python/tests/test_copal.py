"""The package against the `copal` command, which COPAL names: what one saves, the other restores."""

import inspect
import io
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import copal
import pytest

PASSWORD = "correct horse"


class Machine:
    """A machine with folders of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.repository = folder / "repository"
        self.source = folder / "source"
        self.places = {"state_dir": folder / "state", "cache_dir": folder / "cache"}
        self.source.mkdir()

    def command(self, *arguments):
        given = {"COPAL_PASSWORD": PASSWORD, "HOME": str(self.folder), "PATH": os.environ["PATH"], "COPAL_HOST": "it"}
        where = ["-r", self.repository, "--state-dir", self.places["state_dir"], "--cache-dir", self.places["cache_dir"]]
        run = [os.environ["COPAL"], *where, *arguments]
        return subprocess.run(run, env=given, check=True, capture_output=True, text=True).stdout

    def create(self):
        return copal.create(self.repository, password=PASSWORD, host="it", **self.places)[0]

    def open(self):
        return copal.open(self.repository, password=PASSWORD, host="it", **self.places)

    def within(self, name):
        return str(self.source / name).lstrip("/")


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def noise(length):
    return random.Random(7).randbytes(length)


def test_the_command_restores_what_python_saves(machine):
    (machine.source / "letter").write_bytes(b"Dear reader")
    (machine.source / "film").write_bytes(noise(3_000_000))
    (machine.source / "left.tmp").write_bytes(b"not this")
    repository, code = copal.create(machine.repository, password=PASSWORD, host="it", **machine.places)
    saved = repository.backup([machine.source], tags=["python"], label="letters", excludes=["*.tmp"])
    assert (saved.files, saved.bytes, saved.troubles) == (2, 3_000_011, [])
    assert saved.bytes_stored > 3_000_000
    again = repository.backup([machine.source], label="letters", excludes=["*.tmp"], skip_if_unchanged=True)
    assert again.snapshot is None
    machine.command("check", "--full")
    machine.command("restore", "latest", "--target", machine.folder / "out")
    out = machine.folder / "out" / machine.within("")
    assert sorted(os.listdir(out)) == ["film", "letter"]
    assert (out / "film").read_bytes() == noise(3_000_000)
    told = json.loads(machine.command("--json", "snapshots"))
    assert [(one["id"], one["tags"]) for one in told] == [(saved.snapshot, ["python"])]
    assert copal.open(machine.repository, recovery_code=code, **machine.places).id == repository.id


def test_python_lists_reads_and_restores_what_the_command_saves(machine):
    film = noise(2_000_000)
    (machine.source / "a").mkdir()
    (machine.source / "a" / "film").write_bytes(film)
    odd = os.fsdecode(b"caf\xe9")
    (machine.source / "a" / odd).write_bytes(b"odd")
    (machine.source / "link").symlink_to("a/film")
    machine.command("init")
    machine.command("backup", machine.source, "--tag", "command")
    snapshot = machine.open().snapshot()
    assert (snapshot.host, snapshot.tags, snapshot.paths) == ("it", ["command"], [machine.within("").rstrip("/")])
    assert snapshot.counts == (2, 2_000_003) and abs(snapshot.time_ns / 1e9 - time.time()) < 600
    assert [entry.path for entry in snapshot.list(machine.within("a"))] == [machine.within("a/" + odd), machine.within("a/film")]
    assert machine.within("link") in [entry.path for entry in snapshot.walk()]
    link = snapshot.entry("/" + machine.within("link"))
    assert (link.kind, link.target, link.uid) == ("symlink", "a/film", os.getuid())

    with snapshot.open(machine.within("a/film")) as file:
        assert isinstance(file, io.BufferedReader) and file.read() == film
        for at in (1_999_990, 5, 1_000_000):
            assert file.seek(at) == at and file.read(20) == film[at : at + 20]
        assert file.seek(-4, io.SEEK_END) == 1_999_996 and file.read() == film[-4:]
        with pytest.raises(OSError):
            file.seek(-1)
    with pytest.raises(ValueError):
        file.read(1)

    done = snapshot.restore(machine.folder / "out", path=machine.within("a"), verify=True)
    assert (done.files, done.troubles, done.is_damaged) == (2, [], False)
    assert (machine.folder / "out" / odd).read_bytes() == b"odd"
    assert snapshot.restore(machine.folder / "out", path=machine.within("a")).files_unchanged == 2


def test_a_stream_is_saved_as_it_comes(machine):
    repository, dump = machine.create(), noise(5_000_000)
    assert repository.backup_stream("shop.sql", io.BytesIO(dump)).files == 1
    assert repository.snapshot().open("shop.sql").read() == dump
    machine.command("restore", "latest:shop.sql", "--target", machine.folder / "out")
    assert (machine.folder / "out" / "shop.sql").read_bytes() == dump

    class Fails:
        def read(self, size):
            raise RuntimeError("the dump broke off")

    class Talks:
        def read(self, size):
            return "text"

    for stream, why in [(Fails(), "the dump broke off"), (Talks(), "no bytes"), (io.BytesIO(), "empty")]:
        with pytest.raises(copal.Refused, match=why):
            repository.backup_stream("shop.sql", stream)
    assert len(repository.snapshots()) == 1


def test_exceptions_tell_what_a_program_may_do(machine):
    with pytest.raises(copal.NotFound, match="nothing at"):
        machine.open()
    repository = machine.create()
    with pytest.raises(copal.WrongSecret):
        copal.open(machine.repository, password="another", **machine.places)
    for bad in ({}, {"password": "a", "key_file": "b"}, {"password": ""}, {"recovery_code": "x"}):
        with pytest.raises(ValueError):
            copal.open(machine.repository, **bad, **machine.places)
    with pytest.raises(copal.Refused):
        machine.create()
    with pytest.raises(copal.NotFound):
        repository.snapshot()
    with pytest.raises(copal.Refused):
        repository.backup([machine.source / "nothing"])
    (machine.source / "film").write_bytes(noise(200_000))
    repository.backup([machine.source])
    with pytest.raises(copal.NotFound, match="nothing"):
        repository.snapshot().open("nothing")
    with pytest.raises(copal.Refused):
        repository.snapshot().open(machine.within(""))
    assert all(issubclass(kind, copal.CopalError) for kind in (copal.NotFound, copal.Damaged, copal.StoreFailed))


def test_damage_is_found_without_a_key_and_raised_where_it_is_read(machine):
    (machine.source / "film").write_bytes(noise(200_000))
    machine.create().backup([machine.source])
    assert copal.verify(machine.repository) == []
    packs = [path for path in (machine.repository / "packs").rglob("*") if path.is_file()]
    pack = max(packs, key=lambda path: path.stat().st_size)
    harmed = bytearray(pack.read_bytes())
    harmed[1000] ^= 1
    pack.unlink()
    pack.write_bytes(harmed)
    assert copal.verify(machine.repository, read_data=False) == []
    findings = copal.verify(machine.repository)
    assert [(pack.name in finding.object, finding.kind) for finding in findings] == [(True, "damaged")]
    with machine.open().snapshot().open(machine.within("film")) as file, pytest.raises(copal.Damaged, match="film"):
        file.read()


def test_others_run_meanwhile_and_ctrl_c_ends_it(machine):
    repository = machine.create()
    # What a script starts in its background inherits that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began, ticks = threading.Event(), []

    class Endless:
        def read(self, size):
            began.set()
            time.sleep(0.001)
            return bytes(min(size, 4096))

    def press():
        began.wait()
        # The interpreter is free while the backup runs: this thread goes on.
        for _ in range(10):
            ticks.append(time.monotonic())
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        repository.backup_stream("endless", Endless())
    presser.join()
    assert len(ticks) == 10 and repository.snapshots() == []


def test_ctrl_c_ends_at_once_what_waits_for_a_server_that_does_not_answer(machine):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for call, given in [(copal.open, {"password": PASSWORD}), (copal.verify, {})]:
            began = time.monotonic()
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                call(gateway, **given, **machine.places)
            assert time.monotonic() - began < 5


def test_the_stubs_name_what_is_there():
    stub = (Path(copal.__file__).parent / "__init__.pyi").read_text()
    for name in copal.__all__:
        assert f"class {name}" in stub or f"def {name}(" in stub, name
        thing = getattr(copal, name)
        if inspect.isclass(thing) and not issubclass(thing, (Exception, io.IOBase)):
            body = stub.split(f"class {name}")[1].split("\nclass ")[0].split("\ndef ")[0]
            named = {word.split("(")[0] for word in body.split("def ")[1:]}
            own = {member for member in vars(thing) if not member.startswith("_") or member in ("__iter__", "__next__")}
            assert named == own, name
