"""Runs a program for WASI preview 1 in wasmtime, as the command of that name does, without anything but what is given:

    run.py [--dir PATH[::NAME] | --read PATH[::NAME]]... PROGRAM [ARGUMENT...]

A directory of --read cannot be changed. What wasmtime makes of the program is kept beside this Python, by the program's
hash, since that takes longer than most runs. A program that traps ends with exit code 134.
"""

import hashlib
import os
import sys

from wasmtime import Engine, ExitTrap, Linker, Module, Store, WasiConfig


def main(words):
    wasi = WasiConfig()
    while words[:1] in (["--dir"], ["--read"]):
        path, _, name = words[1].partition("::")
        wasi.preopen_dir(path, name or path, fs_mutable=words[0] == "--dir")
        words = words[2:]
    wasi.argv = words
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    engine = Engine()
    store = Store(engine)
    store.set_wasi(wasi)
    linker = Linker(engine)
    linker.define_wasi()
    start = linker.instantiate(store, compiled(engine, words[0])).exports(store)["_start"]
    try:
        start(store)
    except ExitTrap as exit:
        return exit.code
    except Exception as trap:
        print(f"trap: {trap}", file=sys.stderr)
        return 134
    return 0


def compiled(engine, file):
    with open(file, "rb") as program:
        program = program.read()
    kept = os.path.join(sys.prefix, hashlib.sha256(program).hexdigest() + ".compiled")
    if os.path.exists(kept):
        return Module.deserialize_file(engine, kept)
    module = Module(engine, program)
    unfinished = f"{kept}.{os.getpid()}"
    with open(unfinished, "wb") as out:
        out.write(module.serialize())
    os.replace(unfinished, kept)
    return module


sys.exit(main(sys.argv[1:]))
