//! `key`: manages the key slots of the repository.

use copal_client::entropy::secret;
use copal_client::places::create_private;
use copal_client::repository::{RemoveError, Repository, add_slot, proves, remove_slot, survey_slots};
use copal_format::id::SlotId;
use copal_format::keyring::{self, Kept, KeySlot};
use copal_format::keys::slot::{Argon2Params, SlotInput, SlotKind};
use copal_format::keys::text;
use copal_store::Store;

use super::context::{Context, input};
use crate::args::key::{Add, Change, Key, Keychain, Recovery, Remove};
use crate::exit::Exit;
use crate::keychain;
use crate::report::Failure;
use crate::report::field::Stamp;
use crate::report::keys::{KeySummary, KeychainSummary, RecoverySummary};
use crate::report::rows::KeyRow;
use crate::secrets::{SecretError, Terminal, added};

pub(super) fn run(context: &Context<'_>, options: &Key) -> Result<Exit, Failure> {
    if let Key::Keychain(options) = options {
        return in_keychain(context, options);
    }
    let repository = context.open()?;
    match options {
        Key::List => {}
        // A key that has leaked must be removable from an older state too: a replica may be behind its source.
        Key::Remove(_) => context.is_met(repository.backend(), repository.id())?,
        _ => context.may_write(&repository)?,
    }
    let slots = survey_slots(store(&repository))?;
    let keys = Keys { context, repository: &repository, slots };
    match options {
        Key::List => keys.list()?,
        Key::Add(options) => keys.add(options)?,
        Key::Remove(options) => keys.remove(options)?,
        Key::Change(options) => keys.change(options)?,
        Key::Recovery(options) => keys.recovery(options)?,
        Key::Keychain(_) => unreachable!("done above"),
    }
    Ok(keys.exit())
}

/// Keeps a secret in the keychain once it has opened the repository, or deletes it there.
fn in_keychain(context: &Context<'_>, options: &Keychain) -> Result<Exit, Failure> {
    let repository = context.address()?;
    if options.remove {
        let was_there = keychain::remove(&repository).map_err(SecretError::from)?;
        context.report.confirm(&KeychainSummary { repository, stored: false, was_there })?;
        return Ok(Exit::Done);
    }
    let backend = context.backend()?;
    let credential = context.credential()?;
    context.open_with(&backend, &credential)?;
    keychain::add(&repository, credential.expose()).map_err(SecretError::from)?;
    context.report.confirm(&KeychainSummary { repository, stored: true, was_there: false })?;
    Ok(Exit::Done)
}

struct Keys<'a> {
    context: &'a Context<'a>,
    repository: &'a Repository,
    slots: Vec<KeySlot>,
}

