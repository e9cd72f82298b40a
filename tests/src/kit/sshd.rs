//! A real sshd on this machine, with keys of its own, and what reaches it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use copal_store::site::{Site, sftp};
use tempfile::TempDir;

use super::process::{serve, started};

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Sshd {
    place: TempDir,
    process: Child,
    address: SocketAddr,
}

impl Sshd {
    /// Starts one and waits until it lets somebody in.
    pub fn start() -> Sshd {
        Sshd::denying("")
    }

    /// Starts one whose SFTP denies a request, as an option of `sftp-server` (`-P`) says.
    pub fn denying(option: &str) -> Sshd {
        let place = tempfile::tempdir().expect("a temporary directory");
        for key in ["host", "user"] {
            let options = ["-q", "-t", "ed25519", "-N", "", "-f"];
            let made = Command::new("ssh-keygen").args(options).arg(place.path().join(key)).status();
            assert!(made.is_ok_and(|status| status.success()), "ssh-keygen makes a key");
        }
        fs::copy(place.path().join("user.pub"), place.path().join("authorized")).expect("a copy of the key");
        let Some((process, address)) = serve(|address| launch(place.path(), address, option)) else {
            let said = fs::read_to_string(place.path().join("output"));
            panic!("sshd does not start; it says: {}", said.unwrap_or_default());
        };
        Sshd { place, process, address }
    }

    /// A program that stands for ssh, with the key of this server: for `COPAL_SSH`.
    pub fn ssh(&self) -> PathBuf {
        self.place.path().join("ssh")
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A new store in a directory, with a connection of its own.
    pub fn store(&self, root: &Path) -> impl Site + use<> {
        let (ssh, port) = (self.ssh(), self.address.port().to_string());
        let command = move || {
            let mut command = Command::new(&ssh);
            command.args(["-p", &port, "-s", "127.0.0.1", "sftp"]);
            command
        };
        sftp::store(root.display().to_string(), root.display().to_string(), command).expect("a runtime starts")
    }

    /// Ends the processes that serve connections, if there are any; the server takes new ones.
    pub fn cut(&self) -> bool {
        let serving = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.process.id())).unwrap_or_default();
        let cut = Command::new("kill").arg("-KILL").args(serving.split_whitespace()).stderr(Stdio::null()).status();
        cut.is_ok_and(|status| status.success())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn launch(place: &Path, address: SocketAddr, option: &str) -> Option<Child> {
    let name = |file: &str| place.join(file).display().to_string();
    let config = format!(
        "Port {}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
         PermitRootLogin yes\nMaxStartups 100\nSubsystem sftp internal-sftp {option}\n",
        address.port(),
        name("host"),
        name("authorized"),
    );
    fs::write(place.join("sshd_config"), config).expect("a file");
    let ssh = format!(
        "#!/bin/sh\nexec ssh -F none -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile={} -o LogLevel=ERROR \
         -o BatchMode=yes \"$@\"\n",
        name("user"),
        name("known"),
    );
    fs::write(place.join("ssh"), ssh).expect("a file");
    fs::set_permissions(place.join("ssh"), fs::Permissions::from_mode(0o755)).expect("a program");
    // A superuser's sshd wants this directory; elsewhere nobody can make it, and nobody needs it.
    let _ = fs::create_dir_all("/run/sshd");
    let output = fs::File::create(place.join("output")).expect("a file for what it says");
    let mut sshd = Command::new("/usr/sbin/sshd");
    sshd.args(["-D", "-e", "-f"]).arg(place.join("sshd_config")).stdin(Stdio::null());
    sshd.stdout(output.try_clone().expect("the file is open")).stderr(output);
    started(&mut sshd, || {
        let mut command = Command::new(place.join("ssh"));
        command.args(["-p", &address.port().to_string(), "127.0.0.1", "true"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
