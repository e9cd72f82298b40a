//! History: the snapshots of a repository, from manifests signed by their clients.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use copal_engine::read::{SignedSnapshot, SnapshotFault};
use copal_engine::retention::{Age, age};
use copal_format::client::{ClientHistory, ClientRecord, Role};
use copal_format::id::{ChunkId, ClientId, DomainId, SnapshotId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout;
use copal_format::limits::RECORD_BYTES;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::shown;
use copal_format::snapshot::SnapshotInfo;
use copal_format::state::{SnapshotRecord, SnapshotState, State};
use copal_format::time::Time;

use crate::directory::Directory;
use crate::failure::Failure;
use crate::report::Report;
use crate::stamp::stamp;

/// The client that signed a snapshot, as the owner has registered it.
#[derive(Clone, Debug)]
pub struct Signer {
    /// Its id.
    pub id: ClientId,
    /// Its name, or its id if the owner gave it none.
    pub name: String,
    /// Its role.
    pub role: Role,
}

/// A snapshot that was signed by its client.
pub(crate) struct Snapshot {
    pub(crate) id: SnapshotId,
    /// The client that signed it.
    pub(crate) signer: Rc<Signer>,
    pub(crate) domain: DomainId,
    pub(crate) root: ChunkId,
    /// When it was made, by the client's clock.
    pub(crate) time: Time,
    /// Its position in the order of snapshots.
    age: (Standing, SnapshotId),
    /// Whether it was forgotten; prune has not removed it yet.
    pub(crate) is_forgotten: bool,
    /// Its description, if it can be opened: a restore does not need it.
    pub(crate) info: Option<SnapshotInfo>,
}

/// The time that orders snapshots.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// The client's time, because the state does not know when it was accepted.
    Unknown(Time),
    /// The key of retention.
    Known(Age),
}

/// The snapshots, oldest first, in the order of retention. Snapshots that the state does not know come first, in the
/// order of the client's clock.
pub(crate) struct History {
    pub(crate) snapshots: Vec<Snapshot>,
}

impl History {
    /// Reads all manifests; the state tells which snapshots are gone or forgotten.
    pub(crate) fn read(
        directory: &Directory,
        owner: &OwnerSecret,
        state: &State,
        report: &mut Report<'_>,
    ) -> Result<Self, Failure> {
        let mut snapshots = Vec::new();
        for (client, numbers) in manifests(directory, state)? {
            let Some(record) = read_client(directory, owner, client, report)? else { continue };
            let signer = Rc::new(Signer::of(owner, &record));
            let reading = Reading { directory, owner, state, record: &record, signer };
            for number in numbers {
                match reading.snapshot(client, number) {
                    Ok(snapshot) => snapshots.extend(snapshot),
                    Err(why) => report.damaged_object(&layout::manifest(client, number), &why),
                }
            }
        }
        snapshots.sort_by_key(|snapshot| snapshot.age);
        Ok(Self { snapshots })
    }

    /// The snapshot whose id begins with these digits, or the newest kept one. Fails if several clients have snapshots:
    /// taking the newest of all would let one client decide what is restored in place of another's.
    pub(crate) fn find(&self, digits: Option<&str>) -> Result<&Snapshot, Failure> {
        let Some(digits) = digits else {
            let kept = self.snapshots.iter().filter(|snapshot| !snapshot.is_forgotten);
            let newest: BTreeMap<ClientId, &Snapshot> = kept.map(|snapshot| (snapshot.signer.id, snapshot)).collect();
            let newest: Vec<&Snapshot> = newest.into_values().collect();
            return match newest.as_slice() {
                [] => Err(Failure::Snapshot("there is no snapshot that could be restored".to_owned())),
                [only] => Ok(only),
                several => Err(Failure::Snapshot(format!(
                    "several clients have snapshots: name one with --snapshot; the newest of each:\n  {}",
                    several.iter().map(|snapshot| snapshot.sentence()).collect::<Vec<_>>().join("\n  ")
                ))),
            };
        };
        let mut fitting = self.snapshots.iter().filter(|snapshot| snapshot.id.to_string().starts_with(digits));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Failure::Snapshot(format!("there is no snapshot {digits}"))),
            (Some(_), Some(_)) => Err(Failure::Snapshot(format!("several snapshots begin with {digits}"))),
        }
    }
}