impl Keys<'_> {
    fn list(&self) -> Result<(), Failure> {
        let row = |slot: &KeySlot| {
            let whole = slot.slot.as_ref()?;
            Some(KeyRow {
                slot: slot.id,
                name: self.name(slot),
                kind: whole.kind(),
                created: Stamp(whole.created()),
                current: slot.id == self.repository.slot,
            })
        };
        let rows: Vec<KeyRow> = self.slots.iter().filter_map(row).collect();
        self.context.report.list(&rows)
    }

    fn add(&self, options: &Add) -> Result<(), Failure> {
        let (slot, added) = match &options.new_key_file {
            Some(path) => {
                super::restore::outside_of(self.repository, path)?;
                let key = secret();
                // Write the key file first: a slot whose key was lost would be useless.
                create_private(path, text::encode_key_file(&key).as_bytes())?;
                let written = self.write(&SlotInput::KeyFile(key), &options.name).inspect_err(|_| {
                    let _ = std::fs::remove_file(path);
                });
                (written?, SlotKind::KeyFile)
            }
            None => {
                let input = input(&added(options.new_password_file.as_deref(), &mut Terminal)?)?;
                (self.write(&input, &options.name)?, input.kind())
            }
        };
        self.context.report.confirm(&KeySummary { added: Some(slot), removed: None, kind: Some(added) })
    }

    fn remove(&self, options: &Remove) -> Result<(), Failure> {
        let slot = self.meant(&options.key)?;
        let used = self.repository.slot;
        keyring::may_remove(&self.slots, slot.id, used).map_err(|kept| match kept {
            Kept::InUse { is_only } => Failure::KeyInUse { slot: slot.id, is_only },
            Kept::Gone => Failure::Damaged { object: format!("keys/{used}"), cause: kept.into() },
        })?;
        self.take_away(slot.id, used)?;
        let removed = slot.slot.as_ref().map(|slot| slot.kind());
        self.context.report.confirm(&KeySummary { added: None, removed: Some(slot.id), kind: removed })
    }

    /// Adds the new passphrase before it removes the old one, so that one of them works even after an interruption.
    fn change(&self, options: &Change) -> Result<(), Failure> {
        let old = self.replaceable()?;
        let input = input(&added(options.new_password_file.as_deref(), &mut Terminal)?)?;
        if input.kind() != SlotKind::Passphrase {
            return Err(Failure::Usage("a recovery code or key file is no new passphrase".into()));
        }
        // The new passphrase takes over the name.
        let named = old.and_then(|old| self.slots.iter().find(|slot| slot.id == old));
        let name = named.and_then(|slot| self.name(slot)).unwrap_or_default();
        let new = self.write(&input, &name)?;
        if !proves(store(self.repository), new, &input)? {
            let cause = "it does not open with the new passphrase; the old one stays".into();
            return Err(Failure::Damaged { object: format!("keys/{new}"), cause });
        }
        if let Some(old) = old {
            self.take_away(old, new)?;
        }
        self.context.report.confirm(&KeySummary { added: Some(new), removed: old, kind: Some(SlotKind::Passphrase) })
    }

    fn recovery(&self, options: &Recovery) -> Result<(), Failure> {
        let key = secret();
        let recovery_code = text::encode_recovery(&key).to_string();
        let slot = self.write(&SlotInput::RecoveryCode(key), &options.name)?;
        let summary = RecoverySummary { slot, recovery_code };
        self.context.answer_once(&summary, "new recovery code", &summary.recovery_code)
    }

    /// Removes a slot; `own` is the one that opened the repository.
    fn take_away(&self, slot: SlotId, own: SlotId) -> Result<(), Failure> {
        remove_slot(store(self.repository), slot, own).map_err(|error| match error {
            RemoveError::Store(error) => error.into(),
            stays @ RemoveError::Stays { .. } => Failure::Other(stays.into()),
            overtaken => Failure::Damaged { object: format!("keys/{own}"), cause: overtaken.into() },
        })
    }

    fn write(&self, input: &SlotInput, name: &str) -> Result<SlotId, Failure> {
        let (store, owner) = (store(self.repository), &self.repository.owner);
        add_slot(store, owner, input, Argon2Params::default(), name).map_err(Failure::from)
    }

    fn name(&self, slot: &KeySlot) -> Option<String> {
        slot.slot.as_ref()?.name(&self.repository.owner)
    }

    /// The only slot that has this name; if none has it, the only one whose id begins with these digits.
    fn meant(&self, digits: &str) -> Result<&KeySlot, Failure> {
        let wanted = digits.to_ascii_lowercase();
        let is_named = |slot: &&KeySlot| self.name(slot).is_some_and(|name| name == digits);
        let mut fitting: Vec<&KeySlot> = self.slots.iter().filter(is_named).collect();
        if fitting.is_empty() && wanted.len() >= FEWEST_DIGITS {
            fitting = self.slots.iter().filter(|slot| slot.id.to_string().starts_with(&wanted)).collect();
        }
        match fitting.as_slice() {
            _ if wanted.is_empty() => Err(Failure::Usage("no key is named".into())),
            [] => Err(Failure::NoObject { what: "key", wanted: digits.to_owned() }),
            [only] => Ok(only),
            _ => Err(Failure::Usage(format!(
                "several keys are called \"{digits}\" or begin so: give more digits of the id"
            ))),
        }
    }

    /// The passphrase slot to replace: the one in use; if another kind of key is in use, the only one, if any.
    fn replaceable(&self) -> Result<Option<SlotId>, Failure> {
        let is_passphrase =
            |slot: &&KeySlot| slot.slot.as_ref().is_some_and(|slot| slot.kind() == SlotKind::Passphrase);
        let passphrases: Vec<SlotId> = self.slots.iter().filter(is_passphrase).map(|slot| slot.id).collect();
        match passphrases.as_slice() {
            _ if passphrases.contains(&self.repository.slot) => Ok(Some(self.repository.slot)),
            [] => Ok(None),
            [only] => Ok(Some(*only)),
            _ => {
                let why = "there are several passphrases: open the repository with the one to replace, or use \"key add\" and \"key remove\"";
                Err(Failure::Usage(why.into()))
            }
        }
    }

    /// Warns about damaged copies; returns the exit code.
    fn exit(&self) -> Exit {
        let faults = || self.slots.iter().flat_map(|slot| &slot.faults);
        for (object, why) in faults() {
            self.context.report.warn(&format!("{object} is damaged: {why}"));
        }
        if faults().next().is_none() { Exit::Done } else { Exit::Damage }
    }
}

/// The fewest digits that name a key or client to take away: fewer are more likely a typing error.
pub(super) const FEWEST_DIGITS: usize = 4;

fn store(repository: &Repository) -> &dyn Store {
    repository.store().as_ref()
}
