"""Packages, image, archives and manifests of a release."""

import gzip, hashlib, io, json, re, shutil, tarfile, zipfile

from kit import HERE, PROCESSOR, PROGRAM, RELEASE, VERSION, WORK, Case, file, files_below, run


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