impl Signer {
    /// The client of a record.
    pub fn of(owner: &OwnerSecret, record: &ClientRecord) -> Self {
        let name = record.name(owner).unwrap_or_else(|| record.client.to_string());
        Self { id: record.client, name, role: record.role }
    }

    /// The machine of a snapshot, and the client that signed it.
    fn machine(&self, claimed: &str) -> String {
        let machine = self.role.machine(claimed, &self.name);
        let role = match self.role {
            Role::Full => "full".to_owned(),
            Role::WriteOnly if machine == claimed => "write-only".to_owned(),
            Role::WriteOnly => format!("write-only, says it is \"{}\"", shown::text(claimed)),
        };
        let [machine, name] = [machine, &self.name].map(shown::text);
        format!("{machine}  by {name} ({role})")
    }
}

impl Snapshot {
    /// The snapshot in one line.
    pub(crate) fn sentence(&self) -> String {
        let mut words = vec![self.id.to_string(), stamp(self.time)];
        match &self.info {
            None => {
                words.extend(["(its description cannot be opened)".to_owned(), self.signer.machine(&self.signer.name)])
            }
            Some(info) => {
                words.push(format!("{} files", info.counts.files));
                words.push(format!("{} bytes", info.counts.bytes));
                words.push(self.signer.machine(&info.host));
                words.extend(info.paths.iter().map(|path| format!("/{}", shown::path(path))));
                words.extend(Some(&info.label).filter(|label| !label.is_empty()).map(|label| shown::text(label)));
                words.extend(info.tags.iter().map(|tag| format!("#{}", shown::text(tag))));
            }
        }
        words.join("  ")
    }
}

/// The numbers of existing manifests, and of those that claim snapshots according to the state.
fn manifests(directory: &Directory, state: &State) -> Result<BTreeMap<ClientId, BTreeSet<u64>>, Failure> {
    let mut manifests: BTreeMap<ClientId, BTreeSet<u64>> = BTreeMap::new();
    for name in directory.names("manifests")? {
        let Ok(client) = ClientId::from_hex(&name) else { continue };
        let numbers = directory.names(&format!("manifests/{name}"))?;
        manifests.entry(client).or_default().extend(numbers.iter().filter_map(|name| layout::trailing_number(name)));
    }
    for ((client, number), _) in state.snapshots.iter().filter(|(_, known)| is_wanted(known)) {
        manifests.entry(*client).or_default().insert(*number);
    }
    Ok(manifests)
}

/// Whether to list a snapshot.
fn is_wanted(known: &SnapshotRecord) -> bool {
    known.state != SnapshotState::Gone && !known.partial
}

/// The newest record of a client that can be trusted; `None` if there is none.
fn read_client(
    directory: &Directory,
    owner: &OwnerSecret,
    client: ClientId,
    report: &mut Report<'_>,
) -> Result<Option<ClientRecord>, Failure> {
    let mut versions = Vec::new();
    let folder = format!("clients/{client}");
    for name in directory.names(&folder)?.iter().map(|name| format!("{folder}/{name}")) {
        let Some(version) = layout::client_version(&name) else { continue };
        match directory.read(&name, OBJECT_BYTES) {
            Ok(bytes) => versions.extend(bytes.map(|bytes| (version, bytes))),
            Err(error) => report.damaged_object(&name, &error.to_string()),
        }
    }
    let history = ClientHistory::read(owner.repository(), &owner.verifying_key(), client, &versions);
    for error in &history.refused {
        report.damaged_object(&format!("clients/{client}"), &error.to_string());
    }
    if history.newest.is_none() {
        report.damaged_object(&format!("clients/{client}"), "the client's snapshots cannot be verified without it");
    }
    Ok(history.newest)
}

/// What is needed to read one client's manifests.
struct Reading<'a> {
    directory: &'a Directory,
    owner: &'a OwnerSecret,
    state: &'a State,
    record: &'a ClientRecord,
    signer: Rc<Signer>,
}

