//! World: who takes part, and what happens next.

use std::time::Duration;

use copal_format::client::Role;
use copal_jobs::context::Entropy;
use copal_jobs::faults::{self, Mistake, Windows};
use copal_store::{Store, StoreTime};
use copal_tests::kit::{Client, Random, Repository, SeededEntropy};
use futures::executor::block_on;

use super::actors::{GRACE, Habits, Memory, Scene};
use super::end;
use super::law::Owner;
use super::mood::Mood;
use super::store::{Nap, SimStore};
use super::tasks::{Life, step};

/// What a run is made with.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Decides everything.
    pub seed: u64,
    /// A mistake that is planted.
    pub fault: Option<Mistake>,
    /// Whether what happens is kept for people.
    pub is_traced: bool,
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The first broken promise.
    pub violation: Option<String>,
    pub steps: u64,
    pub roots: u64,
    pub stray_roots: u64,
    pub deletions: u64,
    pub accepted: u64,
    pub rejected: u64,
    pub crashes: u64,
    pub rebuilds: u64,
    pub snapshots: u64,
    pub trace: Vec<String>,
}

/// Everything that outlives its actors.
pub(super) struct World<'a> {
    pub(super) store: &'a SimStore,
    pub(super) entropy: &'a dyn Entropy,
    pub(super) repository: &'a Repository,
    pub(super) clients: &'a [Client],
    pub(super) memory: &'a Memory,
    pub(super) is_damaged: bool,
    pub(super) habits: Habits,
    splits: u32,
}

/// An actor: its current life, when it wakes, and how often it has died.
struct Actor<'a> {
    number: usize,
    life: Life<'a>,
    wakes: i64,
    wakes_step: u64,
    nap: Option<Nap>,
    lives: u64,
    weight: usize,
}

/// Runs one world to its end.
pub fn run(setting: &Setting) -> Outcome {
    faults::plant(setting.fault, WINDOWS);
    let mut random = Random::new(setting.seed);
    let lost = *random.pick(&[0, 0, 5, 20]);
    let mood = Mood::of(setting.fault, &mut random);
    let repository = Repository::new();
    let owner = Owner { repository: repository.owner.repository(), key: repository.owner.verifying_key() };
    let store = SimStore::new(setting.seed, owner, lost, &mood);
    if setting.is_traced {
        store.watch.keep_trace();
    }
    store.memory.set_now(StoreTime(1_700_000_000_000_000_000));
    let entropy = SeededEntropy::new(setting.seed);
    let memory = Memory::default();
    let roles = [Role::Full, Role::Full, Role::WriteOnly, Role::Full, Role::WriteOnly, Role::Full];
    let clients: Vec<Client> = block_on(async {
        repository.create(&store.memory).await.expect("memory does not fail");
        let mut clients = Vec::new();
        for (number, role) in roles.into_iter().enumerate() {
            let client = repository.register(&store.memory, number as u8 + 1, role).await;
            clients.push(client.expect("memory does not fail"));
        }
        clients
    });
    let world = World {
        store: &store,
        entropy: &entropy,
        repository: &repository,
        clients: &clients,
        memory: &memory,
        is_damaged: mood.damage > 0,
        habits: mood.habits,
        splits: if mood.is_small { 900 } else { 400 },
    };
    let mut outcome = Outcome::default();
    world.live(setting, &mood, &mut random, &mut outcome);
    if store.watch.violation().is_none() {
        store.calm();
        end::settle(&world, &mut random);
    }
    faults::plant(None, Windows::DESIGN);
    outcome.violation = store.watch.violation();
    outcome.snapshots = memory.acknowledged.borrow().len() as u64;
    outcome.trace = store.watch.take_trace();
    let seen = store.watch.seen();
    (outcome.roots, outcome.stray_roots, outcome.deletions) = (seen.roots, seen.stray, seen.deletions);
    (outcome.accepted, outcome.rejected) = (seen.accepted, seen.rejected);
    outcome
}

