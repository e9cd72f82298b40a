"""Runs the scripted session in wasmtime and prints its report: run.py <module>"""

import sys

from wasmtime import Engine, Instance, Module, Store

engine = Engine()
store = Store(engine)
with open(sys.argv[1], "rb") as file:
    exports = Instance(store, Module(engine, file.read()), []).exports(store)
start = exports["copal_session_report"](store)
end = start + exports["copal_session_length"](store)
sys.stdout.buffer.write(exports["memory"].read(store, start, end))
