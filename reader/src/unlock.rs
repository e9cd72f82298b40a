//! Unlock: the key slot that opens with what the user has.

use copal_engine::keys::owner::OwnerSecret;
use copal_engine::keys::slot::{Slot, SlotError, SlotInput};

use crate::directory::Directory;
use crate::failure::Failure;
use crate::report::Report;
use crate::secret;

/// A key slot: the first of its two copies that is whole, or the name of one and what is wrong with it.
pub(crate) type Found = Result<Slot, (String, String)>;

/// All key slots.
pub(crate) fn find(directory: &Directory) -> Result<Vec<Found>, Failure> {
    let slots = directory.names("keys")?;
    Ok(slots.iter().filter_map(|slot| whole_copy(directory, slot)).collect())
}

fn whole_copy(directory: &Directory, slot: &str) -> Option<Found> {
    let mut fault = None;
    for copy in ["a", "b"] {
        let name = format!("keys/{slot}/{copy}");
        let why = match directory.read(&name, SLOT_BYTES) {
            Ok(None) => continue,
            Ok(Some(bytes)) => match Slot::parse(&bytes) {
                Ok(slot) => return Some(Ok(slot)),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        fault = Some(Err((name, why)));
    }
    fault
}

/// Tries the slots of the right kind, one after another.
pub(crate) fn unlock(found: Vec<Found>, input: &SlotInput, report: &mut Report<'_>) -> Result<OwnerSecret, Failure> {
    let mut damaged = None;
    for slot in found {
        match slot {
            Ok(slot) if slot.kind() != input.kind() => {}
            Ok(slot) => match slot.open(input) {
                Ok(owner) => return Ok(owner),
                Err(SlotError::WrongSecret { .. }) => {}
                Err(error) => damaged = Some((format!("keys/{}", slot.id()), error.to_string())),
            },
            Err((object, why)) => {
                report.note(&format!("{object}: {why}"));
                damaged = Some((object, why));
            }
        }
    }
    match damaged {
        Some((object, why)) => Err(Failure::DamagedSlot { object, why }),
        None => Err(Failure::WrongSecret(secret::name(input))),
    }
}

/// More than any slot has.
const SLOT_BYTES: u64 = 4 << 10;
