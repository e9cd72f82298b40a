//! Tools: what the tests need beside cargo. What is missing is installed where that is possible, else named.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{output, succeed, target, workspace};
use crate::environment::environment;
use crate::files;

/// The engine's in a browser, and the reader's.
const WASM: [&str; 2] = ["wasm32-unknown-unknown", "wasm32-wasip1"];

/// A program, how to see that it works, and the Debian package that has it.
struct Tool {
    program: String,
    arguments: &'static [&'static str],
    package: &'static str,
}

/// A program in Go, and the version that the tests were made with.
struct Server {
    program: &'static str,
    package: &'static str,
    version: &'static str,
}

/// The S3 server that most tests use.
const VERSITYGW: Server =
    Server { program: "versitygw", package: "github.com/versity/versitygw/cmd/versitygw", version: "v1.8.0" };

/// Servers for the tests, which look for them in `tools/` in the target directory.
const SERVERS: [Server; 3] = [
    VERSITYGW,
    Server { program: "fake-gcs-server", package: "github.com/fsouza/fake-gcs-server", version: "v1.56.1" },
    Server { program: "minio", package: "github.com/minio/minio", version: "v0.0.0-20260212201848-7aac2a2c5b7c" },
];

/// Microsoft's stand-in for Azure Blob Storage, from npm.
const AZURITE: &str = "azurite@3.37.0";

/// The linter of Terraform's files.
const TFLINT: Server = Server { program: "tflint", package: "github.com/terraform-linters/tflint", version: "v0.64.0" };

/// What renders the chart for Kubernetes, and what holds it against Kubernetes' schemas.
const CHARTS: [Server; 2] = [
    Server { program: "helm", package: "helm.sh/helm/v3/cmd/helm", version: "v3.22.0" },
    Server { program: "kubeconform", package: "github.com/yannh/kubeconform/cmd/kubeconform", version: "v0.8.0" },
];

/// What makes packages for three package managers, always the same bytes from the same files. MIT. From 2.46 on it needs
/// modules of a host that not every proxy passes on (`go.digitalxero.dev`).
const NFPM: Server = Server { program: "nfpm", package: "github.com/goreleaser/nfpm/v2/cmd/nfpm", version: "v2.45.2" };

/// What records in a program which crates it is made of, and what lists them. Both MIT or Apache-2.0.
const CARGO_TOOLS: [(&str, &str); 2] = [("cargo-auditable", "0.7.7"), ("cargo-cyclonedx", "0.5.9")];

/// The oldest Terraform that the modules are written for.
const TERRAFORM: (u32, u32) = (1, 9);

/// Checks every tool, installs missing ones, and says what to install if it cannot.
pub(crate) fn set_up() -> Result<(), String> {
    install_missing(tools())?;
    for component in ["fmt", "clippy"] {
        let found = succeed(Command::new("cargo").args([component, "--version"]).current_dir(workspace()));
        if found.is_err() {
            let name = if component == "fmt" { "rustfmt" } else { component };
            rustup(&["component", "add", name])?;
        }
    }
    set_up_targets()?;
    SERVERS.iter().try_for_each(Server::set_up)?;
    set_up_azurite()?;
    // What operators prove S3 with; tests prove it with this machine's servers.
    environment("aws-cli", &workspace().join("tests/aws/requirements.txt")).map(|_| ())
}

/// Checks and installs what builds the reader for WASI and runs it.
pub(crate) fn set_up_reader() -> Result<(), String> {
    install_missing(reader_tools())?;
    set_up_targets()
}

fn reader_tools() -> Vec<Tool> {
    let is_wanted = |tool: &Tool| ["clang", "llvm", "python3-venv"].contains(&tool.package);
    tools().into_iter().filter(is_wanted).collect()
}

fn set_up_targets() -> Result<(), String> {
    WASM.into_iter().try_for_each(set_up_target)
}

impl Server {
    /// Builds it, unless this version of it is there. Without inlining, names for debuggers and C, and with a compiler that
    /// collects little garbage, versitygw takes 120 s of processor time instead of 203.
    fn set_up(&self) -> Result<(), String> {
        let folder = target().join("tools");
        let (program, made_for) = (folder.join(self.program), folder.join(self.program).with_extension("version"));
        if program.is_file() && files::text(&made_for).is_ok_and(|made| made == self.version) {
            return Ok(());
        }
        files::make(&folder)?;
        println!("building {} {}, once: this takes minutes", self.program, self.version);
        let module = format!("{}@{}", self.package, self.version);
        let mut install = Command::new("go");
        install.args(["install", "-trimpath", "-gcflags=all=-l -dwarf=false", "-ldflags=-s -w"]).arg(&module);
        succeed(install.env("GOBIN", &folder).env("GOGC", "1500").env("CGO_ENABLED", "0"))?;
        files::write(&made_for, self.version)
    }
}

