//! Small modules, parted, and run in Node where it matters what they do.

use std::process::{Command, Stdio};

use wasmparser::{Parser, Payload};

use super::{Files, SplitError, split};

/// `rest_*` are the exports that go to the second file.
fn parted(text: &str) -> Files {
    split(&wat::parse_str(text).expect("the test's module is one"), &["rest"]).expect("it can be parted")
}

fn refused(text: &str) -> SplitError {
    match split(&wat::parse_str(text).expect("the test's module is one"), &["rest"]) {
        Ok(_) => panic!("it was parted"),
        Err(error) => error,
    }
}

/// Exports that are not there for the other file; and how many functions a file has.
fn exports(file: &[u8]) -> (Vec<String>, usize) {
    let (mut names, mut functions) = (Vec::new(), 0);
    for payload in Parser::new(0).parse_all(file) {
        match payload.expect("what was written can be read") {
            Payload::ExportSection(section) => {
                names.extend(section.into_iter().map(|export| export.unwrap().name.to_owned()))
            }
            Payload::CodeSectionEntry(_) => functions += 1,
            _ => {}
        }
    }
    names.retain(|name| !name.contains(':'));
    (names, functions)
}

/// What a script prints about the two files' exports, `first` and, instantiated on them by `join()`, `rest`.
fn run(files: &Files, script: &str) -> String {
    let script = format!(
        "const [one, two] = process.argv.slice(1).map((text) => new WebAssembly.Module(Buffer.from(text, 'hex')));
         const told = [];
         const host = {{ './host.js': {{ tell: (value) => void told.push(value) }} }};
         const first = new WebAssembly.Instance(one, host).exports;
         const join = () => new WebAssembly.Instance(two, {{ ...host, first }}).exports;
         {script}"
    );
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let output = Command::new("node")
        .args(["--eval", &script, &hex(&files.first), &hex(&files.rest)])
        .stderr(Stdio::inherit())
        .output()
        .expect("Node is installed");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("it prints text").trim().to_owned()
}

#[test]
fn what_the_first_file_reaches_is_there_and_what_only_the_rest_reaches_is_not() {
    let files = parted(
        r#"(module
            (func $shared (result i32) i32.const 1)
            (func $own (result i32) i32.const 2)
            (func $lost)
            (func (export "one") (result i32) call $shared)
            (func (export "rest_two") (result i32) call $own call $shared i32.add))"#,
    );
    assert_eq!(exports(&files.first), (vec!["one".to_owned()], 2));
    assert_eq!(exports(&files.rest), (vec!["rest_two".to_owned()], 2));
    assert_eq!(run(&files, "console.log(first.one(), join().rest_two());"), "1 3");
}

#[test]
fn a_function_of_the_rest_that_the_first_file_needs_is_in_the_first() {
    let files = parted(
        r#"(module
            (func $both (export "rest_both") (result i32) i32.const 5)
            (func (export "rest_alone"))
            (func (export "one") (result i32) call $both))"#,
    );
    assert_eq!(exports(&files.first).0, ["rest_both", "one"]);
    assert_eq!(exports(&files.rest).0, ["rest_alone"]);
}

#[test]
fn memory_globals_and_data_are_the_same_in_both_files() {
    let files = parted(
        r#"(module
            (memory (export "memory") 1)
            (global $stack (mut i32) (i32.const 100))
            (global $unused (mut i64) (i64.const 0))
            (global $step i32 (i32.const 3))
            (data (i32.const 8) "\07")
            (func (export "one") (result i32) global.get $stack)
            (func (export "load") (result i32) i32.const 12 i32.load)
            (func (export "rest_move") (result i32)
                (global.set $stack (i32.sub (global.get $stack) (global.get $step)))
                (i32.store (i32.const 12) (i32.load8_u (i32.const 8)))
                (i32.add (memory.grow (i32.const 1)) (memory.size))))"#,
    );
    let script = "const moved = join().rest_move(); console.log(moved, first.one(), first.load(), first.memory.buffer.byteLength >> 16);";
    assert_eq!(run(&files, script), "3 97 7 2");
}

