//! Who may use what: crates, the modules of format and engine, their sources of surprise, and unsafe code.

use std::process::Command;

use serde_json::Value;

mod circles;
mod source;

use circles::circles;
use source::{CodePath, paths, tokens, without_tests};

use crate::{files, read, top};

/// Which of the workspace's crates each may import. `tests` is imported by its simulation alone.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("copal-format", &[]),
    ("copal-engine", &["copal-format"]),
    ("copal-windows", &[]),
    ("copal-store", &["copal-windows"]),
    ("copal-jobs", &["copal-format", "copal-engine", "copal-store"]),
    ("copal-reader", &["copal-format", "copal-engine", "copal-windows"]),
    ("copal-gateway", &["copal-format", "copal-store", "copal-jobs"]),
    (
        "copal-client",
        &[
            "copal-format",
            "copal-engine",
            "copal-store",
            "copal-jobs",
            "copal-gateway",
            "copal-reader",
            "copal-windows",
        ],
    ),
    ("copal-cli", COMMAND),
    ("copal-simulation", &["copal-format", "copal-engine", "copal-store", "copal-jobs", "copal-tests"]),
    ("copal-tests", TESTED),
    ("copal-lambda", &["copal-format", "copal-store", "copal-jobs", "copal-gateway"]),
    ("copal-wasm", &["copal-format", "copal-engine"]),
    ("copal-wasm-bindgen", &[]),
    ("copal-python", &["copal-client"]),
    ("copal-bench", &[]),
    ("xtask", &[]),
];

const COMMAND: &[&str] =
    &["copal-format", "copal-engine", "copal-store", "copal-jobs", "copal-gateway", "copal-client", "copal-reader"];

const TESTED: &[&str] = &[
    "copal-format",
    "copal-engine",
    "copal-store",
    "copal-jobs",
    "copal-gateway",
    "copal-lambda",
    "copal-reader",
    "copal-wasm",
];

/// The crates that do not forbid unsafe code as a whole.
const UNSAFE_WITHIN: [&str; 2] = ["copal-store", "copal-windows"];

/// What code asks for to know the operating system it is built for.
const SYSTEMS: [&str; 6] = ["unix", "windows", "target_os", "target_family", "target_vendor", "target_env"];

/// The files beside modules named `system` that ask: a crate for one system, and the choice of the allocator, which stands
/// in the program and not in its library.
const MAY_ASK_FOR_THE_SYSTEM: [&str; 2] = ["windows/src/lib.rs", "cli/src/allocator.rs"];

/// The crates that decide without effects. Hosts have the effects.
const PURE: [&str; 2] = ["format", "engine"];

/// What would make a pure crate wait, or differ from run to run.
const NOT_IN_PURE: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "net"],
    &["std", "thread"],
    &["std", "process"],
    &["std", "env"],
    &["std", "time"],
    &["rand"],
    &["getrandom"],
];

/// Names that `copal-client` must not use: macros that print, and the crates of the command line.
const TERMINAL: &[&str] = &["print", "println", "eprint", "eprintln", "clap", "indicatif"];

/// The files that ask a store to delete. The jobs' own function looks at each name, the gateway at who asks and that it is a key
/// slot, as the command's slots are; the benchmark deletes what it has just created below `tmp/`; the others are stores
/// before a store, and a router.
const MAY_DELETE: &[&str] = &[
    "cli/src/commands/benchmark.rs",
    "cli/src/commands/serve/unmade.rs",
    // A secret of the desktop's keychain.
    "cli/src/keychain.rs",
    "client/src/repository/copies.rs",
    "client/src/repository/slots.rs",
    "gateway/src/router/mod.rs",
    "gateway/src/router/objects.rs",
    "gateway/src/serve/aside.rs",
    "jobs/src/objects.rs",
    "jobs/src/prune/notes.rs",
    "jobs/src/witness.rs",
];

/// The files with unsafe code: mapped files, and the calls of Windows that std lacks. The third has only the
/// attribute that names an export, the last passes calls on to the system's allocator and counts.
const MAY_BE_UNSAFE: &[&str] = &[
    "store/src/fs/mapping.rs",
    "windows/src/calls.rs",
    "wasm/examples/session/main.rs",
    "engine/examples/scale/counting.rs",
];

