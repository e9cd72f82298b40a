//! Import: copies snapshots of a repository of restic. Each names its origin, so that none is made twice.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use copal_format::exclusions::Exclusions;
use copal_format::id::SnapshotId;
use copal_format::snapshot::MetadataSeen;
use copal_format::troubles::Troubles;

use crate::backup::{BackupError, Inherited, Options, Original, Outcome, Source, backup};
use crate::copy::{How, There};
use crate::filter::Filter;
use crate::history::History;
use crate::progress::Progress;
use crate::repository::{LocalClient, Repository};
use crate::restic::{Restic, ResticSnapshot};

/// Copies snapshots of restic into a repository.
pub struct Importer<'a> {
    restic: &'a Restic,
    /// All snapshots of restic, whose copies may hold what another one needs.
    snapshots: &'a [ResticSnapshot],
    target: &'a Repository,
    client: &'a LocalClient,
    how: How,
    label: String,
    /// What this client has saved in the target.
    there: Vec<There>,
}

impl<'a> Importer<'a> {
    /// Copies into a repository with this history; the copies get this label.
    pub fn new(
        (restic, snapshots): (&'a Restic, &'a [ResticSnapshot]),
        (target, client, copies): (&'a Repository, &'a LocalClient, &History),
        how: How,
        label: &str,
    ) -> Self {
        let there = There::all_of(target, client, copies);
        Self { restic, snapshots, target, client, how, label: label.to_owned(), there }
    }

    /// The copy that is already there and lacks nothing; also a forgotten one, as long as it can be brought back.
    pub fn copy_of(&self, snapshot: &ResticSnapshot) -> Option<SnapshotId> {
        let is_it = |there: &&There| there.is_copy_of(snapshot.origin) && there.errors == 0;
        self.there.iter().find(is_it).map(|there| there.copy.id)
    }

    /// Makes a copy. The outcome has no snapshot if a copy that lacks the same exists already.
    pub fn import(
        &mut self,
        snapshot: &ResticSnapshot,
        progress: &Arc<Progress>,
        interrupted: &AtomicBool,
    ) -> Result<Outcome, BackupError> {
        let ResticSnapshot { origin, root, time, .. } = *snapshot;
        let (copies, is_retry) = There::earlier(&self.there, self.client, origin, root, time, |of| {
            let of = self.snapshots.iter().find(|other| other.origin == of)?;
            let is_alike = of.id != snapshot.id && (&of.host, &of.paths) == (&snapshot.host, &snapshot.paths);
            is_alike.then_some(of.root)
        });
        let original = Original {
            from: self.restic,
            root,
            excludes: &Filter::default(),
            is_tamed: false,
            copies,
            readers: self.how.threads,
            most_named: NAMED,
        };
        let options = Options {
            label: self.label.clone(),
            tags: snapshot.tags.clone(),
            time: Some(time),
            user: snapshot.user.clone(),
            inherited: Some(Inherited {
                origin: Some(origin),
                started: time,
                metadata: SEEN.into_iter().fold(MetadataSeen::default(), MetadataSeen::union),
                troubles: Troubles::default(),
                errors: 0,
            }),
            // The import does not know which files restic left out.
            exclusions: Some(Exclusions { is_cut: true, ..Exclusions::default() }),
            skip_if_unchanged: is_retry,
            wait: Some(self.how.wait),
            compression: self.how.compression,
            ..Options::new(snapshot.host.clone(), snapshot.paths.clone(), self.how.threads)
        };
        let mut source = Source::Snapshot(original);
        let outcome = backup(self.target, self.client, &mut source, &options, progress, interrupted)?;
        self.there.extend(There::made(self.client, origin, time, time, &outcome, 0));
        Ok(outcome)
    }
}

/// How many lost entries of a snapshot are named: those that the walk names, and as many whose content is lost.
const NAMED: usize = 2_000;
/// What restic tells of entries.
const SEEN: [MetadataSeen; 4] =
    [MetadataSeen::OWNERS, MetadataSeen::MODES, MetadataSeen::XATTRS, MetadataSeen::HARDLINKS];
