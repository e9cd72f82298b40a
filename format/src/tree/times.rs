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

#[derive(Clone, Debug, Default)]
pub(super) struct TimesWriter {
    last: Times,
    ctimes: Vec<u8>,
    mtime_codes: Vec<u8>,
    mtimes: Vec<u8>,
    birth_codes: Vec<u8>,
    births: Vec<u8>,
}

impl TimesWriter {
    pub(super) fn put(&mut self, times: Times) {
        let Times { ctime, mtime, birth } = times;
        varint::put_signed(&mut self.ctimes, ctime.0.wrapping_sub(self.last.ctime.0));
        let code = times.mtime_code(self.last.mtime);
        self.mtime_codes.push(code);
        if code >= WHOLE_SECONDS {
            let (seconds, nanoseconds) = mtime.to_unix();
            varint::put_signed(&mut self.mtimes, seconds - self.last.mtime.to_unix().0);
            if code == OTHER {
                self.mtimes.extend_from_slice(&nanoseconds.to_le_bytes());
            }
        }
        let code = times.birth_code();
        self.birth_codes.push(code);
        if let (OTHER, Some(birth)) = (code, birth) {
            varint::put_signed(&mut self.births, birth.0.wrapping_sub(ctime.0));
        }
        self.last = times;
    }

    pub(super) fn clear(&mut self) {
        let Self { last, ctimes, mtime_codes, mtimes, birth_codes, births } = self;
        *last = Times::default();
        [ctimes, mtime_codes, mtimes, birth_codes, births].into_iter().for_each(Vec::clear);
    }

    pub(super) fn columns(&self) -> [&[u8]; 5] {
        [&self.ctimes, &self.mtime_codes, &self.mtimes, &self.birth_codes, &self.births]
    }
}

/// Decodes the five columns of times. Accepts only the first code that fits.
#[derive(Debug)]
pub(super) struct TimesReader<'a> {
    last: Times,
    ctimes: Column<'a>,
    mtime_codes: Column<'a>,
    mtimes: Column<'a>,
    birth_codes: Column<'a>,
    births: Column<'a>,
}

impl<'a> TimesReader<'a> {
    pub(super) fn new([ctimes, mtime_codes, mtimes, birth_codes, births]: [Column<'a>; 5]) -> Self {
        Self { last: Times::default(), ctimes, mtime_codes, mtimes, birth_codes, births }
    }

    pub(super) fn take(&mut self) -> Result<Times, PageError> {
        let ctime = Time(self.last.ctime.0.wrapping_add(self.ctimes.signed()?));
        let code = self.mtime_codes.u8()?;
        let mtime = match code {
            AS_CTIME => ctime,
            AS_BEFORE => self.last.mtime,
            WHOLE_SECONDS | OTHER => self.take_mtime(code == OTHER)?,
            _ => return Err(self.mtime_codes.error("an unknown code of an mtime")),
        };
        let mut times = Times { ctime, mtime, birth: None };
        if code != times.mtime_code(self.last.mtime) {
            return Err(self.mtime_codes.error("an mtime is not in its shortest form"));
        }
        let code = self.birth_codes.u8()?;
        times.birth = match code {
            0 => None,
            1 => Some(mtime),
            2 => Some(ctime),
            OTHER => Some(Time(ctime.0.wrapping_add(self.births.signed()?))),
            _ => return Err(self.birth_codes.error("an unknown code of a birth time")),
        };
        if code != times.birth_code() {
            return Err(self.birth_codes.error("a birth time is not in its shortest form"));
        }
        self.last = times;
        Ok(times)
    }

    fn take_mtime(&mut self, has_nanoseconds: bool) -> Result<Time, PageError> {
        let seconds = i128::from(self.last.mtime.to_unix().0) + i128::from(self.mtimes.signed()?);
        let nanoseconds = if has_nanoseconds { self.mtimes.u32()? } else { 0 };
        let time = i64::try_from(seconds * 1_000_000_000 + i128::from(nanoseconds));
        let time = time.ok().filter(|_| nanoseconds < 1_000_000_000);
        time.map(Time).ok_or_else(|| self.mtimes.error("a time is out of range"))
    }

    pub(super) fn finish(&self) -> Result<(), PageError> {
        let columns = [&self.ctimes, &self.mtime_codes, &self.mtimes, &self.birth_codes, &self.births];
        columns.into_iter().try_for_each(Column::finish)
    }
}

impl Times {
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
