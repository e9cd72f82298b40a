//! Pieces: reads a large object in parts after the answer with the whole object broke off. A broken answer does not say
//! why; each part has an answer of its own, which names what cannot be read.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use copal_store::{Key, Op, Store, StoreError};
use http::StatusCode;

use super::GatewayStore;
use super::problem::{Asked, of_reply};

impl GatewayStore {
    async fn read_pieces(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let mut bytes = BytesMut::new();
        for start in range.clone().step_by(PIECE as usize) {
            bytes.extend_from_slice(&self.read_part(key, start..range.end.min(start + PIECE)).await?);
        }
        Ok(bytes.freeze())
    }

    pub(super) async fn read_whole(&self, key: &Key) -> Result<Bytes, StoreError> {
        let reply = match self.get(key, None).await {
            Err(error) if error.is_transient() => match self.stat(key).await {
                Ok(Some(stat)) if stat.length > PIECE => return self.read_pieces(key, 0..stat.length).await,
                _ => return Err(error),
            },
            reply => reply?,
        };
        match reply.status {
            StatusCode::OK => Ok(reply.bytes),
            _ if reply.is_absence() => Err(StoreError::NotFound { key: key.clone() }),
            _ => Err(of_reply(&Asked { op: Op::Read, key: key.as_str() }, &reply)),
        }
    }

    pub(super) async fn read_part(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let asked = Asked { op: Op::Read, key: key.as_str() };
        let stat = async || self.stat(key).await?.ok_or_else(|| StoreError::NotFound { key: key.clone() });
        if range.is_empty() {
            let length = stat().await?.length;
            let is_within = range.start == range.end && range.end <= length;
            return if is_within {
                Ok(Bytes::new())
            } else {
                Err(StoreError::OutOfRange { key: key.clone(), range, length })
            };
        }
        let reply = match self.get(key, Some(range.clone())).await {
            Err(error) if error.is_transient() && range.end - range.start > PIECE => {
                return Box::pin(self.read_pieces(key, range)).await;
            }
            reply => reply?,
        };
        match reply.status {
            StatusCode::PARTIAL_CONTENT if reply.bytes.len() as u64 == range.end - range.start => Ok(reply.bytes),
            // S3 returns the part of the range that exists.
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                let length = stat().await?.length;
                if range.end <= length {
                    return Err(StoreError::Transient {
                        op: asked.op,
                        key: key.to_string(),
                        source: "the answer is cut".into(),
                    });
                }
                Err(StoreError::OutOfRange { key: key.clone(), range, length })
            }
            _ if reply.is_absence() => Err(StoreError::NotFound { key: key.clone() }),
            _ => Err(of_reply(&asked, &reply)),
        }
    }
}

/// Bytes per part. A gateway reads at least this much of a pack before it begins to answer.
const PIECE: u64 = 256 << 10;
