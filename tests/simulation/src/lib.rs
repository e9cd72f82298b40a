//! Simulation: clients, ingests, prunes and checks as interleaved steps over one store, chosen by a seed. Any of them may
//! sleep or die between two calls of the store, and answers get lost. What must always hold is asserted after every
//! root, and at the end every acknowledged snapshot must restore. A failing seed is replayed by giving it again.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "in a kit of tests most names say all")]

mod actors;
mod end;
mod hostile;
mod law;
mod lie;
mod mail;
mod mood;
mod oracle;
mod person;
mod store;
mod tasks;
mod theft;
mod watch;
mod world;

pub use world::{Outcome, Setting, run};
