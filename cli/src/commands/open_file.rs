//! Open file: a file that other users may read, replaced in one step.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use copal_client::entropy::SystemEntropy;
use copal_jobs::context::Entropy;

use crate::report::Failure;
use crate::system::{new_file, open_to_all};

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
    let written = new_file(&unfinished).and_then(|mut file: File| {
        file.write_all(text.as_bytes())?;
        open_to_all(&file)?;
        copal_store::sync(&file)?;
        std::fs::rename(&unfinished, path)
    });
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(&unfinished);
    })
}
