//! Output: one pool of threads seals blocks, another stores packs.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use copal_engine::backup::session::{Action, Session};
use copal_format::block::{SealJob, SealTools, SealedBlock};
use copal_format::id::PackId;
use copal_format::layout::{self, Place};
use copal_format::pack::Pack;
use copal_format::seal::SessionCipher;
use copal_jobs::commit;
use copal_jobs::error::JobError;
use copal_store::Store;
use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded, unbounded};

use super::BackupError;
use crate::backend::Backend;
use crate::compression::Compression;
use crate::progress::Progress;
use crate::wait::wait;

/// The threads that seal and store, for the duration of a backup.
pub(super) struct Output<'a> {
    jobs: Option<Sender<SealJob>>,
    sealed: Receiver<Result<SealedBlock, BackupError>>,
    packs: Option<Sender<Pack>>,
    stored: Receiver<Result<PackId, BackupError>>,
    /// Packs that are not known to be stored yet.
    out: HashSet<PackId>,
    interrupted: &'a AtomicBool,
    /// Deadline for uploads under way after an interrupt.
    until: Option<Instant>,
}

impl<'a> Output<'a> {
    /// Starts the threads. Without a backend (dry run) packs are discarded.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        cipher: &SessionCipher,
        (compression, level): (Compression, i32),
        backend: Option<&Backend>,
        progress: &Arc<Progress>,
        interrupted: &'a AtomicBool,
    ) -> Self {
        let (jobs, to_seal) = bounded::<SealJob>(threads);
        let (to_session, sealed) = unbounded();
        for _ in 0..threads {
            let (to_seal, to_session, cipher) = (to_seal.clone(), to_session.clone(), cipher.clone());
            scope.spawn(move || {
                let mut tools = SealTools::with(compression.compressor(level));
                for job in to_seal {
                    let sealed = outliving(|| Ok(job.run(&mut tools, &cipher)?));
                    if to_session.send(sealed).is_err() {
                        return;
                    }
                }
            });
        }
        let (packs, to_store) = bounded::<Pack>(1);
        let (done, stored) = unbounded();
        for _ in 0..backend.map_or(1, Backend::uploads) {
            let store = backend.map(Backend::store);
            let (to_store, done, progress) = (to_store.clone(), done.clone(), progress.clone());
            scope.spawn(move || {
                for pack in to_store {
                    let id = pack.id;
                    let length = pack.bytes.len() as u64;
                    let result = outliving(|| match &store {
                        Some(store) => Ok(wait(store_pack(&**store, pack)).map(|()| id)?),
                        None => Ok(id),
                    });
                    progress.add_stored(length);
                    if done.send(result).is_err() {
                        return;
                    }
                }
            });
        }
        Self { jobs: Some(jobs), sealed, packs: Some(packs), stored, out: HashSet::new(), interrupted, until: None }
    }

    /// Performs the session's actions and returns sealed blocks to it. `given` sees every pack before it is stored.
    pub(super) fn serve(&mut self, session: &mut Session, mut given: impl FnMut(&Pack)) -> Result<(), BackupError> {
        while let Some(action) = session.poll() {
            match action {
                Action::Seal(job) => self.seal(job),
                Action::Store(pack) => {
                    given(&pack);
                    self.store(pack)?;
                }
            }
            while let Ok(sealed) = self.sealed.try_recv() {
                session.sealed(sealed?)?;
            }
            self.check()?;
        }
        Ok(())
    }

    /// Seals and stores everything that is open in a session, and waits until the store has it.
    pub(super) fn flush(&mut self, session: &mut Session, mut given: impl FnMut(&Pack)) -> Result<(), BackupError> {
        session.flush()?;
        self.serve(session, &mut given)?;
        while !session.close_packs_if_idle() {
            let sealed = self.sealed.recv().expect("sealing threads live as long as this")?;
            session.sealed(sealed)?;
            self.serve(session, &mut given)?;
        }
        self.serve(session, &mut given)?;
        self.settle()
    }

    /// Queues a block to be sealed; waits while all threads are busy.
    fn seal(&self, job: SealJob) {
        let jobs = self.jobs.as_ref().expect("open until the end");
        jobs.send(job).expect("sealing threads live as long as this");
    }

    /// Queues a pack to be stored; waits while the queue is full.
    fn store(&mut self, mut pack: Pack) -> Result<(), BackupError> {
        self.out.insert(pack.id);
        loop {
            let packs = self.packs.as_ref().expect("open until the end");
            match packs.send_timeout(pack, SLICE) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => pack = back,
                Err(SendTimeoutError::Disconnected(_)) => panic!("the storing thread lives as long as this"),
            }
            self.go_on()?;
        }
    }

    /// Waits until every queued pack is stored; fails if one could not be.
    fn settle(&mut self) -> Result<(), BackupError> {
        while !self.out.is_empty() {
            match self.stored.recv_timeout(SLICE) {
                Ok(stored) => _ = self.out.remove(&stored?),
                Err(RecvTimeoutError::Timeout) => self.go_on()?,
                Err(RecvTimeoutError::Disconnected) => panic!("the storing thread lives as long as this"),
            }
        }
        Ok(())
    }

    /// Fails early if a pack could not be stored.
    pub(super) fn check(&mut self) -> Result<(), BackupError> {
        while let Ok(stored) = self.stored.try_recv() {
            self.out.remove(&stored?);
        }
        Ok(())
    }

    /// Whether a queued pack is known to be stored.
    pub(super) fn has_stored(&self, pack: &PackId) -> bool {
        !self.out.contains(pack)
    }

    /// Fails when uploads have had `AFTER_A_WISH_TO_END` since the interrupt.
    fn go_on(&mut self) -> Result<(), BackupError> {
        if !self.interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + AFTER_A_WISH_TO_END);
        if now < until { Ok(()) } else { Err(BackupError::Interrupted) }
    }
}

/// Turns a panic of `act` into an error. Otherwise the receiver would wait for ever, because the other threads keep the
/// channel open.
fn outliving<T>(act: impl FnOnce() -> Result<T, BackupError>) -> Result<T, BackupError> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(Err(BackupError::Panicked))
}

async fn store_pack(store: &dyn Store, pack: Pack) -> Result<(), JobError> {
    commit::put(store, layout::pack(Place::Packs, pack.id), pack.bytes).await
}

/// Interval at which waiting code checks for an interrupt.
const SLICE: Duration = Duration::from_millis(100);
/// How long uploads under way may take after an interrupt.
const AFTER_A_WISH_TO_END: Duration = Duration::from_secs(6);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_in_a_thread_is_an_error_to_whoever_waits() {
        assert!(matches!(outliving::<()>(|| panic!("planted")), Err(BackupError::Panicked)));
        assert!(matches!(outliving(|| Ok(7)), Ok(7)));
    }
}
