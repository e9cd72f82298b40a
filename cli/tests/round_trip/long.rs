//! Long runs: more packs than one manifest names, and runs that are stopped on the way.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use copal_client::backup::{BackupError, Options, Outcome};
use copal_client::history::History;
use copal_client::wait::wait;
use copal_engine::backup::change::ChangeDetection;
use copal_jobs::view;

use super::{Place, acts};
use crate::kit::noise;

#[test]
fn more_packs_than_one_manifest_names_are_claimed_by_several() {
    let mut place = Place::new();
    fill(&place.source(), 0..160);
    place.back_up();
    place.check();
    place.restore_all();
    assert!(manifests(&place) > 1, "one manifest tells nothing");
}

#[test]
fn one_file_of_more_packs_than_a_manifest_names_is_claimed_on_the_way() {
    let mut place = Place::new();
    fs::write(place.source().join("huge"), noise(0, 4 << 20)).unwrap();
    place.back_up();
    place.check();
    place.restore_all();
    assert!(manifests(&place) > 1, "one manifest tells nothing");
}

#[test]
fn a_stopped_run_is_gone_on_from_where_its_last_manifest_was() {
    let mut place = Place::new();
    let options = believing_mtime(&place.source());
    // However slow the thread that stops it: with enough to do it comes in time.
    let mut files = 0..400;
    let stopped = loop {
        fill(&place.source(), files.clone());
        if let Err(error) = stop_after_a_manifest(&place, &options) {
            break error;
        }
        files = files.end..files.end * 3;
    };
    assert!(matches!(stopped, BackupError::Interrupted), "{stopped}");
    let before = listed(&place);
    let view = wait(view::read(place.repository.store().as_ref())).unwrap();
    assert!(view.state.snapshots.values().any(|snapshot| snapshot.partial), "there is a checkpoint");
    place.check();

    let outcome = acts::back_up(&place.repository, &place.client, &place.source(), &options);
    assert!(outcome.summary.unmodified > 0, "what the checkpoint holds is not read again: {:?}", outcome.summary);
    assert!(outcome.summary.new > 0, "it was stopped before the end");
    assert_eq!(outcome.summary.unmodified + outcome.summary.new, outcome.counts.files);
    let new = outcome.summary.new * FILE;
    assert!(outcome.tally.bytes_new <= new, "{} bytes are stored again", outcome.tally.bytes_new - new);
    assert_eq!(listed(&place), before + 1, "checkpoints are not snapshots");
    place.keep(&outcome);
    place.check();
    place.restore_all();
}

#[test]
fn what_a_stopped_run_had_not_reached_is_compared_with_the_snapshot_before() {
    let mut place = Place::new();
    let options = believing_mtime(&place.source());
    fill(&place.source(), 1_000..1_040);
    let first = acts::back_up(&place.repository, &place.client, &place.source(), &options);
    place.keep(&first);
    let mut files = 0..400;
    while stop_after_a_manifest(&place, &options).is_ok() {
        fill(&place.source(), files.clone());
        files = files.end..(files.end * 3).min(1_000);
    }
    let outcome = acts::back_up(&place.repository, &place.client, &place.source(), &options);
    assert!(outcome.summary.unmodified >= 40, "{:?}", outcome.summary);
    place.keep(&outcome);
    place.check();
    place.restore_all();
}

/// Runs until somebody sees a manifest of it, and stops it then.
fn stop_after_a_manifest(place: &Place, options: &Options) -> Result<Outcome, BackupError> {
    let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let before = manifests(place);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && manifests(place) == before {
                thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let outcome = acts::try_back_up(&place.repository, &place.client, &place.source(), options, &stop);
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Files that do not compress, touched long ago.
fn fill(source: &Path, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let path = source.join(format!("{number:06}"));
        fs::write(&path, noise(number, FILE as usize)).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(3_600);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    }
}

fn believing_mtime(source: &Path) -> Options {
    Options { detection: ChangeDetection { inode: true, ctime: false, parent_begun: None }, ..acts::usual(source) }
}

fn manifests(place: &Place) -> usize {
    let clients = fs::read_dir(place.directory.path().join("repository/manifests")).into_iter().flatten();
    clients.flatten().map(|client| fs::read_dir(client.path()).map_or(0, Iterator::count)).sum()
}

fn listed(place: &Place) -> usize {
    let view = wait(view::read(place.repository.store().as_ref())).unwrap();
    History::read(&place.repository, &view).unwrap().kept().count()
}

const FILE: u64 = 20_000;
