//! End: what is done to a world from outside, and what must hold once everything has come to rest.

use std::collections::BTreeSet;
use std::time::Duration;

use copal_engine::retention::Signed;
use copal_format::index::{Bits, Mark};
use copal_format::layout::{self, Prunable};
use copal_format::repository::IngestBy;
use copal_format::state::{DoomedRecord, DoomedState, SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::check::{self, Depth};
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::prune::{self, Options};
use copal_jobs::rebuild;
use copal_jobs::view::{self, View};
use copal_store::{Store, list_all};
use copal_tests::kit::repository::key;
use copal_tests::kit::{How, Random, Reader, Tree, alone, path, picture};
use futures::executor::block_on;

use super::actors::{GRACE, content};
use super::law::LASTING;
use super::oracle;
use super::world::World;

/// Destroys or alters a pack that the newest root needs.
pub(super) fn damage(world: &World<'_>, random: &mut Random) {
    let packs: Vec<String> = match &world.store.watch.seen().live {
        Some(live) => live.packs().into_iter().collect(),
        None => return,
    };
    if packs.is_empty() {
        return;
    }
    let name = random.pick(&packs).clone();
    let object = key(&name);
    let kind = random.below(3);
    match kind {
        0 => block_on(world.store.memory.delete(&object)).expect("memory does not fail"),
        1 => drop(world.store.memory.corrupt(&object, |bytes| bytes.truncate(bytes.len() / 2))),
        _ => drop(world.store.memory.corrupt(&object, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        })),
    }
    world.store.watch.damage(&name, kind == 2);
}

/// Loses parts of the state and rebuilds it, while nobody else runs.
pub(super) fn rebuild(world: &World<'_>, random: &mut Random) {
    let memory = &world.store.memory;
    // What takes the roots takes packs, too.
    if world.is_damaged && random.chance(500) {
        damage(world, random);
    }
    let Some(before) = world.store.watch.begin_rebuild() else { return };
    if random.chance(300) {
        forge(world, random);
    }
    let losses: [&[&str]; 7] = [
        &["roots/"],
        &["index/"],
        &["state/"],
        &["roots/", "index/", "state/"],
        &[],
        &["roots/", "receipts/"],
        &["roots/", "index/", "state/", "receipts/"],
    ];
    // Without receipts what was rejected may count, and lack something.
    let losses = if world.is_damaged { &losses[..] } else { &losses[..5] };
    let prefixes = *random.pick(losses);
    world.store.watch.note(|| format!("ALL OF {prefixes:?} IS LOST"));
    block_on(async {
        for prefix in prefixes {
            for object in list_all(memory, prefix).await.expect("memory does not fail") {
                memory.delete(&object.key).await.expect("memory does not fail");
            }
        }
    });
    // What nobody was told of may be found incomplete, and is refused if every pack is there: nothing tells that one of these
    // has a wrong id in its table.
    let has_flipped = world.store.watch.seen().has_flipped();
    let has_receipts = !prefixes.contains(&"receipts/");
    let is_owed = |client, number| {
        let receipt = key(&layout::receipt(client, number));
        let has_receipt = || block_on(memory.stat(&receipt)).is_ok_and(|stat| stat.is_some());
        !(has_flipped && has_receipts) || has_receipt()
    };
    let owed: BTreeSet<_> =
        before.state.snapshots.keys().copied().filter(|(of, number)| is_owed(*of, *number)).collect();
    let job = world.repository.job(world.store, world.entropy);
    let lost = world.store.lost();
    let rebuilt = loop {
        match alone(rebuild::rebuild(&job)) {
            // A rebuild makes hundreds of calls: if the store went on losing one answer in fifty, no attempt would succeed.
            Err(JobError::Store(error)) if error.is_transient() => world.store.lose(world.store.lost() / 2),
            other => break other,
        }
    };
    world.store.lose(lost);
    if let Ok(report) = &rebuilt {
        world.store.watch.note(|| format!("{report:?}"));
    }
    let Err(error) = rebuilt.map(|_| ()) else {
        let kept = world.store.watch.seen().kept();
        let expired = world.store.watch.seen().expired.clone();
        let last = before.root.change_head.map_or(0, |(number, _)| number);
        let law = world.store.watch.seen().law.clone();
        // Where no run of the state is left, nothing tells of packs that prunes have moved.
        let is_untold = prefixes.contains(&"state/") && world.store.watch.seen().has_lost_moved();
        let forgotten = world.memory.forgotten.borrow();
        let may_lack = |snapshot: &SnapshotRecord| is_untold && forgotten.contains(&snapshot.id);
        for (at, snapshot) in before.state.snapshots.iter().filter(|(_, snapshot)| !snapshot.partial) {
            if owed.contains(at)
                && snapshot.state == SnapshotState::Kept
                && !law.has_forgotten_since(&snapshot.id, last)
                && !may_lack(snapshot)
                && !kept.contains(&snapshot.id)
                && !may_expire(world, (at, snapshot))
                // A thief writes several pages under one id: without a receipt a rebuild may believe the wrong one.
                && !world.store.watch.seen().thefts.may_harm(snapshot)
            {
                let (client, number) = at;
                world.store.watch.broken(format!(
                    "the rebuild does not keep snapshot {} of manifest {number} of {client}",
                    snapshot.id
                ));
            }
            let is_wanted = world.memory.undeleted.borrow().contains(&snapshot.id);
            // What expired comes back if a later policy keeps it.
            let is_wanted = is_wanted || expired.contains(&snapshot.id);
            if snapshot.state != SnapshotState::Kept && !is_wanted && kept.contains(&snapshot.id) {
                world.store.watch.broken(format!("the rebuild brings back snapshot {}", snapshot.id));
            }
        }
        return;
    };
    world.store.watch.broken(format!("a rebuild: {error}"));
}

