//! Guard: the floor and the hold, which protect snapshots from the policy's own rules, as roots and policies hold them.

use core::ops::RangeInclusive;
use core::time::Duration;

use serde::Serialize;

use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// The least that every series keeps (minimum retention).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Floor {
    /// The number of snapshots to keep: those accepted last.
    pub last: u32,
    /// Keeps everything accepted less long ago than this; whole seconds.
    pub age: Duration,
}

impl Floor {
    /// Whether it keeps nothing.
    pub fn is_nothing(&self) -> bool {
        self.last == 0 && self.age.is_zero()
    }
}

/// When a snapshot is suspicious: how unlike the one before it must be.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// In percent of the previous snapshot, 1 to 100: the part that is gone or was stored again.
    pub share: u8,
    /// The least size in bytes of the previous snapshot; after smaller ones, no snapshot is suspicious.
    pub least: u64,
}

impl Hold {
    /// What raises a hold unless a policy says otherwise.
    pub const USUAL: Self = Self { share: 50, least: 64 << 20 };
}

/// A policy's floor and hold.
pub(crate) type Guard = (Floor, Option<Hold>);

/// The floor and hold of replaced policies, which count besides those of the policy in force.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lingering {
    /// The store's time until which they count.
    pub until: Time,
    /// The least that every series keeps.
    pub floor: Floor,
    /// When a snapshot is suspicious.
    pub hold: Option<Hold>,
}

impl Lingering {
    /// Whether it still counts at the store's time `now`.
    pub fn lasts(&self, now: Time) -> bool {
        now < self.until
    }

    /// Encodes it as part of a root.
    pub(crate) fn put(&self, writer: &mut Writer) {
        let counts = [!self.floor.is_nothing(), self.hold.is_some()];
        writer.map(1 + counts.into_iter().map(u64::from).sum::<u64>());
        writer.key(0).time(self.until);
        put_floor(writer, 1, &self.floor);
        put_hold(writer, 2, self.hold.as_ref());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.fields(|fields| {
            Ok(Self {
                until: fields.required(0)?.time()?,
                floor: fields.optional(1)?.map(floor_of).transpose()?.unwrap_or_default(),
                hold: fields.optional(2)?.map(hold_of).transpose()?,
            })
        })
    }
}

pub(crate) fn put_floor(writer: &mut Writer, key: u64, floor: &Floor) {
    if !floor.is_nothing() {
        writer.key(key).array(2).uint(floor.last.into()).uint(floor.age.as_secs());
    }
}

pub(crate) fn put_hold(writer: &mut Writer, key: u64, hold: Option<&Hold>) {
    if let Some(hold) = hold {
        writer.key(key).array(2).uint(hold.share.into()).uint(hold.least);
    }
}

pub(crate) fn floor_of(reader: &mut Reader<'_>) -> Result<Floor, DecodeError> {
    let nothing = reader.error("a floor that keeps nothing");
    reader.tuple(2)?;
    let floor = Floor { last: reader.narrow()?, age: Duration::from_secs(reader.uint()?) };
    if floor.is_nothing() { Err(nothing) } else { Ok(floor) }
}

pub(crate) fn hold_of(reader: &mut Reader<'_>) -> Result<Hold, DecodeError> {
    let wrong = reader.error("a hold that is not raised by 1 to 100 percent");
    reader.tuple(2)?;
    let hold = Hold { share: reader.narrow()?, least: reader.wide()? };
    if SHARES.contains(&hold.share) { Ok(hold) } else { Err(wrong) }
}

/// The share of a snapshot, in percent, that may raise a hold.
pub(crate) const SHARES: RangeInclusive<u8> = 1..=100;
