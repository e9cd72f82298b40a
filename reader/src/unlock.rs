//! Unlock: finds the key slot that the user's secret opens.

use copal_format::id::RepositoryId;
use copal_format::keys::attempts::{Attempt, Attempts};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::slot::{STORED_BYTES, Slot, SlotError, SlotInput};
use copal_format::layout;
use copal_format::repository::Descriptor;

use crate::directory::Directory;
use crate::failure::Failure;
use crate::report::Report;
use crate::secret;

/// A key slot: its first sound copy, or the name of a copy and what is wrong with it.
pub(crate) type Found = Result<Slot, (String, String)>;

/// All key slots.
pub(crate) fn find(directory: &Directory) -> Result<Vec<Found>, Failure> {
    let slots = directory.names("keys")?;
    Ok(slots.iter().take(SLOTS_READ).filter_map(|slot| whole_copy(directory, slot)).collect())
}

fn whole_copy(directory: &Directory, slot: &str) -> Option<Found> {
    let mut fault = None;
    for copy in ["a", "b"] {
        let name = format!("keys/{slot}/{copy}");
        let why = match directory.read(&name, STORED_BYTES as u64) {
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

/// The repository's id in the newest readable descriptor.
pub(crate) fn repository(directory: &Directory) -> Option<RepositoryId> {
    let names = directory.names("copal").ok()?;
    let descriptor = |name: &String| {
        let name = format!("copal/{name}");
        let bytes = directory.read(&name, DESCRIPTOR_BYTES).ok()??;
        Descriptor::decode(layout::trailing_number(&name)?, &bytes).ok()
    };
    names.iter().rev().find_map(descriptor).map(|newest| newest.repository)
}

/// Tries the slots of the right kind, cheapest first. Slots that need much memory, or that belong to another
/// repository, are tried only if `most` MiB are enough for them.
pub(crate) fn unlock(
    found: Vec<Found>,
    input: &SlotInput,
    repository: Option<RepositoryId>,
    most: Option<u32>,
    report: &mut Report<'_>,
) -> Result<OwnerSecret, Failure> {
    let (mut damaged, mut refused, mut whole, mut is_refused) = (None, None, Vec::new(), false);
    for slot in found {
        match slot {
            Ok(slot) => whole.push(slot),
            Err((object, why)) => {
                report.note(&format!("{object}: {why}"));
                damaged = Some((object, why));
            }
        }
    }
    let mut attempts = Attempts::new(whole, input.kind(), repository);
    while let Some(attempt) = attempts.poll() {
        let slot = match attempt {
            Attempt::Open(slot) => slot,
            Attempt::Ask(slot, doubt) => {
                let mib = slot.cost().map_or(0, |cost| cost.m_kib >> 10);
                if most.is_none_or(|most| mib > most) {
                    refused.get_or_insert(Failure::CostlySlot { slot: slot.id().to_string(), mib, doubt });
                    continue;
                }
                slot
            }
        };
        match slot.open(input) {
            Ok(owner) => return Ok(owner),
            Err(SlotError::WrongSecret { .. }) => is_refused = true,
            Err(error) => damaged = Some((format!("keys/{}", slot.id()), error.to_string())),
        }
    }
    match (damaged, refused) {
        (Some((object, why)), _) => {
            let or = if is_refused { "; no other key slot opens, so what was given may also be wrong" } else { "" };
            Err(Failure::DamagedSlot { object, why: why + or })
        }
        (None, Some(refused)) => Err(refused),
        (None, None) => Err(Failure::WrongSecret(secret::name(input))),
    }
}

/// Most key slots that are read.
const SLOTS_READ: usize = 1_024;
/// Above the size of any descriptor.
const DESCRIPTOR_BYTES: u64 = 64 << 10;