/// Whoever may create roots and states writes one, and prunes run on it for days. Then the owner rebuilds the index.
fn forge(world: &World<'_>, random: &mut Random) {
    let memory = &world.store.memory;
    let Ok(view) = block_on(view::read(memory)) else { return };
    if view.state.snapshots.is_empty() {
        return;
    }
    world.store.watch.note(|| "SOMEBODY FORGES A STATE".to_owned());
    let mut proposal = Proposal::default();
    if random.chance(250) {
        // Nothing but the list is wrong.
        let doomed = DoomedRecord { state: DoomedState::Doomed, time: Time(0), root: view.number() + 1 };
        let packs = view.state.packs.iter().map(|(id, record)| Prunable::Pack(record.place, *id));
        let segments = view.state.segments.keys().map(|(_, hash)| Prunable::Segment(*hash));
        proposal.delta.doomed = packs.chain(segments).map(|name| (name, Some(doomed.clone()))).collect();
        return prune_on(world, &view, proposal);
    }
    if random.chance(300) {
        proposal.delta.packs = view.state.packs.keys().map(|id| (*id, None)).collect();
    }
    if random.chance(300) {
        proposal.delta.segments = view.state.segments.keys().map(|key| (*key, None)).collect();
    }
    if proposal.delta.is_empty() || random.chance(500) {
        proposal.delta.snapshots = view.state.snapshots.keys().map(|key| (*key, None)).collect();
    }
    for (domain, index) in &view.indexes {
        let entries = index.segments().iter().flat_map(|segment| segment.entries());
        let flagged = Mark { time: Time(0), bits: Bits::FLAGGED };
        let marks = entries.map(|entry| ((entry.id, entry.location.pack.tag()), flagged));
        proposal.overlay.insert(*domain, marks.collect());
    }
    prune_on(world, &view, proposal);
}

/// Writes what a state is to have, and prunes for days.
fn prune_on(world: &World<'_>, view: &View, proposal: Proposal) {
    let memory = &world.store.memory;
    let job = world.repository.job(memory, world.entropy);
    let _ = alone(commit(&job, view, proposal));
    // Nobody sees what is written to the memory itself, so nothing is moved.
    let options = Options { grace: GRACE, repack_most: 0, ..Options::new([4096, 3072]) };
    for _ in 0..3 {
        memory.advance(Duration::from_secs(26 * 3600));
        let pruned = alone(prune::prune(&job, &options));
        world.store.watch.note(|| format!("  a prune on it: {pruned:?}"));
    }
}

