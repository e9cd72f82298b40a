//! A terminal of its own for a command.

use super::{COPAL, Machine, Run, run_by};

impl Machine {
    /// Runs a command with the key file on a terminal, where a person types this after the first question; gives its
    /// exit code and what the screen showed.
    pub(crate) fn on_terminal(&self, arguments: &[&str], typed: &str) -> (i32, String) {
        let ran = run_by("python3", &["-c", ON_TERMINAL, typed, COPAL], &self.with_key(arguments)).ran();
        (ran.code, String::from_utf8_lossy(&ran.out).into_owned())
    }
}

/// Runs a program on a terminal of its own.
const ON_TERMINAL: &str = r#"
import os, pty, sys
typed = sys.argv[1].encode()
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
screen = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    screen += piece
    if typed and b"[y/N]" in screen:
        os.write(terminal, typed)
        typed = b""
sys.stdout.buffer.write(screen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;
