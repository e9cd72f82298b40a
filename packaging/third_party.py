"""Prints the licences of all crates in the command, on whatever system, each text once. Further folders may hold zig, whose musl is linked in."""

import collections, json, pathlib, re, subprocess, sys


def crates():
    """Name, version and licence of each crate that a program has inside, with its folder."""
    metadata = json.loads(run("metadata", "--format-version", "1"))
    folders = {
        (package["name"], package["version"]): (package["license"], pathlib.Path(package["manifest_path"]).parent)
        for package in metadata["packages"]
        if package["source"]
    }
    tree = run("tree", "--package", "copal-cli", "--edges", "normal", "--target", "all", "--prefix", "none", "--format", "{p}")
    inside = {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, tree.splitlines())}
    return sorted((*crate, *folders[crate]) for crate in inside if crate in folders)


def run(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked", "--offline"], check=True, stdout=subprocess.PIPE, text=True).stdout


def texts(folder):
    """The licences in a crate's folder and in those of the C libraries that it brings."""
    for path in sorted(folder.rglob("*")):
        is_text = re.match(r"(?i)(licen[cs]e|copying|copyright|notice|unlicense)", path.name) and path.suffix not in {".rs", ".py", ".sh"}
        if is_text and path.is_file() and len(path.relative_to(folder).parts) <= 3:
            yield path.read_text(errors="replace").strip().replace("\r\n", "\n")


owners = collections.defaultdict(list)
for name, version, licence, folder in crates():
    found = set(texts(folder))
    # Some crates name a licence and have no text: the usual texts of their licences are here all the same.
    for text in found or {f"(no text in the crate; its licence: {licence})"}:
        owners[text].append(f"{name} {version}")
for folder in map(pathlib.Path, sys.argv[1:]):
    for path in sorted(folder.glob("lib/python*/site-packages/ziglang/lib/libc/musl/COPYRIGHT")):
        owners[path.read_text().strip()].append("musl, the C library")
print("Copal is made of these works of others, each under the licence below its name.")
for crates, text in sorted((sorted(crates), text) for text, crates in owners.items()):
    print(f"\n{'=' * 80}\n{', '.join(crates)}\n{'-' * 80}\n{text}")