/// Whether the policy in force does not keep a snapshot: an expiry that came too late may count in a rebuild.
fn may_expire(world: &World<'_>, snapshot: Signed<'_>) -> bool {
    let mut seen = world.store.watch.seen();
    let may = seen.live.as_ref().is_some_and(|live| oracle::permit(&seen.law, snapshot, live).is_ok());
    if may {
        seen.expired.insert(snapshot.1.id);
    }
    may
}

/// Lets everything come to rest, alone and without failures, and asserts what must hold then.
pub(super) fn settle(world: &World<'_>, random: &mut Random) {
    let watch = &world.store.watch;
    watch.note(|| "ALL COMES TO REST".into());
    if let Err(what) = alone(rest(world, random)) {
        watch.broken(format!("at rest: {what}"));
    }
}

async fn rest(world: &World<'_>, random: &mut Random) -> Result<(), String> {
    let (job, watch) = (world.repository.job(world.store, world.entropy), &world.store.watch);
    let text = |error: JobError| error.to_string();
    ingest(&job, IngestBy::Service, Scope::All, &|_| false).await.map_err(text)?;
    all_decided(world)?;
    revoke(world, random).await?;
    // A prune asks for what only thieves have uploaded.
    prune::prune(&job, &Options { grace: GRACE, ..Options::new([4096, 3072]) }).await.map_err(text)?;
    for client in &world.clients[..3] {
        let tree: Tree =
            [(path("last"), client.id.0.repeat(50)), (path("d"), content(5)), (path("e"), content(6))].into();
        let how = How { claims: Some(world.memory), patience: 4, ..How::default() };
        let snapshot = client.back_up(&job, &tree, &how).await.map_err(|error| error.to_string())?;
        world.memory.acknowledged.borrow_mut().insert(snapshot);
        watch.seen().thefts.owe_if_healed(snapshot);
    }
    world.scene(Random::new(1)).prove_all(&world.clients[3]).await.map_err(text)?;
    if world.habits.is_lasting {
        prune::prune(&job, &Options { grace: GRACE, ..Options::new([4096, 3072]) }).await.map_err(text)?;
        world.store.memory.advance(LASTING);
    }
    for _ in 0..6 {
        world.store.memory.advance(GRACE + Duration::from_secs(3600 + random.below(3600) as u64));
        prune::prune(&job, &Options { grace: GRACE, ..Options::new([4096, 3072]) }).await.map_err(text)?;
    }
    let report = check::check(&job, Depth::Data { part: 1, parts: 1 }).await.map_err(text)?;
    let found: Vec<_> = report.findings.iter().filter(|finding| !world.memory.is_known(watch, finding)).collect();
    if !world.is_damaged && !found.is_empty() {
        return Err(format!("the check finds {found:?}"));
    }
    restored(world).await?;
    if !world.is_damaged {
        tidy(world)?;
    }
    Ok(())
}

/// The owner finds out which keys are stolen, sooner or later.
async fn revoke(world: &World<'_>, random: &mut Random) -> Result<(), String> {
    if random.chance(500) {
        world.store.watch.revoke_thieves(&world.store.memory, world.repository, world.clients);
    }
    for client in world.clients {
        if world.store.watch.seen().thefts.is_revoked(client.id) {
            world.scene(Random::new(0)).lie_in_vain(client).await?;
        }
    }
    Ok(())
}

/// Whatever became of the events: the look at all clients has found every manifest and every change.
fn all_decided(world: &World<'_>) -> Result<(), String> {
    let seen = world.store.watch.seen();
    let Some(live) = &seen.live else { return Ok(()) };
    let list = |prefix| block_on(list_all(&world.store.memory, prefix)).map_err(|error| error.to_string());
    for object in list("manifests/")? {
        let name = object.key.as_str();
        let (client, number) = (layout::client_of(name), layout::trailing_number(name));
        let head = client.and_then(|client| live.state.heads.get(&client)).map_or(0, |head| head.number);
        if number.is_some_and(|number| number > head) {
            return Err(format!("{name} has no decision"));
        }
    }
    let last = live.root.change_head.map_or(0, |(number, _)| number);
    match list("changes/")?.len() as u64 > last {
        true => Err(format!("changes after {last} are not folded in")),
        false => Ok(()),
    }
}

