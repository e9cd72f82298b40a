//! Other systems than Linux: no file is without a name, and no supervisor asks.

/// Files without names: there are none.
pub mod nameless {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub fn make(_: &Path) -> Option<File> {
        None
    }

    pub fn name(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub fn tell_supervisor(_: &str) {}
