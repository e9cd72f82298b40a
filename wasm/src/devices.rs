//! Devices: the clients of a repository as their owner sees them, and the versions of their records that only the owner
//! signs.

use copal_format::client::{ClientHistory, ClientRecord, Role, SignedBy, read_chain};
use copal_format::id::{ClientId, ObjectHash};
use copal_format::keys::owner::TextPurpose;
use copal_format::layout;
use copal_format::limits::TEXT_BYTES;
use copal_format::manifest::Manifest;
use copal_format::repository::Descriptor;
use copal_format::time::Time;

use crate::fault::{Code, Fault};
use crate::owner::Owner;

/// All versions of a client's record.
pub type Versions<'a> = &'a [(u64, Vec<u8>)];

/// A client, as its record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The newest version of its record that can be believed.
    pub record: ClientRecord,
    /// Its name, if the owner gave it one.
    pub name: Option<String>,
    /// When it joined, was invited, or was revoked.
    pub since: Time,
    /// Whether all versions can be believed.
    pub is_whole: bool,
}

/// A version of a client's record, to be created under both names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRecord {
    /// The names of its two copies; the first one makes it count.
    pub keys: [String; 2],
    /// The record.
    pub bytes: Vec<u8>,
}

/// The last manifest or change that counts after a revocation, with its bytes, which must match.
#[derive(Copy, Clone, Debug)]
pub struct Last<'a> {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: ObjectHash,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Owner {
    /// A client by the newest version of its record that can be believed.
    pub fn device(&self, descriptor: &Descriptor, id: ClientId, versions: Versions<'_>) -> Result<Device, Fault> {
        self.check(descriptor)?;
        let read = |versions| ClientHistory::read(descriptor.repository, &descriptor.owner_key, id, versions);
        let history = read(versions);
        let damaged = || Fault::new(Code::ClientDamaged, format!("the record of client {id} cannot be believed"));
        let record = history.newest.ok_or_else(damaged)?;
        // Version 2 joins an enrollment; later ones only rename.
        let first: Vec<(u64, Vec<u8>)> = versions.iter().filter(|(version, _)| *version <= 2).cloned().collect();
        let joined = read(&first).newest.filter(|_| record.revoked.is_none());
        let since = joined.map_or(record.created, |joined| joined.created);
        Ok(Device { name: record.name(self.secret()), since, is_whole: history.refused.is_empty(), record })
    }

    /// Gives a client another name. A client that has not joined yet keeps its name until it joins.
    pub fn rename(
        &self,
        descriptor: &Descriptor,
        id: ClientId,
        versions: Versions<'_>,
        name: &str,
        now: Time,
    ) -> Result<NextRecord, Fault> {
        let record = self.current(descriptor, id, versions)?;
        if record.keys.is_none() || record.revoked.is_some() || name.is_empty() || name.len() > TEXT_BYTES {
            return Err(Fault::misuse("only a client that has joined and was not revoked gets another name"));
        }
        let sealed_name = self.secret().seal_text(TextPurpose::ClientName, &id.0, name);
        let (version, signed_by) = (record.version + 1, SignedBy::Owner);
        Ok(self.signed(&ClientRecord { version, sealed_name, created: now, signed_by, ..record }))
    }

    /// Revokes a client: manifests after `manifest`, and a full client's changes after `change`, do not count.
    pub fn revoke(
        &self,
        descriptor: &Descriptor,
        id: ClientId,
        versions: Versions<'_>,
        manifest: Option<Last<'_>>,
        change: Option<Last<'_>>,
        now: Time,
    ) -> Result<NextRecord, Fault> {
        let record = self.current(descriptor, id, versions)?;
        if record.revoked.is_some() {
            return Err(Fault::new(Code::ClientRevoked, format!("client {id} is revoked")));
        }
        let last = |last: Last<'_>| {
            let is_it = ObjectHash::of(last.bytes) == last.hash;
            is_it
                .then_some((last.number, last.hash))
                .ok_or_else(|| Fault::new(Code::Damaged, format!("number {} is another object", last.number)))
        };
        let good = manifest.map(|manifest| {
            let keys = record.keys.ok_or_else(|| Fault::misuse("a client that has not joined has no manifest"))?;
            Manifest::verify(descriptor.repository, &keys.manifest, id, manifest.number, manifest.bytes)?;
            last(manifest)
        });
        let good = good.transpose()?.unwrap_or((0, ObjectHash::NONE));
        let change = change.filter(|_| record.role == Role::Full).map(last).transpose()?;
        Ok(self.signed(&record.revoked(good, change, now)))
    }

    /// The newest version, if all can be believed: one that cannot might be a revocation.
    fn current(&self, descriptor: &Descriptor, id: ClientId, versions: Versions<'_>) -> Result<ClientRecord, Fault> {
        self.check(descriptor)?;
        Ok(read_chain(descriptor.repository, &descriptor.owner_key, id, versions)?)
    }

    fn signed(&self, record: &ClientRecord) -> NextRecord {
        let (id, version) = (record.client, record.version);
        let bytes = record.sign(self.secret().repository(), &self.secret().signing_key());
        NextRecord { keys: [layout::client(id, version), layout::client_copy(id, version)], bytes }
    }
}
