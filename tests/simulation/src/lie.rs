//! Lie: what a thief claims, and the packs that it needs.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_format::client::Role;
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::layout::{self, Place, Prunable};
use copal_format::pack::Pack;
use copal_format::state::DoomedState;
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_tests::kit::Client;
use copal_tests::kit::craft::{CraftedPage, data_pack, id, tree_pack};
use copal_tests::kit::repository::key;

use super::actors::Scene;
use super::hostile::Claim;

/// What a claim is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    /// Nothing is wrong with it, but that its pack may have been there before.
    None,
    /// Tables say that blocks of noise hold what is live in the domain.
    Live,
    /// The snapshot is of another client's source.
    Series,
    /// A root was seen that nobody can have seen.
    RootSeen,
    /// A page refers to what never was.
    Reference,
    /// A page refers to what another domain has.
    ForeignReference,
    /// The snapshot is another domain's.
    ForeignRoot,
    /// A pack is another domain's.
    ForeignPack,
    /// A page is no higher than what it refers to.
    Height,
    /// A pack was deleted, and is there again.
    Spent,
    /// A pack is longer than it is.
    Length,
    /// The domain is not the client's.
    Domain,
    /// It does not name the manifest before it.
    Chain,
    /// Another one has signed it.
    Signature,
}

impl Lie {
    /// Whether a service without keys may believe it. A full client may write in any domain.
    pub(super) fn may_pass(self, role: Role) -> bool {
        matches!(self, Lie::None | Lie::Live | Lie::Series) || (self == Lie::Domain && role == Role::Full)
    }
}

impl Scene<'_> {
    /// Stores what a claim needs; none if there is nothing to lie about yet.
    pub(super) async fn make(&mut self, client: &Client, view: &View, lie: Lie) -> Result<Option<Claim>, JobError> {
        let domains: Vec<_> = view.state.snapshots.values().map(|snapshot| snapshot.domain).collect();
        let domain = match client.role {
            Role::Full if !domains.is_empty() => *self.random.pick(&domains),
            _ => client.domain,
        };
        if lie == Lie::Live {
            return self.forge(domain).await;
        }
        let (page, chunk) = (id(self.random.below(8) as u8 + 1), id(self.random.below(8) as u8 + 100));
        let foreign = view.state.snapshots.values().find(|snapshot| snapshot.domain != domain);
        let reference = match lie {
            Lie::Reference => {
                let mut never = [0; 24];
                self.random.fill(&mut never);
                ChunkId(never)
            }
            Lie::ForeignReference | Lie::ForeignRoot | Lie::Domain => match foreign {
                Some(snapshot) if lie != Lie::Domain => snapshot.root,
                Some(_) => chunk,
                None => return Ok(None),
            },
            Lie::Height => id(50),
            _ => chunk,
        };
        if lie == Lie::ForeignRoot {
            return Ok(Some(Claim { domain, packs: Vec::new(), root: Some(reference) }));
        }
        if lie == Lie::ForeignPack {
            let pack = view.state.packs.iter().find(|(_, pack)| pack.domain != domain && pack.place == Place::Packs);
            return Ok(pack.map(|(id, pack)| Claim { domain, packs: vec![(*id, pack.length)], root: None }));
        }
        let random = self.random.below(256) as u8;
        let data = data_pack(domain, random, &[chunk]);
        let tree = match lie {
            Lie::Height => tree_pack(domain, random, &[(id(50), 1, &[chunk]), (page, 1, &[reference])]),
            Lie::ForeignReference => tree_pack(domain, random, &[(page, 9, &[reference])]),
            _ => tree_pack(domain, random, &[(page, 1, &[reference])]),
        };
        if lie == Lie::Spent {
            let is_spent = |pack: &Pack| {
                let record = view.state.doomed.get(&Prunable::Pack(Place::Packs, pack.id));
                record.is_some_and(|record| record.state == DoomedState::Spent)
            };
            // Packs are made of few bytes here, so that one that was deleted can be made again.
            let spent = (0..=u8::MAX).map(|random| data_pack(domain, random, &[chunk])).find(is_spent);
            let Some(spent) = spent else { return Ok(None) };
            let named = self.put(spent).await?;
            return Ok(Some(Claim { domain, packs: vec![named], root: None }));
        }
        let mut packs = vec![self.put(data).await?, self.put(tree).await?];
        if lie == Lie::Length {
            packs[0].1 += 1;
        }
        let domain = match foreign {
            Some(foreign) if lie == Lie::Domain => foreign.domain,
            _ => domain,
        };
        Ok(Some(Claim { domain, packs, root: Some(page) }))
    }

    /// Packs of noise whose tables claim some of what is live in a domain: chunks, and pages with the references and
    /// heights that they have, or with others.
    async fn forge(&mut self, domain: DomainId) -> Result<Option<Claim>, JobError> {
        let (mut chunks, mut pages) = (Vec::new(), BTreeMap::new());
        if let Some(live) = &self.watch.seen().live {
            let share = *self.random.pick(&[100, 500, 1000]);
            for entry in live.entries.iter().filter(|entry| entry.domain == domain) {
                match live.page(entry) {
                    _ if !self.random.chance(share) => {}
                    Some(page) => drop(pages.insert(entry.id, (page.height, page.references.to_vec()))),
                    None => chunks.push(entry.id),
                }
            }
        }
        chunks.dedup();
        chunks.truncate(CLAIMED);
        if let Some(other) = chunks.first()
            && self.random.chance(300)
        {
            pages.values_mut().for_each(|(_, references)| *references = vec![*other]);
        }
        let random = self.random.below(256) as u8;
        let mut packs = Vec::new();
        if !chunks.is_empty() && self.random.chance(800) {
            packs.push(self.put(data_pack(domain, random, &chunks)).await?);
        }
        if !pages.is_empty() && self.random.chance(600) {
            let rows = pages.iter().take(CLAIMED).map(|(id, (height, references))| (*id, *height, &references[..]));
            packs.push(self.put(tree_pack(domain, random, &rows.collect::<Vec<CraftedPage<'_>>>())).await?);
        }
        let root = pages.keys().next().copied().filter(|_| self.random.chance(300));
        Ok((!packs.is_empty()).then_some(Claim { domain, packs, root }))
    }

    async fn put(&self, pack: Pack) -> Result<(PackId, u64), JobError> {
        let named = (pack.id, pack.bytes.len() as u64);
        self.job.store.create(&key(&layout::pack(Place::Packs, pack.id)), Bytes::from(pack.bytes)).await?;
        Ok(named)
    }
}

/// What thieves claim, the likelier the oftener.
pub(super) const LIES: [Lie; 20] = [
    Lie::None,
    Lie::None,
    Lie::None,
    Lie::Live,
    Lie::Live,
    Lie::Live,
    Lie::Live,
    Lie::Live,
    Lie::Series,
    Lie::RootSeen,
    Lie::Reference,
    Lie::ForeignReference,
    Lie::ForeignRoot,
    Lie::ForeignPack,
    Lie::Height,
    Lie::Spent,
    Lie::Length,
    Lie::Domain,
    Lie::Chain,
    Lie::Signature,
];
/// As many ids as one small pack claims.
const CLAIMED: usize = 41;
