//! Acts: backups and prunes through the library, without a process for each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use copal_client::backup::{self, BackupError, Options, Outcome, Source};
use copal_client::repository::{LocalClient, Repository};
use copal_client::scan::{Root, Scan, ScanOptions};
use copal_client::wait::wait;
use copal_engine::backup::change::ChangeDetection;
use copal_format::repository::Parameters;
use copal_jobs::prune;

/// Sizes at which a few files have every structure of the format: several chunks, blocks and packs, content lists of
/// more than one level, and pages of pages.
pub(crate) fn small() -> Parameters {
    Parameters {
        chunk_min: 256,
        chunk_average: 512,
        chunk_max: 2048,
        block_target: 4096,
        tree_block_target: 1024,
        pack_target: 32 << 10,
        tree_pack_target: 16 << 10,
        inline_max: 64,
        leaf_fanout: 4,
        inner_fanout: 3,
        page_min: 64,
        page_max: 4096,
        zstd_level: 3,
    }
}

/// The usual way to go about a backup of a directory.
pub(crate) fn usual(source: &Path) -> Options {
    let root = Root::new(source).expect("the source is there");
    Options {
        user: "root".into(),
        detection: ChangeDetection { inode: true, ctime: true, parent_begun: None },
        rewrite_budget: 1.0,
        ..Options::plain("golden", &root, 2)
    }
}

/// Backs up a directory, unless somebody stops it.
pub(crate) fn try_back_up(
    repository: &Repository,
    client: &LocalClient,
    source: &Path,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Outcome, BackupError> {
    let roots = vec![Root::new(source).expect("the source is there")];
    let scan = Scan::new(ScanOptions { roots, ..ScanOptions::default() }).expect("the source is not the repository");
    let mut source = Source::Tree { scan: &Arc::new(scan), ahead: None, changed: None };
    backup::backup(repository, client, &mut source, options, &Arc::default(), stop)
}

/// Backs up a directory.
pub(crate) fn back_up(repository: &Repository, client: &LocalClient, source: &Path, options: &Options) -> Outcome {
    let outcome = try_back_up(repository, client, source, options, &AtomicBool::new(false));
    let outcome = outcome.unwrap_or_else(|error| panic!("no backup: {error}: {:?}", std::error::Error::source(&error)));
    assert_eq!(outcome.troubles.len(), 0, "{:?}", outcome.troubles);
    outcome
}

/// Prunes.
pub(crate) fn prune(repository: &Repository, grace: Duration) -> prune::Report {
    let parameters = &repository.descriptor.as_ref().expect("it is whole").parameters;
    let pack_target = [parameters.pack_target.into(), parameters.tree_pack_target.into()];
    let options = prune::Options { grace, ..prune::Options::new(pack_target) };
    wait(prune::prune(&repository.job(), &options)).expect("nothing else runs")
}
