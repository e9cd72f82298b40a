//! Reading: whole objects in concurrent parts, and ranges.

use std::ops::Range;

use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use futures::stream::{self, StreamExt};

use super::bucket::Bucket;
use super::trouble::{Failed, Trouble};
use crate::error::Causes;
use crate::limit::Pace;
use crate::{Key, Op, StoreError};

/// A part of an object.
struct Part {
    bytes: Bytes,
    /// The length of the whole object.
    total: u64,
    /// The ETag: tells whether another part is of the same bytes.
    tag: Option<String>,
}

/// The result of a request for a part.
enum Got {
    Part(Part),
    /// The object ends before the part begins.
    Beyond,
}

impl Bucket {
    pub(super) async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let first = match self.get(Op::Read, key, Some(0..PART), None).await? {
            Got::Part(part) => part,
            // An empty object has no ranges.
            Got::Beyond => match self.get(Op::Read, key, None, None).await? {
                Got::Part(part) => part,
                Got::Beyond => return Err(Trouble::Answer("no range was asked").lasting(Op::Read, key.as_str())),
            },
        };
        let (total, tag) = (first.total, first.tag);
        if first.bytes.len() as u64 == total {
            return Ok(first.bytes);
        }
        let mut whole = buffer(Op::Read, key, total)?;
        whole.extend_from_slice(&first.bytes);
        let starts = (first.bytes.len() as u64..total).step_by(PART as usize);
        let parts = starts.map(|start| self.get(Op::Read, key, Some(start..total.min(start + PART)), tag.as_deref()));
        // Each part has the full rate, so with a limit only one may run.
        let at_once = if self.config.rates.download.is_some() { 1 } else { SIDE_BY_SIDE };
        let mut parts = stream::iter(parts).buffered(at_once);
        while let Some(part) = parts.next().await {
            match part? {
                Got::Part(part) => whole.extend_from_slice(&part.bytes),
                Got::Beyond => return Err(changed(Op::Read, key)),
            }
        }
        if whole.len() as u64 == total { Ok(whole.into()) } else { Err(changed(Op::Read, key)) }
    }

    pub(super) async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        // No object is that long, and the protocol has no empty ranges.
        if range.start >= range.end || range.end > i64::MAX.cast_unsigned() {
            let length = self.length(key).await?;
            let is_within = range.start <= range.end && range.end <= length;
            return if is_within { Ok(Bytes::new()) } else { Err(out_of(key, range, length)) };
        }
        match self.get(Op::ReadRange, key, Some(range.clone()), None).await? {
            Got::Part(part) if part.bytes.len() as u64 == range.end - range.start => Ok(part.bytes),
            Got::Part(part) => Err(out_of(key, range, part.total)),
            Got::Beyond => Err(out_of(key, range, self.length(key).await?)),
        }
    }

    /// Whether the object exists; fails if the bucket does not.
    pub(super) async fn exists(&self, key: &Key) -> Result<bool, StoreError> {
        match self.get(Op::Stat, key, Some(0..1), None).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn length(&self, key: &Key) -> Result<u64, StoreError> {
        let stat = self.stat(key).await?;
        stat.map(|stat| stat.length).ok_or_else(|| StoreError::NotFound { key: key.clone() })
    }

    /// Sends one request, for a range or for everything, and returns what exists of it.
    async fn get(&self, op: Op, key: &Key, range: Option<Range<u64>>, tag: Option<&str>) -> Result<Got, StoreError> {
        let request = self.connection.client.get_object().bucket(&self.config.bucket).key(self.name(key));
        let request = request.set_if_match(tag.map(str::to_owned));
        let request = request.set_range(range.as_ref().map(|range| format!("bytes={}-{}", range.start, range.end - 1)));
        let found = match self.answer(op, key.as_str(), self.config.patience, request.send()).await? {
            Ok(found) => found,
            Err(failed) if failed.status == Some(416) => return Ok(Got::Beyond),
            Err(failed) if failed.status == Some(412) => return Err(changed(op, key)),
            Err(failed) if is_missing(&failed) => return Err(StoreError::NotFound { key: key.clone() }),
            Err(failed) => return Err(self.explain(failed, op, key.as_str())),
        };
        self.renew_lock(op, key, &found).await?;
        let odd = |what| Trouble::Answer(what).lasting(op, key.as_str());
        let length = found.content_length().and_then(|length| u64::try_from(length).ok());
        let length = length.ok_or_else(|| odd("an object without a length"))?;
        let tag = found.e_tag().map(str::to_owned);
        let (sent, total) = match found.content_range() {
            Some(text) => content_range(text).ok_or_else(|| odd("a range that makes no sense"))?,
            // The server ignored the range and sent everything.
            None => (0..length, length),
        };
        if sent.end - sent.start != length {
            return Err(odd("a range of another length than its body"));
        }
        let bytes = self.body(op, key, found.body, length).await?;
        let asked = range.unwrap_or(0..total);
        if asked.start >= total && asked.start > 0 {
            return Ok(Got::Beyond);
        }
        let wanted = asked.start..asked.end.min(total);
        if wanted.start < sent.start || wanted.end > sent.end {
            return Err(odd("another range than was asked"));
        }
        let within = (wanted.start - sent.start) as usize..(wanted.end - sent.start) as usize;
        Ok(Got::Part(Part { bytes: bytes.slice(within), total, tag }))
    }

    /// The whole body, or a transient error.
    async fn body(&self, op: Op, key: &Key, mut body: ByteStream, length: u64) -> Result<Bytes, StoreError> {
        let broken = |what: String| Trouble::Connection(what).passing(op, key.as_str());
        let mut bytes = buffer(op, key, length)?;
        let mut pace = self.config.rates.download.map(Pace::begin);
        loop {
            let piece = tokio::time::timeout(self.config.patience, body.next()).await;
            let silence = |_| Trouble::Silence(self.config.patience.as_secs()).passing(op, key.as_str());
            match piece.map_err(silence)? {
                Some(Ok(piece)) => {
                    bytes.extend_from_slice(&piece);
                    // Unread data holds up the server while this waits.
                    if let Some(wait) = pace.as_mut().map(|pace| pace.pass(piece.len())) {
                        tokio::time::sleep(wait).await;
                    }
                }
                Some(Err(error)) => return Err(broken(error.to_string())),
                None => break,
            }
            if bytes.len() as u64 > length {
                return Err(broken(format!("more than the {length} bytes announced")));
            }
        }
        if bytes.len() as u64 != length {
            return Err(broken(format!("{} of {length} bytes came", bytes.len())));
        }
        Ok(bytes.into())
    }
}