#[test]
fn the_rest_calls_the_first_file_and_both_call_back_through_the_table() {
    let files = parted(
        r#"(module
            (import "./host.js" "tell" (func $tell (param i32)))
            (type $unary (func (param i32) (result i32)))
            (table 4 funcref)
            (elem (i32.const 1) $double $counted)
            (func $double (type $unary) (i32.mul (local.get 0) (i32.const 2)))
            (func $counted (type $unary) (call $tell (local.get 0)) (i32.add (local.get 0) (i32.const 1)))
            (func $apply (param i32 i32) (result i32) (call_indirect (type $unary) (local.get 1) (local.get 0)))
            (func (export "one") (result i32) (call $apply (i32.const 1) (i32.const 21)))
            (func (export "rest_two") (result i32)
                (call $tell (i32.const 7))
                (i32.add (call $apply (i32.const 2) (i32.const 40))
                         (call_indirect (type $unary) (i32.const 5) (i32.const 1)))))"#,
    );
    assert_eq!(run(&files, "console.log(first.one(), join().rest_two(), told.join());"), "42 51 7,40");
}

#[test]
fn a_table_of_the_hosts_values_is_shared_and_vectors_survive() {
    let files = parted(
        r#"(module
            (table $values (export "values") 2 externref)
            (func (export "rest_put") (param externref) (result i32)
                (table.set $values (i32.const 1) (local.get 0))
                (i32x4.extract_lane 2 (i32x4.add (v128.const i32x4 1 2 3 4) (i32x4.splat (i32.const 10))))))"#,
    );
    assert_eq!(run(&files, "console.log(join().rest_put('text'), first.values.get(1));"), "13 text");
}

#[test]
fn what_starts_the_module_is_in_the_first_file_and_runs_once() {
    let files = parted(
        r#"(module
            (import "./host.js" "tell" (func $tell (param i32)))
            (func $begin (call $tell (i32.const 1)))
            (start $begin)
            (func (export "rest_again") (call $begin)))"#,
    );
    assert_eq!(run(&files, "console.log(told.length); join().rest_again(); console.log(told.length);"), "1\n2");
}

#[test]
fn files_of_two_modules_do_not_link() {
    let module = |value| {
        format!(
            r#"(module (func $shared (result i32) i32.const {value})
                (func (export "one") (result i32) call $shared) (func (export "rest_two") (result i32) call $shared))"#
        )
    };
    let (before, after) = (parted(&module(1)), parted(&module(2)));
    let mixed = Files { first: before.first, rest: after.rest };
    let script = "try { join(); } catch (error) { console.log(error instanceof WebAssembly.LinkError); }";
    assert_eq!(run(&mixed, script), "true");
}

#[test]
fn what_is_not_known_is_refused() {
    let with = |what: &str| refused(&format!(r#"(module {what} (func (export "rest_x")))"#));
    assert!(matches!(with(r#"(import "m" "memory" (memory 1))"#), SplitError::Import(name) if name == "memory"));
    assert!(matches!(with("(tag)"), SplitError::Section(_)));
    assert!(matches!(with("(func $f) (elem declare func $f)"), SplitError::Element));
    assert!(matches!(with("(func $f) (elem func $f)"), SplitError::Element));
    assert!(matches!(with(r#"(func (export "f") (drop (ref.func 0)))"#), SplitError::Instruction(_)));
    let memory = r#"(memory 1) (data $d "x") (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))"#;
    assert!(matches!(with(memory), SplitError::Section(name) if name == "number 12"));
    let table = "(table 1 funcref) (elem (i32.const 0)) (func (elem.drop 0))";
    assert!(matches!(with(table), SplitError::Instruction(_)));
    assert!(matches!(with(r#"(@custom "strange" "")"#), SplitError::Section(name) if name == "strange"));
}

#[test]
fn classes_that_the_module_does_not_have_are_refused() {
    let unknown = refused(r#"(module (func (export "restore_x")) (func (export "one")))"#);
    assert!(matches!(unknown, SplitError::Unknown(name) if name == "rest"));
    let free =
        parted(r#"(module (func (export "__wbg_rest_free")) (func (export "restore_x")) (func (export "rest")))"#);
    assert_eq!(
        (exports(&free.first).0, exports(&free.rest).0),
        (vec!["restore_x".to_owned()], vec!["__wbg_rest_free".to_owned(), "rest".to_owned()])
    );
}

#[test]
fn what_is_no_module_is_refused() {
    assert!(matches!(split(b"\0asm\x01\0\0\0\x0a\xff", &[]), Err(SplitError::Unreadable(_))));
    assert!(split(b"text", &[]).is_err());
}
