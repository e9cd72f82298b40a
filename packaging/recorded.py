"""Compares what a program records about the crates in it (cargo auditable) with its inventory. Usage: recorded.py PROGRAM INVENTORY"""

import json, struct, subprocess, sys, tempfile, zlib

SECTION = ".dep-v0"


def recorded(program):
    """The content of the section that cargo auditable writes."""
    with open(program, "rb") as file:
        content = file.read()
    # objcopy reads ELF and PE, and not Apple's Mach-O of 64 bits.
    if content[:4] == bytes.fromhex("cffaedfe"):
        return recorded_in_mach_o(content)
    with tempfile.NamedTemporaryFile() as section:
        subprocess.run(["objcopy", "-I", "elf64-little", "--dump-section", f"{SECTION}={section.name}", program, "/dev/null"], check=True)
        return section.read()


def recorded_in_mach_o(content):
    """Looks at the sections of every segment: after a header of 32 bytes come the load commands, each with its kind and length."""
    (commands,) = struct.unpack_from("<I", content, 16)
    command = 32
    for _ in range(commands):
        kind, length = struct.unpack_from("<II", content, command)
        # LC_SEGMENT_64: 72 bytes, of which the last eight are a count and flags, then 80 bytes for each section.
        if kind == 0x19:
            (count,) = struct.unpack_from("<I", content, command + 64)
            for section in range(command + 72, command + 72 + 80 * count, 80):
                if content[section : section + 16].rstrip(b"\0") == SECTION.encode():
                    size, start = struct.unpack_from("<QI", content, section + 40)
                    return content[start : start + size]
        command += length
    sys.exit(f"{program} has no section {SECTION}")


program, inventory = sys.argv[1:]
crates = json.loads(zlib.decompress(recorded(program)))["packages"]
crates = {(crate["name"], crate["version"]) for crate in crates if crate.get("kind", "runtime") == "runtime"}
with open(inventory) as file:
    listed = json.load(file)
listed = {(component["name"], component["version"]) for component in [listed["metadata"]["component"], *listed["components"]]}
missing = sorted(crates - listed)
if missing or not crates:
    sys.exit(f"{program} records {len(crates)} crates; {inventory} does not list {missing}")
print(f"{program}: records {len(crates)} crates, all in an inventory of {len(listed)}")
