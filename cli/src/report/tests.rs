//! What a command says: in JSON with the documented fields, for people with a remedy.

mod failure;
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
use super::guard::Guarded;
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
        ("mover backup", json_of(&super::mover::Status::new("backup", "1"))),
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
fn the_fields_that_scripts_rely_on_are_there() {
    let promised = [
        (
            json_of(&BackupSummary::default()),
            "snapshot_id files_new files_changed files_unmodified dirs errors bytes_scanned bytes_new bytes_stored seconds",
        ),
        (json_of(&check_report()), "ok errors packs_read bytes_read"),
        (json_of(&check_report())["errors"][0].clone(), "kind object snapshots paths"),
        (
            json_of(&Stats::default()),
            "snapshots files logical_bytes stored_bytes packs chunks dead_bytes trapped_bytes",
        ),
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
    // The policy decides how long that is.
    says(&text, "nothing has needed it for the grace period, counted from the first prune");
    let elsewhere = human_of(&ForgetReport { pruned_by: IngestBy::Service, ..forget_report() });
    assert!(elsewhere.contains("when the service prunes") && !elsewhere.contains("copal prune"), "{elsewhere}");
    let none = |guarded| human_of(&ForgetReport { freeable_bytes: Some(0), guarded, ..forget_report() });
    says(&none(Guarded::default()), "Nothing becomes free now: other snapshots need the same data");
    let stays = managed::guarded().stays[..1].to_vec();
    says(
        &none(Guarded { stays, held: Vec::new() }),
        "Nothing becomes free now: the forgotten snapshots keep their data",
    );
    let named = human_of(&ForgetReport { kept: 0, forgotten: 1, dry_run: false, ..forget_report() });
    assert!(named.contains("\n1 snapshot forgotten\n") && !named.contains("kept, "), "{named}");
    let prune = PruneReport { bytes_pending: 5 << 20, pending_until: Some(Stamp(Time(0))), ..PruneReport::default() };
    says(&human_of(&prune), "nothing freed now|5.00 MiB can be freed by a prune after 19|copal prune --grace 0s");
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
