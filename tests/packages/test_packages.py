"""Installs, runs and removes what a release holds: packages, image, manifests, installer.

Usage: test_packages.py WORK, where WORK has a release in `release`, its program `copal`, a `script` that stands for other
machines' programs, and the key `key` that signs it.
"""

import contextlib, gzip, hashlib, http.server, io, json, os, pathlib, re, shutil, subprocess, sys, tarfile, tempfile
import threading, unittest, zipfile

WORK = pathlib.Path(sys.argv.pop(1)).absolute()
RELEASE, PROGRAM = WORK / "release", (WORK / "copal").read_bytes()
VERSION = next(RELEASE.glob("copal-*-oci.tar")).name.split("-")[1]
HERE = f"copal-{VERSION}-{os.uname().machine}-unknown-linux-musl"
PROCESSOR = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def run(*command, **options):
    options = {"check": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    return subprocess.run([str(word) for word in command], **options)


def file(ending):
    return RELEASE / f"copal-{VERSION}-{ending}"


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
        self.addCleanup(run, "rm", "-rf", self.folder)

    def assert_runs(self, program):
        self.assertIn(VERSION, run(program, "version", env={}).stdout)


class Packages(Case):
    def assert_installed(self, root):
        self.assert_runs(root / "usr/bin/copal")
        self.assertEqual((root / "usr/bin/copal").read_bytes(), PROGRAM)
        manual = gzip.decompress((root / "usr/share/man/man1/copal-backup.1.gz").read_bytes())
        self.assertIn(b".TH", manual)
        for below in ["doc/copal/LICENSE-MIT", "doc/copal/THIRD-PARTY.txt", "doc/copal/operations.md", "doc/copal/examples/copal.toml"]:
            self.assertTrue((root / "usr/share" / below).stat().st_size > 500, below)
        self.assertEqual((root / "etc/copal").stat().st_mode & 0o777, 0o700)
        units = root / "usr/lib/systemd/system"
        self.assertIn("OnCalendar=daily", (units / "copal@.timer").read_text())
        self.assertTrue((units / "copal@.service").exists())
        run("bash", "-n", root / "usr/share/bash-completion/completions/copal")
        run("fish", "-n", root / "usr/share/fish/vendor_completions.d/copal.fish")

    def test_dpkg_installs_and_removes_the_deb(self):
        root, admin = self.folder, self.folder / "var/lib/dpkg"
        for below in ["info", "updates", "triggers"]:
            (admin / below).mkdir(parents=True)
        (admin / "status").touch()
        dpkg = ["dpkg", "--root", root, "--log", "/dev/null"]
        run(*dpkg, "--install", file(f"{PROCESSOR}.deb"))
        self.assert_installed(root)
        run("zsh", "-n", root / "usr/share/zsh/vendor-completions/_copal")
        self.assertIn("LICENSE-APACHE", (root / "usr/share/doc/copal/copyright").read_text())
        run(*dpkg, "--purge", "copal")
        shutil.rmtree(root / "var")
        self.assertEqual(files_below(root), [])

    def test_the_deb_runs_no_script_and_depends_on_nothing(self):
        for processor in ["amd64", "arm64"]:
            deb = file(f"{processor}.deb")
            run("dpkg-deb", "--control", deb, self.folder / processor)
            self.assertEqual(files_below(self.folder / processor), ["control", "md5sums"])
            field = lambda name: run("dpkg-deb", "--field", deb, name).stdout.strip()
            self.assertEqual((field("Architecture"), field("Depends"), field("Version")), (processor, "", f"{VERSION}-1"))

    def test_rpm_installs_and_removes_the_rpm(self):
        root = self.folder
        rpm = ["rpm", "--root", root, "--nosignature"]
        run(*rpm, "--initdb")
        before = files_below(root)
        run(*rpm, "--install", file(f"{PROCESSOR}.rpm"))
        self.assert_installed(root)
        run("zsh", "-n", root / "usr/share/zsh/site-functions/_copal")
        run(*rpm, "--verify", "copal")
        run(*rpm, "--erase", "copal")
        self.assertEqual(files_below(root), before)

    def test_the_rpm_runs_no_script_and_requires_nothing_but_rpm(self):
        for processor, name in [("amd64", "x86_64"), ("arm64", "aarch64")]:
            query = lambda *what: run("rpm", "--query", "--package", "--nosignature", *what, file(f"{processor}.rpm")).stdout
            self.assertEqual(query("--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE}"), f"copal {VERSION} {name} Apache-2.0 OR MIT")
            self.assertEqual(query("--scripts"), "")
            self.assertEqual([line for line in query("--requires").splitlines() if not line.startswith("rpmlib(")], [])

    def test_the_apk_holds_the_program_and_the_checksum_of_its_data(self):
        for processor, name in [("amd64", "x86_64"), ("arm64", "aarch64")]:
            control, data = streams(file(f"{processor}.apk").read_bytes())
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(control))) as archive:
                self.assertEqual(archive.getnames(), [".PKGINFO"])
                told = archive.extractfile(".PKGINFO").read().decode()
            for line in [f"arch = {name}", "pkgname = copal", f"datahash = {hashlib.sha256(data).hexdigest()}"]:
                self.assertIn(line, told.splitlines())
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as archive:
                expected = PROGRAM if processor == PROCESSOR else (WORK / "script").read_bytes()
                self.assertEqual(archive.extractfile("usr/bin/copal").read(), expected)
                self.assertFalse([name for name in archive.getnames() if "systemd" in name])


