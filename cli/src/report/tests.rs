//! What a command says: in JSON with the documented fields, for people with a remedy.

mod managed;
mod plain;
mod run;

use std::io;

use copal_client::location::BadLocation;
use copal_client::places::PlaceError;
use copal_client::restore::Tally;
use copal_client::verify::DamageKind;
use copal_format::client::Role;
use copal_format::id::{ClientId, RepositoryId, SlotId, SnapshotId};
use copal_format::keys::slot::SlotKind;
use copal_format::receipt::IngestBy;
use copal_format::time::Time;
use copal_format::tree::EntryKind;
use copal_store::{Op, StoreError};
use rustix::io::Errno;
use serde_json::Value;

use super::clients::SignerField;
use super::diff::DiffStat;
use super::field::{PathField, PathsField, Stamp, TargetField};
use super::keys::*;
use super::rows::*;
use super::summary::*;
use super::upkeep::*;
use super::*;
use crate::config::ConfigError;
use crate::secrets::SecretError;

fn snapshot() -> SnapshotId {
    SnapshotId([0xab; 16])
}

fn paths() -> PathsField {
    PathsField(vec![b"/home/u".to_vec(), b"/srv\xff".to_vec()])
}

fn signer() -> SignerField {
    SignerField {
        client: ClientId([1; 16]),
        client_name: "till".into(),
        role: Role::WriteOnly,
        claimed_host: Some("file\u{202e}server".into()),
    }
}

fn snapshot_row() -> SnapshotRow {
    SnapshotRow {
        id: snapshot(),
        time: Stamp(Time(0)),
        host: "laptop".into(),
        paths: paths(),
        tags: vec!["a".into()],
        label: "docs".into(),
        files: 1_234,
        bytes: 1 << 30,
        signer: signer(),
        pinned: true,
        origin: None,
    }
}

fn entry() -> LsRow {
    LsRow {
        path: PathField(b"/home/\xff".to_vec()),
        kind: EntryKind::Symlink,
        size: 0,
        mode: 0o777,
        uid: 1000,
        gid: 100,
        user: "u".into(),
        group: String::new(),
        mtime: Stamp(Time(0)),
        target: TargetField(Some(b"x\xff".to_vec())),
    }
}

fn forget_report() -> ForgetReport {
    let row = |keep, reasons: &[&str]| ForgetRow {
        id: snapshot(),
        time: Stamp(Time(0)),
        host: "laptop".into(),
        signer: signer(),
        paths: PathsField(vec![b"/home/u".to_vec()]),
        tags: Vec::new(),
        label: String::new(),
        keep,
        reasons: reasons.iter().map(ToString::to_string).collect(),
    };
    ForgetReport {
        snapshots: vec![row(true, &["last", "daily"]), row(false, &[])],
        kept: 1,
        forgotten: 1,
        freeable_bytes: Some(1 << 20),
        freeable_from: Some(Stamp(Time(0))),
        pruned_by: IngestBy::Client,
        guarded: managed::guarded(),
        dry_run: true,
    }
}

fn check_report() -> CheckReport {
    let damage = Damage {
        kind: DamageKind::Missing,
        object: "packs/00/ab".into(),
        why: "it is not there".into(),
        snapshots: vec![snapshot()],
        paths: paths(),
        more_paths: 2,
    };
    CheckReport {
        ok: false,
        errors: vec![damage],
        snapshots_checked: None,
        packs_read: 1,
        bytes_read: 10,
        seconds: 0.5,
    }
}

fn init_summary() -> InitSummary {
    InitSummary {
        repository_id: RepositoryId([2; 16]),
        repository: "/mnt/backup".into(),
        client: ClientId([1; 16]),
        recovery_code: "copal-recovery-1 ABCDEFG".into(),
        key_file: Some("/mnt/key".into()),
        reader: None,
    }
}

fn restore_summary() -> RestoreSummary {
    RestoreSummary {
        snapshot_id: snapshot(),
        host: "laptop".into(),
        signer: signer(),
        target: PathField(b"/tmp/x".to_vec()),
        tally: Tally {
            files_restored: 2,
            files_unchanged: 1,
            files_skipped: 1,
            dirs: 1,
            others: 0,
            deleted: 1,
            errors: 0,
            bytes_read: 20,
            bytes_written: 10,
            files_verified: 2,
        },
        left_out: 1,
        seconds: 1.0,
        dry_run: false,
    }
}

fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn human_of(answer: &impl Answer) -> String {
    let mut out = Vec::new();
    answer.human(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Asserts that a text has all of these phrases, which `|` separates.
fn says(text: &str, phrases: &str) {
    phrases.split('|').for_each(|phrase| assert!(text.contains(phrase), "{phrase} in\n{text}"));
}

fn keys(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            into.push(key.clone());
            keys(value, into);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

/// One of each result, with every optional field.
fn samples() -> Vec<(&'static str, Value)> {
    let key =
        KeyRow { slot: SlotId([3; 16]), name: None, kind: SlotKind::KeyFile, created: Stamp(Time(0)), current: true };
    let diff =
        DiffRow { change: Change::Added, path: PathField(b"\xff".to_vec()), size_before: Some(1), size_after: Some(2) };
    let trouble = EntryTrouble { path: PathField(b"/a".to_vec()), warning: "cannot read" };
    let ambiguous = Failure::AmbiguousSnapshot { wanted: "ab".into(), candidates: vec![snapshot_row()] };
    vec![
        ("init", json_of(&init_summary())),
        ("backup", json_of(&BackupSummary::default())),
        ("snapshots", json_of(&[snapshot_row()])),
        ("ls", json_of(&entry())),
        ("find", json_of(&FindRow { snapshot: snapshot(), signer: signer(), entry: entry() })),
        ("diff", json_of(&diff)),
        ("diff", json_of(&DiffStat::default())),
        ("benchmark", json_of(&Speed::of("cut", 1_000_000, std::time::Duration::from_secs(1)))),
        ("doctor", json_of(&Finding { check: "clock", ok: true, found: String::new(), remedy: None })),
        ("restore", json_of(&restore_summary())),
        ("check", json_of(&check_report())),
        ("forget", json_of(&forget_report())),
        ("prune", json_of(&PruneReport::default())),
        ("tag", json_of(&ChangeSummary { change: Some(1), snapshots: vec![snapshot()] })),
        ("ingest", json_of(&IngestReport::default())),
        ("compact", json_of(&CompactReport::default())),
        ("repair", json_of(&RepairReport::default())),
        ("stats", json_of(&Stats::default())),
        ("key list", json_of(&[key])),
        ("key add", json_of(&KeySummary::default())),
        ("key recovery", json_of(&RecoverySummary { slot: SlotId([3; 16]), recovery_code: "x".into() })),
        ("rebuild-index", json_of(&RebuildReport::default())),
        ("cache clean", json_of(&CacheSummary { directory: PathField(b"/c".to_vec()), bytes_freed: 0 })),
        ("version", json_of(&VersionSummary { version: "1", format: 1 })),
        ("JSON", json_of(&trouble)),
        ("JSON", serde_json::from_str(&ambiguous.json()).unwrap()),
    ]
}

#[test]
fn the_reference_names_every_json_field() {
    let reference = include_str!("../../../docs/cli.md");
    for (command, sample) in samples().into_iter().chain(managed::samples()).chain(run::samples()) {
        let heading = if command == "JSON" { "\n## JSON".to_owned() } else { format!("\n### copal {command}\n") };
        let section = reference.split(&heading).nth(1).unwrap_or_else(|| panic!("docs/cli.md lacks {command}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let shared = reference.split("\n## JSON").nth(1).unwrap_or_default();
        let mut fields = Vec::new();
        keys(&sample, &mut fields);
        for field in fields {
            let named = section.contains(&format!("`{field}`")) || field.ends_with("_bytes") && shared.contains(&field);
            assert!(
                named || command == "JSON" && reference.contains(&format!("`{field}`")),
                "docs/cli.md: {command} lacks `{field}`"
            );
        }
    }
}

#[test]
fn each_kind_of_failure_has_the_exit_code_of_the_reference() {
    let reference = include_str!("../../../docs/cli.md");
    let (_, table) = reference.split_once("| kind of failure | meaning | exit code |\n").expect("there is a table");
    let rows: Vec<&str> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let kind = cells[0].trim_matches('`');
        assert_eq!((Failure::exit_of(kind) as i32).to_string(), cells[2], "{kind}");
    }
    assert!(rows.len() > 30);
}

#[test]
fn the_fields_that_scripts_rely_on_are_there() {
    let promised = [
        (
            json_of(&BackupSummary::default()),
            "snapshot_id files_new files_changed files_unmodified dirs errors bytes_scanned bytes_new bytes_stored seconds",
        ),
        (json_of(&check_report()), "ok errors packs_read bytes_read"),
        (json_of(&check_report())["errors"][0].clone(), "kind object snapshots paths"),
        (json_of(&Stats::default()), "snapshots logical_bytes stored_bytes packs chunks dead_bytes trapped_bytes"),
        (json_of(&snapshot_row()), "id time host paths tags label files bytes"),
        (json_of(&entry()), "path type size mode uid gid mtime"),
    ];
    for (value, fields) in promised {
        for field in fields.split(' ') {
            assert!(value.get(field).is_some(), "{field} in {value}");
        }
    }
}

#[test]
fn json_values_have_the_documented_form() {
    let row = json_of(&snapshot_row());
    assert_eq!(row["id"], "ab".repeat(16));
    assert_eq!(row["paths_bytes"][1], "2f737276ff");
    assert_eq!((row["files"].as_u64(), row["tags"][0].as_str()), (Some(1_234), Some("a")));
    let entry = json_of(&entry());
    assert_eq!((entry["type"].as_str(), entry["mode"].as_u64()), (Some("symlink"), Some(0o777)));
    assert_eq!((entry["path_bytes"].as_str(), entry["target"].as_str()), (Some("2f686f6d652fff"), Some("x\u{fffd}")));
    assert_eq!(json_of(&BackupSummary::default())["snapshot_id"], Value::Null);
}

#[test]
fn a_list_of_snapshots_names_what_people_look_for() {
    let mut out = Vec::new();
    List::human(&[snapshot_row()], &mut out).unwrap();
    let words = "ID|Host|abababab|laptop|(pinned)|docs|/home/u|/srv\\xff|1,234|1.00 GiB|1 snapshot";
    says(&String::from_utf8(out).unwrap(), words);
}

#[test]
fn long_entries_read_as_ls_writes_them() {
    let cells = entry().cells();
    assert_eq!(cells[..4], ["lrwxrwxrwx", "u", "100", "-"]);
    assert_eq!(cells[5], "/home/\\xff -> x\\xff");
    assert_eq!(human_of(&entry()), "/home/\\xff\n");
}

#[test]
fn init_shows_the_recovery_code_once_and_says_what_loses_everything() {
    let text = human_of(&init_summary());
    assert_eq!(text.matches("copal-recovery-1 ABCDEFG").count(), 1);
    assert!(text.contains("If the passphrase, the recovery code and the key file are all lost, every backup is lost"));
}

#[test]
fn damage_is_named_with_what_it_hits_and_how_it_heals() {
    let text = human_of(&check_report());
    says(&text, "packs/00/ab: missing (it is not there)|and 2 more|in snapshots abababab|hits /home/u");
    says(&text, "1 damaged object found|Back up the sources again");
}

#[test]
fn forget_and_prune_say_when_how_much_is_freed_and_how_to_free_it_now() {
    let text = human_of(&forget_report());
    says(&text, "last, daily|1 would be forgotten|About 1.00 MiB becomes free. Run \"copal prune\" now");
    let elsewhere = human_of(&ForgetReport { pruned_by: IngestBy::Service, ..forget_report() });
    assert!(elsewhere.contains("when the service prunes") && !elsewhere.contains("copal prune"), "{elsewhere}");
    let prune = PruneReport { bytes_pending: 5 << 20, pending_until: Some(Stamp(Time(0))), ..PruneReport::default() };
    says(&human_of(&prune), "nothing freed now|5.00 MiB can be freed by a prune after 19|copal prune --grace 0s");
}

#[test]
fn every_failure_has_its_exit_code_and_its_remedy() {
    let broken = || Box::<dyn std::error::Error + Send + Sync>::from("its hash differs");
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    let place = PlaceError::Refused { path: "/c".into(), cause: io::ErrorKind::PermissionDenied.into() };
    let (at, id) = (|| "/mnt".to_owned(), RepositoryId([1; 16]));
    let bad_sector = StoreError::Io { op: Op::Map, key: "index/x".into(), source: io::Error::from(Errno::IO).into() };
    let table: Vec<(Failure, u8, &str)> = vec![
        (Failure::Location(BadLocation::Missing), 2, "COPAL_REPOSITORY"),
        (Failure::Secret(SecretError::Missing), 1, "COPAL_PASSWORD_FILE"),
        (Failure::Secret(SecretError::MissingNew), 1, "--new-password-file"),
        (Failure::Secret(SecretError::MissingThere), 1, "COPAL_TO_PASSWORD"),
        (Failure::NoKey(SlotKind::KeyFile), 12, "recovery code"),
        (Failure::Place(place), 1, "who may read"),
        (Failure::NoRepository { location: at() }, 10, "copal init"),
        (Failure::RepositoryGone { location: at(), met: id }, 10, "mount its disk"),
        (Failure::AnotherRepository { location: at(), found: id, met: id }, 1, "--another"),
        (Failure::EmptyStream, 1, "--allow-empty"),
        (Failure::Declined, 1, "--exclude"),
        (Failure::RepositoryExists { location: at() }, 1, "another directory"),
        (Failure::NotEmpty { location: at() }, 1, "empty"),
        (Failure::NewerFormat { found: 2, known: 1 }, 1, "newer copal"),
        (Failure::WrongSecret(SlotKind::Passphrase), 12, "recovery code"),
        (Failure::BadSecret { kind: SlotKind::RecoveryCode, cause: broken() }, 12, "letter by letter"),
        (Failure::NoSnapshot { wanted: "latest".into() }, 1, "copal snapshots"),
        (Failure::KeyInUse { slot: SlotId([3; 16]), is_only: true }, 1, "copal key add"),
        (Failure::KeyInUse { slot: SlotId([3; 16]), is_only: false }, 1, "another key"),
        (Failure::NotInSnapshot { path: b"/a".to_vec(), snapshot: snapshot() }, 1, "copal ls"),
        (Failure::NoSuchPath { path: "/a".into() }, 1, "mounted"),
        (Failure::InsideRepository { path: "/a".into() }, 1, "--exclude"),
        (Failure::Damaged { object: "packs/x".into(), cause: broken() }, 4, "copal check --full"),
        (Failure::Damaged { object: "roots/x".into(), cause: broken() }, 4, "copal rebuild-index"),
        (Failure::Rejected { reasons: vec!["gap".into()] }, 5, "again"),
        (Failure::NotYetAccepted { what: "the backup" }, 5, "copal ingest"),
        (Failure::io("write", "/a", full()), 1, "free some space"),
        (Failure::Store(bad_sector), 1, "copal check"),
        (Failure::Interrupted, 130, "kept"),
        (Failure::Config(ConfigError::Missing { looked: vec!["/c".into()] }), 2, "copal config example"),
        (Failure::Config(ConfigError::Writable { path: "/c".into(), place: "/c".into() }), 2, "chmod go-w"),
        (Failure::Config(ConfigError::NoProfile { path: "/c".into(), name: "a".into() }), 2, "copal config check"),
        (Failure::Busy { profile: "a".into() }, 11, "wait"),
        (Failure::Hook { hook: "on-failure".into(), why: "exit status: 1".into() }, 1, "by hand"),
    ];
    for (failure, code, remedy) in table {
        assert_eq!(failure.exit().code(), code, "{failure}");
        assert!(failure.advice().is_some_and(|advice| advice.contains(remedy)), "{failure}: {:?}", failure.advice());
    }
}

#[test]
fn a_failure_names_its_causes_in_one_line() {
    let failure = Failure::Damaged { object: "packs/x".into(), cause: "its hash differs".into() };
    assert_eq!(failure.text(), "packs/x is damaged: its hash differs");
    let object: Value = serde_json::from_str(&failure.json()).unwrap();
    assert_eq!((object["kind"].as_str(), object["exit_code"].as_u64()), (Some("damaged"), Some(4)));
    assert_eq!(object["error"], "packs/x is damaged: its hash differs");
}

#[test]
fn several_snapshots_that_fit_are_listed() {
    let failure = Failure::AmbiguousSnapshot { wanted: "ab".into(), candidates: vec![snapshot_row()] };
    let told = Printer::new(&Global::default()).told(&failure);
    says(&told, "copal: \"ab\" matches several snapshots\nID |abababab");
    let object: Value = serde_json::from_str(&failure.json()).unwrap();
    assert_eq!(object["candidates"][0]["host"], "laptop");
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let failure = Failure::output(io::ErrorKind::BrokenPipe.into());
    assert_eq!((failure.exit(), failure.kind()), (Exit::Done, "output_closed"));
    assert_eq!(Failure::output(io::ErrorKind::StorageFull.into()).exit(), Exit::Failed);
}

#[test]
fn quiet_and_json_say_no_notes() {
    let quiet = Printer::new(&Global { quiet: true, ..Global::default() });
    assert!(!quiet.says(Amount::Normal) && quiet.says(Amount::Quiet));
    let loud = Printer::new(&Global { verbose: 3, ..Global::default() });
    assert!(loud.says(Amount::Debug));
}
