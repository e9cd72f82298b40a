//! Targets: the machines that a release has programs for. A further one is one more line.

/// A machine that a release has a program for.
pub(crate) struct Target {
    /// Rust's name for it, which is also the archive's.
    pub(crate) triple: &'static str,
    /// The program's file.
    pub(crate) program: &'static str,
    /// What the archive is: `tar.gz` or `zip`.
    pub(crate) archive: &'static str,
    /// What Linux's packages and images call the processor; none on other systems, which get the archive alone.
    pub(crate) linux: Option<&'static str>,
}

pub(crate) const TARGETS: [Target; 6] = [
    Target { triple: "x86_64-unknown-linux-musl", program: "copal", archive: "tar.gz", linux: Some("amd64") },
    Target { triple: "aarch64-unknown-linux-musl", program: "copal", archive: "tar.gz", linux: Some("arm64") },
    Target { triple: "aarch64-apple-darwin", program: "copal", archive: "tar.gz", linux: None },
    Target { triple: "x86_64-apple-darwin", program: "copal", archive: "tar.gz", linux: None },
    Target { triple: "x86_64-unknown-freebsd", program: "copal", archive: "tar.gz", linux: None },
    Target { triple: "x86_64-pc-windows-gnu", program: "copal.exe", archive: "zip", linux: None },
];

impl Target {
    /// Whether it is one of the Mac's, whose programs are linked with Apple's frameworks.
    pub(crate) fn is_macos(&self) -> bool {
        self.triple.ends_with("-apple-darwin")
    }

    pub(crate) fn runs_here(&self) -> bool {
        self.triple.starts_with(std::env::consts::ARCH) && self.triple.contains(std::env::consts::OS)
    }
}
