//! Records: what pax headers say of a member, beyond its fixed fields.

use std::collections::BTreeSet;

use copal_format::time::Time;

/// Keys and values, in the order of the archive.
#[derive(Clone, Debug, Default)]
pub(super) struct Records(Vec<(Vec<u8>, Vec<u8>)>);

/// How much several headers may say together.
#[derive(Copy, Clone, Debug)]
pub(super) struct Most {
    pub(super) records: usize,
    pub(super) bytes: usize,
}

impl Records {
    /// Adds the records of a header: `length key=value\n`, where the length counts the whole record.
    pub(super) fn take(&mut self, mut bytes: &[u8], most: Most) -> Result<(), &'static str> {
        const BAD: &str = "a record of its extended header is not well formed";
        let held: usize = self.0.iter().map(|(key, value)| key.len() + value.len()).sum();
        if held + bytes.len() > most.bytes {
            return Err(MUCH);
        }
        while !bytes.is_empty() {
            // Some programs fill up the block with zeros.
            if bytes.iter().all(|&byte| byte == 0) {
                break;
            }
            let space = bytes.iter().take(DIGITS).position(|&byte| byte == b' ').ok_or(BAD)?;
            let length: usize = number(&bytes[..space]).and_then(|length| length.try_into().ok()).ok_or(BAD)?;
            let (record, rest) = bytes.split_at_checked(length).ok_or(BAD)?;
            let record = record.get(space + 1..).and_then(|record| record.strip_suffix(b"\n")).ok_or(BAD)?;
            let equals = record.iter().position(|&byte| byte == b'=').ok_or(BAD)?;
            if self.0.len() == most.records {
                return Err(MUCH);
            }
            self.0.push((record[..equals].to_vec(), record[equals + 1..].to_vec()));
            bytes = rest;
        }
        Ok(())
    }

    /// Adds the records of a header that replace earlier ones of the same keys.
    pub(super) fn replace(&mut self, bytes: &[u8], most: Most) -> Result<(), &'static str> {
        let mut new = Self::default();
        new.take(bytes, most)?;
        let replaced: BTreeSet<&[u8]> = new.0.iter().map(|(key, _)| key.as_slice()).collect();
        self.0.retain(|(key, _)| !replaced.contains(key.as_slice()));
        self.take(bytes, most)
    }

    /// Takes the last value of a key; none if it is empty: an empty value cancels earlier ones.
    pub(super) fn remove(&mut self, key: &str) -> Option<Vec<u8>> {
        let mut last = None;
        self.0.retain_mut(|(found, value)| {
            let is_it = found == key.as_bytes();
            if is_it {
                last = Some(core::mem::take(value));
            }
            !is_it
        });
        last.filter(|value| !value.is_empty())
    }

    /// Takes the last value of a key, a number.
    pub(super) fn number(&mut self, key: &str) -> Result<Option<u64>, &'static str> {
        let value = self.remove(key);
        value.map(|value| number(&value).ok_or("a number of its extended header is not a number")).transpose()
    }

    /// Takes all values of the keys of an old map of holes, each with whether it is of the first key.
    pub(super) fn remove_all(&mut self, keys: [&str; 2]) -> Vec<(bool, Vec<u8>)> {
        let is_it = |(key, _): &(Vec<u8>, Vec<u8>)| keys.iter().any(|other| other.as_bytes() == key);
        let (taken, left) = core::mem::take(&mut self.0).into_iter().partition(is_it);
        self.0 = left;
        let taken: Vec<(Vec<u8>, Vec<u8>)> = taken;
        taken.into_iter().map(|(key, value)| (key == keys[0].as_bytes(), value)).collect()
    }

    pub(super) fn xattrs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let attributes = self.0.iter().filter_map(|(key, value)| Some((key.strip_prefix(b"SCHILY.xattr.")?, value)));
        let mut attributes: Vec<_> = attributes.map(|(name, value)| (unescaped(name), value.clone())).collect();
        attributes.retain(|(name, _)| !name.is_empty());
        // If a name occurs twice, the last one counts.
        attributes.reverse();
        attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        attributes.dedup_by(|(a, _), (b, _)| a == b);
        attributes
    }

    /// Whether an ACL is there only as text, which is not read. GNU tar writes it as an attribute, too.
    pub(super) fn has_acl(&self) -> bool {
        let is_attribute = |which: &[u8]| {
            let name = [b"SCHILY.xattr.system.posix_acl_", which].concat();
            self.0.iter().any(|(key, _)| *key == name)
        };
        let texts = self.0.iter().filter(|(_, value)| !value.is_empty());
        texts.filter_map(|(key, _)| key.strip_prefix(b"SCHILY.acl.")).any(|which| !is_attribute(which))
    }
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    core::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}

/// Seconds since 1970 with a sign and any number of decimal places. A time out of Copal's range becomes the nearest
/// time within it.
pub(super) fn time(text: &[u8]) -> Option<Time> {
    let text = core::str::from_utf8(text).ok()?;
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (seconds, places) = digits.split_once('.').unwrap_or((digits, ""));
    if !places.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds: i64 = format!("{places:0<9.9}").parse().ok()?;
    if seconds.is_empty() || !seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: i64 = seconds.parse().unwrap_or(i64::MAX);
    let (seconds, nanoseconds) = match (is_negative, nanoseconds) {
        (false, _) => (seconds, nanoseconds),
        (true, 0) => (-seconds, 0),
        (true, _) => (-seconds - 1, 1_000_000_000 - nanoseconds),
    };
    Some(Time::from_unix(seconds, nanoseconds as u32))
}

/// An attribute's name, in which `=` and `%` are escaped.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = match rest {
            [b'%', b'3', b'D', after @ ..] => (b'=', after),
            [b'%', b'2', b'5', after @ ..] => (b'%', after),
            _ => (byte, after),
        };
        out.push(byte);
        rest = after;
    }
    out
}

pub(super) const MUCH: &str = "its extended headers say more than is held in memory";
/// Digits of a record's length.
const DIGITS: usize = 20;
