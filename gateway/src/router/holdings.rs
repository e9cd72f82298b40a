//! Holdings: sums of pack bytes by domain, so that a quota is judged without going through all packs.

use std::collections::BTreeMap;

use copal_format::id::{DomainId, PackId};
use copal_format::state::PackRecord;
use copal_format::time::Time;

/// For each domain, the running sums of pack bytes by accept time.
#[derive(Debug, Default)]
pub(super) struct Holdings(BTreeMap<DomainId, Vec<(Time, u64)>>);

impl Holdings {
    /// Sums up the packs of a state.
    pub(super) fn of(packs: &BTreeMap<PackId, PackRecord>) -> Self {
        let mut domains: BTreeMap<DomainId, Vec<(Time, u64)>> = BTreeMap::new();
        for pack in packs.values() {
            domains.entry(pack.domain).or_default().push((pack.accepted, pack.length));
        }
        for of_domain in domains.values_mut() {
            of_domain.sort_unstable();
            let mut sum = 0u64;
            for (_, bytes) in of_domain.iter_mut() {
                sum = sum.saturating_add(*bytes);
                *bytes = sum;
            }
        }
        Self(domains)
    }

    /// The bytes of a domain, and those accepted after `since`.
    pub(super) fn stored(&self, domain: DomainId, since: Time) -> (u64, u64) {
        let Some(sums) = self.0.get(&domain) else { return (0, 0) };
        let all = sums.last().map_or(0, |(_, sum)| *sum);
        let older = sums.partition_point(|(accepted, _)| *accepted <= since);
        let before = older.checked_sub(1).map_or(0, |at| sums[at].1);
        (all, all - before)
    }
}

#[cfg(test)]
mod tests {
    use copal_format::layout::Place;
    use copal_format::pack::PackKind;

    use super::*;

    #[test]
    fn bytes_are_told_by_domain_and_by_when_they_were_accepted() {
        let pack = |domain: u8, length: u64, accepted: i64| PackRecord {
            domain: DomainId([domain; 16]),
            kind: PackKind::Data,
            length,
            place: Place::Packs,
            is_missing: false,
            is_damaged: false,
            read: Time(0),
            accepted: Time(accepted),
            is_proven: true,
            claim: None,
        };
        let all = [pack(1, 10, 500), pack(2, 7, 100), pack(1, 20, 100), pack(1, 5, 300), pack(1, 3, 300)];
        let packs = all.into_iter().enumerate().map(|(at, pack)| (PackId([at as u8; 32]), pack)).collect();
        let holdings = Holdings::of(&packs);
        let stored = |domain: u8, since| holdings.stored(DomainId([domain; 16]), Time(since));
        assert_eq!(
            [0, 100, 299, 300, 500].map(|since| stored(1, since)),
            [(38, 38), (38, 18), (38, 18), (38, 10), (38, 0)]
        );
        assert_eq!((stored(2, 0), stored(3, 0)), ((7, 7), (0, 0)));
    }
}
