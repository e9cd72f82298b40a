//! Changes: signed changes of this device, as a full client, on their way into the repository's chain.

use copal_engine::changing::{Changing, Link};
use copal_format::change::{Change, Operation};
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout;
use copal_format::time::Time;

use crate::client::{Client, Signer};
use crate::fault::{Code, Fault};

/// Operations that become signed changes. The host reads, signs where it holds the key, and creates.
pub struct Changes {
    client: Client,
    owner: OwnerSecret,
    changing: Changing,
    /// The change that is due, and its bytes once it is signed.
    draft: Option<(Change, Option<Vec<u8>>)>,
}

/// A signed change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Its object's name.
    pub key: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Changes {
    /// Operations that a full client appends to the chain. `head` is the newest change that a root names, `met` the
    /// newest change that this browser remembers.
    pub fn new(
        client: &Client,
        head: Option<Link>,
        met: Option<Link>,
        operations: Vec<Operation>,
    ) -> Result<Self, Fault> {
        let owner = client.owner_secret().cloned();
        let owner = owner.ok_or_else(|| Fault::new(Code::NeedsOwner, "only a full client changes snapshots"))?;
        let changing = Changing::new(head, met, operations);
        Ok(Self { client: client.clone(), owner, changing, draft: None })
    }

    /// The name of the next change to read; none once the end of the chain is found.
    pub fn unread(&self) -> Option<String> {
        self.changing.unread()
    }

    /// Takes that change; `None` if it does not exist.
    pub fn read(&mut self, bytes: Option<&[u8]>) -> Result<(), Fault> {
        Ok(self.changing.read(bytes)?)
    }

    /// Makes the next change. Returns false if there is none, else the bytes that the host must sign, if it holds the key.
    pub fn next(&mut self, now: Time) -> Option<Option<Vec<u8>>> {
        let change = self.changing.due(self.client.id(), now, &self.owner)?;
        let message = match &self.client.manifest {
            Signer::Engine(_) => None,
            Signer::Host(_) => Some(change.unsigned(self.client.repository()).message),
        };
        self.draft = Some((change, None));
        Some(message)
    }

    /// Signs the change that [`Changes::next`] made.
    pub fn signed(&mut self, signature: Option<&[u8; 64]>) -> Result<Signed, Fault> {
        let (change, signed) = self.draft.as_mut().ok_or_else(|| Fault::misuse("no change is due"))?;
        let bytes = self.client.sign_change(change, signature)?;
        *signed = Some(bytes.clone());
        Ok(Signed { key: layout::change(change.number), bytes })
    }

    /// Takes the bytes stored under the name of that change. False if another writer was faster: then [`Changes::next`]
    /// makes the change again, after that writer's.
    pub fn stored(&mut self, there: &[u8]) -> Result<bool, Fault> {
        let signed = self.draft.take().and_then(|(_, signed)| signed);
        let ours = signed.ok_or_else(|| Fault::misuse("no change is signed"))?;
        Ok(self.changing.stored(there, &ours))
    }

    /// The last change of the chain that was read or written.
    pub fn end(&self) -> Link {
        self.changing.end()
    }
}
