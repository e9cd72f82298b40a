"""Proves the properties of engine/examples/proofs/ for all numbers: executes each one's machine code symbolically."""

import logging
import multiprocessing
import os
import re
import subprocess
import sys
import time

logging.disable(logging.ERROR)  # What angr says of its parts that are not there.
import angr
import claripy
import pydemumble
from angr import engines
from angr.concretization_strategies import SimConcretizationStrategy
from angr.engines.vex.claripy import ccall

NUMBERS = 6  # of a property
ADDRESSES_MOST = 4096  # that one access may have
BYTES_MOST = 4096  # that one copy of unknown length may have
SECONDS, PLANTED_SECONDS = 400, 15  # of processor time, for a property: the solver may need several times as long as usual
QUERY_MS = 120_000  # for a question to the solver
RETURN, MEMORY, GIVEN = 0x7000_0000, 0x6000_0000_0000, 0x5000_0000_0000

# The verdicts that planted properties must get.
BROKEN = "unchecked_sum unchecked_difference unchecked_product unchecked_seconds rounded_beyond wrong_slot borrowed_length"
PLANTED = {f"prover::{name}": "broken" for name in BROKEN.split()}
PLANTED |= {"prover::never_reached": "empty", "prover::endless_count": "undecided"}


class Every(SimConcretizationStrategy):
    """Takes every address that is possible. angr's own strategies would pick some, and prove nothing of the others."""

    def _concretize(self, memory, addr, **kwargs):
        addresses = self._eval(memory, addr, ADDRESSES_MOST + 1, **kwargs)
        return addresses if len(addresses) <= ADDRESSES_MOST else None


class Allocate(angr.SimProcedure):
    def run(self, size, align):
        return allocate(self.state, size)


class AllocateZeros(angr.SimProcedure):
    def run(self, size, align):
        start = allocate(self.state, size)
        self.state.memory.store(start, claripy.BVV(0, 8 * most(self.state, size)))
        return start


class Reallocate(angr.SimProcedure):
    def run(self, old, size, align, wanted):
        start = allocate(self.state, wanted)
        copy(self.state, start, old, size)
        return start


class Free(angr.SimProcedure):
    def run(self, start, size, align):
        pass


class Copy(angr.SimProcedure):
    def run(self, target, source, size):
        copy(self.state, target, source, size)
        return target


class Fill(angr.SimProcedure):
    def run(self, target, byte, size):
        put(self.state, target, [byte[7:0]] * most(self.state, size), size)
        return target


class Compare(angr.SimProcedure):
    def run(self, one, other, size):
        result = claripy.BVV(0, 32)
        for at in reversed(range(most(self.state, size))):
            a, b = self.state.memory.load(one + at, 1), self.state.memory.load(other + at, 1)
            differs = claripy.And(a != b, claripy.UGT(size, at))
            result = claripy.If(differs, a.zero_extend(24) - b.zero_extend(24), result)
        return result


def allocate(state, size):
    start = state.globals.get("next", MEMORY)
    state.globals["next"] = start + (state.solver.max(size) + 4095) // 4096 * 4096
    return start


def copy(state, target, source, size):
    put(state, target, [state.memory.load(source + at, 1) for at in range(most(state, size))], size)


def put(state, target, values, size):
    least = state.solver.min(size)
    for at, value in enumerate(values):
        if at >= least:
            value = claripy.If(claripy.UGT(size, at), value, state.memory.load(target + at, 1))
        state.memory.store(target + at, value)


def most(state, size):
    longest = state.solver.max(size)
    if longest > BYTES_MOST:
        raise angr.errors.SimError(f"up to {longest} bytes at once")
    return longest


def product_flags(state, nbits, one, other, ndep, platform=None):
    """The flags of an unsigned product. angr's own never say that it overflows."""
    product = one[nbits - 1 : 0].zero_extend(nbits) * other[nbits - 1 : 0].zero_extend(nbits)
    low, none = product[nbits - 1 : 0], claripy.BVV(0, 1)
    overflow = claripy.If(product[2 * nbits - 1 : nbits] != 0, claripy.BVV(1, 1), none)
    parity, zero = ccall.calc_paritybit(low), ccall.calc_zerobit(low)
    size = ccall.data[platform]["size"]
    return ccall.pc_make_rdata(size, overflow, parity, none, zero, low[nbits - 1], overflow, platform=platform)


ccall.pc_actions_UMUL = product_flags


class Engine(engines.SimEngineFailure, engines.SimEngineSyscall, engines.HooksMixin, engines.HeavyVEXMixin):
    """angr's engine without what proofs do not use. An instruction that it does not know is an error."""


