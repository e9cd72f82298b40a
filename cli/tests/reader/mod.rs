//! The reader that a repository carries: stored by `init` or later, named by the descriptor, checked, and never deleted;
//! and what it restores.

mod damage;
mod page;
mod restores;
mod runtime;
mod wasi;

use std::fs;

use crate::kit::{Harm, Machine};
use copal_format::id::ObjectHash;
use copal_format::layout;

#[test]
fn init_stores_the_reader_and_a_text_and_the_descriptor_names_it() {
    let machine = with_modules(Machine::bare());
    let made = init(&machine, &["--reader", "one.wasm"]);
    assert_eq!(made["reader"], reader(ONE));
    assert_eq!(machine.objects()[&reader(ONE)], ONE);
    assert_eq!(descriptor(&machine, 1), hash(ONE));
    let text = machine.names("reader/").into_iter().find(|name| name.ends_with(".txt")).unwrap();
    assert_eq!(machine.objects()[&text], copal_reader::TEXT.as_bytes());
    assert_eq!(layout::reader_hash(&text), Some(ObjectHash::of(copal_reader::TEXT.as_bytes())));
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn a_program_without_a_reader_says_so_and_makes_a_repository_without() {
    let machine = Machine::bare();
    let ran = machine.init(&[]).ok();
    if copal_client::repository::ReaderProgram::inside().is_none() {
        assert!(ran.err.contains("built without the reader"), "{}", ran.err);
        assert!(machine.names("reader/").is_empty());
        let refused = machine.run(&["reader"]).exits(2);
        assert!(refused.err.contains("--reader"), "{}", refused.err);
    } else {
        assert_eq!(machine.names("reader/").len(), 2);
    }
}

#[test]
fn a_repository_gets_a_reader_later_by_a_new_version_of_the_descriptor() {
    let machine = with_modules(Machine::new());
    machine.write("file", "content");
    machine.backup(&[]);
    let carried = machine.json(&["reader", "--reader", "one.wasm"]);
    assert_eq!(carried["reader"], reader(ONE));
    assert_eq!(carried["descriptor"], layout::descriptor(2));
    assert_eq!(descriptor(&machine, 2), hash(ONE));

    let again = machine.json(&["reader", "--reader", "one.wasm"]);
    assert_eq!((again["stored"].as_bool(), again["descriptor"].is_null()), (Some(false), true));

    machine.json(&["reader", "--reader", "two.wasm"]);
    assert_eq!(descriptor(&machine, 3), hash(TWO));
    assert_eq!(machine.names("reader/").len(), 3, "the first one stays");
    machine.backup(&[]);
    machine.restore(&[]).ok();
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn what_is_no_module_is_refused() {
    let machine = Machine::new();
    fs::write(machine.path("text"), "a text").unwrap();
    for file in ["text", "nowhere"] {
        machine.run(&["reader", "--reader", file]).exits(2);
    }
    assert!(machine.names("reader/").iter().all(|name| !name.contains(&hash(b"a text"))));
}

#[test]
fn check_tells_damage_of_the_reader_as_stale_and_its_loss_and_the_command_brings_it_back() {
    let machine = with_modules(Machine::bare());
    init(&machine, &["--reader", "one.wasm"]);
    for harm in [Harm::Flip, Harm::Truncate] {
        let machine = machine.copy();
        machine.damage(&reader(ONE), harm);
        let (code, report) = machine.check(&[]);
        assert_eq!(code, 4);
        assert_eq!(
            (&report["errors"][0]["kind"], &report["errors"][0]["object"]),
            (&"stale".into(), &reader(ONE).into())
        );
    }
    machine.damage(&reader(ONE), Harm::Delete);
    let (code, report) = machine.check(&[]);
    assert_eq!((code, &report["errors"][0]["kind"]), (4, &"missing".into()));
    machine.write("file", "content");
    machine.backup(&[]);
    machine.restore(&[]).ok();
    let carried = machine.json(&["reader", "--reader", "one.wasm"]);
    assert_eq!((carried["stored"].as_bool(), carried["descriptor"].is_null()), (Some(true), true));
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn neither_a_prune_nor_a_rebuild_touches_the_reader() {
    let machine = with_modules(Machine::bare());
    init(&machine, &["--reader", "one.wasm"]);
    let before = machine.names("reader/");
    for content in ["one", "two"] {
        machine.write("file", content.repeat(50_000));
        machine.backup(&[]);
    }
    machine.ok(&["forget", "--keep-last", "1"]);
    machine.ok(&["prune", "--grace", "0s"]);
    machine.ok(&["rebuild-index"]);
    machine.ok(&["prune", "--grace", "0s"]);
    assert_eq!(machine.names("reader/"), before);
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn an_init_that_was_interrupted_before_the_descriptor_is_finished() {
    let machine = with_modules(Machine::bare());
    init(&machine, &["--reader", "one.wasm"]);
    fs::remove_dir_all(machine.object("copal")).unwrap();
    fs::remove_dir_all(machine.object("clients")).unwrap();
    fs::remove_file(machine.path("key")).unwrap();
    // Whoever is interrupted has met no repository yet.
    fs::remove_dir_all(machine.path("home/.local/state")).unwrap();
    let made = init(&machine, &["--reader", "one.wasm"]);
    assert_eq!(made["reader"], reader(ONE));
    assert_eq!(descriptor(&machine, 1), hash(ONE));
}

#[test]
fn a_directory_in_which_only_a_reader_lies_is_somebodys() {
    let machine = with_modules(Machine::bare());
    fs::create_dir_all(machine.object("reader")).unwrap();
    fs::write(machine.object(&reader(ONE)), ONE).unwrap();
    let ran = machine.init(&[]).exits(1);
    assert!(ran.err.contains("not empty"), "{}", ran.err);
}

fn init(machine: &Machine, options: &[&str]) -> serde_json::Value {
    machine.init(&[options, &["--json"]].concat()).ok().json()
}

fn with_modules(machine: Machine) -> Machine {
    fs::write(machine.path("one.wasm"), ONE).unwrap();
    fs::write(machine.path("two.wasm"), TWO).unwrap();
    machine
}

/// What the descriptor of a version says of the reader.
fn descriptor(machine: &Machine, version: u64) -> String {
    let bytes = &machine.objects()[&layout::descriptor(version)];
    let descriptor = copal_format::repository::Descriptor::decode(version, bytes).unwrap();
    descriptor.reader.expect("it names one").to_string()
}

fn reader(module: &[u8]) -> String {
    layout::reader(ObjectHash::of(module))
}

fn hash(module: &[u8]) -> String {
    ObjectHash::of(module).to_string()
}

/// The least of all modules, and the same with a section that says nothing.
const ONE: &[u8] = b"\0asm\x01\0\0\0";
const TWO: &[u8] = b"\0asm\x01\0\0\0\0\x02\x01x";
