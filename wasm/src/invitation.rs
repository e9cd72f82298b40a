//! Invitation: lets another device join, by a line, a link and a picture of it.

use copal_format::client::Role;
use copal_format::id::{ClientId, DomainId};
use copal_format::invitation::{Invitation, Invited};
use copal_format::keys::secret::Secret;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::repository::Descriptor;
use copal_format::time::Time;
use zeroize::Zeroizing;

use crate::devices::NextRecord;
use crate::fault::{Code, Fault};
use crate::owner::Owner;

/// A device that waits to join.
pub struct Waiting {
    /// The future client.
    pub client: ClientId,
    /// Version 1 of its record, to be created before anybody sees the line.
    pub record: NextRecord,
    /// The line to type or paste.
    pub line: Zeroizing<String>,
    /// The link to open in a browser.
    pub link: Zeroizing<String>,
    /// Until when it may join.
    pub expires: Time,
}

/// Whom to invite, and for how long.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Its name for people.
    pub name: &'a str,
    /// What it will be allowed to do.
    pub role: Role,
    /// The present, by the store's clock.
    pub now: Time,
    /// Until when it may join.
    pub expires: Time,
    /// The origin of the page, which is the gateway's.
    pub page: &'a str,
}

impl Owner {
    /// The number of random bytes for [`Owner::invite`].
    pub const RANDOM_INVITE: usize = ClientId::LEN + DomainId::LEN + Secret::LEN;

    /// Invites a device. A full client shares its data with the others, a write-only one with nobody.
    pub fn invite(
        &self,
        descriptor: &Descriptor,
        wanted: &Wanted<'_>,
        random: &[u8; Self::RANDOM_INVITE],
    ) -> Result<Waiting, Fault> {
        self.check(descriptor)?;
        let &Wanted { name, role, now, expires, page } = wanted;
        if role == Role::WriteOnly && descriptor.ingest == IngestBy::Client {
            return Err(Fault::new(
                Code::BadInvitation,
                "a write-only client needs a service that accepts its backups",
            ));
        }
        let (client, rest) = random.split_first_chunk().expect("16 of 64 bytes");
        let (domain, seed) = rest.split_first_chunk().expect("16 of 48 bytes");
        let domain = if role == Role::Full { descriptor.shared_domain } else { DomainId(*domain) };
        let seed = Secret::new(seed.try_into().expect("32 bytes"));
        let address = page.to_owned();
        let invited = Invited { client: ClientId(*client), name, role, domain, seed, created: now, expires, address };
        let Invitation { record, enrollment } = Invitation::new(self.secret(), invited)?;
        let bytes = record.sign(self.secret().repository(), &self.secret().signing_key());
        let keys = [layout::client(record.client, 1), layout::client_copy(record.client, 1)];
        let line = enrollment.encode();
        let link = Invitation::link(page, &line);
        Ok(Waiting { client: record.client, record: NextRecord { keys, bytes }, line, link, expires })
    }
}
