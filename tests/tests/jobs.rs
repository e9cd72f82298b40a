//! The keyless jobs and what they decide, in one process with stores in memory.

mod full;
mod order;
mod service_budget;
mod service_check;
mod service_copies;
mod service_crowd;
mod service_expire;
mod service_far;
mod service_forged;
mod service_guard;
mod service_ingest;
mod service_late;
mod service_listing;
mod service_numbers;
mod service_proof;
mod service_prune;
mod service_rebuild;
mod service_rebuild_lost;
mod service_rebuild_policy;
mod service_rebuild_receipts;
mod service_replica;
mod service_roots;
mod service_scale;
mod service_unreadable;
