//! Marking: changes of verified snapshots, the names of their tags, and the owner's decisions.

use copal_engine::changing::{Link, Mark, TagError, Tagged, tag};
use copal_format::change::{Change, Operation, OwnerSignature};
use copal_format::id::{ObjectHash, SnapshotId, TagId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::TextPurpose;
use copal_format::layout;
use copal_format::limits::{SNAPSHOT_TAGS, TEXT_BYTES};
use copal_format::state::SnapshotRecord;

use super::library::{Library, Snapshot};
use crate::changes::Changes;
use crate::client::Client;
use crate::fault::{Code, Fault};

impl Library {
    /// Whether a listed snapshot has a tag whose name is in a change that was not supplied.
    pub fn needs_tags(&self) -> bool {
        let view = self.view.borrow();
        let Some(state) = view.state() else { return false };
        let known = |of: &Snapshot| {
            let record = state.snapshots.get(&(of.client, of.number));
            record.is_none_or(|record| self.tags(record, of).1)
        };
        !self.verified().all(known)
    }

    /// Takes a change and uses only its names of tags, which are sealed with the owner's secret. Returns whether it has
    /// any.
    pub fn supply_change(&mut self, key: &str, bytes: &[u8]) -> bool {
        let number = layout::trailing_number(key).unwrap_or_default();
        let Ok(change) = Change::vouched(number, ObjectHash::of(bytes), bytes) else { return false };
        let before = self.tag_names.len();
        for operation in &change.operations {
            let Operation::Tag { add, .. } = operation else { continue };
            for (tag, sealed) in add {
                if self.tag_name(tag).is_none()
                    && let Ok(name) = self.owner.open_text(TextPurpose::TagName, &tag.0, sealed)
                {
                    self.tag_names.push((*tag, name));
                }
            }
        }
        self.tag_names.len() > before
    }

    /// The names of a snapshot's tags, and whether all of them are known.
    pub(super) fn tags(&self, record: &SnapshotRecord, snapshot: &Snapshot) -> (Vec<String>, bool) {
        let keys = DomainKeys::new(&self.owner.domain_key(snapshot.domain));
        let own: Vec<(TagId, &String)> = snapshot.info.tags.iter().map(|name| (keys.tag_id(name), name)).collect();
        let own_name = |tag: &TagId| own.iter().find(|(id, _)| id == tag).map(|(_, name)| *name);
        let named = |tag: &TagId| own_name(tag).or_else(|| self.tag_name(tag)).cloned();
        let is_known = record.tags.iter().all(|tag| named(tag).is_some());
        (record.tags.iter().map(|tag| named(tag).unwrap_or_else(|| tag.to_string())).collect(), is_known)
    }

    /// The ids of tags with these names, in each domain. The records of all clients are to be supplied first.
    pub fn tag_ids(&self, names: &[String]) -> Vec<Vec<TagId>> {
        let keys = self.domains().into_iter().map(|domain| DomainKeys::new(&self.owner.domain_key(domain)));
        keys.map(|keys| names.iter().map(|name| keys.tag_id(name)).collect()).collect()
    }

    /// The names of tags that supplied changes have.
    pub fn tag_names(&self) -> impl Iterator<Item = &String> {
        self.tag_names.iter().map(|(_, name)| name)
    }

    fn tag_name(&self, tag: &TagId) -> Option<&String> {
        self.tag_names.iter().find(|(id, _)| id == tag).map(|(_, name)| name)
    }

    /// Changes that mark snapshots, without those that need no change; none if that leaves no snapshot.
    pub fn mark(
        &self,
        client: &Client,
        met: Option<Link>,
        mark: Mark,
        ids: &[SnapshotId],
    ) -> Result<Option<Changes>, Fault> {
        let needing = self.chosen(ids)?.into_iter().filter(|snapshot| mark.changes(&snapshot.record));
        let ids: Vec<SnapshotId> = needing.map(|snapshot| snapshot.id).collect();
        let operations = if ids.is_empty() { Vec::new() } else { vec![mark.operation(ids)] };
        self.changes(client, met, operations)
    }

    /// Changes that add and remove tags, like [`Library::mark`].
    pub fn tag(
        &self,
        client: &Client,
        met: Option<Link>,
        ids: &[SnapshotId],
        add: &[String],
        remove: &[String],
    ) -> Result<Option<Changes>, Fault> {
        let chosen = self.chosen(ids)?;
        let tagged = chosen.iter().map(|of| Tagged { id: of.id, domain: of.domain, tags: &of.tags });
        let operations = tag(&self.owner, tagged, add, remove)?;
        self.changes(client, met, operations)
    }

    /// Changes by which the owner sets an encoded policy, and releases snapshots that hold their series. The caller has
    /// shown the consequences. `tags` names the tags, for which the policy has only ids: perhaps no snapshot has them.
    pub fn decide(
        &self,
        client: &Client,
        met: Option<Link>,
        (policy, tags): (Option<Vec<u8>>, &[String]),
        release: Vec<SnapshotId>,
    ) -> Result<Option<Changes>, Fault> {
        if let Some(tag) = tags.iter().find(|tag| tag.len() > TEXT_BYTES) {
            return Err(TagError::Long { bytes: tag.len() }.into());
        }
        let signature = OwnerSignature::NONE;
        let mut add = Vec::new();
        for ids in self.tag_ids(tags) {
            for (id, name) in ids.into_iter().zip(tags) {
                add.push((id, self.owner.seal_text(TextPurpose::TagName, &id.0, name)));
            }
        }
        if add.len() > SNAPSHOT_TAGS {
            return Err(TagError::Many.into());
        }
        let (snapshots, remove) = Default::default();
        let names = (!add.is_empty()).then_some(Operation::Tag { snapshots, add, remove });
        let policy = policy.map(|policy| Operation::OwnerPolicy { policy, signature });
        let release = (!release.is_empty()).then_some(Operation::Release { snapshots: release, signature });
        self.changes(client, met, names.into_iter().chain(policy).chain(release).collect())
    }

    fn changes(
        &self,
        client: &Client,
        met: Option<Link>,
        operations: Vec<Operation>,
    ) -> Result<Option<Changes>, Fault> {
        let head = self.view.borrow().root().and_then(|root| root.change_head);
        let changes = (!operations.is_empty()).then(|| Changes::new(client, head, met, operations));
        changes.transpose()
    }

    /// Listed snapshots by their ids, which are the hashes of their signed manifests.
    fn chosen(&self, ids: &[SnapshotId]) -> Result<Vec<Snapshot>, Fault> {
        let mut chosen = self.snapshots();
        if let Some(id) = ids.iter().find(|id| chosen.iter().all(|snapshot| snapshot.id != **id)) {
            return Err(Fault::new(Code::Absent, format!("snapshot {id} is not listed")));
        }
        chosen.retain(|snapshot| ids.contains(&snapshot.id));
        Ok(chosen)
    }
}
