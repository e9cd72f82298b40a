"""The comparison of what a program records about its crates with its inventory."""

import json, pathlib, struct, sys, zlib

from kit import Case, run

RECORDED = pathlib.Path(__file__).parents[2] / "packaging/recorded.py"
CRATES = [
    {"name": "copal-cli", "version": "0.1.0", "root": True},
    {"name": "zstd-sys", "version": "2.0.1", "kind": "runtime"},
    {"name": "cc", "version": "1.2.3", "kind": "build"},
]


class Inventory(Case):
    """A program for each format that a release has, and what it records."""

    def setUp(self):
        super().setUp()
        self.record = zlib.compress(json.dumps({"packages": CRATES}).encode())

    def elf(self):
        section, program = self.folder / "section", self.folder / "elf"
        section.write_bytes(self.record)
        run("objcopy", "--add-section", f".dep-v0={section}", sys.executable, program)
        return program

    def mach_o(self, name=b".dep-v0"):
        """A program of two load commands: one that is no segment, and a segment of two sections."""
        length = 72 + 2 * 80
        data = 32 + 16 + length
        header = struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 2, 2, 16 + length, 0, 0)
        other = struct.pack("<II8x", 0x1B, 16)
        segment = struct.pack("<II16s4Q4I", 0x19, length, b"__DATA", 0, 0, data, 0, 3, 3, 2, 0)
        sections = b""
        for section, size, start in [(b"__data", 4, data), (name, len(self.record), data + 4)]:
            sections += struct.pack("<16s16sQQI28x", section, b"__DATA", 0, size, start)
        program = self.folder / "mach-o"
        program.write_bytes(header + other + segment + sections + b"\1\2\3\4" + self.record + b"more")
        return program

    def compare(self, program, *listed):
        """The exit code for an inventory that lists these crates beside the program's own, and what is said."""
        components = [{"name": name, "version": version} for name, version in listed]
        inventory = self.folder / "inventory.json"
        inventory.write_text(json.dumps({"metadata": {"component": CRATES[0]}, "components": components}))
        ended = run(sys.executable, RECORDED, program, inventory, check=False)
        return ended.returncode, ended.stdout

    def test_an_inventory_that_lists_every_crate_in_a_program_passes_whatever_the_program_is_for(self):
        for program in [self.elf(), self.mach_o()]:
            code, said = self.compare(program, ("zstd-sys", "2.0.1"))
            self.assertEqual((code, "records 2 crates" in said), (0, True), said)

    def test_an_inventory_that_lacks_a_crate_is_refused(self):
        for program in [self.elf(), self.mach_o()]:
            code, said = self.compare(program, ("zstd-sys", "2.0.0"))
            self.assertEqual((code, "[('zstd-sys', '2.0.1')]" in said), (1, True), said)

    def test_a_program_that_records_nothing_is_refused(self):
        code, said = self.compare(self.mach_o(b"__const"), ("zstd-sys", "2.0.1"))
        self.assertEqual((code, "has no section .dep-v0" in said), (1, True), said)
