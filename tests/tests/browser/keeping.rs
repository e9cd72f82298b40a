//! Keeping: what a browser tells of the policy, before and after the owner signs another one.

use core::time::Duration;

use copal_engine::retention::Protection;
use copal_format::change::{Change, Operation, OwnerSignature};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::layout;
use copal_format::policy::{Count, Floor, Hold, Period, Policy, SignedPolicy, Span};
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_tests::kit::{Client, DAY, World, guarded, keep_last, tree};
use copal_wasm::fault::Code;
use copal_wasm::keeping::{Foresight, Rules};
use futures::executor::block_on;

use super::marking::write;
use super::seat::Browser;

/// A browser, and three snapshots of another client, a day apart: so many bytes each.
fn three(lengths: [usize; 3]) -> (Browser, Client, [SnapshotId; 3]) {
    let browser = Browser::new();
    let client = browser.world.register(1, Role::Full);
    let snapshots = browser.world.back_up_daily(&client, lengths);
    browser.world.wait(DAY);
    (browser, client, snapshots)
}

fn now(world: &World) -> Time {
    Time(block_on(world.job().store.now()).unwrap().0)
}

fn last(number: u32, floor: Floor) -> Rules {
    let counts = Policy::default().keeping(Period::Last, Count::N(number)).counts;
    Rules { counts, floor, ..Rules::default() }
}

/// Those that go at once, in order of time.
fn goes(foresight: &Foresight) -> Vec<SnapshotId> {
    let mut gone: Vec<_> = foresight.weighed.iter().filter(|of| of.expires()).collect();
    gone.sort_by_key(|of| of.time);
    gone.into_iter().map(|of| of.verdict.id).collect()
}

/// Has the browser sign the rules as it has foreseen them.
fn set(browser: &Browser, rules: &Rules) -> Foresight {
    let keeping = browser.keeping();
    let policy = keeping.with(rules).unwrap();
    let foresight = keeping.foresee(&policy, now(&browser.world)).unwrap();
    let decided = browser.library().decide(&browser.client, None, (Some(policy.encode()), &[]), Vec::new());
    write(browser, decided.unwrap(), |_| {});
    foresight
}

#[test]
fn what_a_browser_foresees_of_new_rules_is_what_then_expires() {
    let (browser, _, [first, second, third]) = three([FULL; 3]);
    assert!(browser.keeping().policy().unwrap().is_none());
    let foresight = set(&browser, &last(1, Floor::default()));
    assert_eq!(goes(&foresight), [first, second]);
    assert_eq!((foresight.later.len(), foresight.held.len(), foresight.lingers), (0, 0, None));
    let keeping = browser.keeping();
    let policy = keeping.policy().unwrap().unwrap();
    assert_eq!((policy.hold(), policy.grace(), keeping.change()), (Some(Hold::USUAL), DAY, Some(1)));
    assert_eq!(browser.world.expire().expired, [first, second]);
    assert_eq!(browser.world.snapshot(third).state, SnapshotState::Kept);
}

#[test]
fn what_the_page_does_not_set_stays_as_the_policy_has_it() {
    let (browser, client, _) = three([FULL; 3]);
    let rules = Policy { tags: vec![vec![copal_format::id::TagId([7; 16])]], ..Policy::default() };
    let rules =
        rules.keeping(Period::Quarterly, Count::N(3)).keeping_within(Period::Weekly, Span::parse("6m").unwrap());
    let rules = Policy { floor: Some(Span::parse("9d").unwrap()), ..rules };
    let before = SignedPolicy::new(rules, "CET-1CEST,M3.5.0,M10.5.0/3", 3 * DAY, 7).unwrap();
    let before = before.with_guard(Floor::default(), Some(Hold { share: 20, least: 5 })).unwrap();
    let policy = before.encode();
    browser.world.change(&client, vec![Operation::OwnerPolicy { policy, signature: OwnerSignature::NONE }]);
    let floor = Floor { last: 2, age: DAY };
    let rules = Rules { within: Some(Span::parse("2d").unwrap()), ..last(5, floor) };
    let after = browser.keeping().with(&rules).unwrap();
    let expected = before.rules().clone();
    let expected = Policy { counts: rules.counts, ..expected }.keeping_within(Period::Last, rules.within.unwrap());
    let expected = SignedPolicy::new(expected, before.zone(), 3 * DAY, 7).unwrap();
    assert_eq!(after, expected.with_guard(floor, before.hold()).unwrap());
    let same = Rules { counts: before.rules().counts, floor: before.floor(), ..Rules::default() };
    assert_eq!(browser.keeping().with(&same).unwrap(), before);
}

