use super::*;

#[test]
fn a_record_reads_back_field_by_field() {
    let mut writer = Writer::new();
    writer.map(3).key(0).uint(7).key(2).bytes(b"ab").key(300).array(2).text("x").bool(true);
    let bytes = writer.finish();
    let mut reader = Reader::new(&bytes).unwrap();
    let mut fields = reader.map().unwrap();
    assert_eq!(fields.required(0).unwrap().uint(), Ok(7));
    assert!(fields.optional(1).unwrap().is_none());
    assert_eq!(fields.required(2).unwrap().bytes(9), Ok(&b"ab"[..]));
    let list = fields.required(300).unwrap();
    list.tuple(2).unwrap();
    assert_eq!((list.text(1), list.bool()), (Ok("x"), Ok(true)));
    assert_eq!(fields.end(), Ok(()));
}

#[test]
fn every_other_form_is_refused() {
    let cases: [(&[u8], &str); 12] = [
        (&[0x18, 0x05], "longer head"),
        (&[0x19, 0x00, 0xff], "longer head"),
        (&[0x5f, 0x41, 0x61, 0xff], "indefinite string"),
        (&[0x9f, 0xff], "indefinite array"),
        (&[0xa2, 0x01, 0x00, 0x00, 0x00], "disordered keys"),
        (&[0xa2, 0x00, 0x00, 0x00, 0x00], "duplicate keys"),
        (&[0xa1, 0x61, 0x61, 0x00], "text key"),
        (&[0xc0, 0x00], "tag"),
        (&[0xf6], "null"),
        (&[0xf9, 0x00, 0x00], "float"),
        (&[0x61, 0xff], "not UTF-8"),
        (&[0x00, 0x00], "two items"),
    ];
    for (bytes, why) in cases {
        assert!(Reader::new(bytes).is_err(), "{why}");
    }
}

#[test]
fn deep_nesting_is_refused_without_overflowing_the_stack() {
    assert!(Reader::new(&[0x81; 100_000]).is_err());
}

/// What is left of a map after its key 0.
fn rest_of(bytes: &[u8]) -> Result<Ignored, DecodeError> {
    let mut reader = Reader::new(bytes)?;
    let mut fields = reader.map()?;
    fields.required(0)?.uint()?;
    fields.rest()
}

#[test]
fn a_field_this_version_must_understand_and_does_not_is_refused() {
    for key in [1, 9, IGNORABLE - 1] {
        let mut writer = Writer::new();
        writer.map(3).key(0).uint(1).key(key).uint(1).key(IGNORABLE).uint(1);
        assert!(rest_of(&writer.finish()).is_err(), "{key}");
    }
}

#[test]
fn fields_that_may_be_ignored_are_passed_over_and_written_again_as_they_were() {
    let mut writer = Writer::new();
    writer.map(3).key(0).uint(1).key(IGNORABLE).map(1).key(5).text("later").key(1 << 40).bytes(b"more");
    let bytes = writer.finish();
    let ignored = rest_of(&bytes).unwrap();
    assert_eq!(ignored.count(), 2);
    let mut again = Writer::new();
    again.map(1 + ignored.count()).key(0).uint(1).ignored(&ignored);
    assert_eq!(again.finish(), bytes);
    // What is passed over has the deterministic form all the same.
    let longer = [&[0xa2, 0x00, 0x01, 0x18, 0x40][..], &[0x18, 0x01]].concat();
    assert!(rest_of(&longer).is_err());
    let disordered = [0xa3, 0x00, 0x01, 0x18, 0x41, 0x00, 0x18, 0x40, 0x00];
    assert!(rest_of(&disordered).is_err());
}

#[test]
fn what_may_be_ignored_is_bounded() {
    let of = |length: usize| {
        let mut writer = Writer::new();
        writer.map(2).key(0).uint(1).key(IGNORABLE).bytes(&vec![0; length]);
        writer.finish()
    };
    assert!(rest_of(&of(IGNORED_BYTES - 5)).is_ok());
    assert!(rest_of(&of(IGNORED_BYTES)).is_err());
}

#[test]
fn a_number_beyond_the_range_is_refused_where_it_is_no_size() {
    for (value, is_number) in [(NUMBER, true), (NUMBER + 1, false), (u64::MAX, false)] {
        let mut writer = Writer::new();
        writer.uint(value);
        let bytes = writer.finish();
        assert_eq!(Reader::new(&bytes).unwrap().uint().is_ok(), is_number, "{value}");
        assert_eq!(Reader::new(&bytes).unwrap().wide(), Ok(value));
    }
}