impl<'a> World<'a> {
    fn live(&self, setting: &Setting, mood: &Mood, random: &mut Random, outcome: &mut Outcome) {
        let mut actors: Vec<Actor<'_>> = (0..ACTORS)
            .map(|number| Actor {
                number,
                life: self.life(setting.seed, number, 0),
                wakes: i64::MIN,
                wakes_step: 0,
                nap: None,
                lives: 0,
                weight: *random.pick(&[1, 1, 2, 4]),
            })
            .collect();
        let mut current = 0;
        while outcome.steps < mood.steps as u64 && self.store.watch.violation().is_none() {
            outcome.steps += 1;
            if random.chance(mood.tick) {
                self.store.memory.advance(*random.pick(&TICKS));
            }
            if random.chance(mood.crash) {
                let dead = random.below(ACTORS);
                self.revive(setting.seed, &mut actors[dead]);
                outcome.crashes += 1;
            }
            if random.chance(mood.sleep) {
                let sleeper = random.below(ACTORS);
                let hours = random.below(2 * GRACE.as_secs() as usize / 3600) as u64;
                actors[sleeper].wakes = self.now() + Duration::from_secs(hours * 3600).as_nanos() as i64;
                self.store.watch.note(|| format!("{} sleeps for {hours} h", NAMES[sleeper]));
            }
            if random.chance(mood.damage) && random.chance(500) {
                end::damage(self, random);
                // What was found out about packs before cannot tell of this.
                actors[6..9].iter_mut().for_each(|actor| self.revive(setting.seed, actor));
            }
            if random.chance(mood.revoke) {
                self.store.watch.revoke_thieves(&self.store.memory, self.repository, self.clients);
            }
            if random.chance(mood.rebuild) && random.chance(500) {
                for actor in &mut actors {
                    actor.life = Box::pin(std::future::pending());
                }
                end::rebuild(self, random);
                outcome.rebuilds += 1;
                actors.iter_mut().for_each(|actor| self.revive(setting.seed, actor));
            }
            let now = self.now();
            for actor in actors.iter_mut().filter(|actor| actor.nap.is_some()) {
                if actor.nap.as_ref().is_some_and(|nap| self.store.watch.seen().has_ended(nap)) {
                    (actor.nap, actor.wakes_step) = (None, 0);
                }
            }
            let is_awake = |actor: &Actor<'_>| {
                let takes_part = match actor.number {
                    EXPIRY => mood.expires,
                    COMPACT => mood.compacts,
                    THIEF_OF_ONE => mood.robs_one,
                    THIEF_OF_ALL => mood.robs_all,
                    PERSON | CHECK if mood.is_bare => false,
                    RECONCILE if mood.habits.mails => true,
                    number => !mood.is_small || NEEDED.contains(&number),
                };
                takes_part && actor.wakes <= now && actor.wakes_step <= outcome.steps
            };
            let awake: Vec<usize> = (0..ACTORS).filter(|&actor| is_awake(&actors[actor])).collect();
            if awake.is_empty() {
                self.store.memory.advance(TICKS[1]);
                continue;
            }
            // Often the same one goes on, so that long stretches without interruption occur as well.
            if !awake.contains(&current) || random.chance(400) {
                for thief in [THIEF_OF_ONE, THIEF_OF_ALL] {
                    // Who has stolen a key has no time to lose.
                    if self.store.watch.seen().thefts.is_stolen(self.clients[thief - THIEF_OF_ONE + 4].id) {
                        actors[thief].weight = 6;
                    }
                }
                let total: usize = awake.iter().map(|&actor| actors[actor].weight).sum();
                let mut ticket = random.below(total);
                current = awake[0];
                for &actor in &awake {
                    if ticket < actors[actor].weight {
                        current = actor;
                        break;
                    }
                    ticket -= actors[actor].weight;
                }
                self.store.watch.note(|| format!("-- {}", NAMES[current]));
            }
            if step(&mut actors[current].life) {
                self.revive(setting.seed, &mut actors[current]);
            }
            if let Some(nap) = self.store.take_nap() {
                self.store.watch.note(|| format!("{} naps: {nap:?}", NAMES[current]));
                match nap {
                    Nap::Hours(hours) => {
                        actors[current].wakes = self.now() + Duration::from_secs(hours * 3600).as_nanos() as i64;
                    }
                    Nap::Steps(steps) => actors[current].wakes_step = outcome.steps + steps,
                    _ => actors[current].wakes_step = outcome.steps + NAP_MOST,
                }
                actors[current].nap = Some(nap);
            }
        }
    }

    fn revive(&self, seed: u64, actor: &mut Actor<'a>)
    where
        'a: 'a,
    {
        self.store.watch.note(|| format!("{} dies and starts again", NAMES[actor.number]));
        actor.lives += 1;
        actor.wakes = i64::MIN;
        actor.wakes_step = 0;
        actor.nap = None;
        actor.life = self.life(seed, actor.number, actor.lives);
    }

    fn life(&self, seed: u64, number: usize, lives: u64) -> Life<'a> {
        let scene = self.scene(Random::new(seed.wrapping_mul(1_000_003) ^ (number as u64) << 32 ^ lives));
        match number {
            0 | 1 => Box::pin(scene.back_up(&self.clients[number], true)),
            2 => Box::pin(scene.back_up(&self.clients[number], false)),
            PERSON => Box::pin(scene.decide(&self.clients[number])),
            4 if self.habits.mails => Box::pin(scene.serve_mail()),
            RECONCILE if self.habits.mails => Box::pin(scene.reconcile()),
            4 | 5 => Box::pin(scene.ingest()),
            6 | 7 => Box::pin(scene.prune()),
            CHECK => Box::pin(scene.check(self.is_damaged)),
            9 | 10 => Box::pin(scene.look()),
            EXPIRY => Box::pin(scene.expire()),
            COMPACT => Box::pin(scene.compact()),
            THIEF_OF_ONE => Box::pin(scene.deceive(&self.clients[4])),
            _ => Box::pin(scene.deceive(&self.clients[5])),
        }
    }

    /// What an actor works with.
    pub(super) fn scene(&self, random: Random) -> Scene<'a> {
        Scene {
            job: self.repository.job(self.store, self.entropy),
            watch: &self.store.watch,
            memory: self.memory,
            mail: &self.store.mail,
            repository: self.repository,
            habits: self.habits,
            random,
            splits: self.splits,
        }
    }

    fn now(&self) -> i64 {
        block_on(self.store.memory.now()).map_or(0, |time| time.0)
    }
}