#[test]
fn what_the_page_sets_of_tags_holds_grace_and_zone_is_in_the_policy() {
    let (browser, client, _) = three([FULL; 3]);
    let ids = browser.library().tag_ids(&["taxes".to_owned()]);
    let own = DomainKeys::new(&browser.owner.secret().domain_key(client.domain)).tag_id("taxes");
    assert_eq!(ids, [[own]]);
    let rules = Rules {
        tags: Some(vec![ids[0].clone()]),
        hold: Some(Some(Hold { share: 30, least: 7 })),
        grace: Some(3 * DAY),
        zone: Some("CET-1CEST,M3.5.0,M10.5.0/3".to_owned()),
        ..last(1, Floor::default())
    };
    let policy = browser.keeping().with(&rules).unwrap().encode();
    let names = ["taxes".to_owned()];
    let decided = browser.library().decide(&browser.client, None, (Some(policy), &names), Vec::new());
    write(&browser, decided.unwrap(), |_| {});
    // The policy has only ids. No snapshot has the tag, and its name is known all the same.
    let mut library = browser.library();
    assert_eq!(library.tag_names().count(), 0);
    let change = layout::change(1);
    assert!(library.supply_change(&change, &browser.world.read(&change)));
    assert_eq!(library.tag_names().next(), Some(&"taxes".to_owned()));
    let keeping = browser.keeping();
    let policy = keeping.policy().unwrap().unwrap();
    assert_eq!(policy.rules().tags, [[own]]);
    assert_eq!((policy.hold(), policy.grace()), (rules.hold.unwrap(), 3 * DAY));
    assert_eq!(policy.zone(), "CET-1CEST,M3.5.0,M10.5.0/3");
    let off = keeping.with(&Rules { hold: Some(None), tags: Some(Vec::new()), ..rules }).unwrap();
    assert_eq!((off.hold(), off.rules().tags.len()), (None, 0));
}

#[test]
fn a_tag_counts_in_the_shared_domain_and_for_the_snapshots_of_a_client_whose_record_is_damaged() {
    let browser = Browser::new();
    let device = browser.world.register(2, Role::WriteOnly);
    browser.world.back_up(&device, &tree([("a", &b"content"[..])]));
    browser.world.flip(&layout::client(device.id, 1));
    let shared = browser.descriptor.shared_domain;
    let id = |domain| DomainKeys::new(&browser.owner.secret().domain_key(domain)).tag_id("taxes");
    let ids = browser.library().tag_ids(&["taxes".to_owned()]);
    assert_eq!(ids, [[id(device.domain)], [id(shared)]], "in the order of the domains");
}

#[test]
fn a_floor_that_is_lowered_is_foreseen_to_linger_and_what_it_keeps_goes_later() {
    let (browser, client, [first, second, _]) = three([FULL; 3]);
    browser.world.change(&client, vec![guarded(1, Floor { last: 0, age: 10 * DAY }, None)]);
    let foresight = set(&browser, &last(1, Floor::default()));
    assert_eq!((goes(&foresight), foresight.later), (Vec::new(), [first, second].into()));
    let young = foresight.weighed.iter().all(|of| matches!(of.protection, Some(Protection::Young { .. })));
    assert!(young, "{:?}", foresight.weighed);
    let until = foresight.lingers.unwrap().until;
    assert_eq!(browser.keeping().lingers(now(&browser.world)).map(|of| of.floor.age), Some(10 * DAY));
    assert_eq!(browser.world.expire().expired, []);
    browser.world.wait(until.since(now(&browser.world)) + DAY);
    assert_eq!(browser.keeping().lingers(now(&browser.world)), None);
    assert_eq!(browser.world.expire().expired, [first, second]);
}

