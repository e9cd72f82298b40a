//! Commands: running other programs, with their output shown as it comes.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::tally::Tally;

/// A cargo command on the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    of_cargo(Path::new(&std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())), arguments)
}

/// This program's file, as it was called at the start. Later the system says that the file is deleted: the suite builds this
/// program, too.
pub(crate) static OWN: LazyLock<PathBuf> = LazyLock::new(|| std::env::current_exe().unwrap_or_default());

/// A cargo command that builds for this machine, as the suite does: clippy compiles the workspace's crates, so that what it
/// looks at need not be compiled a second time. It does without optimisations of its own, and without checks of pointers.
pub(crate) fn linting(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.env(WRAPPER, "clippy-driver");
    command
}

/// A command on the workspace of a program that has cargo do the work.
pub(crate) fn of_cargo(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace());
    // Two kinds of variables are kept from cargo. Those that describe this program's own package: build scripts that read them
    // would run once more. And the compiler's wrapper that a person has set: it would make other bytes.
    let own = |name: &str| name == WRAPPER || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(own) {
            command.env_remove(&name);
        }
    }
    command
}

/// What has cargo build a target without the names of this machine's folders: they are in every panic's message, and would make
/// builds in two folders differ. `further` are flags of the compiler besides.
pub(crate) fn remapped(triple: &str, further: &[String]) -> Result<[String; 2], String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let registry = home.ok_or("neither CARGO_HOME nor HOME says where crates lie")?.join("registry/src");
    let folder = |entry: std::io::Result<std::fs::DirEntry>| Some((entry.ok()?.path(), "/crates"));
    let registries = std::fs::read_dir(&registry).into_iter().flatten().filter_map(folder);
    // Of two that fit, the compiler takes the later one.
    let all = registries.chain([(workspace().to_owned(), "/copal"), (target(), "/target")]);
    let remaps = all.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags: Vec<String> = remaps.chain(further.iter().cloned()).map(|flag| format!("{flag:?}")).collect();
    Ok(["--config".to_owned(), format!("target.{triple}.rustflags=[{}]", flags.join(","))])
}

/// Folders of programs, then those of `PATH`.
pub(crate) fn before_path(first: impl IntoIterator<Item = PathBuf>) -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&path))).map_err(|error| error.to_string())
}

/// Has cargo build what is chosen, as the suite does. The features are those of the whole workspace and of what its tests
/// depend on: another choice would have others, and compile once more what both share, the AWS SDK among it. Cargo asks for
/// the tests' dependencies if a target needs them; the benchmark is the smallest one.
pub(crate) fn building(chosen: &[&str]) -> Command {
    linting(&[&["build", "--workspace", "--all-features", "--bench", "cold_start"], chosen].concat())
}

/// Builds the programs as the suite has them. All of them: for one alone cargo compiles hundreds of crates a second time, those
/// with which procedural macros are built, and whatever such macros are used in.
pub(crate) fn build_programs() -> Result<(), String> {
    succeed(&mut building(&["--bins", "--lib"]))
}

const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// The top of the project.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), |dir| workspace().join(dir))
}

/// Runs a command; an error unless it succeeds.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).status().map_err(|error| cannot_run(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(command))) }
}

/// Runs a command; gives what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| cannot_run(command, &error))?;
    if !output.status.success() {
        return Err(format!("{}: {}", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{}: printed no UTF-8", shown(command)))
}

/// Has cargo build; an error if the compiler warns, too. Cargo repeats the warnings of what it has compiled before.
pub(crate) fn succeed_without_warnings(command: &mut Command) -> Result<(), String> {
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_QUIET", "false");
    let mut child =
        command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|error| cannot_run(command, &error))?;
    let mut warned = false;
    for line in BufReader::new(child.stderr.take().expect("it is piped")).split(b'\n') {
        let line = line.map_err(|error| cannot_run(command, &error))?;
        let text = String::from_utf8_lossy(&line);
        eprintln!("{text}");
        // Cargo's own warnings, of a slow network for one, are not meant.
        warned |= text.starts_with("warning: `") && text.contains(" generated ");
    }
    let status = child.wait().map_err(|error| cannot_run(command, &error))?;
    match warned {
        true => Err(format!("{}: the compiler warns", shown(command))),
        false if status.success() => Ok(()),
        false => Err(format!("{}: {status}", shown(command))),
    }
}

/// Runs tests; counts what they report. A failure that no test reported counts as one.
pub(crate) fn count(command: &mut Command) -> Result<Tally, String> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| cannot_run(command, &error))?;
    let mut tally = Tally::default();
    let mut lines = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(|error| cannot_run(command, &error))? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        tally.read(text.trim_end());
        line.clear();
    }
    let status = child.wait().map_err(|error| cannot_run(command, &error))?;
    if !status.success() && tally.failed == 0 {
        eprintln!("{}: {status}", shown(command));
        tally.failed = 1;
    }
    Ok(tally)
}

fn cannot_run(command: &Command, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", shown(command))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
