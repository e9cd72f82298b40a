//! A repository of tiny packs, so that a backup of some megabytes writes several manifests.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use copal_format::receipt::IngestBy;
use serde_json::Value;
use tempfile::TempDir;

use super::{Held, assert_held, assert_sound, at_each, points, with_key};
use crate::kit::{Machine, Run, Running, image, noise, text, tiny_packs, until};

struct World {
    machine: Machine,
    _sources: TempDir,
    source: PathBuf,
}

impl World {
    fn new(megabytes: u64) -> Self {
        let sources = TempDir::new().unwrap();
        let source = sources.path().canonicalize().unwrap().join("source");
        fs::create_dir(&source).unwrap();
        (0..megabytes).for_each(|n| fs::write(source.join(format!("{n:03}")), noise(n, 1 << 20)).unwrap());
        Self { machine: tiny_packs(32 << 10, IngestBy::Client), _sources: sources, source }
    }

    fn backup(&self) -> [&str; 3] {
        ["backup", "--json", self.source.to_str().unwrap()]
    }

    /// A backup that goes on after one that was stopped: it stores what no manifest covers, and is whole.
    fn goes_on(&self, machine: &Machine, total: u64, label: &str) {
        assert_sound(machine, label);
        let covered: u64 = covered(machine).iter().map(|(_, length)| length).sum();
        let next = machine.run(&self.backup()).ok().json();
        let stored = next["bytes_stored"].as_u64().unwrap();
        assert!(
            stored <= total.saturating_sub(covered) + SLACK,
            "{label}: {stored} stored of {total}, {covered} covered"
        );
        let held = Held::from([(text(&next["snapshot_id"]), image(&self.source))]);
        assert_held(machine, &self.source, &held, label);
        assert_sound(machine, label);
    }
}

/// Packs that a manifest names, with their lengths.
fn covered(machine: &Machine) -> BTreeSet<(String, u64)> {
    let manifests = machine.names("manifests/");
    let packs = manifests.iter().flat_map(|name| {
        let manifest = machine.json(&["cat", name]);
        manifest["packs"].as_array().unwrap().clone()
    });
    packs.map(|pack: Value| (text(&pack[0]), pack[1].as_u64().unwrap())).collect()
}

#[test]
fn a_long_backup_killed_anywhere_does_not_store_again_what_a_manifest_covers() {
    let world = World::new(8);
    let whole = world.machine.copy();
    whole.run(&world.backup()).ok();
    let points = points(&world.machine, with_key(&world.backup()));
    let total: u64 = covered(&whole).iter().map(|(_, length)| length).sum();
    assert!(whole.names("manifests/").len() > 3, "there are manifests on the way");
    let seed = std::env::var("COPAL_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let random = noise(seed, 8 * SAMPLE);
    let chosen = random.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()) % points + 1);
    at_each(chosen, |point| {
        let machine = world.machine.copy();
        machine.with_key(&world.backup()).env("COPAL_DIE_AT", point.to_string()).ran();
        world.goes_on(&machine, total, &format!("COPAL_SEED={seed}, after death at {point} of {points}"));
    });
}

#[test]
fn an_interrupted_backup_ends_with_a_manifest_for_all_that_is_uploaded() {
    let world = World::new(24);
    let whole = world.machine.copy();
    whole.run(&world.backup()).ok();
    let total: u64 = covered(&whole).iter().map(|(_, length)| length).sum();
    let machine = &world.machine;
    let mut running = Running::start(&mut machine.with_key(&world.backup()));
    until("a manifest comes", || {
        assert!(!running.has_ended(), "it has not ended before it wrote a manifest");
        machine.object("manifests").read_dir().ok()
    });
    running.signal("INT");
    let said = running.end().exits(130).err;
    assert!(said.contains("the next run continues from there"), "{said}");
    let covered: BTreeSet<String> = covered(machine).into_iter().map(|(id, _)| id).collect();
    let stored: BTreeSet<String> = machine.names("packs/").iter().map(|name| name[9..].to_owned()).collect();
    assert_eq!(covered, stored, "every pack is named by a manifest");
    assert!(machine.snapshots().is_empty() && stored.len() < whole.names("packs/").len(), "it was not done");
    world.goes_on(machine, total, "after an interruption");
}

/// Points of death that are tried.
const SAMPLE: usize = 16;
/// Bytes that a backup in two parts may store beyond one at once: packs that are not full, pages, and blocks that end
/// where the first part did.
const SLACK: u64 = 200_000;