#[test]
fn a_hold_is_told_with_what_its_release_lets_go_and_is_released() {
    let (browser, client, [first, second, suspicious]) = three([FULL, FULL, 40]);
    browser.world.change(&client, vec![guarded(1, Floor::default(), Some(Hold { share: 50, least: 1_000 }))]);
    browser.world.change(&client, vec![Operation::Forget(vec![first])]);
    let keeping = browser.keeping();
    let time = now(&browser.world);
    assert_eq!(keeping.held(time).unwrap().iter().map(|held| held.snapshot).collect::<Vec<_>>(), [suspicious]);
    assert_eq!(browser.world.expire().expired, []);
    let foresight = keeping.foresee_release(&[suspicious], time).unwrap();
    assert_eq!((goes(&foresight), foresight.freed, foresight.held), (vec![second], vec![first], vec![]));
    let none = keeping.foresee_release(&[], time).unwrap();
    assert_eq!((goes(&none), none.freed.len(), none.held.len()), (Vec::new(), 0, 1));
    let release = browser.library().decide(&browser.client, None, (None, &[]), vec![suspicious]).unwrap();
    write(&browser, release, |_| {});
    assert!(browser.keeping().held(now(&browser.world)).unwrap().is_empty());
    assert_eq!(browser.world.expire().expired, [second]);
}

#[test]
fn new_rules_are_foreseen_with_the_holds_that_count_under_them() {
    let (browser, client, [_, _, suspicious]) = three([FULL, FULL, 40]);
    browser.world.change(&client, vec![guarded(9, Floor::default(), Some(Hold { share: 50, least: 1_000 }))]);
    let foresight = set(&browser, &last(1, Floor::default()));
    assert_eq!(goes(&foresight), []);
    assert_eq!(foresight.held.iter().map(|held| held.snapshot).collect::<Vec<_>>(), [suspicious]);
    assert!(foresight.weighed.iter().all(|of| of.protection == Some(Protection::Held)));
    assert_eq!(browser.world.expire().expired, []);
}

#[test]
fn what_the_floor_keeps_of_what_would_be_forgotten_is_told() {
    let (browser, client, [first, second, third]) = three([FULL; 3]);
    let none = browser.keeping().guard(&[first], Time(0)).unwrap();
    assert_eq!((none.grace, none.stays), (None, Vec::new()));
    browser.world.change(&client, vec![guarded(9, Floor { last: 1, age: Duration::ZERO }, None)]);
    let keeping = browser.keeping();
    let guard = keeping.guard(&[first, third], Time(0)).unwrap();
    assert_eq!((guard.grace, guard.stays), (Some(DAY), vec![(third, Protection::Last)]));
    assert!(keeping.guard(&[first, second], Time(0)).unwrap().stays.is_empty());
    let mut unread = browser.unread_keeping();
    assert!(unread.guard(&[first], Time(0)).is_err(), "the change with the policy was not read");
    assert!(unread.supply_policy(None).is_err(), "the change with the policy is gone");
}

#[test]
fn a_policy_that_the_owner_has_not_signed_keeps_nothing_and_no_other_is_made_from_it() {
    let (browser, client, [first, ..]) = three([FULL; 3]);
    let Operation::OwnerPolicy { policy, .. } = keep_last(9) else { panic!() };
    let operations = vec![Operation::OwnerPolicy { policy, signature: OwnerSignature([7; 64]) }];
    let change = Change { number: 1, previous: ObjectHash::NONE, client: client.id, time: Time(0), operations };
    let bytes = change.sign(browser.client.repository(), &client.keys.manifest_key());
    // The server makes a root that names it.
    let (root, hash) = browser.world.view().root.unwrap();
    let mut forged = root.clone();
    (forged.number, forged.base) = (root.number + 1, Some((root.number, hash)));
    forged.policy = Some((1, ObjectHash::of(&bytes)));
    forged.change_head = forged.policy;
    browser.world.put(&layout::root(forged.number), forged.encode().unwrap());
    let mut keeping = browser.unread_keeping();
    assert_eq!(keeping.policy_name(), Some(layout::change(1)));
    let fault = keeping.supply_policy(Some(&bytes)).unwrap_err();
    assert_eq!((fault.code, fault.message.contains("not signed by the owner")), (Code::Damaged, true), "{fault}");
    assert!(keeping.guard(&[first], Time(0)).is_err());
    assert!(keeping.with(&Rules::default()).is_err());
}

const FULL: usize = 40_000;
