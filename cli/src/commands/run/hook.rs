//! Hook: a program of the user's, before or after an act, or when a profile fails.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::args::profile::Hooks;
use crate::config::Act;
use crate::report::Failure;
use crate::secrets::without_secrets;
use crate::system::{apart, end_all, guarded, has_group, kill_all};

/// The JSON object on a hook's standard input. It holds no secret.
#[derive(Serialize)]
pub(super) struct Told<'a, R: Serialize> {
    pub(super) hook: &'a str,
    pub(super) profile: &'a str,
    pub(super) act: Option<Act>,
    /// The exit code of the act or profile; none before it ends.
    pub(super) exit_code: Option<u8>,
    /// The report of the act, or of the profile if it failed.
    pub(super) report: Option<&'a R>,
}

/// Runs a hook to its end, if one is set. An interrupted run gives it a few seconds.
pub(super) fn call(
    hooks: Option<&Hooks>,
    told: &Told<'_, impl Serialize>,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let Some((hooks, words)) = hooks.and_then(|hooks| Some((hooks, hooks.named(told.hook)?))) else { return Ok(()) };
    let failed = |why: String| Failure::Hook { hook: told.hook.to_owned(), why };
    let mut child = spawn(words).map_err(|cause| failed(cause.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let line = serde_json::to_vec(told).expect("reports have plain fields");
        // The hook may end without reading this, or never read it while it runs.
        std::thread::spawn(move || stdin.write_all(&line));
    }
    match ended(&mut child, hooks.timeout.0, interrupted) {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(failed(status.to_string())),
        Ok(Err(most)) => Err(failed(format!("it took longer than {} s and was ended", most.as_secs()))),
        Err(cause) => Err(failed(cause.to_string())),
    }
}

/// Starts the program in its own process group, without secrets and `NOTIFY_SOCKET` in its environment.
fn spawn(words: &[OsString]) -> std::io::Result<Child> {
    let (program, arguments) = words.split_first().expect("a hook has a program");
    let path = Path::new(program);
    if path.is_absolute() {
        guarded::check(path).map_err(std::io::Error::other)?;
    }
    let mut command = Command::new(program);
    apart(&mut command).args(arguments).stdin(Stdio::piped()).stdout(Stdio::from(std::io::stderr()));
    without_secrets(&mut command).spawn()
}

/// Waits for the hook. If it takes too long, ends all processes of its group and returns the limit.
fn ended(child: &mut Child, most: Duration, interrupted: &AtomicBool) -> std::io::Result<Result<ExitStatus, Duration>> {
    let (mut begun, mut most) = (Instant::now(), most);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ok(status));
        }
        if most > ON_INTERRUPT && interrupted.load(Ordering::Relaxed) {
            (begun, most) = (Instant::now(), ON_INTERRUPT);
        }
        if begun.elapsed() > most {
            end(child)?;
            return Ok(Err(most));
        }
        std::thread::sleep(LOOK);
    }
}

/// Asks all processes of the hook's group to end, and kills those that have not ended in time.
fn end(child: &mut Child) -> std::io::Result<()> {
    end_all(child);
    let asked = Instant::now();
    while asked.elapsed() < UNTIL_KILLED {
        // The hook itself may end before a process that it has started.
        if child.try_wait()?.is_some() && !has_group(child) {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    kill_all(child);
    child.wait().map(drop)
}

/// An interrupted run ends within 8 seconds. This leaves a hook the time to delete a file system snapshot.
const ON_INTERRUPT: Duration = Duration::from_secs(4);
const UNTIL_KILLED: Duration = Duration::from_secs(2);
/// How often to look whether a hook has ended.
const LOOK: Duration = Duration::from_millis(10);
