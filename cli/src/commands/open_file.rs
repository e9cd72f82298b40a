//! Open file: a file that other users may read, replaced in one step.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use copal_client::entropy::SystemEntropy;
use copal_jobs::context::Entropy;

use crate::report::Failure;

/// Writes the file. Another user may own its directory (an exporter, say): rights are set on the file that is open, and
/// never on a name, which may be a link by then.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    replace(path, text).map_err(|cause| Failure::io("write", path, cause))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut random = [0; 8];
    SystemEntropy.fill(&mut random);
    let unfinished = path.with_file_name(format!(".{}.{:016x}", name.display(), u64::from_le_bytes(random)));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished).and_then(|mut file: File| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.sync_all()?;
            std::fs::rename(&unfinished, path)
        });
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(&unfinished);
    })
}
