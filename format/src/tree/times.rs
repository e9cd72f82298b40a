//! Times: encodes times in columns, as differences to the previous entry, with codes for times that equal another.

use super::columns::Column;
use super::page::PageError;
use crate::time::Time;
use crate::wire::varint;

const AS_CTIME: u8 = 0;
const AS_BEFORE: u8 = 1;
const WHOLE_SECONDS: u8 = 2;
const OTHER: u8 = 3;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Times {
    pub(super) ctime: Time,
    pub(super) mtime: Time,
    pub(super) birth: Option<Time>,
}

impl Times {
    /// Encodes the times in five columns, given those of the entry before.
    pub(super) fn put(&self, before: &Self, columns: &mut [Vec<u8>; 5]) {
        let [ctimes, mtime_codes, mtimes, birth_codes, births] = columns;
        let Self { ctime, mtime, birth } = *self;
        varint::put_signed(ctimes, ctime.0.wrapping_sub(before.ctime.0));
        let code = self.mtime_code(before.mtime);
        mtime_codes.push(code);
        if code >= WHOLE_SECONDS {
            let (seconds, nanoseconds) = mtime.to_unix();
            varint::put_signed(mtimes, seconds - before.mtime.to_unix().0);
            if code == OTHER {
                mtimes.extend_from_slice(&nanoseconds.to_le_bytes());
            }
        }
        let code = self.birth_code();
        birth_codes.push(code);
        if let (OTHER, Some(birth)) = (code, birth) {
            varint::put_signed(births, birth.0.wrapping_sub(ctime.0));
        }
    }

    /// Decodes the next times of the five columns. Accepts only the first code that fits.
    pub(super) fn take(before: &Self, columns: &mut [Column<'_>; 5]) -> Result<Self, PageError> {
        let [ctimes, mtime_codes, mtimes, birth_codes, births] = columns;
        let ctime = Time(before.ctime.0.wrapping_add(ctimes.signed()?));
        let code = mtime_codes.u8()?;
        let mtime = match code {
            AS_CTIME => ctime,
            AS_BEFORE => before.mtime,
            WHOLE_SECONDS | OTHER => take_mtime(before.mtime, mtimes, code == OTHER)?,
            _ => return Err(mtime_codes.error("an unknown code of an mtime")),
        };
        let mut times = Self { ctime, mtime, birth: None };
        if code != times.mtime_code(before.mtime) {
            return Err(mtime_codes.error("an mtime is not in its shortest form"));
        }
        let code = birth_codes.u8()?;
        times.birth = match code {
            0 => None,
            1 => Some(mtime),
            2 => Some(ctime),
            OTHER => Some(Time(ctime.0.wrapping_add(births.signed()?))),
            _ => return Err(birth_codes.error("an unknown code of a birth time")),
        };
        if code != times.birth_code() {
            return Err(birth_codes.error("a birth time is not in its shortest form"));
        }
        Ok(times)
    }

    /// The first code that fits the mtime.
    fn mtime_code(&self, before: Time) -> u8 {
        if self.mtime == self.ctime {
            AS_CTIME
        } else if self.mtime == before {
            AS_BEFORE
        } else if self.mtime.0 % 1_000_000_000 == 0 {
            WHOLE_SECONDS
        } else {
            OTHER
        }
    }

    /// The first code that fits the birth time.
    fn birth_code(&self) -> u8 {
        match self.birth {
            None => 0,
            Some(birth) if birth == self.mtime => 1,
            Some(birth) if birth == self.ctime => 2,
            Some(_) => OTHER,
        }
    }
}

fn take_mtime(before: Time, mtimes: &mut Column<'_>, has_nanoseconds: bool) -> Result<Time, PageError> {
    let seconds = i128::from(before.to_unix().0) + i128::from(mtimes.signed()?);
    let nanoseconds = if has_nanoseconds { mtimes.u32()? } else { 0 };
    let time = i64::try_from(seconds * 1_000_000_000 + i128::from(nanoseconds));
    let time = time.ok().filter(|_| nanoseconds < 1_000_000_000);
    time.map(Time).ok_or_else(|| mtimes.error("a time is out of range"))
}
