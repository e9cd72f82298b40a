//! Output: one pool of threads seals blocks, another stores packs.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use copal_engine::backup::session::{Action, GivenPack, Session};
use copal_format::block::{SealJob, SealTools, SealedBlock};
use copal_format::id::PackId;
use copal_format::layout::{self, Place};
use copal_format::pack::PackTable;
use copal_format::seal::{BlockKind, SessionCipher};
use copal_jobs::commit;
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
    packs: Option<Sender<GivenPack>>,
    stored: Receiver<Result<StoredPack, BackupError>>,
    /// How many packs are not known to be stored yet.
    out: usize,
    /// Bytes of the chunks in each block that is not known to be stored, by its number.
    waiting: HashMap<u64, u64>,
    progress: Arc<Progress>,
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
        let (packs, to_store) = bounded::<GivenPack>(0);
        let (done, stored) = unbounded();
        for _ in 0..backend.map_or(1, Backend::uploads) {
            let store = backend.map(Backend::store);
            let (to_store, done, progress) = (to_store.clone(), done.clone(), progress.clone());
            scope.spawn(move || {
                for pack in to_store {
                    let length = pack.bytes.len() as u64;
                    let result = outliving(|| store_pack(store.as_deref(), pack));
                    progress.add_stored(length);
                    if done.send(result).is_err() {
                        return;
                    }
                }
            });
        }
        let (waiting, progress) = (HashMap::new(), progress.clone());
        Self {
            jobs: Some(jobs),
            sealed,
            packs: Some(packs),
            stored,
            out: 0,
            waiting,
            progress,
            interrupted,
            until: None,
        }
    }

    /// Performs the session's actions, and returns to it what is sealed or stored. `note` sees every stored pack.
    pub(super) fn serve(&mut self, session: &mut Session, note: &mut Note<'_>) -> Result<(), BackupError> {
        while let Some(action) = session.poll() {
            match action {
                Action::Seal(job) => self.seal(job),
                Action::Store(pack) => self.store(pack)?,
            }
            while let Ok(sealed) = self.sealed.try_recv() {
                session.sealed(sealed?)?;
            }
            self.check(session, note)?;
        }
        Ok(())
    }

    /// Seals and stores everything that is open in a session, and waits until the store has it.
    pub(super) fn flush(&mut self, session: &mut Session, note: &mut Note<'_>) -> Result<(), BackupError> {
        session.flush()?;
        self.serve(session, note)?;
        while !session.close_packs_if_idle() {
            let sealed = self.sealed.recv().expect("sealing threads live as long as this")?;
            session.sealed(sealed)?;
            self.serve(session, note)?;
        }
        self.serve(session, note)?;
        self.settle(session, note)
    }

    /// Queues a block to be sealed; waits while all threads are busy.
    fn seal(&mut self, job: SealJob) {
        if job.kind == BlockKind::Data {
            self.waiting.insert(job.counter(), job.raw_length());
        }
        let jobs = self.jobs.as_ref().expect("open until the end");
        jobs.send(job).expect("sealing threads live as long as this");
    }

    /// Hands a pack to a thread that stores it; waits until one is free.
    fn store(&mut self, mut pack: GivenPack) -> Result<(), BackupError> {
        self.out += 1;
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

    /// Waits until every pack handed out is stored; fails if one could not be.
    fn settle(&mut self, session: &mut Session, note: &mut Note<'_>) -> Result<(), BackupError> {
        while self.out > 0 {
            match self.stored.recv_timeout(SLICE) {
                Ok(stored) => self.take_result(stored, session, note)?,
                Err(RecvTimeoutError::Timeout) => self.go_on()?,
                Err(RecvTimeoutError::Disconnected) => panic!("the storing thread lives as long as this"),
            }
        }
        Ok(())
    }

    /// Tells the session what is stored; fails early if a pack could not be.
    fn check(&mut self, session: &mut Session, note: &mut Note<'_>) -> Result<(), BackupError> {
        while let Ok(stored) = self.stored.try_recv() {
            self.take_result(stored, session, note)?;
        }
        Ok(())
    }

    /// Tells the session what is stored, even if other packs failed. Waits for uploads under way, as after an
    /// interrupt.
    pub(super) fn take_stored(&mut self, session: &mut Session, note: &mut Note<'_>) {
        let until = *self.until.get_or_insert(Instant::now() + AFTER_A_WISH_TO_END);
        while self.out > 0 {
            let Ok(stored) = self.stored.recv_deadline(until) else { return };
            // Only what is stored matters now.
            let _ = self.take_result(stored, session, note);
        }
    }

    fn take_result(
        &mut self,
        stored: Result<StoredPack, BackupError>,
        session: &mut Session,
        note: &mut Note<'_>,
    ) -> Result<(), BackupError> {
        self.out -= 1;
        let pack = stored?;
        let blocks = pack.table.blocks.iter().filter_map(|row| self.waiting.remove(&row.counter));
        self.progress.add_settled(blocks.sum());
        let is_listed = session.named(pack.number, pack.id) && session.stored(pack.number);
        assert!(is_listed, "a pack is listed until it is stored");
        note(pack.id, &pack.table);
        Ok(())
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

/// What sees every stored pack.
pub(super) type Note<'n> = dyn FnMut(PackId, &PackTable) + 'n;

struct StoredPack {
    number: u64,
    id: PackId,
    table: PackTable,
}

/// Names a pack and stores it. Not the work of the session's thread, because all others wait for that.
fn store_pack(store: Option<&dyn Store>, pack: GivenPack) -> Result<StoredPack, BackupError> {
    let (number, id, table) = (pack.number, pack.id(), pack.table);
    if let Some(store) = store {
        wait(commit::put(store, layout::pack(Place::Packs, id), pack.bytes))?;
    }
    Ok(StoredPack { number, id, table })
}

/// Interval at which waiting code checks for an interrupt.
const SLICE: Duration = Duration::from_millis(100);
/// How long uploads under way may take after an interrupt or a failure.
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
