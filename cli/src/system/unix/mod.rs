//! Unix: rights, signals, terminals and groups of processes.

pub mod guarded;

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Whether this system has a scheduler that the command knows. That of macOS is neither systemd nor cron.
pub const SCHEDULES: bool = cfg!(not(target_os = "macos"));

/// The program that takes a command as one line.
pub const SHELL: [&str; 2] = ["sh", "-c"];

/// The variable that names the user.
pub const USER: &str = "USER";

/// Whether a source can be saved under another path than the one it is read at.
pub const SAVES_ELSEWHERE: bool = true;

/// Whether this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes a file that this user alone may read.
pub fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Lets all users read an open file.
pub fn open_to_all(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o644))
}

/// The mode of a directory that other users have rights to; none if they have no rights.
pub fn open_rights(directory: &Path) -> io::Result<Option<u32>> {
    let mode = directory.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

/// Opens a file for locking; creates it if missing.
pub fn lock_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

/// Makes a command start in a process group of its own.
pub fn apart(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Asks all processes of a child's group to end.
pub fn end_all(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::TERM);
}

/// Ends all processes of a child's group.
pub fn kill_all(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// Whether a child's group has a process, running or a zombie.
pub fn has_group(child: &Child) -> bool {
    test_kill_process_group(Pid::from_child(child)) != Err(Errno::SRCH)
}

/// Whether the process has a terminal.
pub fn has_terminal() -> bool {
    open_terminal().is_ok()
}

/// The terminal, to ask and to read the answer.
pub fn open_terminal() -> io::Result<(File, File)> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    Ok((terminal.try_clone()?, terminal))
}

/// Standard output as a file, without a buffer.
pub fn output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Whether the error says that a device fails.
pub fn is_input_output(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Sets the flag at SIGINT or SIGTERM; the second one ends the process at once. Calls the function at each, on a thread of
/// its own; also at SIGHUP if `hangup`, which then sets no flag.
pub fn on_end(flag: Option<&Arc<AtomicBool>>, hangup: bool, mut act: impl FnMut() + Send + 'static) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        if let Some(flag) = flag {
            signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())?;
            signal_hook::flag::register(signal, flag.clone())?;
        }
    }
    let watched = if hangup { &[SIGINT, SIGTERM, SIGHUP][..] } else { &[SIGINT, SIGTERM] };
    let mut signals = Signals::new(watched)?;
    std::thread::spawn(move || signals.forever().for_each(|_| act()));
    Ok(())
}

/// The directory of the user's configuration of all programs, if there is no `$XDG_CONFIG_HOME`.
pub fn own_configuration(home: Option<&Path>) -> Option<PathBuf> {
    home.map(|home| home.join(".config"))
}

/// The user's own directory.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// The directory of the machine's configuration of all programs.
pub fn system_configuration() -> Option<PathBuf> {
    Some("/etc".into())
}
