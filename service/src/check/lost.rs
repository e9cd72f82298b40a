//! Lost state: which objects that the newest root names are gone.

use copal_engine::layout;
use copal_engine::root::Root;
use copal_engine::state::{RunKind, RunReader, StateFold};

use super::{Kind, Report};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view;

/// Reports each of them; the evidence alone if none can be named.
pub(super) async fn check(host: &Host<'_>, evidence: String, report: &mut Report) -> Result<(), JobError> {
    let gone = gone(host).await?;
    if gone.is_empty() {
        report.add(Kind::Missing, "roots/", evidence);
    }
    for name in gone {
        report.add(Kind::Missing, name, "the newest root needs it");
    }
    Ok(())
}

async fn gone(host: &Host<'_>) -> Result<Vec<String>, JobError> {
    let mut gone = Vec::new();
    let listed = host.store.list("roots/", None, 1).await?.objects;
    let Some(name) = listed.first().map(|listed| listed.key.as_str().to_owned()) else { return Ok(gone) };
    let Some(bytes) = objects::read(host.store, &name).await? else { return Ok(gone) };
    let Some(root) = layout::root_number(&name).and_then(|number| Root::decode(number, &bytes).ok()) else {
        return Ok(gone);
    };
    if let Some((base, hash)) = root.base
        && !view::is_there(host.store, base, hash).await?
    {
        gone.push(layout::root(base));
    }
    let mut fold = StateFold::default();
    for run in &root.runs {
        let name = layout::state(run.hash);
        let Some(bytes) = objects::read(host.store, &name).await? else {
            gone.push(name);
            continue;
        };
        if [RunKind::Segments, RunKind::OverlayRuns].contains(&run.kind)
            && let Ok(reader) = RunReader::parse(&bytes)
        {
            // A damaged run is reported as such.
            let _ = fold.add(&reader);
        }
    }
    let state = fold.finish();
    let segments = state.segments.keys().map(|(_, hash)| layout::segment(*hash));
    for name in segments.chain(state.overlays.keys().map(|(_, hash)| layout::state(*hash))) {
        if host.store.stat(&objects::key(&name)).await?.is_none() {
            gone.push(name);
        }
    }
    Ok(gone)
}
