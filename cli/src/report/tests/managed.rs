//! What commands about clients, policies and the service say.

use core::time::Duration;

use copal_format::id::{DomainId, OwnerFingerprint, SourceId};
use copal_format::policy::{Floor, Hold, Lingering};
use copal_format::shown::is_unseen;
use copal_jobs::replica::Fault;

use super::super::clients::*;
use super::super::guard::*;
use super::super::policy::*;
use super::super::status::*;
use super::super::sync::*;
use super::*;

const CLIENT: ClientId = ClientId([0xc1; 16]);

fn enrollment() -> EnrollmentSummary<'static> {
    let (role, domain) = (Role::WriteOnly, DomainId([4; 16]));
    let expires = Stamp(Time(0));
    EnrollmentSummary { client: CLIENT, name: "camera", role, domain, expires, line: "COPAL-JOIN-1-ABC", link: None }
}

fn joined() -> JoinSummary {
    let repository_id = RepositoryId([2; 16]);
    JoinSummary { client: CLIENT, role: Role::WriteOnly, repository_id, repository: "/mnt/backup".into() }
}

fn row() -> ClientRow {
    ClientRow {
        id: CLIENT,
        name: "camera".into(),
        role: Some(Role::WriteOnly),
        domain: Some(DomainId([4; 16])),
        shared: Some(false),
        joined: Some(true),
        expires: None,
        left: None,
        joined_late: false,
        created: Some(Stamp(Time(0))),
        last_manifest: Some(7),
        last_time: Some(Stamp(Time(0))),
        last_is_unknown: false,
        revoked: Some(7),
        problem: None,
    }
}

fn status() -> StatusReport {
    let job = || Some(JobField { time: Stamp(Time(0)), report: "reports/check/1".into() });
    let (client, name) = (CLIENT, Some("camera".to_owned()));
    StatusReport {
        ingest: Some(IngestBy::Service),
        owner: Some(OwnerFingerprint([7; 32])),
        root: 3,
        waiting: vec![WaitingField { client, name: name.clone(), manifest: 8, since: Stamp(Time(0)), seconds: 90 }],
        rejected: vec![RejectedField {
            client,
            name,
            manifest: 7,
            time: Stamp(Time(0)),
            reasons: vec!["a pack is missing (packs/ab)".into()],
        }],
        series: vec![SeriesField {
            host: None,
            label: None,
            paths: PathsField::default(),
            source: SourceId([5; 16]),
            client,
            client_name: None,
            role: Some(Role::WriteOnly),
            snapshot: snapshot(),
            time: Stamp(Time(0)),
            accepted: Stamp(Time(0)),
        }],
        guarded: guarded(),
        changes_waiting: Some(2),
        last_check: job(),
        last_prune: job(),
        chunks_repeated: 3,
        replicas: vec![replica(None), replica(Some("it is not there".into()))],
        copies: vec![copy(2), copy(0)],
    }
}

fn replica(unreached: Option<String>) -> ReplicaField {
    let behind = BehindField { snapshots_missing: 2, bytes_missing: 3_000, oldest_missing: Some(Stamp(Time(0))) };
    ReplicaField { repository: "/mnt/second".into(), root: Some(4), unreached, behind }
}

fn copy(snapshots_missing: u64) -> CopyField {
    let (repository, oldest_missing) = ("/mnt/offsite".into(), (snapshots_missing > 0).then_some(Stamp(Time(0))));
    CopyField { repository, copied: Stamp(Time(0)), snapshots_missing, oldest_missing }
}

fn synced() -> SyncSummary {
    let not_copied = vec![Fault { object: "packs/ab".into(), why: "it is damaged".into() }];
    SyncSummary { not_copied, lacked: replica(None).behind, ..SyncSummary::default() }
}

fn policy_set() -> PolicySummary {
    PolicySummary { change: None, would_expire: 0, would_hold: 0, lingers: lingers(), dry_run: true }
}

fn lingers() -> Option<LingeringField> {
    let floor = Floor { last: 3, age: Duration::from_secs(60) };
    let hold = Some(Hold { share: 50, least: 64 });
    Some(Lingering { until: Time(0), floor, hold }.into())
}

pub(super) fn guarded() -> Guarded {
    let stays = |by, until| StaysField {
        snapshot: snapshot(),
        client: CLIENT,
        source: SourceId([5; 16]),
        forgotten: Some(Stamp(Time(0))),
        by,
        until,
    };
    let until = Some(Stamp(Time(0)));
    Guarded {
        held: vec![HeldField {
            client: CLIENT,
            source: SourceId([5; 16]),
            host: Some("desk".into()),
            paths: PathsField(vec![b"/home".to_vec()]),
            snapshot: snapshot(),
            accepted: Stamp(Time(0)),
            why: "about 3 entries where the one before had 80".into(),
        }],
        stays: vec![stays(StaysBy::Hold, None), stays(StaysBy::FloorLast, None), stays(StaysBy::FloorAge, until)],
    }
}

pub(super) fn samples() -> Vec<(&'static str, Value)> {
    vec![
        ("client add", json_of(&enrollment())),
        ("client join", json_of(&joined())),
        ("client list", json_of(&[row()])),
        ("client revoke", json_of(&RevokeSummary { client: CLIENT, last_good: 0, version: 2 })),
        ("policy set", json_of(&policy_set())),
        ("policy show", json_of(&PolicyShown { change: None, policy: None, lingers: lingers() })),
        ("status", json_of(&status())),
        ("sync", json_of(&synced())),
    ]
}