impl Reading<'_> {
    /// The snapshot that a manifest claims; `None` if it claims none that counts. The error is text.
    fn snapshot(&self, client: ClientId, number: u64) -> Result<Option<Snapshot>, String> {
        if self.record.keys.is_none() {
            return Ok(None);
        }
        let known = self.state.snapshots.get(&(client, number));
        if known.is_some_and(|known| !is_wanted(known)) {
            return Ok(None);
        }
        let bytes = self.directory.read(&layout::manifest(client, number), OBJECT_BYTES);
        let Some(bytes) = bytes.map_err(|error| error.to_string())? else {
            return known.map_or(Ok(None), |_| Err("it is not there, and with it its snapshot".to_owned()));
        };
        let signed = match SignedSnapshot::verify(self.owner, self.record, number, &bytes) {
            Ok(signed) if !signed.claim.partial => signed,
            Ok(_) | Err(SnapshotFault::NoSnapshot) => return Ok(None),
            Err(fault) => return Err(fault.to_string()),
        };
        // A snapshot that the state does not have may have been accepted later. It counts unless it was rejected.
        if known.is_none() && (!self.record.accepts(number, signed.hash) || self.is_rejected(client, number)) {
            return Ok(None);
        }
        let standing = known.map_or(Standing::Unknown(signed.claim.client_time), |known| Standing::Known(age(known)));
        Ok(Some(Snapshot {
            signer: self.signer.clone(),
            id: signed.id(),
            age: (standing, signed.id()),
            domain: signed.domain,
            root: signed.claim.root,
            time: signed.claim.client_time,
            is_forgotten: known.is_some_and(|known| known.state == SnapshotState::Forgotten),
            info: signed.info(self.owner).ok(),
        }))
    }

    fn is_rejected(&self, client: ClientId, number: u64) -> bool {
        let receipt = self.directory.read(&layout::receipt(client, number), OBJECT_BYTES).ok().flatten();
        let receipt = receipt.and_then(|bytes| Receipt::decode(client, number, &bytes).ok());
        receipt.is_some_and(|receipt| receipt.outcome == Outcome::Rejected)
    }
}

/// Above the size of any record.
const OBJECT_BYTES: u64 = RECORD_BYTES as u64 + 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(id: u8, client: u8, is_forgotten: bool) -> Snapshot {
        let signer = Signer { id: ClientId([client; 16]), name: format!("client {client}"), role: Role::Full };
        let (domain, root) = (DomainId([1; 16]), ChunkId([1; 24]));
        let (id, time) = (SnapshotId([id; 16]), Time(id.into()));
        Snapshot {
            id,
            signer: Rc::new(signer),
            domain,
            root,
            time,
            age: (Standing::Unknown(time), id),
            is_forgotten,
            info: None,
        }
    }

    #[test]
    fn the_newest_that_is_kept_is_meant_unless_another_is_named() {
        let history =
            History { snapshots: vec![snapshot(0x1a, 1, false), snapshot(0x1b, 1, false), snapshot(0x2c, 2, true)] };
        let found = |digits| history.find(digits).map(|snapshot| snapshot.id.0[0]).map_err(|error| error.to_string());
        assert_eq!(found(None), Ok(0x1b));
        assert_eq!(found(Some("2")), Ok(0x2c));
        assert_eq!(found(Some("1")), Err("several snapshots begin with 1".to_owned()));
        assert_eq!(found(Some("3")), Err("there is no snapshot 3".to_owned()));
    }

    #[test]
    fn the_newest_of_several_clients_is_nobodys_answer() {
        let history = History { snapshots: vec![snapshot(0x1a, 1, false), snapshot(0x1b, 2, false)] };
        let told = history.find(None).map(|snapshot| snapshot.id).unwrap_err().to_string();
        assert!(told.contains("1a1a") && told.contains("client 2 (full)") && told.contains("--snapshot"), "{told}");
    }

    #[test]
    fn what_no_state_knows_is_older_than_what_one_does() {
        let known = |time, claimed| Standing::Known((Time(time), Time(claimed), Time(99), SnapshotId([0; 16])));
        let mut order = [known(5, 9), Standing::Unknown(Time(99)), known(4, 99)];
        order.sort();
        assert_eq!(order.map(|standing| matches!(standing, Standing::Unknown(_))), [true, false, false]);
        assert_eq!(order[2], known(5, 9));
    }
}