#[test]
fn crates_import_only_what_their_layer_allows() {
    let mut refused = Vec::new();
    for package in packages() {
        let name = text(&package["name"]);
        let (_, allowed) = MAY_IMPORT.iter().find(|(member, _)| *member == name).expect("every crate has a layer");
        for dependency in package["dependencies"].as_array().expect("dependencies are a list") {
            let other = text(&dependency["name"]);
            let known = MAY_IMPORT.iter().any(|(member, _)| *member == other);
            if known && other != name && !allowed.contains(&other) {
                refused.push(format!("{name} imports {other}"));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn modules_of_format_and_engine_use_only_modules_listed_above_them() {
    let mut refused = Vec::new();
    for file in pure_files() {
        let layers = layers(file.krate);
        let own = layers.iter().position(|layer| *layer == file.module());
        let own = own.unwrap_or_else(|| panic!("{} is in no module of lib.rs", file.name));
        for path in &file.paths {
            let Some(used) = file.root_path(path) else { continue };
            let position = layers.iter().position(|layer| layer == used);
            if position.is_none_or(|position| position > own) {
                refused.push(format!("{}: {}", file.name, path.join("::")));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn files_of_a_folder_import_each_other_in_one_direction() {
    let mut found = Vec::new();
    for krate in [
        "format", "engine", "store", "jobs", "gateway", "client", "cli", "reader", "wasm", "lambda", "windows", "xtask",
    ] {
        let top = format!("{krate}/src/");
        let names =
            files().into_iter().filter(|name| name.starts_with(&top) && name.ends_with(".rs") && !is_test(name));
        let files = names.map(|name| (name[top.len()..].to_owned(), paths(&without_tests(&tokens(&read(&name))))));
        found.extend(circles(&files.collect::<Vec<_>>()).into_iter().map(|circle| format!("{top}{circle}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn format_and_engine_have_no_files_sockets_clock_randomness_threads_or_async() {
    let mut refused = Vec::new();
    for file in pure_files() {
        let surprising = |path: &&CodePath| {
            let starts = |words: &[&str]| path.iter().take(words.len()).eq(words);
            NOT_IN_PURE.iter().any(|words| starts(words))
        };
        let used = file.paths.iter().filter(surprising);
        refused.extend(used.map(|path| format!("{}: {}", file.name, path.join("::"))));
        let waits = file.tokens.iter().filter(|token| ["async", "await"].contains(&token.as_str()));
        refused.extend(waits.map(|token| format!("{}: {token}", file.name)));
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn the_client_prints_nothing_and_asks_nobody() {
    let client = files().into_iter().filter(|name| name.starts_with("client/src/") && name.ends_with(".rs"));
    let speaks = |token: &String| TERMINAL.contains(&token.as_str());
    let refused: Vec<String> = client.filter(|name| without_tests(&tokens(&read(name))).iter().any(speaks)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn every_crate_but_the_store_and_windows_forbids_unsafe_code() {
    for package in packages() {
        for target in package["targets"].as_array().expect("targets are a list") {
            let root = text(&target["src_path"]);
            let kinds = target["kind"].as_array().expect("kinds are a list");
            if kinds.iter().any(|kind| kind == "lib" || kind == "bin")
                && !UNSAFE_WITHIN.contains(&text(&package["name"]))
            {
                let source = read(root);
                assert!(source.contains("#![forbid(unsafe_code)]"), "{root} does not forbid unsafe code");
            }
        }
    }
}

#[test]
fn unsafe_code_is_only_where_objects_are_mapped() {
    let files = files().into_iter().filter(|name| name.ends_with(".rs"));
    let unsafe_files = files.filter(|name| tokens(&read(name)).iter().any(|token| token == "unsafe"));
    let refused: Vec<String> = unsafe_files.filter(|name| !MAY_BE_UNSAFE.contains(&name.as_str())).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn only_modules_named_system_ask_which_one_it_is() {
    let crates =
        ["format", "engine", "store", "jobs", "gateway", "reader", "client", "cli", "lambda", "wasm", "windows"];
    let is_code = |name: &str| {
        let mut parts = name.split('/');
        name.ends_with(".rs")
            && parts.next().is_some_and(|krate| crates.contains(&krate))
            && parts.next() == Some("src")
    };
    let asks = |name: &String| {
        let tokens = without_tests(&tokens(&read(name)));
        let starts = tokens.windows(2).enumerate().filter(|(_, window)| window[0] == "cfg" || window[0] == "cfg_attr");
        let mut conditions = starts.map(|(at, _)| &tokens[at..tokens.len().min(at + CONDITION)]);
        // A path such as `std::os::unix` may follow; a condition ends before `]`, and a macro's before `;` or `{`.
        conditions.any(|rest| {
            let end = rest.iter().position(|token| ["]", ";", "{"].contains(&token.as_str())).unwrap_or(rest.len());
            rest[..end].iter().any(|token| SYSTEMS.contains(&token.as_str()))
        })
    };
    let is_system = |name: &String| name.contains("/system/") || name.ends_with("/system.rs");
    let files = files().into_iter().filter(|name| is_code(name) && !is_test(name));
    let asking: Vec<String> = files.filter(asks).filter(|name| !is_system(name)).collect();
    let unexpected: Vec<&String> =
        asking.iter().filter(|name| !MAY_ASK_FOR_THE_SYSTEM.contains(&name.as_str())).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    // The test sees such a condition where there is one.
    assert_eq!(asking.len(), MAY_ASK_FOR_THE_SYSTEM.len(), "{asking:#?}");
}

#[test]
fn nothing_is_deleted_but_where_names_are_looked_at() {
    let is_code = |name: &str| {
        let folders = ["jobs/src/", "gateway/src/", "client/src/", "cli/src/", "lambda/src/"];
        name.ends_with(".rs") && !name.contains("/tests") && folders.iter().any(|folder| name.starts_with(folder))
    };
    let deletes = |name: &String| {
        let tokens = without_tests(&tokens(&read(name)));
        let names = |name: &str| tokens.iter().any(|token| token == name);
        let calls = |name: &str| tokens.windows(3).any(|window| window == [".", name, "("]);
        // A wrapper that passes deletions on names them in its list.
        ["delete", "delete_all"].into_iter().any(|name| calls(name) || (names("pass_on") && names(name)))
    };
    let files: Vec<String> = files().into_iter().filter(|name| is_code(name)).filter(deletes).collect();
    assert_eq!(files, MAY_DELETE);
}

#[test]
fn no_test_is_switched_off() {
    let files = files().into_iter().filter(|name| name.ends_with(".rs"));
    let ignored = |tokens: &[String]| tokens.windows(3).any(|window| window == ["#", "[", "ignore"]);
    let refused: Vec<String> = files.filter(|name| ignored(&tokens(&read(name)))).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn no_file_names_a_place_on_somebodys_machine() {
    let places = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/home/", "runner/"), concat!("/tmp/", "wt/")];
    let mut refused = Vec::new();
    for name in files() {
        let text = String::from_utf8_lossy(&std::fs::read(top().join(&name)).expect("read a file")).into_owned();
        for (i, line) in text.lines().enumerate() {
            let absolute = |place: &&str| {
                let inside = |at| line[..at].ends_with(|c: char| c.is_alphanumeric() || "./-_>*".contains(c));
                line.match_indices(*place).any(|(at, _)| !inside(at))
            };
            if places.iter().any(absolute) {
                refused.push(format!("{name}:{}: {line}", i + 1));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Tokens of the longest condition.
const CONDITION: usize = 40;

/// A file of a pure crate, without its tests.
struct PureFile {
    krate: &'static str,
    name: String,
    tokens: Vec<String>,
    paths: Vec<CodePath>,
}

impl PureFile {
    /// The name below `src/`.
    fn inside(&self) -> &str {
        &self.name[self.krate.len() + "/src/".len()..]
    }

    /// The crate's module that the file belongs to.
    fn module(&self) -> &str {
        let first = self.inside().split('/').next().expect("a name has a first part");
        first.trim_end_matches(".rs")
    }

    /// The crate's module that a path leads to, if it leaves this file's module.
    fn root_path<'a>(&self, path: &'a [String]) -> Option<&'a str> {
        let up = path.iter().take_while(|segment| *segment == "super").count();
        let first = match path[0].as_str() {
            "crate" => 1,
            "super" if up >= self.depth() => up,
            _ => return None,
        };
        path.get(first).map(String::as_str)
    }

    /// How many `super` lead from the file to the crate.
    fn depth(&self) -> usize {
        let parts = self.inside().split('/').count();
        if self.name.ends_with("/mod.rs") { parts - 1 } else { parts }
    }
}

/// The modules of a crate in the order of its `lib.rs`.
fn layers(krate: &str) -> Vec<String> {
    let tokens = tokens(&read(format!("{krate}/src/lib.rs")));
    let modules = tokens.windows(3).filter(|window| window[0] == "mod" && window[2] == ";");
    modules.map(|window| window[1].clone()).collect()
}

fn pure_files() -> Vec<PureFile> {
    let names =
        files().into_iter().filter(|name| name.ends_with(".rs") && !name.ends_with("/lib.rs") && !is_test(name));
    let file = |name: String| {
        let krate = PURE.into_iter().find(|krate| name.starts_with(&format!("{krate}/src/")))?;
        let tokens = without_tests(&tokens(&read(&name)));
        Some(PureFile { krate, paths: paths(&tokens), name, tokens })
    };
    names.filter_map(file).collect()
}

fn is_test(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/")
}

fn packages() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(top());
    let output = command.output().expect("ran cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages are a list").clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
