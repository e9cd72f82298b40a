//! Turn: where the next check of a share goes on, on a machine that may not note in the repository which packs were read.

use std::fs;
use std::path::Path;

use copal_engine::id::PackId;

use crate::places::{create_private_dir, write_private};

/// The last pack that was read; none if nothing is known of any.
pub(super) fn last(state_dir: &Path) -> Option<PackId> {
    let text = fs::read_to_string(state_dir.join(FILE)).ok()?;
    PackId::from_hex(text.trim_end()).ok()
}

/// Remembers it. A machine that cannot keep it has checked no less for that, and begins at the same pack the next time.
pub(super) fn note(state_dir: &Path, pack: PackId) {
    let kept = create_private_dir(state_dir);
    let _ = kept.and_then(|()| write_private(&state_dir.join(FILE), format!("{pack}\n").as_bytes()));
}

const FILE: &str = "checked";
