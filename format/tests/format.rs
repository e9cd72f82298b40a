//! The bytes of everything that is stored, fixed for ever, and what holds for all of it.

mod golden_crypto;
mod golden_packs;
mod golden_records;
mod golden_state;
mod golden_tree;
mod records;
mod samples;
