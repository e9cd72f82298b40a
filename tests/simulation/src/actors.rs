//! Actors: what clients, ingests, prunes and checks do, over and over.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use copal_format::id::{ClientId, PackId, SnapshotId};
use copal_format::policy::SignedPolicy;
use copal_format::repository::IngestBy;
use copal_jobs::budget::Budget;
use copal_jobs::check::{self, Depth, Finding, Lane};
use copal_jobs::compact;
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::expire;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::policy;
use copal_jobs::prune::{self, Options};
use copal_jobs::view::{self, View};
use copal_tests::kit::client::Claims;
use copal_tests::kit::{Client, Failure, How, Random, Repository, Tree, path};

use super::hostile::is_thiefs_harm;
use super::mail::{Hint, Mail};
use super::tasks::pause;
use super::watch::Watch;

/// What the outside world remembers, whoever dies.
#[derive(Default)]
pub(super) struct Memory {
    /// What every snapshot ever claimed must hold.
    pub(super) claims: Mutex<BTreeMap<SnapshotId, Tree>>,
    /// Snapshots whose client was told that they are safe.
    pub(super) acknowledged: RefCell<BTreeSet<SnapshotId>>,
    /// Snapshots that somebody has wanted to forget.
    pub(super) forgotten: RefCell<BTreeSet<SnapshotId>>,
    /// Changes that say the owner has signed what somebody else has.
    pub(super) forged: RefCell<BTreeSet<String>>,
    /// Snapshots that somebody has wanted back.
    pub(super) undeleted: RefCell<BTreeSet<SnapshotId>>,
}

impl Memory {
    /// Whether a finding is of what a thief has forged or harmed.
    pub(super) fn is_known(&self, watch: &Watch, finding: &Finding) -> bool {
        self.forged.borrow().contains(&finding.object) || is_thiefs_harm(watch, finding)
    }
}

impl Claims for Memory {
    fn claimed(&self, snapshot: SnapshotId, tree: &Tree) {
        self.claims.lock().expect("nothing panics while it holds the claims").insert(snapshot, tree.clone());
    }
}

/// What an actor's life is made with.
pub(super) struct Scene<'a> {
    pub(super) job: JobContext<'a>,
    pub(super) watch: &'a Watch,
    pub(super) memory: &'a Memory,
    pub(super) mail: &'a Mail,
    pub(super) repository: &'a Repository,
    pub(super) habits: Habits,
    pub(super) random: Random,
    /// Backups that write intermediate manifests, in a thousand.
    pub(super) splits: u32,
}

/// What is usual in a world.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habits {
    /// The service is told by events of what was written.
    pub(super) mails: bool,
    /// Jobs are told to come to an end before they are done.
    pub(super) hurries: bool,
    /// Clients' clocks are wrong.
    pub(super) skews: bool,
    /// Policies have floors and holds, and a thief with a client's key tries to take them away.
    pub(super) guards: bool,
    /// The owner sets a policy first of all, and floors are always long.
    pub(super) is_lasting: bool,
    /// The thief of a full client's keys knows the passphrase, too.
    pub(super) has_passphrase: bool,
}

