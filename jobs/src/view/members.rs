//! Members: the packs and snapshots of each domain. Jobs go through the domains one by one, and looking at all records for
//! each would cost domains times packs.

use copal_format::id::{ClientId, DomainId, PackId};
use copal_format::state::{PackRecord, SnapshotRecord, State};

use super::View;

/// Keys of the state's records, sorted by domain.
#[derive(Default)]
pub(crate) struct Members {
    packs: Vec<(DomainId, PackId)>,
    snapshots: Vec<(DomainId, (ClientId, u64))>,
}

impl Members {
    fn of(state: &State) -> Self {
        let mut packs: Vec<_> = state.packs.iter().map(|(id, of)| (of.domain, *id)).collect();
        let mut snapshots: Vec<_> = state.snapshots.iter().map(|(key, of)| (of.domain, *key)).collect();
        packs.sort_unstable();
        snapshots.sort_unstable();
        Self { packs, snapshots }
    }
}

impl View {
    /// The packs of a domain, ascending.
    pub fn packs_of(&self, domain: DomainId) -> impl Iterator<Item = (&PackId, &PackRecord)> {
        let members = self.members.get_or_init(|| Members::of(&self.state));
        within(&members.packs, domain).iter().filter_map(|(_, id)| self.state.packs.get_key_value(id))
    }

    /// The snapshots of a domain, by client and number.
    pub fn snapshots_of(&self, domain: DomainId) -> impl Iterator<Item = (&(ClientId, u64), &SnapshotRecord)> {
        let members = self.members.get_or_init(|| Members::of(&self.state));
        within(&members.snapshots, domain).iter().filter_map(|(_, key)| self.state.snapshots.get_key_value(key))
    }
}

fn within<K>(sorted: &[(DomainId, K)], domain: DomainId) -> &[(DomainId, K)] {
    let start = sorted.partition_point(|(of, _)| *of < domain);
    let length = sorted[start..].partition_point(|(of, _)| *of == domain);
    &sorted[start..start + length]
}

#[cfg(test)]
mod tests {
    use copal_format::pack::PackKind;
    use copal_format::time::Time;

    use super::*;

    #[test]
    fn every_domain_has_its_own_packs_and_no_others() {
        let mut view = View::default();
        for at in 0..60u8 {
            let record = PackRecord::new(DomainId([at % 3; 16]), PackKind::Data, 1, Time(0));
            view.state.packs.insert(PackId([at; 32]), record);
        }
        for domain in [0, 1, 2, 3].map(|byte| DomainId([byte; 16])) {
            let all = view.state.packs.iter().filter(|(_, of)| of.domain == domain);
            assert!(view.packs_of(domain).eq(all), "{domain}");
        }
        assert_eq!(view.packs_of(DomainId([3; 16])).count() + view.snapshots_of(DomainId([0; 16])).count(), 0);
    }
}