/// Reserves memory. A server can claim any length: that must be an error, not an abort.
fn buffer(op: Op, key: &Key, length: u64) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let room = usize::try_from(length).ok().and_then(|length| bytes.try_reserve_exact(length).ok());
    room.ok_or_else(|| Trouble::Answer("an object larger than memory").lasting(op, key.as_str()))?;
    Ok(bytes)
}

fn is_missing(failed: &Failed) -> bool {
    failed.status == Some(404) && failed.code.as_deref() == Some("NoSuchKey")
}

fn changed(op: Op, key: &Key) -> StoreError {
    Trouble::Answer("the object changed while it was read").passing(op, key.as_str())
}

fn out_of(key: &Key, range: Range<u64>, length: u64) -> StoreError {
    StoreError::OutOfRange { key: key.clone(), range, length }
}

/// Parses `bytes 0-99/1234`: the range sent, and the total length.
fn content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, total): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    (first <= last && last < total).then(|| (first..last + 1, total))
}

/// Bytes per request for a large object.
const PART: u64 = 16 << 20;
/// Parts of one object that are requested at once.
const SIDE_BY_SIDE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_protocol_writes_them() {
        assert_eq!(content_range("bytes 0-99/1234"), Some((0..100, 1234)));
        assert_eq!(content_range("bytes 5-5/6"), Some((5..6, 6)));
        for text in ["", "bytes 0-99", "bytes */5", "bytes 5-4/9", "bytes 0-9/9", "0-9/10", "bytes 0-1/*"] {
            assert_eq!(content_range(text), None, "{text}");
        }
    }
}
