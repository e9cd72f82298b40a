//! Watch: the results of each job. A job that panics, or gets the process killed, is reported, not repeated at once.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::router::JobHealth;
use copal_jobs::error::JobError;

/// Why a run failed.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The job returned an error.
    Failed(JobError),
    /// The job panicked.
    Panicked(String),
}

impl From<JobError> for Stopped {
    fn from(error: JobError) -> Self {
        Self::Failed(error)
    }
}

impl core::fmt::Display for Stopped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Panicked(words) => write!(f, "it panicked, which is a mistake of Copal: {words}"),
        }
    }
}

/// The results of jobs, and files that note what each job is working on. A note that exists when a process starts means
/// that an earlier process was killed during that job.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// The directory of notes; `None` if it cannot be made or another process keeps its notes there: then a kill goes
    /// unnoticed.
    directory: Option<PathBuf>,
    _alone: Option<Arc<File>>,
    jobs: Arc<Mutex<BTreeMap<&'static str, Told>>>,
}

/// The results of one job.
#[derive(Copy, Clone, Debug, Default)]
struct Told {
    stops: u64,
    is_failing: bool,
}

impl Watch {
    /// Keeps notes in a directory, created if missing.
    pub(super) fn new(directory: Option<PathBuf>) -> Self {
        let mut directory = directory.filter(|directory| fs::create_dir_all(directory).is_ok());
        let lock = directory.as_ref().and_then(|directory| File::create(directory.join("lock")).ok());
        // Without support for locks, assumes that no other process is here.
        if lock.as_ref().is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock))) {
            tracing::warn!(
                "another process of this repository runs jobs here: it alone notes what they are at work on"
            );
            directory = None;
        }
        Self { directory, _alone: lock.map(Arc::new), jobs: Arc::default() }
    }

    /// What a job was working on when an earlier process was killed. This counts as a stop of the job.
    pub(super) fn killed(&self, job: &'static str) -> Option<String> {
        let path = self.directory.as_ref()?.join(job);
        let what = fs::read_to_string(&path).ok()?;
        // A note that cannot be deleted would count again at every start.
        fs::remove_file(&path).ok()?;
        self.told(job, |told| *told = Told { stops: told.stops + 1, is_failing: true });
        Some(what)
    }

    /// Runs a job, which works on `what`. A panic ends only the run.
    pub(super) fn run(
        &self,
        job: &'static str,
        what: &str,
        act: impl FnOnce() -> Result<(), JobError>,
    ) -> Result<(), Stopped> {
        let note = self.directory.as_ref().map(|directory| directory.join(job));
        let is_noted = note.as_ref().is_some_and(|path| write_whole(path, what).is_ok());
        // A panic leaves no more behind than a kill: the next run goes on from what is stored.
        let done = catch_unwind(AssertUnwindSafe(|| {
            #[cfg(feature = "faults")]
            copal_store::faults::job(job);
            act()
        }));
        if let Some(path) = note.filter(|_| is_noted) {
            let _ = fs::remove_file(path);
        }
        let done = match done {
            Ok(done) => done.map_err(Stopped::Failed),
            Err(panic) => Err(Stopped::Panicked(words(panic.as_ref()))),
        };
        let has_panicked = matches!(done, Err(Stopped::Panicked(_)));
        self.told(job, |told| {
            *told = Told { stops: told.stops + u64::from(has_panicked), is_failing: done.is_err() };
        });
        done
    }

    /// The health of all jobs, for the gateway's health request.
    pub(super) fn health(&self) -> Vec<JobHealth> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let health =
            |(job, told): (&&'static str, &Told)| JobHealth { job, stops: told.stops, is_failing: told.is_failing };
        jobs.iter().map(health).collect()
    }

    fn told(&self, job: &'static str, change: impl FnOnce(&mut Told)) {
        change(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).entry(job).or_default());
    }
}

/// Half a note would name the wrong work.
fn write_whole(path: &std::path::Path, what: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, what)?;
    fs::rename(new, path)
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_one_run_and_is_counted() {
        let watch = Watch::new(None);
        let stopped = watch.run("prune", "", || panic!("at {}", 7)).unwrap_err();
        assert!(matches!(&stopped, Stopped::Panicked(words) if words == "at 7"), "{stopped:?}");
        let health = |stops, is_failing| [JobHealth { job: "prune", stops, is_failing }];
        assert_eq!(watch.health(), health(1, true));
        watch.run("prune", "", || Ok(())).unwrap();
        assert_eq!(watch.health(), health(1, false));
    }

    #[test]
    fn what_a_killed_process_was_at_work_on_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let watch = Watch::new(Some(directory.path().join("jobs")));
        watch.run("check", "all", || Ok(())).unwrap();
        assert_eq!(watch.killed("check"), None, "it has ended");
        // A killed process leaves its note behind.
        fs::write(directory.path().join("jobs/ingest"), "a client").unwrap();
        let other = Watch::new(Some(directory.path().join("jobs")));
        assert_eq!(other.killed("ingest"), None, "it is the note of a process that runs");
        assert_eq!(watch.killed("ingest").as_deref(), Some("a client"));
        assert_eq!(watch.killed("ingest"), None);
        assert_eq!(watch.health().iter().find(|health| health.job == "ingest").unwrap().stops, 1);
    }
}