impl Scene<'_> {
    /// How long a job may go on: so many questions, or for ever.
    fn budget(&mut self) -> Budget {
        if !self.habits.hurries || self.random.chance(500) {
            return Budget::unlimited();
        }
        let left = AtomicU32::new(self.random.below(8) as u32);
        Budget::until(move || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        })
    }

    /// By how much a client's clock is wrong.
    fn skew(&mut self) -> i64 {
        let hours = if self.habits.skews { *self.random.pick(&[-1000, -30, -1, 0, 1, 1000]) } else { 0 };
        hours * 3_600_000_000_000
    }

    /// Says of an error whether it is one that may happen.
    pub(super) fn allow(&self, who: &str, error: &JobError) {
        self.watch.note(|| format!("  {who} gives up: {error}"));
        match error {
            JobError::Store(error) if error.is_transient() => {}
            JobError::Contended { .. } => {}
            error => self.watch.broken(format!("{who}: {error}")),
        }
    }

    /// Edits files and backs them up, again and again.
    pub(super) async fn back_up(mut self, client: &Client, ingests: bool) {
        let mut tree = Tree::new();
        let skew = self.skew();
        if self.random.chance(500) {
            client.forget_memory();
        }
        loop {
            self.save(client, &mut tree, ingests, skew).await;
        }
    }

    /// Edits files and backs them up.
    pub(super) async fn save(&mut self, client: &Client, tree: &mut Tree, ingests: bool, skew: i64) {
        // Often nothing has changed: then the manifest names the root page of an earlier snapshot.
        for _ in 0..self.random.below(4) {
            edit(tree, &mut self.random);
        }
        let split = self.random.chance(self.splits).then(|| 1 + self.random.below(3));
        let partial = self.random.chance(100);
        let how = How {
            ingests: ingests && self.random.chance(800),
            split,
            partial,
            rewrites: *self.random.pick(&[0, 100, 255]),
            claims: Some(self.memory),
            // Who cannot decide alone waits for others.
            patience: if ingests { 10 } else { 40 },
            skew,
        };
        self.watch.note(|| format!("{} backs up {} files", client.id, tree.len()));
        match client.back_up(&self.job, tree, &how).await {
            Ok(snapshot) if !partial => {
                self.watch.note(|| format!("{} is told that {snapshot} is safe", client.id));
                self.memory.acknowledged.borrow_mut().insert(snapshot);
            }
            Ok(_) | Err(Failure::Patience { .. }) => {}
            Err(Failure::Job(error)) => self.allow("a backup", &error),
            Err(error) => self.watch.broken(format!("a backup: {error}")),
        }
    }

    pub(super) async fn ingest(self) {
        loop {
            if let Err(error) = ingest(&self.job, IngestBy::Service, Scope::All, &|_| false).await {
                self.allow("an ingest", &error);
            }
        }
    }

    /// Decides about what events hint at.
    pub(super) async fn serve_mail(mut self) {
        loop {
            let Ok(now) = self.job.now().await else { continue };
            let hints = self.mail.take(now.0, &mut self.random);
            if hints.is_empty() {
                continue;
            }
            let clients: Vec<ClientId> = hints
                .iter()
                .filter_map(|hint| match hint {
                    Hint::Client(client) => Some(*client),
                    Hint::Decisions => None,
                })
                .collect();
            let scope = if clients.is_empty() { Scope::Decisions } else { Scope::Clients(&clients) };
            if let Err(error) = ingest(&self.job, IngestBy::Service, scope, &|_| false).await {
                self.allow("an ingest", &error);
                self.mail.give_back(hints, now.0);
            }
        }
    }

    /// Looks at every client now and then: for what no event has told.
    pub(super) async fn reconcile(mut self) {
        loop {
            for _ in 0..self.random.below(200) {
                pause().await;
            }
            if let Err(error) = ingest(&self.job, IngestBy::Service, Scope::All, &|_| false).await {
                self.allow("an ingest", &error);
            }
        }
    }

    pub(super) async fn prune(mut self) {
        loop {
            let mut options = Options::new([4096, 3072]);
            options.repack_most = *self.random.pick(&[0, 20_000, u64::MAX]);
            options.budget = self.budget();
            options.grace = self.policy().await.map_or(GRACE, |policy| policy.grace());
            if let Err(error) = prune::prune(&self.job, &options).await {
                self.allow("a prune", &error);
            }
        }
    }

    pub(super) async fn check(mut self, may_find: bool) {
        loop {
            // Somebody suspects a few packs, rightly or not.
            if may_find && self.random.chance(300) {
                let suspected = self.some_packs().await;
                if let Err(error) = check::look(&self.job, &suspected).await {
                    self.allow("a look at packs", &error);
                }
            }
            let parts = match self.policy().await {
                Some(policy) => policy.check_parts(),
                None => 1 + self.random.below(3) as u32,
            };
            let depth = if self.random.chance(500) { Depth::Structure } else { Depth::Data { part: 1, parts } };
            let budget = self.budget();
            let checked = check::check_until(&self.job, (depth, check::Tables::Share), &budget).await;
            self.judge("a check", checked, may_find);
            // Others read packs beside it.
            let lanes = 2 + self.random.below(2) as u32;
            if let Some(lane) = Lane::new(self.random.below(4) as u32, lanes) {
                let budget = self.budget();
                let scrubbed = check::scrub(&self.job, lane, parts, &budget).await;
                self.judge("a scrub", scrubbed, may_find);
            }
        }
    }

    fn judge(&mut self, what: &str, checked: Result<check::Report, JobError>, may_find: bool) {
        match checked {
            Ok(report) => {
                // Whoever wrote a root may have died before it wrote the answers.
                let is_owed = |of: &Finding| of.object.starts_with("receipts/") && of.why.contains("the next ingest");
                let is_news = |of: &&Finding| !self.memory.is_known(self.watch, of) && !is_owed(of);
                let found: Vec<_> = report.findings.iter().filter(is_news).collect();
                if !may_find && !found.is_empty() {
                    self.watch.broken(format!("{what} finds damage where there is none: {found:?}"));
                }
            }
            Err(error) => self.allow(what, &error),
        }
    }

    /// Some of the packs that the state knows; none if it cannot be read.
    async fn some_packs(&mut self) -> BTreeSet<PackId> {
        let Ok(view) = view::read(self.job.store).await else { return BTreeSet::new() };
        view.state.packs.keys().filter(|_| self.random.chance(200)).copied().collect()
    }

    /// The policy in force, if there is one and it can be read.
    async fn policy(&self) -> Option<SignedPolicy> {
        let view = view::read(self.job.store).await.ok()?;
        Some(policy::current(&self.job, &view).await.ok()??.1)
    }

    /// Merges segments, again and again.
    pub(super) async fn compact(mut self) {
        loop {
            let budget = self.budget();
            if let Err(error) = compact::compact_until(&self.job, &budget).await {
                self.allow("a compaction", &error);
            }
        }
    }

    /// Lets expire what the policy does not keep, again and again.
    pub(super) async fn expire(self) {
        loop {
            if let Err(error) = expire::expire(&self.job, IngestBy::Service).await {
                self.allow("an expiry", &error);
            }
        }
    }

    /// Reads the state, as somebody who restores does.
    pub(super) async fn look(self) {
        loop {
            match view::read(self.job.store).await {
                Ok(view) => self.expect_lived(&view),
                Err(error) => self.allow("a reader", &error),
            }
        }
    }

    pub(super) fn expect_lived(&self, view: &View) {
        if let Some((root, hash)) = &view.root
            && !self.watch.seen().lived.contains(hash)
        {
            self.watch.broken(format!("root {} is taken for the newest and never was", root.number));
        }
    }
}

/// Changes one file. Contents come from a small pool, so that what was removed comes back and clients share it.
fn edit(tree: &mut Tree, random: &mut Random) {
    let name = path(["a", "b", "b/c", "d", "e/f", "e/g"][random.below(6)]);
    if random.chance(250) {
        tree.remove(&name);
    } else {
        tree.insert(name, content(random.below(14)));
    }
}

/// One of the contents that files have.
pub(super) fn content(number: usize) -> Vec<u8> {
    let mut bytes = vec![0; [0, 9, 300, 600, 1200, 2500, 4000][number % 7]];
    Random::new(number as u64 + 1000).fill(&mut bytes);
    bytes
}

/// The grace period that prunes use.
pub(super) const GRACE: Duration = Duration::from_secs(24 * 3600);
