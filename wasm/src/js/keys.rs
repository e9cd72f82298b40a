//! Keys: the key slots of the repository and new ones, for JavaScript.

use copal_format::id::SlotId;
use copal_format::keyring::{self, KeySlot, SlotFault};
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Slot, SlotKind};
use copal_format::keys::text;
use copal_format::layout;
use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroizing;

use super::convert::{
    Thrown, bytes_field, exact, hex, key_of, list, milliseconds, object, optional, record, text_field, time,
};
use super::owner::Owner;
use crate::fault::Fault;
use crate::slots;

/// All slots that have a copy, the oldest first.
#[wasm_bindgen(js_name = keySlots, unchecked_return_type = "KeySlotFacts[]")]
pub fn key_slots(
    #[wasm_bindgen(unchecked_param_type = "{ key: string; bytes: Uint8Array }[]")] copies: &Array,
) -> Thrown<Array> {
    Ok(list(survey(copies)?.iter().map(facts)))
}

/// Throws if `slot` may not be removed after the repository was opened with the slot `used`.
#[wasm_bindgen(js_name = mayRemove)]
pub fn may_remove(
    #[wasm_bindgen(unchecked_param_type = "{ key: string; bytes: Uint8Array }[]")] copies: &Array,
    slot: &str,
    used: &str,
) -> Thrown<()> {
    Ok(keyring::may_remove(&survey(copies)?, id(slot)?, id(used)?).map_err(Fault::from)?)
}

/// The names of both copies of a slot.
#[wasm_bindgen(js_name = slotKeys, unchecked_return_type = "string[]")]
pub fn slot_keys(slot: &str) -> Thrown<Array> {
    Ok(list(layout::slot(id(slot)?)))
}

/// A recovery code, of 32 random bytes.
#[wasm_bindgen(js_name = recoveryCode)]
pub fn recovery_code(random: &Uint8Array) -> Thrown<String> {
    let secret = key_of(random)?;
    Ok(text::encode_recovery(&Secret::new(*secret)).to_string())
}

#[wasm_bindgen]
pub struct NewSlot(slots::NewSlot);

#[wasm_bindgen]
impl NewSlot {
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> String {
        hex(self.0.id())
    }

    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub fn unsealed(&self) -> Uint8Array {
        self.0.unsealed().as_slice().into()
    }
}

#[wasm_bindgen]
impl Owner {
    #[wasm_bindgen(js_name = newSlot)]
    pub fn new_slot(
        &self,
        #[wasm_bindgen(js_name = isPassphrase)] is_passphrase: bool,
        now: f64,
        random: &[u8],
    ) -> Thrown<NewSlot> {
        let kind = if is_passphrase { SlotKind::Passphrase } else { SlotKind::RecoveryCode };
        Ok(NewSlot(self.0.new_slot(kind, time(now), &exact(random, "random")?)))
    }

    #[wasm_bindgen(js_name = sealSlot, unchecked_return_type = "NextRecord")]
    pub fn seal_slot(&self, slot: &NewSlot, stretched: &Uint8Array) -> Thrown<Object> {
        let stretched = key_of(stretched)?;
        Ok(record(slot.0.keys(), &self.0.seal_slot(&slot.0, &Secret::new(*stretched))))
    }

    #[wasm_bindgen(js_name = sealRecoverySlot, unchecked_return_type = "NextRecord")]
    pub fn seal_recovery_slot(&self, slot: &NewSlot, code: String) -> Thrown<Object> {
        let code = Zeroizing::new(code);
        let secret = text::decode_recovery(&code).map_err(Fault::from)?;
        Ok(record(slot.0.keys(), &self.0.seal_slot(&slot.0, &secret)))
    }
}

fn survey(copies: &Array) -> Thrown<Vec<KeySlot>> {
    let copies: Thrown<Vec<(String, Vec<u8>)>> =
        copies.iter().map(|copy| Ok((text_field(&copy, "key")?, bytes_field(&copy, "bytes")?))).collect();
    let copies = copies?;
    let found = |name: String| copies.iter().find(|(key, _)| *key == name).map(|(_, bytes)| bytes.as_slice());
    let ids = keyring::listed(copies.iter().map(|(key, _)| key.as_str()));
    let mut slots: Vec<KeySlot> = ids.into_iter().map(|id| KeySlot::read(id, layout::slot(id).map(found))).collect();
    copal_format::order::sort_by(&mut slots, |a, b| age(a).cmp(&age(b)));
    Ok(slots)
}

fn age(slot: &KeySlot) -> (Option<i64>, SlotId) {
    (slot.slot.as_ref().map(|slot| slot.created().0), slot.id)
}

fn facts(slot: &KeySlot) -> Object {
    let kind = |slot: &Slot| match slot.kind() {
        SlotKind::Passphrase => "passphrase",
        SlotKind::RecoveryCode => "recovery-code",
        SlotKind::KeyFile => "key-file",
    };
    let faults = slot.faults.iter().map(|(key, fault)| {
        let why = match fault {
            SlotFault::Missing => "missing",
            _ => "damaged",
        };
        object! { "key": key.as_str(), "why": why }
    });
    object! {
        "slot": hex(slot.id),
        "kind": optional(slot.slot.as_ref().map(kind)),
        "created": optional(slot.slot.as_ref().map(|slot| milliseconds(slot.created()))),
        "faults": list(faults),
    }
}

fn id(slot: &str) -> Result<SlotId, Fault> {
    Ok(SlotId::from_hex(slot)?)
}
