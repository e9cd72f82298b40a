//! A wrapper that adapts the number of concurrent calls to what the store can bear.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use futures::channel::oneshot;

use crate::worker::{RuntimePause, Worker};
use crate::{Op, Store, StoreError};

/// Limits concurrent calls: a limit of `n` grows by one after `n` successes, and halves after a transient error.
///
/// A call waits for its turn and runs on the runtime, even while nobody polls its future. Callers poll a stream of
/// buffered calls only when they take the next answer: calls that held their turns meanwhile would block a call in
/// between for ever.
#[derive(Debug)]
pub struct Adapt<S: ?Sized> {
    gate: Arc<Gate>,
    worker: Worker,
    inner: Arc<S>,
}

/// How many calls run at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AtOnce {
    /// The limit at the start.
    pub first: u32,
    /// The highest limit.
    pub most: u32,
}

impl Default for AtOnce {
    fn default() -> AtOnce {
        AtOnce { first: 16, most: 64 }
    }
}

#[derive(Debug)]
struct Gate {
    state: Mutex<State>,
    most: f64,
}

#[derive(Debug)]
struct State {
    limit: f64,
    running: u32,
    waiting: VecDeque<oneshot::Sender<Permit>>,
    /// How often the limit was cut. A call that began before a cut says nothing about the new limit.
    cuts: u64,
}

/// Lets one call run, until dropped.
#[derive(Debug)]
struct Permit {
    gate: Arc<Gate>,
    cuts: u64,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the numbers")
    }

    async fn enter(self: &Arc<Gate>) -> Permit {
        loop {
            let turn = {
                let mut state = self.state();
                if f64::from(state.running) < state.limit.floor() {
                    state.running += 1;
                    return Permit { gate: self.clone(), cuts: state.cuts };
                }
                let (sender, turn) = oneshot::channel();
                state.waiting.push_back(sender);
                turn
            };
            if let Ok(permit) = turn.await {
                return permit;
            }
        }
    }

    /// Lets waiting calls run, up to the limit.
    fn admit(self: &Arc<Gate>) {
        loop {
            let (next, cuts) = {
                let mut state = self.state();
                if f64::from(state.running) >= state.limit.floor() {
                    return;
                }
                let Some(next) = state.waiting.pop_front() else { return };
                state.running += 1;
                (next, state.cuts)
            };
            // A caller that no longer waits returns the permit by dropping it.
            let _ = next.send(Permit { gate: self.clone(), cuts });
        }
    }
}

impl Permit {
    /// Adapts the limit to the result of the call.
    fn ended<T>(&self, result: &Result<T, StoreError>) {
        let mut state = self.gate.state();
        match result {
            Err(error) if error.is_transient() => {
                if state.cuts == self.cuts {
                    state.limit = (state.limit / 2.0).max(1.0);
                    state.cuts += 1;
                }
            }
            _ => state.limit = (state.limit + 1.0 / state.limit).min(self.gate.most),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.state().running -= 1;
        self.gate.admit();
    }
}

impl<S: Store + ?Sized + 'static> Adapt<S> {
    /// Wraps a store; `pause` is of the runtime that calls run on.
    pub fn new(inner: Arc<S>, at_once: AtOnce, pause: &RuntimePause) -> Adapt<S> {
        let most = f64::from(at_once.most.max(1));
        let limit = f64::from(at_once.first.max(1)).min(most);
        let state = State { limit, running: 0, waiting: VecDeque::new(), cuts: 0 };
        let gate = Arc::new(Gate { state: Mutex::new(state), most });
        Adapt { gate, worker: Worker::on(pause.0.clone()), inner }
    }

    /// The limit now.
    pub fn at_once(&self) -> u32 {
        self.gate.state().limit.floor() as u32
    }

    async fn admitted<T, F>(
        &self,
        of: (Op, &str),
        call: impl FnOnce(Arc<S>) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let gate = self.gate.clone();
        let turn = |inner| async move {
            let permit = gate.enter().await;
            let result = call(inner).await;
            permit.ended(&result);
            result
        };
        self.worker.call(&self.inner, of, turn).await
    }
}

#[async_trait]
impl<S: Store + ?Sized + 'static> Store for Adapt<S> {
    crate::pass_on!(inner: is_remote, largest);
    crate::pass_on!(admitted(): create, read, read_range, stat, list, delete, delete_all, now, map);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::memory::MemoryStore;
    use std::sync::LazyLock;

    use futures::FutureExt;
    use futures::executor::block_on;
    use futures::future::join_all;

    fn gate(first: u32, most: u32) -> Adapt<MemoryStore> {
        static RUNTIME: LazyLock<Worker> = LazyLock::new(|| Worker::new().expect("a runtime starts"));
        Adapt::new(Arc::new(MemoryStore::new()), AtOnce { first, most }, &RuntimePause(RUNTIME.handle().clone()))
    }

    fn passing() -> Result<(), StoreError> {
        Err(StoreError::Transient { op: Op::Now, key: String::new(), source: "slow down".into() })
    }

    #[test]
    fn no_more_calls_run_than_are_let_in() {
        let store = gate(2, 9);
        let (_first, second) = (block_on(store.gate.enter()), block_on(store.gate.enter()));
        let mut third = Box::pin(store.gate.enter());
        assert!((&mut third).now_or_never().is_none());
        drop(second);
        assert!(third.now_or_never().is_some());
    }

    #[test]
    fn success_adds_one_for_as_many_calls_as_there_are() {
        let store = gate(4, 6);
        for _ in 0..5 {
            block_on(store.now()).expect("the clock");
        }
        assert_eq!(store.at_once(), 5);
        for _ in 0..100 {
            block_on(store.now()).expect("the clock");
        }
        assert_eq!(store.at_once(), 6);
    }

    #[test]
    fn calls_that_fail_together_halve_it_once() {
        let store = gate(8, 9);
        let permits: Vec<Permit> = (0..8).map(|_| block_on(store.gate.enter())).collect();
        permits.iter().for_each(|permit| permit.ended(&passing()));
        assert_eq!(store.at_once(), 4);
        drop(permits);
        for _ in 0..5 {
            block_on(store.gate.enter()).ended(&passing());
        }
        assert_eq!(store.at_once(), 1);
    }

    #[test]
    fn whoever_gives_up_waiting_keeps_nobody_from_entering() {
        let store = gate(1, 1);
        let first = block_on(store.gate.enter());
        let mut given_up = Box::pin(store.gate.enter());
        assert!((&mut given_up).now_or_never().is_none());
        let mut next = Box::pin(store.gate.enter());
        assert!((&mut next).now_or_never().is_none());
        drop(given_up);
        drop(first);
        assert!(next.now_or_never().is_some());
    }

    #[test]
    fn many_calls_end_through_a_narrow_gate() {
        let store = gate(1, 2);
        let ended = block_on(join_all((0..200).map(|_| store.now())));
        assert!(ended.iter().all(Result::is_ok));
    }

    #[cfg(feature = "conformance")]
    #[test]
    fn it_conforms() {
        crate::conformance::run(|| gate(2, 5));
    }
}