def streams(packed):
    """The gzip streams that an apk is made of: an unsigned one has what describes it, and its files."""
    import zlib

    while packed:
        reader = zlib.decompressobj(wbits=31)
        reader.decompress(packed)
        rest = reader.unused_data
        yield packed[: len(packed) - len(rest)]
        packed = rest


class Image(Case):
    def image(self, processor):
        """The image of a processor in a layout of its own, as umoci reads it."""
        layout = self.folder / processor
        run("skopeo", "--override-arch", processor, "copy", "--quiet", f"oci-archive:{file('oci.tar')}", f"oci:{layout}:copal")
        return f"{layout}:copal"

    def test_each_processor_has_an_image_that_runs_as_nobody(self):
        for processor in ["amd64", "arm64"]:
            told = json.loads(run("skopeo", "--override-arch", processor, "inspect", "--config", f"oci-archive:{file('oci.tar')}").stdout)
            self.assertEqual((told["architecture"], told["config"]["User"]), (processor, "65532:65532"))
            self.assertEqual(told["config"]["Entrypoint"], ["/usr/bin/copal"])

    def test_the_program_runs_from_the_unpacked_image_and_nothing_else_is_in_it(self):
        bundle = self.folder / "bundle"
        run("umoci", "unpack", "--rootless", "--image", self.image(PROCESSOR), bundle)
        root = bundle / "rootfs"
        self.assert_runs(root / "usr/bin/copal")
        certificates = "etc/ssl/certs/ca-certificates.crt"
        licences = ["LICENSE-APACHE", "LICENSE-MIT", "RUST-LIBRARY.html", "THIRD-PARTY.txt"]
        licences = [f"usr/share/doc/copal/{name}" for name in licences]
        self.assertEqual(files_below(root), sorted([certificates, "usr/bin/copal", *licences]))
        self.assertGreater((root / certificates).read_text().count("BEGIN CERTIFICATE"), 100)
        told = json.loads((bundle / "config.json").read_text())
        self.assertIn("SSL_CERT_FILE=/" + certificates, told["process"]["env"])
        if b"ld-linux" not in PROGRAM:
            # A program that is linked statically needs nothing of this machine.
            told = run("chroot", "--userspec=65532:65532", root, "/usr/bin/copal", "version").stdout
            self.assertIn(VERSION, told)

    def test_the_home_belongs_to_the_user_of_the_image(self):
        run("umoci", "unpack", "--image", self.image(PROCESSOR), self.folder / "bundle")
        home = self.folder / "bundle/rootfs/home/copal"
        self.assertEqual((home.stat().st_uid, home.stat().st_mode & 0o777), (65532, 0o700))
        self.assertEqual((self.folder / "bundle/rootfs/tmp").stat().st_mode & 0o7777, 0o1777)


