//! Circles: files and folders of one folder that import each other in a ring.

use std::collections::{BTreeMap, BTreeSet};

use super::source::CodePath;

/// A module's path below its crate; of `lib.rs` and `main.rs` it is empty.
type Module = Vec<String>;

/// The rings of a crate. Takes its files: names below `src/`, and the paths in their code. A folder counts as one thing
/// for the files beside it. Its `mod.rs` and the files in it may import each other.
pub(crate) fn circles(files: &[(String, Vec<CodePath>)]) -> Vec<String> {
    let modules: BTreeSet<Module> = files.iter().map(|(name, _)| module(name)).collect();
    let mut imports: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (name, paths) in files {
        let own = module(name);
        for used in paths.iter().filter_map(|path| used(&own, path, &modules)) {
            let shared = own.iter().zip(&used).take_while(|(own, used)| own == used).count();
            if let (Some(own), Some(used)) = (own.get(shared), used.get(shared)) {
                let folder = imports.entry(used_in(name, shared)).or_default();
                folder.entry(own.clone()).or_default().insert(used.clone());
            }
        }
    }
    let rings = imports.into_iter().map(|(folder, imports)| (folder, ring(imports)));
    rings.filter(|(_, ring)| !ring.is_empty()).map(|(folder, ring)| format!("{}: {ring:?}", folder.join("/"))).collect()
}

/// The files in rings, with those on a way from one ring to another: repeatedly removes each file that imports none of
/// the rest, or that none of the rest imports.
fn ring(mut imports: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let before = imports.len();
        let importing: BTreeSet<String> = imports.keys().cloned().collect();
        imports.values_mut().for_each(|used| used.retain(|used| importing.contains(used)));
        imports.retain(|_, used| !used.is_empty());
        let imported: BTreeSet<String> = imports.values().flatten().cloned().collect();
        imports.retain(|name, _| imported.contains(name));
        if imports.len() == before {
            return imports;
        }
    }
}

/// The module of a file below `src/`.
fn module(name: &str) -> Module {
    let mut parts: Module = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    parts.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    parts
}

/// The folder of which a file's path has so many segments.
fn used_in(name: &str, shared: usize) -> Module {
    name.split('/').take(shared).map(str::to_owned).collect()
}

/// The module that a path in another one leads to: the longest part of it that is a module.
fn used(own: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let supers = path.iter().take_while(|segment| *segment == "super").count();
    let mut found: Module = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "self" => [own.as_slice(), &path[1..]].concat(),
        "super" => [own.get(..own.len().checked_sub(supers)?)?, &path[supers..]].concat(),
        _ => [own.as_slice(), path].concat(),
    };
    while !modules.contains(&found) {
        found.pop()?;
    }
    (found != *own).then_some(found)
}

#[test]
fn a_ring_is_named_and_a_folder_is_one_thing_for_those_beside_it() {
    let file = |name: &str, code: &str| (name.to_owned(), super::source::paths(&super::source::tokens(code)));
    let rooms = |third: &str| {
        circles(&[
            file("lib.rs", "use a::A; use b::B;"),
            file("a/mod.rs", "use self::c::C; use crate::b::B;"),
            file("a/c.rs", "use super::A;"),
            file("b.rs", third),
        ])
    };
    assert_eq!(rooms("use crate::d::D; struct B;"), Vec::<String>::new());
    assert_eq!(rooms("use crate::a::c::C;").len(), 1);
}