#[test]
fn an_enrollment_is_the_line_or_the_link_and_nothing_else() {
    assert_eq!(human_of(&enrollment()), "COPAL-JOIN-1-ABC\n");
    let link = EnrollmentSummary { link: Some("https://host/#join=COPAL-JOIN-1-ABC"), ..enrollment() };
    assert_eq!(human_of(&link), "https://host/#join=COPAL-JOIN-1-ABC\n");
    assert_eq!(human_of(&joined()), "this machine is now write-only client c1c1c1c1 of /mnt/backup\n");
}

#[test]
fn a_list_of_clients_says_what_each_may_do_and_what_became_of_it() {
    let open = ClientRow { joined: Some(false), revoked: None, last_time: None, ..row() };
    let ends = |hours: Option<u64>| ClientRow {
        expires: Some(Stamp(Time(0))),
        left: hours.map(|hours| Duration::from_secs(3_600 * hours)),
        ..open.clone()
    };
    let late = ClientRow { joined_late: true, revoked: None, ..row() };
    let damaged = ClientRow { role: None, shared: None, problem: Some("forged".into()), ..row() };
    let mut out = Vec::new();
    let unknown = ClientRow { last_is_unknown: true, ..open.clone() };
    let rows = [row(), ends(Some(7 * 24)), ends(Some(5)), ends(Some(1)), ends(None), late, damaged, open, unknown];
    List::human(&rows, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    says(&text, "write-only|its own|revoked after manifest 7|invited, ends in 7 days|ends in 5 hours|never");
    says(&text, "ends within an hour|invited, expired|joined too late: nothing of it counts|damaged: forged|unknown");
}

#[test]
fn a_status_says_what_waits_for_how_long_and_what_was_rejected_why() {
    let text = human_of(&status());
    for words in [
        "series 05050505",
        "manifest 8 of client c1c1c1c1 (camera) waits to be accepted, for 1:30 now",
        "manifest 7 of client c1c1c1c1 (camera) was rejected at",
        "a pack is missing (packs/ab)",
        "nothing of series 05050505 of client c1c1c1c1 (desk /home) expires or is removed since",
        "about 3 entries where the one before had 80",
        "if that is as it should be: copal policy release",
        "1 forgotten snapshot not removed: the series is held",
        "1 forgotten snapshot not removed: the policy's floor-last keeps",
        "1 forgotten snapshot not removed: the policy's floor-age keeps",
        "2 changes wait to be folded in",
        "last check by the service",
        "replica /mnt/second lacks 2 snapshots and 2.93 KiB, the oldest of 1970-01-01",
        "replica /mnt/second: cannot tell how far it is behind: it is not there",
        "copy /mnt/offsite lacks 2 snapshots, the oldest of 1970-01-01",
        "copy /mnt/offsite has every snapshot; last copied 1970-01-01",
        "that prune met 3 chunks stored again in unproven packs: \"copal check --full\"",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn a_sync_does_not_say_that_nothing_is_missing_where_something_could_not_be_copied() {
    let of = |summary: SyncSummary| {
        human_of(&SyncSummary {
            replica: "/mnt/second".into(),
            is_current: true,
            lacked: Default::default(),
            ..summary
        })
    };
    assert_eq!(of(SyncSummary::default()), "/mnt/second lacks nothing\n");
    says(&of(synced()), "0 snapshots, 0 objects, 0 B copied to /mnt/second|1 object could not be copied");
}

#[test]
fn a_revocation_and_a_policy_say_what_they_leave() {
    let revoked = |last_good| human_of(&RevokeSummary { client: CLIENT, last_good, version: 3 });
    assert!(revoked(0).contains("nothing of it counts") && revoked(4).contains("up to 4 count"));
    let of = |change: Option<u64>, would_expire, would_hold| {
        let set = PolicySummary { change, would_expire, would_hold, lingers: None, dry_run: change.is_none() };
        human_of(&set)
    };
    let set = |change, would_expire| of(change, would_expire, 0);
    assert!(of(Some(2), 0, 1).contains("1 suspicious snapshot of today: nothing of their series expires until"));
    assert_eq!(set(Some(2), 0), "policy signed (change 2); it keeps every snapshot there is today\n");
    assert_eq!(set(None, 3), "3 snapshots of today expire under it; nothing was signed (dry run)\n");
    says(&human_of(&policy_set()), "guarded stays until|floor-last 3, floor-age 60 s, a hold from 50 %");
}

#[test]
fn a_client_is_named_with_its_role_and_no_claim_of_it_turns_the_writing() {
    assert_eq!(signer().human(), "till (write-only, says it is \"file\\u{202e}server\")");
    assert_eq!(SignerField { claimed_host: None, ..signer() }.human(), "till (write-only)");
    let (one, other) = (signer(), SignerField { client: ClientId([9; 16]), ..signer() });
    let shown = |rows: &[&SignerField]| SignerField::column(rows.iter().copied()).collect::<Vec<_>>();
    assert_eq!(shown(&[&one, &one]), [one.human(), one.human()]);
    assert_eq!(shown(&[&one, &other])[1], format!("{} 09090909", one.human()));
    assert_eq!(json_of(&signer())["claimed_host"], "file\u{202e}server", "programs get it as it is");
    let mut table = Vec::new();
    SnapshotRow::human(&[SnapshotRow { host: "a\u{200b}b".into(), ..snapshot_row() }], &mut table).unwrap();
    assert!(!String::from_utf8(table).unwrap().contains(|letter| letter != '\n' && is_unseen(letter)));
}