/// Installs it from npm, unless this version of it is there.
fn set_up_azurite() -> Result<(), String> {
    let folder = target().join("tools/azurite");
    let made_for = folder.join("version");
    if files::text(&made_for).is_ok_and(|made| made == AZURITE) {
        return Ok(());
    }
    files::make(&folder)?;
    println!("installing {AZURITE}, once");
    let mut npm = Command::new("npm");
    succeed(npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(AZURITE))?;
    files::write(&made_for, AZURITE)
}

/// Installs what the functions are built with, beside the other tools.
pub(crate) fn set_up_lambda() -> Result<(), String> {
    rustup(&["target", "add", "aarch64-unknown-linux-gnu"])
}

/// Installs the S3 server that a deployment is tried with.
pub(crate) fn set_up_store() -> Result<(), String> {
    VERSITYGW.set_up()
}

/// Checks what `infra/` is tested with, and installs the linter.
pub(crate) fn set_up_infra() -> Result<(), String> {
    let told = output(Command::new("terraform").arg("version")).unwrap_or_default();
    let (major, minor) = TERRAFORM;
    if terraform_version(&told).is_none_or(|found| found < TERRAFORM) {
        let found = told.lines().next().unwrap_or("none");
        return Err(format!(
            "Terraform {major}.{minor} or newer is needed, found is {found}: install it from \
             https://developer.hashicorp.com/terraform/install"
        ));
    }
    TFLINT.set_up()
}

/// Installs what the chart for Kubernetes is tested with.
pub(crate) fn set_up_deploy() -> Result<(), String> {
    CHARTS.iter().try_for_each(Server::set_up)
}

/// Checks and installs what packs a release and installs its packages.
pub(crate) fn set_up_packages() -> Result<(), String> {
    install_missing(package_tools())?;
    NFPM.set_up()
}

fn package_tools() -> Vec<Tool> {
    const VERSION: &[&str] = &["--version"];
    vec![
        tool("dpkg-deb", VERSION, "dpkg"),
        tool("rpm", VERSION, "rpm"),
        tool("minisign", &["-v"], "minisign"),
        tool("skopeo", VERSION, "skopeo"),
        tool("umoci", VERSION, "umoci"),
        tool("openssl", &["version"], "openssl"),
        tool("curl", VERSION, "curl"),
        tool("wget", VERSION, "wget"),
        tool("strip", VERSION, "binutils"),
        tool("zsh", VERSION, "zsh"),
        tool("fish", VERSION, "fish"),
        tool("python3", &["-c", "import venv, ensurepip"], "python3-venv"),
    ]
}

/// Checks and installs what builds a release.
pub(crate) fn set_up_dist() -> Result<(), String> {
    set_up_packages()?;
    for (name, version) in CARGO_TOOLS {
        // Cargo compares the version by itself. They have little to do, so compiling them is what takes time.
        let mut install = Command::new("cargo");
        install.args(["install", "--quiet", "--debug", "--locked", "--version", version, name, "--root"]);
        succeed(install.arg(target().join("tools")).current_dir(workspace()))?;
    }
    Ok(())
}

/// Installs a target of the compiler, unless it is there.
pub(crate) fn set_up_target(target: &str) -> Result<(), String> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace()))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir() {
        return Ok(());
    }
    rustup(&["target", "add", target])
}

/// The version that `terraform version` tells: `Terraform v1.9.8`.
fn terraform_version(told: &str) -> Option<(u32, u32)> {
    let mut numbers = told.strip_prefix("Terraform v")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Checks and installs what builds a program for Windows and runs it here.
pub(crate) fn set_up_windows(target: &str) -> Result<(), String> {
    install_missing(vec![
        tool("wine", &["--version"], "wine"),
        tool("test", &["-e", "/usr/lib/wine/wine64"], "wine64"),
    ])?;
    set_up_target(target)
}

/// Checks and installs what runs a program for arm64 on another processor.
pub(crate) fn set_up_emulator() -> Result<(), String> {
    install_missing(vec![
        tool("qemu-aarch64-static", &["--version"], "qemu-user-static"),
        tool("test", &["-e", "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1"], "libc6-arm64-cross"),
        tool("test", &["-e", "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1"], "libgcc-s1-arm64-cross"),
    ])
}

/// The value of a variable, which people and cargo's configuration set.
fn named(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| default.to_owned())
}

