"""Compares what a program records about the crates in it (cargo auditable) with its inventory. Usage: recorded.py PROGRAM INVENTORY"""

import json, subprocess, sys, tempfile, zlib

program, inventory = sys.argv[1:]
with tempfile.NamedTemporaryFile() as section:
    subprocess.run(["objcopy", "-I", "elf64-little", "--dump-section", f".dep-v0={section.name}", program, "/dev/null"], check=True)
    recorded = json.loads(zlib.decompress(section.read()))["packages"]
recorded = {(package["name"], package["version"]) for package in recorded if package.get("kind", "runtime") == "runtime"}
with open(inventory) as file:
    listed = json.load(file)
listed = {(component["name"], component["version"]) for component in [listed["metadata"]["component"], *listed["components"]]}
missing = sorted(recorded - listed)
if missing or not recorded:
    sys.exit(f"{program} records {len(recorded)} crates; {inventory} does not list {missing}")
print(f"{program}: records {len(recorded)} crates, all in an inventory of {len(listed)}")
