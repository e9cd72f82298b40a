//! Answers: which manifests without a receipt count, and which receipts their clients get. A receipt is final, so no
//! manifest is rejected for missing data that may have been lost.

use std::collections::BTreeSet;

use copal_engine::ingest::snapshot_of;
use copal_format::id::{DomainId, SnapshotId};
use copal_format::layout;
use copal_format::manifest::VerifiedManifest;
use copal_format::receipt::{Outcome, Reason};
use copal_format::state::Decision;
use copal_format::time::Time;

use super::Report;
use super::absence::Absence;
use super::chains::{Chain, Link, Standing};
use super::contents::Contents;
use crate::commit::Proposal;

/// Takes over the manifests that count, chain by chain.
pub(super) struct Answering<'a> {
    contents: &'a Contents<'a>,
    absence: &'a Absence,
    now: Time,
    /// Incomplete snapshots without a receipt that proves them.
    incomplete: BTreeSet<SnapshotId>,
    /// Domains of manifests that do not count because something is not there.
    refused: BTreeSet<DomainId>,
}

impl<'a> Answering<'a> {
    pub(super) fn new(contents: &'a Contents<'a>, absence: &'a Absence, now: Time) -> Self {
        Self { contents, absence, now, incomplete: BTreeSet::new(), refused: BTreeSet::new() }
    }

    /// Applies a chain and returns the decisions that still need a receipt. A manifest after the last receipt counts if
    /// everything it claims is there, as in ingest. An earlier one was decided already and counts if its root page is
    /// there. Where data may have been lost, both count regardless.
    pub(super) fn take(
        &mut self,
        chain: &Chain,
        proposal: &mut Proposal,
        report: &mut Report,
    ) -> Vec<(Decision, Time)> {
        let mut decisions = Vec::new();
        for link in &chain.links {
            match &link.standing {
                Standing::Accepted(verified, time) => self.take_snapshot((chain, link), verified, *time, proposal),
                Standing::Rejected | Standing::Damaged => {}
                // It gets no receipt: once the object or the client's record is mended, another rebuild decides.
                unproven if unproven.is_unproven() && self.absence.may_be_accepted(chain.client, link.number) => {}
                Standing::Refused(reason, why) => decisions.push((rejected(link, *reason, why), self.now)),
                Standing::Unanswered(verified) if self.counts(chain, link, verified) => {
                    self.take_snapshot((chain, link), verified, link.stored, proposal);
                    // The receipt gets this time, so that a later rebuild finds the same one.
                    decisions.push((decided(link, Outcome::Accepted), link.stored.min(self.now)));
                }
                Standing::Unanswered(verified) => {
                    self.refused.insert(verified.manifest.domain);
                    let why = "no receipt vouches for it and not everything it claims is there";
                    let name = layout::manifest(verified.manifest.client, verified.manifest.number);
                    report.manifests_left_out.push((name, why.into()));
                    decisions.push((rejected(link, Reason::Unresolved, why), self.now));
                }
            }
        }
        decisions
    }

    /// The incomplete snapshots that count although no receipt proves that they were complete, and the domains of the
    /// manifests that do not count because something is not there.
    pub(super) fn finish(self) -> (BTreeSet<SnapshotId>, BTreeSet<DomainId>) {
        (self.incomplete, self.refused)
    }

    fn counts(&mut self, chain: &Chain, link: &Link, verified: &VerifiedManifest) -> bool {
        let manifest = &verified.manifest;
        if self.contents.has_all_of(verified) {
            return true;
        }
        let has_root = manifest.snapshot.as_ref().is_none_or(|claim| self.contents.has(manifest.domain, &claim.root));
        let was_decided = link.number <= chain.answered;
        let counts = (was_decided && has_root) || self.absence.may_have_lost((chain, link.number), manifest.domain);
        if counts {
            self.incomplete.insert(verified.hash.snapshot());
        }
        counts
    }

    fn take_snapshot(
        &self,
        (chain, link): (&Chain, &Link),
        verified: &VerifiedManifest,
        accepted: Time,
        proposal: &mut Proposal,
    ) {
        let accepted = accepted.min(self.now);
        let Some(record) = snapshot_of(verified, chain.is_full, accepted, self.now) else { return };
        proposal.delta.snapshots.insert((chain.client, link.number), Some(record));
    }
}

fn decided(link: &Link, outcome: Outcome) -> Decision {
    Decision::new(link.number, link.hash, outcome)
}

fn rejected(link: &Link, reason: Reason, why: &str) -> Decision {
    Decision { reasons: vec![(reason, why.to_owned())], ..decided(link, Outcome::Rejected) }
}
