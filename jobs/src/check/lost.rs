//! Lost: reports the objects that the newest root names and that are gone or unreadable.

use copal_format::layout;
use copal_format::root::Root;
use copal_format::state::{RunKind, RunReader, StateFold};

use super::{Kind, Report};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::view;

/// Reports each such object; returns whether there are any.
pub(super) async fn check(job: &JobContext<'_>, report: &mut Report) -> Result<bool, JobError> {
    let before = report.findings.len();
    let listed = job.store.list("roots/", None, 1).await?.objects;
    let Some(name) = listed.first().map(|listed| listed.key.as_str()) else { return Ok(false) };
    let bytes = match objects::read(job.store, name).await.map_err(JobError::from) {
        // The unreadable root was reported before.
        Err(error) => return error.blame().map(|_| false),
        Ok(bytes) => bytes.unwrap_or_default(),
    };
    let root = layout::root_number(name).and_then(|number| Root::decode(number, &bytes).ok());
    let Some(root) = root else { return Ok(false) };
    check_base(job, &root, report).await?;
    let mut fold = StateFold::default();
    // Newer runs come first. If a newer run is unreadable, objects that an older run names may rightly be gone.
    let mut unread: Vec<RunKind> = Vec::new();
    for run in &root.runs {
        let name = layout::state(run.hash);
        match objects::read_hashed(job.store, &name, run.hash).await {
            Ok(Some(bytes)) => {
                let names_objects = [RunKind::Segments, RunKind::OverlayRuns].contains(&run.kind);
                if names_objects && !unread.contains(&run.kind) {
                    let folded = RunReader::parse(&bytes).and_then(|reader| fold.add(&reader));
                    if folded.is_err() {
                        unread.push(run.kind);
                    }
                }
                continue;
            }
            Ok(None) => report.add_once(Kind::Missing, name, NEEDED),
            Err(error) => {
                let (_, why) = error.blame()?;
                report.add_once(Kind::Damaged, name, format!("{NEEDED}, and {why}"));
            }
        }
        unread.push(run.kind);
    }
    let state = fold.finish();
    let segments = state.segments.keys().map(|(_, hash)| layout::segment(*hash));
    for name in segments.chain(state.overlays.keys().map(|(_, hash)| layout::state(*hash))) {
        match job.store.stat(&objects::key(&name)).await.map_err(JobError::from) {
            Ok(Some(_)) => {}
            Ok(None) => report.add_once(Kind::Missing, name, NEEDED),
            Err(error) => report.add_once(Kind::Damaged, name, error.blame()?.1),
        }
    }
    Ok(report.findings.len() > before)
}

async fn check_base(job: &JobContext<'_>, root: &Root, report: &mut Report) -> Result<(), JobError> {
    let Some((base, hash)) = root.base else { return Ok(()) };
    let name = layout::root(base);
    match view::is_there(job.store, base, hash).await.map_err(JobError::from) {
        Ok(true) => {}
        Ok(false) if job.store.stat(&objects::key(&name)).await?.is_none() => {
            report.add_once(Kind::Missing, name, NEEDED);
        }
        Ok(false) => report.add_once(Kind::Damaged, name, "it is not the root that the newest root names as its base"),
        Err(error) => report.add_once(Kind::Damaged, name, error.blame()?.1),
    }
    Ok(())
}

const NEEDED: &str = "the newest root needs it";
