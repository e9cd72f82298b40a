//! ACLs: what they give a restored file, and what they must not give it.

use super::*;

#[test]
fn without_its_acl_a_file_gives_its_group_no_more_than_the_acl_did() {
    let acl = |of_group: u8| {
        let entry = |tag: u8, rights: u8, id: u32| [&[tag, 0, rights, 0][..], &id.to_le_bytes()].concat();
        let (user, any) = (entry(2, 6, 4711), u32::MAX);
        let rest = [entry(4, of_group, any), entry(16, 6, any), entry(32, 0, any)].concat();
        [vec![2, 0, 0, 0], entry(1, 6, any), user, rest].concat()
    };
    for (of_group, mode) in [(0, 0o100600), (4, 0o100640), (6, 0o100660)] {
        let place = Playground::new();
        let target = place.target(TargetOptions { no_xattrs: true, ..TargetOptions::default() });
        let xattrs = [(b"system.posix_acl_access".to_vec(), acl(of_group))];
        let wanted = Metadata { xattrs: &xattrs, ..metadata(0o100660) };
        let file = target.create_file(&path("file"), wanted.safe_mode()).unwrap();
        target.set_file_metadata(&file, &wanted);
        assert_eq!(place.stat("file").mode, mode);
        let target = place.target(TargetOptions::default());
        target.set_metadata(&path("file"), &wanted).unwrap();
        assert_eq!(Extras::read(&place.at("file")).xattrs, xattrs, "{NEEDS_ACLS}");
        assert_eq!(place.stat("file").mode, 0o100660);
    }
}

#[test]
fn an_acl_that_new_entries_inherit_does_not_reach_what_is_restored() {
    let place = Playground::new();
    fs::create_dir(place.at("directory")).unwrap();
    let entry = |tag: u16, permissions: u16, id: u32| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let nobody = u32::MAX;
    let entries =
        [entry(1, 7, nobody), entry(2, 7, 1000), entry(4, 5, nobody), entry(16, 7, nobody), entry(32, 5, nobody)];
    let acl = [2u32.to_le_bytes().to_vec(), entries.concat()].concat();
    lsetxattr(place.at("directory"), "system.posix_acl_default", &acl, XattrFlags::empty()).expect(NEEDS_ACLS);
    let target = place.target(TargetOptions::default());
    write(&target, "directory/file", b"1");
    target.ensure_directory(&path("directory/below")).unwrap();
    write(&target, "directory/below/file", b"1");
    target.set_metadata(&path("directory/below"), &metadata(0o040755)).unwrap();
    for name in ["directory/file", "directory/below", "directory/below/file"] {
        assert_eq!(Extras::read(&place.at(name)).xattrs, [], "{name}");
    }
    assert_eq!(place.stat("directory/file").mode, 0o100644);
}
