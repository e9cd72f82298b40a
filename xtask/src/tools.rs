//! Tools: what the tests need beside cargo. What is missing is installed where that is possible, else named.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{output, succeed, workspace};

const WASM: &str = "wasm32-unknown-unknown";

/// A program, how to see that it works, and the Debian package that has it.
struct Tool {
    program: String,
    arguments: &'static [&'static str],
    package: &'static str,
}

/// Checks every tool, installs missing ones, and says what to install if it cannot.
pub(crate) fn set_up() -> Result<(), String> {
    let missing: Vec<Tool> = tools().into_iter().filter(|tool| !tool.works()).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    for component in ["fmt", "clippy"] {
        let found = succeed(Command::new("cargo").args([component, "--version"]).current_dir(workspace()));
        if found.is_err() {
            let name = if component == "fmt" { "rustfmt" } else { component };
            rustup(&["component", "add", name])?;
        }
    }
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace()))?;
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(WASM).join("lib").is_dir() {
        rustup(&["target", "add", WASM])?;
    }
    Ok(())
}

/// Checks and installs what builds the functions for both processors, and what starts those of the other one.
pub(crate) fn set_up_lambda() -> Result<(), String> {
    let tool = |program: &str, arguments, package| Tool { program: program.to_owned(), arguments, package };
    let wanted = [
        tool("python3", &["-c", "import venv, ensurepip"], "python3-venv"),
        tool("qemu-aarch64-static", &["--version"], "qemu-user-static"),
        tool("test", &["-e", "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1"], "libc6-arm64-cross"),
        tool("test", &["-e", "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1"], "libgcc-s1-arm64-cross"),
    ];
    let missing: Vec<Tool> = wanted.into_iter().filter(|tool| !tool.works()).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    for target in ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"] {
        rustup(&["target", "add", target])?;
    }
    Ok(())
}

/// Cargo's configuration names the compiler and the archiver for zstd's C.
fn tools() -> Vec<Tool> {
    let tool = |program: &str, arguments, package| Tool { program: program.to_owned(), arguments, package };
    let named = |variable: &str, default: &str| std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    const VERSION: &[&str] = &["--version"];
    vec![
        tool(&named("CC_wasm32_unknown_unknown", "clang"), VERSION, "clang"),
        tool(&named("AR_wasm32_unknown_unknown", "llvm-ar-14"), VERSION, "llvm-14"),
        tool("setfacl", VERSION, "acl"),
        tool("getfacl", VERSION, "acl"),
        tool("setfattr", VERSION, "attr"),
        tool("node", VERSION, "nodejs"),
        tool("python3", &["-c", "import venv, ensurepip"], "python3-venv"),
    ]
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
