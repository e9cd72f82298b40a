//! Queue: at least once, in no order. What is not answered in time is delivered again, and after too many times put aside.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kit::Random;

/// What goes wrong on the way to the queue, in so many of a thousand cases.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Everything follows from it.
    pub seed: u64,
    /// Events that never come.
    pub dropped: u32,
    /// Events that come twice.
    pub duplicated: u32,
    /// Events that come late.
    pub delayed: u32,
    pub delay: Duration,
    /// Whether messages are received in another order than sent.
    pub reorders: bool,
}

/// How often each of the faults has happened.
#[derive(Copy, Clone, Debug, Default)]
pub struct Happened {
    pub dropped: u64,
    pub duplicated: u64,
    pub delayed: u64,
    pub reordered: u64,
}

pub struct Queue {
    visibility: Duration,
    receives_most: u32,
    faults: Faults,
    inner: Mutex<Inner>,
}

struct Inner {
    messages: Vec<Message>,
    dead: Vec<Message>,
    random: Random,
    sent: u64,
    happened: Happened,
}

/// A message in the queue.
#[derive(Clone, Debug)]
pub struct Message {
    pub id: String,
    pub body: String,
    pub receives: u32,
    visible: Instant,
}

impl Queue {
    /// An empty queue: who receives a message has so long to delete it; what was received so often is put aside.
    pub fn new(visibility: Duration, receives_most: u32, faults: Faults) -> Self {
        let random = Random::new(faults.seed);
        let inner = Inner { messages: Vec::new(), dead: Vec::new(), random, sent: 0, happened: Happened::default() };
        Self { visibility, receives_most, faults, inner: Mutex::new(inner) }
    }

    /// Sends an event, as well as the faults let it through.
    pub fn send(&self, body: &Value) {
        let mut inner = self.lock();
        if inner.random.chance(self.faults.dropped) {
            inner.happened.dropped += 1;
            return;
        }
        let copies = if inner.random.chance(self.faults.duplicated) { 2 } else { 1 };
        inner.happened.duplicated += copies - 1;
        for _ in 0..copies {
            let late = inner.random.chance(self.faults.delayed);
            inner.happened.delayed += u64::from(late);
            let visible = Instant::now() + if late { self.faults.delay } else { Duration::ZERO };
            inner.sent += 1;
            let id = format!("{:08x}-2e07-4f0a-9e5c-4f4b5e0b7a11", inner.sent);
            inner.messages.push(Message { id, body: body.to_string(), receives: 0, visible });
        }
    }

    /// Receives at most so many messages, or one that came before: what comes again comes singly. Until they are deleted or
    /// the time is over nobody else receives them.
    pub fn receive(&self, most: usize) -> Vec<Message> {
        let mut inner = self.lock();
        let now = Instant::now();
        let receives_most = self.receives_most;
        let (dead, mut alive): (Vec<Message>, Vec<Message>) = std::mem::take(&mut inner.messages)
            .into_iter()
            .partition(|message| message.visible <= now && message.receives >= receives_most);
        inner.dead.extend(dead);
        if self.faults.reorders {
            for at in (1..alive.len()).rev() {
                let other = inner.random.below(at + 1);
                inner.happened.reordered += u64::from(other != at);
                alive.swap(at, other);
            }
        }
        let mut received = Vec::new();
        let is_again = |message: &Message| message.visible <= now && message.receives > 0;
        let comes_again = alive.iter().any(is_again);
        let most = if comes_again { 1 } else { most };
        for message in alive
            .iter_mut()
            .filter(|message| message.visible <= now && (message.receives > 0) == comes_again)
            .take(most)
        {
            message.receives += 1;
            message.visible = now + self.visibility;
            received.push(message.clone());
        }
        inner.messages = alive;
        received
    }

    /// Deletes messages: they are done.
    pub fn delete(&self, ids: &[String]) {
        self.lock().messages.retain(|message| !ids.contains(&message.id));
    }

    /// Lets messages be received again after a while.
    pub fn give_back(&self, ids: &[String], after: Duration) {
        let visible = Instant::now() + after;
        self.lock().messages.iter_mut().filter(|message| ids.contains(&message.id)).for_each(|message| {
            message.visible = visible;
        });
    }

    /// Messages that are neither deleted nor put aside.
    pub fn len(&self) -> usize {
        self.lock().messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Messages that were put aside.
    pub fn dead(&self) -> Vec<Message> {
        self.lock().dead.clone()
    }

    /// What has gone wrong so far.
    pub fn happened(&self) -> Happened {
        self.lock().happened
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("nobody panics with it")
    }
}
