//! Loader: the JavaScript that instantiates the two files and hands their exports to wasm-bindgen's.

use wasmparser::{BinaryReaderError, Parser, Payload};

use crate::split::{FIRST, Files};

/// The types of what the loader exports besides wasm-bindgen's.
pub(crate) const TYPES: &str = include_str!("loader.d.ts");

/// The loader of these files. What they import is named one by one, so that a bundler drops what a worker does not use.
pub(crate) fn loader(files: &Files) -> Result<String, BinaryReaderError> {
    let (first, rest) = (imports(&files.first)?, imports(&files.rest)?);
    let mut all: Vec<&str> = first.iter().chain(&rest).copied().collect();
    all.sort_unstable();
    all.dedup();
    let [all, first, rest] = [all, first, rest].map(|names| names.join(", "));
    let head = format!(
        "import {{ __wbg_set_wasm, {all} }} from \"./copal_bg.js\";\n\
         export * from \"./copal_bg.js\";\n\n\
         const FIRST = {{ {first} }};\nconst REST = {{ {rest} }};\n"
    );
    Ok(head + include_str!("loader.js"))
}

/// What a file imports of JavaScript.
fn imports(file: &[u8]) -> Result<Vec<&str>, BinaryReaderError> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(file) {
        if let Payload::ImportSection(section) = payload? {
            for import in section.into_imports() {
                let import = import?;
                if import.module != FIRST {
                    names.push(import.name);
                }
            }
        }
    }
    Ok(names)
}
