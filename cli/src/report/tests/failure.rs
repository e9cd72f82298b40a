//! Failures: their kinds, exit codes, causes and remedies.

use super::*;

#[test]
fn each_kind_of_failure_has_the_exit_code_of_the_reference() {
    let reference = include_str!("../../../../docs/cli.md");
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
fn every_failure_has_its_exit_code_and_its_remedy() {
    let broken = || Box::<dyn std::error::Error + Send + Sync>::from("its hash differs");
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    let place = PlaceError::Refused { path: "/c".into(), cause: io::ErrorKind::PermissionDenied.into() };
    let (at, id) = (|| "/mnt".to_owned(), RepositoryId([1; 16]));
    let of_gateway =
        |why: &str| StoreError::Io { op: Op::Read, key: "the gateway's description".into(), source: why.into() };
    let full_there = StoreError::Full { op: Op::Create, key: "packs/x".into(), source: "the quota".into() };
    let bad_sector = StoreError::Io { op: Op::Map, key: "index/x".into(), source: io::Error::from(Errno::IO).into() };
    let unread = |key: &str| {
        let (op, source) = (Op::Read, io::Error::from(Errno::IO).into());
        Failure::Store(StoreError::Io { op, key: key.into(), source })
    };
    let table: Vec<(Failure, u8, &str)> = vec![
        (Failure::Location(BadLocation::Missing), 2, "COPAL_REPOSITORY"),
        (Failure::Secret(SecretError::Missing), 1, "COPAL_PASSWORD_FILE"),
        (Failure::Secret(SecretError::CommandFailed("--password-command", Default::default())), 1, "run that command"),
        (Failure::Secret(SecretError::MissingNew), 1, "--new-password-file"),
        (Failure::Secret(SecretError::MissingThere), 1, "COPAL_TO_PASSWORD"),
        (Failure::NoKey(SlotKind::KeyFile), 12, "recovery code"),
        (Failure::NoKey(SlotKind::RecoveryCode), 12, "copal key list"),
        (Failure::NotThere("rebuild the index"), 1, "the store itself"),
        (Failure::Older { object: "roots/99999999999999999998".into(), why: String::new() }, 4, "rebuild-index"),
        (Failure::Older { object: "changes/00000000000000000001".into(), why: String::new() }, 4, "--another"),
        (Failure::Store(of_gateway("invalid peer certificate: UnknownIssuer")), 1, "--ca-file"),
        (Failure::Store(of_gateway("connection refused")), 1, "copal version"),
        (Failure::StoreOf { location: at(), error: full_there }, 1, "larger quota"),
        (Failure::Place(place), 1, "who may read"),
        (Failure::NoRepository { location: at() }, 10, "copal init"),
        (Failure::RepositoryGone { location: at(), met: id }, 10, "mount its disk"),
        (Failure::AnotherRepository { location: at(), found: id, met: id }, 1, "--another"),
        (Failure::EmptyStream, 1, "--allow-empty"),
        (Failure::EmptyArchive, 1, "--allow-empty"),
        (Failure::Emptied { parent: snapshot() }, 1, "--allow-empty"),
        (Failure::Unsaved { path: "/a".into(), why: "it is excluded".into() }, 1, "--allow-empty"),
        (Failure::PathUnread { path: "/a".into() }, 1, "mounted"),
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
        (unread("manifests/x/1"), 1, "run it again. If it fails again"),
        (unread("changes/1"), 1, "move it out of the repository and run \"copal rebuild-index\""),
        (unread("expiries/1"), 1, "what only this object says is then lost"),
        (Failure::Interrupted, 130, "kept"),
        (Failure::Config(ConfigError::Missing { looked: vec!["/c".into()] }), 2, "copal config example"),
        (Failure::Config(ConfigError::Writable { path: "/c".into(), place: "/c".into() }), 2, "chmod go-w"),
        (Failure::Config(ConfigError::NoProfile { path: "/c".into(), name: "a".into() }), 2, "copal config check"),
        (Failure::Busy { profile: "a".into() }, 11, "wait"),
        (Failure::Watched, 11, "one is enough"),
        (Failure::Hook { hook: "on-failure".into(), why: "exit status: 1".into() }, 1, "by hand"),
    ];
    for (failure, code, remedy) in table {
        assert_eq!(failure.exit().code(), code, "{failure}");
        assert!(failure.advice().is_some_and(|advice| advice.contains(remedy)), "{failure}: {:?}", failure.advice());
    }
}

#[test]
fn only_a_full_repository_is_pruned_to_make_room() {
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    let advice = |failure: Failure| failure.advice().unwrap();
    let error = StoreError::Full { op: Op::Create, key: "packs/x".into(), source: full().into() };
    assert!(advice(Failure::StoreOf { location: "/mnt".into(), error }).contains("copal prune"));
    let state = Failure::Place(PlaceError::Refused { path: "/state".into(), cause: full() });
    for elsewhere in [state, Failure::io("write", "/export", full())] {
        assert_eq!(advice(elsewhere), "free some space there and run it again");
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
