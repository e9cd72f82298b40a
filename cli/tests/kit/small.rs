//! A machine with a repository of tiny packs, so that a backup of some megabytes writes several manifests.

use std::fs;

use copal_client::backend::Backend;
use copal_client::location::Location;
use copal_client::repository::{self, Init};
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::keys::text::encode_key_file;
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;

use super::Machine;

/// A machine with nothing in its source. A pack has about two blocks. `ingest` says who decides about manifests.
pub(crate) fn tiny_packs(pack_target: u32, ingest: IngestBy) -> Machine {
    let machine = Machine::bare();
    let key = || Secret::new([7; 32]);
    fs::write(machine.path("key"), encode_key_file(&key()).as_bytes()).unwrap();
    let backend = Backend::create(&Location::Directory(machine.path("repository"))).unwrap();
    let parameters = Parameters {
        pack_target,
        block_target: pack_target / 2,
        chunk_min: 2 << 10,
        chunk_average: 4 << 10,
        chunk_max: 16 << 10,
        ..Parameters::default()
    };
    let (inputs, argon2) = (&[SlotInput::KeyFile(key())], Argon2Params::default());
    repository::init(&Init { backend: &backend, inputs, parameters, ingest, argon2, reader: None }).unwrap();
    machine
}
