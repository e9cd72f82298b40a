//! Upkeep: forgetting, pruning, checking and mending a repository with the command, as a person would.

mod chosen;
mod damage;
mod forged;
mod forget;
mod heal;
mod prune;
