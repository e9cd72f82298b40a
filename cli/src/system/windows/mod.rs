//! Windows: what it has of rights, signals, terminals and groups of processes.

pub mod guarded;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::io::AsHandle;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Windows has its own scheduler, which the command does not know.
pub const SCHEDULES: bool = false;

/// The program that takes a command as one line.
pub const SHELL: [&str; 2] = ["cmd", "/C"];

/// The variable that names the user.
pub const USER: &str = "USERNAME";

/// Whether a source can be saved under another path than the one it is read at.
pub const SAVES_ELSEWHERE: bool = false;

/// Whether profiles run for the whole machine, which the command does not support here.
pub fn is_root() -> bool {
    false
}

/// Makes a file. Who may read it is inherited from its directory.
pub fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The directory decides that.
pub fn open_to_all(_: &File) -> io::Result<()> {
    Ok(())
}

/// ACLs are not looked at.
pub fn open_rights(directory: &Path) -> io::Result<Option<u32>> {
    directory.metadata().map(|_| None)
}

/// Opens a file for locking; creates it if missing.
pub fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// Makes a command start in a process group of its own, which Ctrl-C does not reach.
pub fn apart(command: &mut Command) -> &mut Command {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP)
}

/// A program without a window cannot be asked to end.
pub fn end_all(child: &mut Child) {
    kill_all(child);
}

/// Ends the child; what it has started goes on.
pub fn kill_all(child: &mut Child) {
    let _ = child.kill();
}

/// Always false: Windows has no process groups.
pub fn has_group(_: &Child) -> bool {
    false
}

/// Whether the process has a console.
pub fn has_terminal() -> bool {
    open_terminal().is_ok()
}

/// The console, to ask and to read the answer.
pub fn open_terminal() -> io::Result<(File, File)> {
    let answer = OpenOptions::new().read(true).open("CONIN$")?;
    Ok((OpenOptions::new().write(true).open("CONOUT$")?, answer))
}

/// Standard output as a file, without a buffer.
pub fn output() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// Whether the error says that a device fails.
pub fn is_input_output(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| FAILING.contains(&code))
}

/// Sets the flag at Ctrl-C or Ctrl-Break; the second one ends the process at once. Calls the function at each, on a thread
/// of its own.
pub fn on_end(flag: Option<&Arc<AtomicBool>>, _: bool, mut act: impl FnMut() + Send + 'static) -> io::Result<()> {
    let came = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        if let Some(flag) = flag {
            signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())?;
            signal_hook::flag::register(signal, flag.clone())?;
        }
        signal_hook::flag::register(signal, came.clone())?;
    }
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(LOOK);
            if came.swap(false, Ordering::Relaxed) {
                act();
            }
        }
    });
    Ok(())
}

/// The directory of the user's configuration of all programs.
pub fn own_configuration(_: Option<&Path>) -> Option<PathBuf> {
    std::env::var_os("APPDATA").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user's own directory.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("USERPROFILE").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// None: every user may create directories in the usual place, and hooks in the file would run as its reader.
pub fn system_configuration() -> Option<PathBuf> {
    None
}

const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
/// A checksum of the disk is wrong, a sector was not found, reading or writing failed, the device failed.
const FAILING: [i32; 5] = [23, 27, 29, 30, 1117];
/// How often the flag is read: the console's handler can only set a flag.
const LOOK: Duration = Duration::from_millis(50);