class Archives(Case):
    def test_checksums_name_every_file_of_the_release(self):
        listed = [line.split("  ")[1] for line in (RELEASE / "SHA256SUMS").read_text().splitlines()]
        self.assertEqual(sorted([*listed, "SHA256SUMS"]), files_below(RELEASE))
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=RELEASE)

    def test_the_archive_of_windows_is_a_zip_with_the_program_at_its_top(self):
        with zipfile.ZipFile(file("x86_64-pc-windows-gnu.zip")) as archive:
            self.assertIn("copal.exe", archive.namelist())
            self.assertIn("licences/LICENSE-MIT", archive.namelist())

    def test_the_works_of_others_are_named_with_their_licences(self):
        with tarfile.open(RELEASE / f"{HERE}.tar.gz") as archive:
            text = archive.extractfile(f"{HERE}/licences/THIRD-PARTY.txt").read().decode()
        for name in ["tikv-jemalloc-sys", "zstd-sys", "ring", "tokio"]:
            self.assertRegex(text, rf"\b{name} \d")
        self.assertIn("Copyright (c) Meta Platforms", text)


class Manifests(Case):
    def test_every_checksum_is_that_of_the_file_named_before_it(self):
        count = {"copal.rb": 4, "copal.scoop.json": 1, "copal.winget.installer.yaml": 1, "SRCINFO": 2}
        for name, expected in count.items():
            text = (RELEASE / name).read_text()
            found = re.findall(r"(copal-[\w.-]+\.(?:tar\.gz|zip)).*?\b([0-9a-f]{64})\b", text, re.DOTALL)
            self.assertEqual(len(found), expected, name)
            for file_name, checksum in found:
                self.assertEqual(checksum, hashlib.sha256((RELEASE / file_name).read_bytes()).hexdigest(), name)

    def test_no_template_is_left_unfilled(self):
        for path in RELEASE.iterdir():
            if path.suffix in {".rb", ".json", ".yaml", ".sh"} or path.name in {"PKGBUILD", "SRCINFO"}:
                self.assertNotRegex(path.read_text(), "@[A-Z]", path.name)

    def test_the_manifests_are_what_their_readers_can_parse(self):
        scoop = json.loads((RELEASE / "copal.scoop.json").read_text())
        self.assertEqual((scoop["version"], scoop["bin"]), (VERSION, "copal.exe"))
        told = {}
        for name in ["copal.winget.yaml", "copal.winget.installer.yaml", "copal.winget.locale.en-US.yaml"]:
            lines = (RELEASE / name).read_text().splitlines()
            told[name] = dict(line.split(": ", 1) for line in lines if re.match(r"[A-Za-z]\w*: ", line))
            self.assertEqual((told[name]["PackageIdentifier"], told[name]["PackageVersion"]), ("Copal.Copal", VERSION))

    def test_the_pkgbuild_installs_from_the_archive_it_names(self):
        with tarfile.open(RELEASE / f"{HERE}.tar.gz") as archive:
            archive.extractall(self.folder, filter="data")
        script = 'set -e; CARCH=$(uname -m); pkgdir=$PWD/out; source "$1"; sums=sha256sums_$CARCH[@]; echo "${!sums}"; package'
        told = run("bash", "-c", script, "bash", RELEASE / "PKGBUILD", cwd=self.folder).stdout
        self.assertEqual(told.strip(), hashlib.sha256((RELEASE / f"{HERE}.tar.gz").read_bytes()).hexdigest())
        self.assert_runs(self.folder / "out/usr/bin/copal")
        self.assertTrue((self.folder / "out/usr/share/man/man1/copal.1").exists())


