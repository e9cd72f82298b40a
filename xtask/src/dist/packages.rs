//! Packages: .deb, .rpm and .apk of a program for Linux, by nfpm. They run no script, neither when installed nor when removed.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::contents::Contents;
use super::{Release, Target};
use crate::command::{output, succeed, target as build_folder, workspace};
use crate::files::{copy, fresh, write};

/// Packs the packages of a target; none for a system that is not Linux.
pub(super) fn pack(
    release: &Release,
    target: &Target,
    program: &Path,
    contents: &Contents,
    work: &Path,
) -> Result<(), String> {
    let Some(processor) = target.linux else { return Ok(()) };
    let folder = work.join(processor);
    fresh(&folder)?;
    let list = list(program, contents, &folder)?;
    let configuration = folder.join("nfpm.yaml");
    let (version, time) = (&release.version, utc(&release.time)?);
    write(&configuration, format!("{HEAD}arch: {processor}\nversion: {version}\nmtime: {time}\ncontents:\n{list}"))?;
    for packager in ["deb", "rpm", "apk"] {
        let mut nfpm = Command::new(build_folder().join("tools/nfpm"));
        nfpm.args(["package", "--packager", packager, "--config"]).arg(&configuration).arg("--target");
        // What the program prints is of no use to who asked for a release, unless it fails.
        output(nfpm.arg(release.file(&format!("{processor}.{packager}"))).env("SOURCE_DATE_EPOCH", &release.time))?;
    }
    Ok(())
}

/// What goes where, as nfpm reads it.
fn list(program: &Path, contents: &Contents, folder: &Path) -> Result<String, String> {
    let mut list = String::new();
    let mut put = |from: &Path, to: &str, mode: &str, only: &str| {
        let (from, only) =
            (from.display(), if only.is_empty() { String::new() } else { format!("\n    packager: {only}") });
        writeln!(list, "  - src: {from}\n    dst: {to}\n    file_info: {{mode: {mode}}}{only}")
            .expect("memory takes every byte");
    };
    put(program, "/usr/bin/copal", "0755", "");
    let pages = folder.join("man");
    for (page, name) in contents.of("man")? {
        copy(&page, &pages.join(&name))?;
        put(&pages.join(format!("{name}.gz")), &format!("/usr/share/man/man1/{name}.gz"), "0644", "");
    }
    succeed(Command::new("gzip").args(["-n9", "--recursive"]).arg(&pages))?;
    for (shell, to, only) in COMPLETIONS {
        put(&contents.file(&format!("completions/{shell}")), to, "0644", only);
    }
    // Alpine has no systemd.
    for (unit, name) in contents.of("systemd")? {
        for packager in ["deb", "rpm"] {
            put(&unit, &format!("/usr/lib/systemd/system/{name}"), "0644", packager);
        }
    }
    for (document, name) in [contents.of("doc")?, contents.of("licences")?].concat() {
        put(&document, &format!("/usr/share/doc/copal/{name}"), "0644", "");
    }
    put(&contents.file("examples/copal.toml"), "/usr/share/doc/copal/examples/copal.toml", "0644", "");
    put(&workspace().join("packaging/copyright"), "/usr/share/doc/copal/copyright", "0644", "deb");
    // Keys lie here.
    list.push_str("  - dst: /etc/copal\n    type: dir\n    file_info: {mode: 0700}\n");
    Ok(list)
}

/// A time as nfpm reads it.
pub(super) fn utc(time: &str) -> Result<String, String> {
    output(Command::new("date").args(["--utc", "--date", &format!("@{time}"), "+%Y-%m-%dT%H:%M:%SZ"]))
        .map(|text| text.trim().to_owned())
}

/// Where a shell looks for completions, which for zsh differs.
const COMPLETIONS: [(&str, &str, &str); 5] = [
    ("copal.bash", "/usr/share/bash-completion/completions/copal", ""),
    ("copal.fish", "/usr/share/fish/vendor_completions.d/copal.fish", ""),
    ("_copal", "/usr/share/zsh/vendor-completions/_copal", "deb"),
    ("_copal", "/usr/share/zsh/site-functions/_copal", "rpm"),
    ("_copal", "/usr/share/zsh/site-functions/_copal", "apk"),
];

/// The program is linked statically, so it depends on nothing.
const HEAD: &str = "\
name: copal
platform: linux
release: 1
section: admin
priority: optional
maintainer: The authors of Copal
license: Apache-2.0 OR MIT
description: |
  Deduplicating, encrypting backups without locks
  Copal saves any number of machines into one repository, on a disk, over SSH
  or in S3. The store, and the jobs that run beside it, read nothing.
recommends: [ca-certificates]
suggests: [fuse3, openssh-client]
overrides:
  rpm:
    recommends: [ca-certificates]
    suggests: [fuse3, openssh-clients]
  apk:
    recommends: []
    suggests: []
rpm:
  # The name of the machine that it is built on would differ.
  buildhost: copal
";
