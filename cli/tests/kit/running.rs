//! Processes that go on while a test works.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Ran;

/// Waits until something is there.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within four minutes: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the end of a process; gives its exit code.
#[track_caller]
pub(crate) fn wait(child: &mut Child) -> i32 {
    until("it ends", || child.try_wait().unwrap()).code().unwrap_or(-1)
}

/// Sends a process a signal.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
}

/// A command that goes on while others work; ended with the test.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Starts a command that writes a line once it can be used; gives that line, too.
    pub(crate) fn announced(command: &mut Command) -> (Self, String) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Self(Some(child)), line)
    }

    /// The process.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child().try_wait().unwrap().is_some()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.0.as_ref().unwrap(), name);
    }

    /// Waits for its end; gives its exit code.
    pub(crate) fn wait(&mut self) -> i32 {
        wait(self.child())
    }

    /// Sends it a signal, after which it must end within ten seconds.
    pub(crate) fn ends_at(self, name: &str) -> Ran {
        let asked = Instant::now();
        self.signal(name);
        let ran = self.end();
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        ran
    }

    /// Waits for its end. What it says fits into pipes.
    pub(crate) fn end(mut self) -> Ran {
        wait(self.child());
        Ran::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
