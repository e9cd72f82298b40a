//! Turn: the position of the last partial check, kept on a machine that may not record it in the repository.

use std::fs;
use std::path::Path;

use copal_format::id::PackId;

use crate::places::{create_private_dir, write_private};

/// The last pack that was read; `None` if unknown.
pub(super) fn last(state_dir: &Path) -> Option<PackId> {
    let text = fs::read_to_string(state_dir.join(FILE)).ok()?;
    PackId::from_hex(text.trim_end()).ok()
}

/// Remembers the last pack. Ignores failures: the next check then begins at the same pack.
pub(super) fn note(state_dir: &Path, pack: PackId) {
    let kept = create_private_dir(state_dir);
    let _ = kept.and_then(|()| write_private(&state_dir.join(FILE), format!("{pack}\n").as_bytes()));
}

const FILE: &str = "checked";
