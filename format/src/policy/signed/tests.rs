use super::*;
use proptest::prelude::*;

fn spans() -> impl Strategy<Value = Option<Span>> {
    let span = any::<[u32; 4]>();
    prop::option::of(span.prop_map(|[years, months, days, hours]| Span { years, months, days, hours }))
}

fn policies() -> impl Strategy<Value = SignedPolicy> {
    let count = prop_oneof![(0..u32::MAX).prop_map(Count::N), Just(Count::All)];
    let counts = prop::array::uniform7(prop::option::of(count));
    let sets = prop::collection::vec(prop::collection::vec(any::<[u8; 16]>().prop_map(TagId), 1..4), 0..4);
    let zone = prop::sample::select(vec!["", "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3"]);
    let least =
        (any::<u32>(), any::<u32>()).prop_map(|(last, age)| Floor { last, age: Duration::from_secs(age.into()) });
    let hold = prop::option::of((1..=100u8, any::<u64>()).prop_map(|(share, least)| Hold { share, least }));
    let guard = (least, hold);
    (counts, prop::array::uniform7(spans()), sets, spans(), zone, any::<u32>(), 1..u32::MAX, guard).prop_map(
        |(counts, within, tags, floor, zone, grace, parts, (least, hold))| {
            let rules = Policy { counts, spans: within, tags, floor, zone: TimeZone::UTC };
            let plain = SignedPolicy::new(rules, zone, Duration::from_secs(grace.into()), parts).unwrap();
            plain.with_guard(least, hold).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn a_policy_reads_back(policy in policies()) {
        prop_assert_eq!(SignedPolicy::decode(&policy.encode()), Ok(policy));
    }

    #[test]
    fn mutated_bytes_give_a_policy_or_an_error(policy in policies(), at: prop::sample::Index, value: u8) {
        let mut bytes = policy.encode();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok(policy) = SignedPolicy::decode(&bytes) {
            prop_assert_eq!(policy.encode(), bytes);
        }
    }
}

#[test]
fn what_no_reader_takes_is_not_signed() {
    let new = |rules: Policy, zone: &str, parts| SignedPolicy::new(rules, zone, Duration::ZERO, parts);
    let sets = |tags| Policy { tags, ..Policy::default() };
    assert_eq!(new(Policy::default(), "Europe/Berlin", 1), Err(BadPolicy::Zone("Europe/Berlin".to_owned())));
    assert_eq!(new(Policy::default(), "", 0), Err(BadPolicy::CheckParts));
    for share in [0, 101] {
        let hold = Some(Hold { share, least: 0 });
        let plain = new(Policy::default(), "", 1).unwrap();
        assert_eq!(plain.with_guard(Floor::default(), hold), Err(BadPolicy::Share));
    }
    assert_eq!(new(sets(vec![Vec::new()]), "", 1), Err(BadPolicy::Tags));
    assert_eq!(new(sets(vec![vec![TagId([1; 16])]; POLICY_SETS + 1]), "", 1), Err(BadPolicy::Tags));
    let many = (0..4_000u16).map(|tag| TagId([tag.to_be_bytes(); 8].concat().try_into().unwrap())).collect();
    assert!(matches!(new(sets(vec![many]), "", 1), Err(BadPolicy::Length(_))));
}

/// A policy with one set of this many tags, in a zone whose name has this many letters.
fn long(tags: usize, letters: usize) -> Result<SignedPolicy, BadPolicy> {
    let tag = |tag: usize| TagId([(tag as u64).to_be_bytes(); 2].concat().try_into().unwrap());
    let rules = Policy { tags: vec![(0..tags).map(tag).collect()], ..Policy::default() };
    SignedPolicy::new(rules, &format!("<{}>0", "A".repeat(letters)), Duration::ZERO, 1)
}

#[test]
fn the_longest_policy_is_signed_and_read_and_one_byte_more_is_not() {
    let room = POLICY_BYTES - long(1000, 3).unwrap().encode().len();
    let (tags, letters) = (1000 + room / 17, 3 + room % 17);
    let longest = long(tags, letters).unwrap();
    assert_eq!(longest.encode().len(), POLICY_BYTES);
    assert_eq!(SignedPolicy::decode(&longest.encode()), Ok(longest));
    assert_eq!(long(tags, letters + 1), Err(BadPolicy::Length(POLICY_BYTES + 1)));
}

#[test]
fn the_most_sets_and_the_longest_zone_are_signed_and_read() {
    let sets = Policy { tags: vec![vec![TagId([1; 16])]; POLICY_SETS], ..Policy::default() };
    let zone = |letters| format!("<{}>-01:00:00<{}>,M3.5.0,M10.5.0", "A".repeat(18), "B".repeat(letters));
    let policy = SignedPolicy::new(sets.clone(), &zone(18), Duration::ZERO, 1).unwrap();
    assert_eq!(policy.zone().len(), ZONE_BYTES);
    assert_eq!(SignedPolicy::decode(&policy.encode()), Ok(policy));
    assert_eq!(SignedPolicy::new(sets, &zone(19), Duration::ZERO, 1), Err(BadPolicy::Zone(zone(19))));
}

#[test]
fn a_set_of_tags_without_a_tag_or_with_one_twice_is_not_read() {
    let sets = Policy { tags: vec![vec![TagId([1; 16]), TagId([2; 16])]], ..Policy::default() };
    let bytes = SignedPolicy::new(sets, "", Duration::ZERO, 1).unwrap().encode();
    let tags = [&[0x82, 0x50][..], &[1; 16], &[0x50], &[2; 16]].concat();
    let at = bytes.windows(tags.len()).position(|window| window == tags).unwrap();
    let with = |set: &[u8]| SignedPolicy::decode(&[&bytes[..at], set, &bytes[at + tags.len()..]].concat());
    assert!(with(&tags).is_ok());
    assert!(with(&[&[0x82, 0x50][..], &[1; 16], &[0x50], &[1; 16]].concat()).is_err());
    assert!(with(&[0x80]).is_err());
}

#[test]
fn a_policy_tells_its_zone_and_the_parts_of_a_check() {
    let policy = SignedPolicy::new(Policy::default(), "UTC0", Duration::ZERO, 7).unwrap();
    assert_eq!((policy.zone(), policy.check_parts()), ("UTC0", 7));
}
