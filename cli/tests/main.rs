//! The command, used as a person uses it, on real files; one program, so that what it is made of is linked once.

mod backup;
mod copy;
mod damage;
mod dump;
mod ending;
mod far;
mod golden;
mod key;
mod kill;
mod kit;
mod latest;
mod library;
mod look;
mod managed;
mod mount;
mod place;
mod reader;
mod refused;
mod restore;
mod rollback;
mod round_trip;
mod serve;
mod surplus;
mod together;
mod transcripts;
mod upkeep;
