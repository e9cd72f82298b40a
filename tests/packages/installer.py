"""The installer against a server on this machine."""

import contextlib, hashlib, http.server, os, shutil, threading

from kit import HERE, RELEASE, VERSION, WORK, Case, run


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

    def install(self, *more, tools=("curl", "minisign"), script=(RELEASE / "install.sh").read_text(), uname=None, instead={}):
        """Runs the script with these tools and no others, some of them scripts `instead`; gives its exit code and what it says."""
        programs = self.folder / "bin"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir()
        for name in [*self.TOOLS, *tools]:
            (programs / name).symlink_to(shutil.which(name))
        if uname:
            instead = {"uname": '[ "$1" = -s ] && echo {0} || echo {1}'.format(*uname)}
        for name, text in instead.items():
            # What lies there is a link to the machine's own.
            (programs / name).unlink()
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
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

    def test_no_temporary_files_are_left_where_rm_refuses_an_empty_name(self):
        rm = f'for name; do [ -n "$name" ] || exit 0; done\nexec {shutil.which("rm")} "$@"'
        code, said = self.install(instead={"rm": rm})
        self.assertEqual((code, list(self.folder.glob("tmp.*"))), (0, []), said)

    def test_the_root_of_the_file_system_is_a_place_as_any_other(self):
        # Nothing is put there: the script ends where it would make the first directory.
        code, said = self.install("--to", "/", instead={"mkdir": 'echo "mkdir $*"; exit 1'})
        self.assertEqual((code, said), (1, "mkdir -p -- /share/man/man1\n"))

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
        self.files["SHA256SUMS"] = b"".join(line for line in lines if b"apple" not in line and b"freebsd" not in line)
        self.sign()
        for uname, target in [(("Darwin", "arm64"), "aarch64-apple-darwin"), (("FreeBSD", "amd64"), "x86_64-unknown-freebsd")]:
            self.assert_refused(f"no program for this machine (copal-{VERSION}-{target})", uname=uname)

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
