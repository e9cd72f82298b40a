//! Columns: facts of many files in one call. A call for each file, with properties read by name, would take a quarter
//! of the time of a run without changes.

use copal_format::path::TreePath;
use copal_format::time::Time;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::convert::{Thrown, bytes_field, number, numbers_field, time, wrong};
use crate::backup::{FileFacts, FileKind};
use crate::fault::Fault;

#[wasm_bindgen(module = "/src/js/columns.js")]
extern "C" {
    /// Turns the facts of files into columns; typed in `types.ts`.
    #[wasm_bindgen(reexport, skip_typescript, js_name = inColumns)]
    #[allow(dead_code)] // Reason: only JavaScript calls it.
    fn in_columns(facts: &JsValue) -> JsValue;
}

/// The result of `inColumns`.
pub(super) struct Columns {
    paths: Vec<u8>,
    sizes: Vec<f64>,
    times: Vec<f64>,
    kinds: Vec<u8>,
}

impl Columns {
    pub(super) fn of(value: &JsValue) -> Thrown<Self> {
        let columns = Self {
            paths: bytes_field(value, "paths")?,
            sizes: numbers_field(value, "sizes")?,
            times: numbers_field(value, "times")?,
            kinds: bytes_field(value, "kinds")?,
        };
        // Other rules for paths are checked when each path is made.
        let zeros = columns.paths.iter().filter(|byte| **byte == 0).count();
        let paths = if columns.kinds.is_empty() { columns.paths.len() } else { zeros + 1 };
        let lengths = [paths, columns.sizes.len(), columns.times.len()];
        if lengths == [columns.len(); 3] { Ok(columns) } else { Err(wrong("a column", "as long as the others")) }
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Calls `act` for each file, reusing the same memory.
    pub(super) fn each(&self, mut act: impl FnMut(&FileFacts) -> Result<(), Fault>) -> Thrown<()> {
        let mut facts = FileFacts { path: TreePath::TOP, size: 0, modified: Time(0), kind: FileKind::File };
        let numbers = self.sizes.iter().zip(&self.times);
        for ((path, kind), (size, modified)) in self.paths.split(|byte| *byte == 0).zip(&self.kinds).zip(numbers) {
            facts.path.set(path).map_err(Fault::from)?;
            facts.size = number(*size, "size")? as u64;
            facts.modified = time(number(*modified, "modified")?);
            facts.kind = if *kind == 0 { FileKind::File } else { FileKind::Directory };
            act(&facts)?;
        }
        Ok(())
    }
}
