//! A terminal of its own for a command.

use std::process::Command;

use super::{Machine, Run};

impl Machine {
    /// Runs a command with the key file on a terminal, where a person types this after the first question; gives its
    /// exit code and what the screen showed.
    pub(crate) fn on_terminal(&self, arguments: &[&str], typed: &str) -> (i32, String) {
        let plain = self.with_key(arguments);
        let mut python = Command::new("python3");
        python.args(["-c", ON_TERMINAL, typed]).arg(plain.get_program()).args(plain.get_args());
        python.current_dir(self.directory.path()).env_clear();
        python.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = python.ran();
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