/// Every snapshot that was acknowledged, or is kept, restores to what it was made of.
async fn restored(world: &World<'_>) -> Result<(), String> {
    let view = view::read(world.store).await.map_err(|error| error.to_string())?;
    let reader = Reader::new(world.repository);
    let forgotten = world.memory.forgotten.borrow().clone();
    let expired = world.store.watch.seen().expired.clone();
    let kept: Vec<_> = view.state.snapshots.values().filter(|snapshot| snapshot.state == SnapshotState::Kept).collect();
    let ids: BTreeSet<_> = kept.iter().map(|snapshot| snapshot.id).collect();
    for snapshot in world.memory.acknowledged.borrow().iter() {
        let may_be_away = forgotten.contains(snapshot) || expired.contains(snapshot);
        if !may_be_away && !ids.contains(snapshot) {
            return Err(format!("snapshot {snapshot} was acknowledged and is not kept"));
        }
    }
    let claims = world.memory.claims.lock().expect("nothing panics while it holds the claims").clone();
    for snapshot in kept.into_iter().filter(|snapshot| !snapshot.partial) {
        let may_harm = world.store.watch.seen().thefts.may_harm(snapshot);
        // A thief's own snapshots are nobody's loss.
        if may_harm && !claims.contains_key(&snapshot.id) {
            continue;
        }
        match reader.restore(world.store, &view, snapshot).await {
            Ok(tree) if Some(&tree) == claims.get(&snapshot.id) => {}
            Ok(_) => return Err(format!("snapshot {} restores to something else", snapshot.id)),
            Err(_) if (world.is_damaged || may_harm) && world.store.watch.is_harmed(snapshot) => {}
            Err(error) => return Err(format!("snapshot {} does not restore: {error}", snapshot.id)),
        }
    }
    Ok(())
}

/// Nothing is left that nobody needs.
fn tidy(world: &World<'_>) -> Result<(), String> {
    let memory = &world.store.memory;
    let list_all = |prefix| block_on(list_all(memory, prefix)).map_err(|error| error.to_string());
    let seen = world.store.watch.seen();
    let Some(live) = &seen.live else { return Err("there is no root".into()) };
    let mut needed = live.needed();
    for root in list_all("roots/")? {
        let number = layout::root_number(root.key.as_str()).ok_or("a strange root")?;
        let bytes = block_on(memory.read(&root.key)).map_err(|error| error.to_string())?;
        let root = copal_format::root::Root::decode(number, &bytes).map_err(|error| error.to_string())?;
        needed.extend(picture::runs_of(memory, &root)?);
    }
    for prefix in ["packs/", "moved/", "index/", "state/"] {
        for object in list_all(prefix)? {
            if !needed.contains(object.key.as_str()) {
                return Err(format!("{} is needed by nobody and still there", object.key));
            }
        }
    }
    let copies = live.copies();
    // A thief's ids do not say what its pages hold: garbage may stay for that where it writes.
    for ((_, id), copies) in copies.iter().filter(|((domain, _), _)| !seen.thefts.is_robbed(*domain)) {
        let packs: BTreeSet<_> = copies.iter().map(|copy| copy.pack).collect();
        if packs.len() > 1 {
            return Err(format!("{id} still has copies in {} packs", packs.len()));
        }
    }
    let mut reached = live.reached();
    let guarded = seen.law.guarded(live, live.root.time);
    reached.extend(live.reached_from(guarded.into_iter().map(|of| (of.domain, of.root))));
    let has_checkpoint =
        live.state.snapshots.values().any(|snapshot| snapshot.partial && snapshot.state == SnapshotState::Kept);
    if let Some((_, id)) = copies.keys().find(|at| !seen.thefts.is_robbed(at.0) && !reached.contains(at))
        && !has_checkpoint
    {
        return Err(format!("{id} is still present, and no kept snapshot needs it"));
    }
    Ok(())
}