/// The archiver for zstd's C: the one of clang's own version, which the `cc` crate takes.
fn archiver(clang: &str) -> String {
    let own = output(Command::new(clang).arg("-print-prog-name=llvm-ar")).unwrap_or_else(|_| "llvm-ar".to_owned());
    named("AR_wasm32_unknown_unknown", own.trim())
}

/// Cargo's configuration names the compiler for zstd's C.
fn tools() -> Vec<Tool> {
    const VERSION: &[&str] = &["--version"];
    let clang = named("CC_wasm32_unknown_unknown", "clang");
    vec![
        tool(&clang, VERSION, "clang"),
        tool(&archiver(&clang), VERSION, "llvm"),
        tool("setfacl", VERSION, "acl"),
        tool("getfacl", VERSION, "acl"),
        tool("setfattr", VERSION, "attr"),
        tool("fusermount3", VERSION, "fuse3"),
        tool("mkfs.btrfs", VERSION, "btrfs-progs"),
        tool("gnome-keyring-daemon", VERSION, "gnome-keyring"),
        tool("dbus-run-session", VERSION, "dbus"),
        tool("systemd-analyze", VERSION, "systemd"),
        tool("go", &["version"], "golang"),
        tool("node", VERSION, "nodejs"),
        tool("npm", VERSION, "npm"),
        tool(&named("CHROMIUM", "chromium"), VERSION, "chromium"),
        tool(&named("COPAL_FIREFOX", "firefox-esr"), VERSION, "firefox-esr"),
        tool("WebKitWebDriver", &["--help"], "webkit2gtk-driver"),
        tool("Xvfb", &["-help"], "xvfb"),
        tool("unzip", &["-v"], "unzip"),
        // Their lines stand on the pages for those who come from them.
        tool("restic", &["version"], "restic"),
        tool("borg", VERSION, "borgbackup"),
        tool("jq", VERSION, "jq"),
        tool("valgrind", VERSION, "valgrind"),
        // What repositories at addresses with a scheme are tested with, on this machine.
        tool("test", &["-x", "/usr/sbin/sshd"], "openssh-server"),
        tool("ssh", &["-V"], "openssh-client"),
        tool("test", &["-x", "/usr/sbin/lighttpd"], "lighttpd"),
        tool("test", &["-e", "/usr/lib/lighttpd/mod_webdav.so"], "lighttpd-mod-webdav"),
        tool("python3", &["-c", "import venv, ensurepip"], "python3-venv"),
    ]
}

fn tool(program: &str, arguments: &'static [&'static str], package: &'static str) -> Tool {
    Tool { program: program.to_owned(), arguments, package }
}

/// Installs those that do not work.
fn install_missing(wanted: Vec<Tool>) -> Result<(), String> {
    let missing: Vec<Tool> = wanted.into_iter().filter(|tool| !tool.works()).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

impl Tool {
    fn works(&self) -> bool {
        let mut command = Command::new(&self.program);
        command.args(self.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

fn install(missing: &[Tool]) -> Result<(), String> {
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    packages.dedup();
    let names: Vec<&str> = missing.iter().map(|tool| tool.program.as_str()).collect();
    let advice = format!("missing: {}; install them with: apt-get install {}", names.join(", "), packages.join(" "));
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        return Err(advice);
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        succeed(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    println!("installing {}", packages.join(" "));
    apt(&["update", "--quiet"])?;
    apt(&[&["install", "--quiet", "--yes", "--no-install-recommends"], packages.as_slice()].concat())?;
    if missing.iter().all(Tool::works) { Ok(()) } else { Err(advice) }
}

fn rustup(arguments: &[&str]) -> Result<(), String> {
    succeed(Command::new("rustup").args(arguments).current_dir(workspace()))
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_workflow_installs_every_package_that_a_release_is_made_with() {
        let workflow = std::fs::read_to_string(workspace().join(".github/workflows/release.yml")).unwrap();
        let (_, installed) = workflow.split_once("apt-get install").unwrap();
        let (installed, _) = installed.split_once("- name").unwrap();
        let installed: Vec<&str> = installed.split_whitespace().collect();
        let needed = reader_tools().into_iter().chain(package_tools()).map(|tool| tool.package);
        let missing: Vec<&str> = needed.filter(|package| !installed.contains(package)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_reader_is_made_with_a_compiler_and_its_archiver() {
        let packages: Vec<&str> = reader_tools().iter().map(|tool| tool.package).collect();
        assert_eq!(packages, ["clang", "llvm", "python3-venv"]);
    }
}