class Installer(Case):
    """The installer against a server on this machine."""

    TOOLS = "sh uname id mktemp rm sed cut tar gzip sha256sum mkdir dirname cp chmod mv head tail wc grep".split()

    def setUp(self):
        super().setUp()
        self.files = {name: (RELEASE / name).read_bytes() for name in [f"{HERE}.tar.gz", "SHA256SUMS"]}
        self.cut, self.asked = set(), []
        self.sign()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_port}"
        self.target = self.folder / "to"

    def sign(self, key=WORK / "key"):
        sums = self.folder / "SHA256SUMS"
        sums.write_bytes(self.files["SHA256SUMS"])
        run("minisign", "-S", "-s", key, "-m", sums, "-t", f"copal {VERSION}", input="")
        self.files["SHA256SUMS.minisig"] = (self.folder / "SHA256SUMS.minisig").read_bytes()

    def install(self, *more, tools=("curl", "minisign"), script=(RELEASE / "install.sh").read_text(), uname=None):
        """Runs the script with these tools and no others; gives its exit code and what it says."""
        programs = self.folder / "bin"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir()
        for name in [*self.TOOLS, *tools]:
            (programs / name).symlink_to(shutil.which(name))
        if uname:
            (programs / "uname").unlink()
            (programs / "uname").write_text('#!/bin/sh\n[ "$1" = -s ] && echo {0} || echo {1}\n'.format(*uname))
            (programs / "uname").chmod(0o755)
        environment = {"PATH": str(programs), "HOME": str(self.folder), "COPAL_INSTALL_FROM": self.address, "TMPDIR": str(self.folder)}
        ended = run("/bin/sh", "-s", "--", "--to", self.target, *more, input=script, env=environment, check=False)
        return ended.returncode, ended.stdout

    def assert_refused(self, reason, **how):
        code, said = self.install(**how)
        self.assertEqual((code, reason in said), (1, True), said)
        self.assertFalse(self.target.exists(), "something was put into the target")
        self.assertEqual(list(self.folder.glob("tmp.*")), [], "temporary files are left")

    def test_a_program_is_installed_whichever_tools_there_are(self):
        for tools in [("curl", "minisign"), ("wget", "minisign"), ("curl", "openssl")]:
            code, said = self.install(tools=tools)
            self.assertEqual(code, 0, said)
            self.assert_runs(self.target / "bin/copal")
            self.assertIn(f'export PATH="{self.target}/bin:$PATH"', said)
            self.assertTrue((self.target / "share/man/man1/copal-backup.1").exists())
            self.assertTrue((self.target / "share/bash-completion/completions/copal").exists())
            self.assertTrue((self.target / "share/doc/copal/THIRD-PARTY.txt").exists())
            self.assertEqual(list(self.target.rglob(".copal.*")), [])
            shutil.rmtree(self.target)

    def test_what_lies_in_the_way_is_neither_followed_nor_written_to(self):
        victim = self.folder / "victim"
        victim.write_text("mine")
        victim.chmod(0o600)
        (self.target / "bin").mkdir(parents=True)
        (self.target / "bin/copal").symlink_to(victim)
        self.assertEqual(self.install()[0], 0)
        self.assertEqual((victim.read_text(), victim.stat().st_mode & 0o777), ("mine", 0o600))
        self.assertFalse((self.target / "bin/copal").is_symlink())
        self.assert_runs(self.target / "bin/copal")
        (self.target / "bin/copal").unlink()
        (self.target / "bin/copal").mkdir()
        code, said = self.install()
        self.assertEqual((code, "is a directory" in said), (1, True), said)

    def test_others_may_run_what_is_installed_and_not_change_it(self):
        for mask in [0o000, 0o077]:
            before = os.umask(mask)
            try:
                self.assertEqual(self.install()[0], 0)
            finally:
                os.umask(before)
            for path in [self.target, *self.target.rglob("*")]:
                mode = path.stat().st_mode & 0o777
                self.assertEqual(mode, 0o755 if path.is_dir() or path.name == "copal" and path.parent.name == "bin" else 0o644, path)
            shutil.rmtree(self.target)

    def test_root_installs_nothing_where_another_user_could_replace_it(self):
        (self.target / "bin").mkdir(parents=True)
        os.chown(self.target / "bin", 12345, 12345)
        code, said = self.install()
        self.assertEqual((code, "belongs to another user" in said, list(self.target.rglob("*/*"))), (1, True, []), said)

    def test_an_archive_with_another_checksum_is_refused(self):
        name = f"{HERE}.tar.gz"
        self.files[name] = self.files[name][:-1] + bytes([self.files[name][-1] ^ 1])
        self.assert_refused(f"the checksum of {name} is wrong: nothing is installed")

    def test_checksums_that_the_key_has_not_signed_are_refused(self):
        self.files["SHA256SUMS"] = self.files["SHA256SUMS"].replace(b"0", b"1", 1)
        for verifier in ["minisign", "openssl"]:
            self.assert_refused("the signature of", tools=("curl", verifier))

    def test_a_signature_of_another_key_is_refused(self):
        other = self.folder / "other"
        run("minisign", "-GW", "-s", other, "-p", self.folder / "other.pub")
        self.sign(other)
        for verifier in ["minisign", "openssl"]:
            self.assert_refused("the signature of", tools=("curl", verifier))

    def test_a_signature_of_another_kind_is_refused(self):
        for kind in [b"", b"\n", b"comment\nRUQ\n", b"comment\nnot base64 !\n"]:
            self.files["SHA256SUMS.minisig"] = kind
            for verifier in ["minisign", "openssl"]:
                self.assert_refused("the signature of", tools=("curl", verifier))

    def test_without_a_tool_the_script_says_which_and_asks_for_nothing(self):
        self.assert_refused("curl or wget is needed", tools=("minisign",))
        self.assert_refused("minisign, or openssl 3, is needed", tools=("curl",))
        old = self.folder / "old"
        old.mkdir()
        (old / "openssl").write_text("#!/bin/sh\necho 'Usage: pkeyutl [options]'\n")
        (old / "openssl").chmod(0o755)
        with with_path(old):
            self.assert_refused("minisign, or openssl 3, is needed", tools=("curl", "openssl"))
        self.assertEqual(self.asked, [])

    def test_a_download_that_is_cut_off_is_refused(self):
        for name in list(self.files):
            self.cut = {name}
            for client in ["curl", "wget"]:
                self.assert_refused(f"cannot download {self.address}/{name}", tools=(client, "minisign"))

    def test_a_file_that_is_not_there_is_named(self):
        for name in list(self.files):
            kept = self.files.pop(name)
            self.assert_refused(f"cannot download {self.address}/{name}")
            self.files[name] = kept

    def test_a_script_that_is_cut_off_does_nothing(self):
        script = (RELEASE / "install.sh").read_text()
        for end in [*range(0, len(script) - 60, 97), *range(len(script) - 60, len(script) - 1)]:
            self.install(script=script[:end])
            self.assertFalse(self.target.exists(), f"cut off after {end} bytes")
        self.assertEqual(self.asked, [])

    def test_a_machine_without_a_program_is_named(self):
        self.assert_refused("there is no program for Plan9", uname=("Plan9", "x86_64"))
        self.assert_refused("there is no program for processors of kind m68k", uname=("Linux", "m68k"))
        self.assertEqual(self.asked, [])
        lines = self.files["SHA256SUMS"].splitlines(keepends=True)
        self.files["SHA256SUMS"] = b"".join(line for line in lines if b"apple" not in line)
        self.sign()
        self.assert_refused(f"no program for this machine (copal-{VERSION}-aarch64-apple-darwin)", uname=("Darwin", "arm64"))

    def test_a_program_that_does_not_run_replaces_nothing(self):
        broken = self.folder / HERE
        broken.mkdir()
        (broken / "copal").write_text("#!/bin/sh\nexit 1\n")
        (broken / "copal").chmod(0o755)
        name = f"{HERE}.tar.gz"
        run("tar", "-czf", self.folder / name, "-C", self.folder, HERE)
        self.files[name] = (self.folder / name).read_bytes()
        checksum = hashlib.sha256(self.files[name]).hexdigest()
        self.files["SHA256SUMS"] = f"{checksum}  {name}\n".encode()
        self.sign()
        self.assert_refused("the program does not run on this machine")


def handler(case):
    """Serves the files of a case; those that are to be cut off end early."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.removeprefix("/")
            case.asked.append(name)
            if name not in case.files:
                return self.send_error(404)
            content = case.files[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content[: len(content) // 2] if name in case.cut else content)

        def log_message(self, *_):
            pass

    return Handler


@contextlib.contextmanager
def with_path(folder):
    """Finds programs in a folder first."""
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.skipped)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)