/// So short that roots and orphans are deleted while somebody sleeps.
const WINDOWS: Windows = Windows {
    roots_kept: 3,
    roots_age: Duration::from_secs(0),
    orphan_age: Duration::from_secs(24 * 3600),
    // No age makes up for a look at what changed.
    decision_age: Duration::MAX,
    cover: 2,
    at_once: 1,
    hashed: Windows::DESIGN.hashed,
};
const TICKS: [Duration; 4] =
    [Duration::from_secs(60), Duration::from_secs(3600), Duration::from_secs(6 * 3600), Duration::from_secs(25 * 3600)];
const NAMES: [&str; ACTORS] = [
    "client 1",
    "client 2",
    "write-only client",
    "person",
    "ingest 1",
    "ingest 2",
    "prune 1",
    "prune 2",
    "check",
    "reader 1",
    "reader 2",
    "expiry",
    "compact",
    "thief of a write-only client",
    "thief of a full client",
];
const ACTORS: usize = 15;
/// A client, the person, an ingest and a prune.
const NEEDED: [usize; 5] = [0, 1, 3, 4, 6];
const PERSON: usize = 3;
const CHECK: usize = 8;
/// Where events are lost, who looks at everything takes part.
const RECONCILE: usize = 5;
const EXPIRY: usize = 11;
const COMPACT: usize = 12;
const THIEF_OF_ONE: usize = 13;
const THIEF_OF_ALL: usize = 14;
/// The longest that a sleeper waits for its worst moment, in steps.
const NAP_MOST: u64 = 2000;
