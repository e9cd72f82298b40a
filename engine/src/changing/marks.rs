//! Marks: operations on snapshots that a person asks for: forget, undelete, pin, unpin, tag.

use copal_format::change::Operation;
use copal_format::id::{DomainId, SnapshotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::{OwnerSecret, TextPurpose};
use copal_format::limits::{SNAPSHOT_TAGS, TEXT_BYTES};
use copal_format::state::{SnapshotRecord, SnapshotState};

/// What to do with chosen snapshots.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Hide them, so that prune may free what they alone need.
    Forget,
    /// Bring back forgotten ones.
    Undelete,
    /// Keep them whatever the policy says.
    Pin,
    /// Undo a pin.
    Unpin,
}

impl Mark {
    /// Whether this would change a snapshot. A pinned one cannot be forgotten.
    pub fn changes(self, record: &SnapshotRecord) -> bool {
        match self {
            Self::Forget => record.state == SnapshotState::Kept && !record.pinned,
            Self::Undelete => record.state != SnapshotState::Kept,
            Self::Pin => !record.pinned,
            Self::Unpin => record.pinned,
        }
    }

    /// This mark as an operation.
    pub fn operation(self, snapshots: Vec<SnapshotId>) -> Operation {
        match self {
            Self::Forget => Operation::Forget(snapshots),
            Self::Undelete => Operation::Undelete(snapshots),
            Self::Pin => Operation::Pin(snapshots),
            Self::Unpin => Operation::Unpin(snapshots),
        }
    }
}

/// A snapshot to tag.
#[derive(Copy, Clone, Debug)]
pub struct Tagged<'a> {
    /// Its id.
    pub id: SnapshotId,
    /// The domain that it lies in.
    pub domain: DomainId,
    /// The names of its current tags.
    pub tags: &'a [String],
}

/// Why snapshots cannot be tagged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TagError {
    /// The name of a tag is longer than a text may be.
    #[error("a tag of {bytes} bytes is too long")]
    Long { bytes: usize },
    /// A tag is to be added and removed.
    #[error("tag \"{tag}\" is both added and removed")]
    Both { tag: String },
    /// A snapshot would have more tags than it may.
    #[error("a snapshot has at most {SNAPSHOT_TAGS} tags")]
    Many,
}

/// The operations that add and remove tags; snapshots that need no change are left out.
pub fn tag<'a>(
    owner: &OwnerSecret,
    snapshots: impl IntoIterator<Item = Tagged<'a>>,
    add: &[String],
    remove: &[String],
) -> Result<Vec<Operation>, TagError> {
    if let Some(tag) = add.iter().find(|tag| tag.len() > TEXT_BYTES) {
        return Err(TagError::Long { bytes: tag.len() });
    }
    if let Some(tag) = add.iter().find(|tag| remove.contains(tag)) {
        return Err(TagError::Both { tag: tag.clone() });
    }
    let mut domains: Vec<(DomainId, Vec<SnapshotId>)> = Vec::new();
    for Tagged { id, domain, tags } in snapshots {
        let adds = add.iter().filter(|tag| !tags.contains(tag)).count();
        if tags.len() + adds > SNAPSHOT_TAGS {
            return Err(TagError::Many);
        }
        if adds > 0 || remove.iter().any(|tag| tags.contains(tag)) {
            match domains.iter_mut().find(|(of, _)| *of == domain) {
                Some((_, ids)) => ids.push(id),
                None => domains.push((domain, vec![id])),
            }
        }
    }
    let operation = |(domain, snapshots)| {
        let keys = DomainKeys::new(&owner.domain_key(domain));
        let sealed = |name: &String| {
            let id = keys.tag_id(name);
            (id, owner.seal_text(TextPurpose::TagName, &id.0, name))
        };
        let remove = remove.iter().map(|name| keys.tag_id(name)).collect();
        Operation::Tag { snapshots, add: add.iter().map(sealed).collect(), remove }
    };
    Ok(domains.into_iter().map(operation).collect())
}

#[cfg(test)]
mod tests {
    use copal_format::id::RepositoryId;
    use copal_format::keys::secret::Secret;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn operations(tags: &[String], add: &[&str], remove: &[&str]) -> Result<Vec<Operation>, TagError> {
        let seed = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(RepositoryId([1; 16]), seed(1), seed(2), seed(3));
        let tagged = [1, 2].map(|id| Tagged { id: SnapshotId([id; 16]), domain: DomainId([id; 16]), tags });
        tag(&owner, tagged, &names(add), &names(remove))
    }

    #[test]
    fn each_domain_names_its_tags_in_an_operation_of_its_own() {
        let made = operations(&names(&["old"]), &["new"], &["old"]).unwrap();
        let [Operation::Tag { add: one, .. }, Operation::Tag { add: two, .. }] = made.as_slice() else { panic!() };
        assert_ne!(one[0].0, two[0].0);
    }

    #[test]
    fn what_changes_nothing_makes_no_operation() {
        assert_eq!(operations(&names(&["new"]), &["new"], &["gone"]), Ok(Vec::new()));
    }

    #[test]
    fn tags_that_contradict_each_other_or_are_too_long_or_too_many_are_refused() {
        assert_eq!(operations(&[], &["a"], &["a"]), Err(TagError::Both { tag: "a".into() }));
        let long = "x".repeat(TEXT_BYTES + 1);
        assert_eq!(operations(&[], &[&long], &[]), Err(TagError::Long { bytes: TEXT_BYTES + 1 }));
        let full: Vec<String> = (0..SNAPSHOT_TAGS).map(|n| n.to_string()).collect();
        assert_eq!(operations(&full, &["new"], &[]), Err(TagError::Many));
    }
}