class Program:
    """The program with all properties."""

    def __init__(self, path):
        self.path = path
        self.project = angr.Project(path, auto_load_libs=False, engine=Engine)
        symbols = self.project.loader.main_object.symbols
        self.names = {demangled(symbol.name): symbol.rebased_addr for symbol in symbols if symbol.is_function}
        for name, hook in {
            "__rust_alloc": Allocate, "__rust_alloc_zeroed": AllocateZeros, "__rust_realloc": Reallocate, "__rust_dealloc": Free,
        }.items():
            self.project.hook(self.names["__rustc::" + name], hook())
        for name, hook in {"memcpy": Copy, "memmove": Copy, "memset": Fill, "memcmp": Compare, "bcmp": Compare}.items():
            self.project.hook_symbol(name, hook())
        ends = r"core::panicking::panic_(nounwind_)?fmt|__rustc::(rust_begin_unwind|rust_panic)|std::process::abort"
        panics = r"core::panicking::panic_(nounwind_)?fmt|__rustc::(rust_begin_unwind|rust_panic)"
        self.ends = {address: "panicked" for name, address in self.names.items() if re.fullmatch(panics, name)}
        self.ends |= {RETURN: "holds", self.names["proofs::leave_out"]: "left out"}

    def state(self, name):
        numbers = [claripy.BVS(f"number{at}", 64, explicit_name=True) for at in range(NUMBERS)]
        options = {angr.options.SYMBOL_FILL_UNCONSTRAINED_MEMORY, angr.options.SYMBOL_FILL_UNCONSTRAINED_REGISTERS}
        state = self.project.factory.call_state(self.names[f"proofs::{name}"], GIVEN, ret_addr=RETURN, add_options=options)
        state.memory.read_strategies, state.memory.write_strategies = [Every()], [Every()]
        state.solver._solver.timeout = QUERY_MS
        for at, number in enumerate(numbers):
            state.memory.store(GIVEN + 8 * at, number, endness="Iend_LE")
        return state, numbers

    def explore(self, name, seconds):
        """Follows every path to its end, and raises if one has none. Gives how many returned, and the numbers of the
        first that panicked."""
        state, numbers = self.state(name)
        paths = self.project.factory.simulation_manager(state, save_unconstrained=True)
        deadline, returned = time.process_time() + seconds, 0
        while paths.active:
            if time.process_time() > deadline:
                raise TimeoutError(f"{len(paths.active)} paths have not ended after {seconds} s, {returned} have")
            paths.step()
            if paths.errored:
                raise paths.errored[0].error
            if paths.unconstrained or paths.deadended:
                raise angr.errors.SimError("a path leaves the program")
            going = []
            for path in paths.active:
                end = self.ends.get(path.addr)
                if end is None:
                    going.append(path)
                    continue
                given = [path.solver.eval(number) for number in numbers]
                code, said = self.run(name, given)
                if end not in said or (code == 0) != (end != "panicked"):
                    raise angr.errors.SimError(f"expected {end!r} for {given}, the processor says: {said}")
                if code != 0:
                    return returned, f"for {given}: {said}"
                returned += end == "holds"
            paths.active[:] = going
        return returned, None

    def run(self, name, numbers):
        """What the program itself does with these numbers."""
        quiet = os.environ | {"RUST_BACKTRACE": "0"}
        run = subprocess.run([self.path, name, *map(str, numbers)], capture_output=True, text=True, env=quiet)
        return run.returncode, " ".join((run.stdout + run.stderr).split("\nnote:")[0].split())

    def judge(self, name):
        """The verdict on a property, and why."""
        try:
            returned, counterexample = self.explore(name, PLANTED_SECONDS if name in PLANTED else SECONDS)
        except Exception as error:  # Whatever ends a proof early: nothing is proven.
            return "undecided", f"{type(error).__name__}: {error}"
        if counterexample:
            return "broken", counterexample
        return ("proven", f"{returned} paths") if returned else ("empty", "no numbers are left")


def demangled(name):
    return re.sub(r"::h[0-9a-f]{16}$", "", pydemumble.demangle(name))


def timed(name):
    start = time.process_time()
    return name, *program.judge(name), time.process_time() - start


if __name__ == "__main__":
    program = Program(sys.argv[1])
    names = subprocess.run([program.path], capture_output=True, text=True, check=True).stdout.split()
    names = [name for name in names if name in sys.argv[2:] or len(sys.argv) == 2]
    passed = 0
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for name, verdict, why, seconds in pool.imap_unordered(timed, names):
            is_ok = verdict == PLANTED.get(name, "proven")
            passed += is_ok
            print("ok    " if is_ok else "FAILED", f"{name} is {verdict}: {why} ({seconds:.1f} s)", flush=True)
    print(f"{passed} passed, {len(names) - passed} failed")
    sys.exit(passed < len(names) or not names)
