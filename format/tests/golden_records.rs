//! The bytes of records, fixed for ever (`docs/format.md` §5 and §6).

use crate::samples::*;
use copal_format::id::ObjectHash;

fn hash(bytes: &[u8]) -> String {
    ObjectHash::of(bytes).to_string()
}

#[test]
fn records_are_as_they_always_were() {
    let records = [
        ("descriptor", descriptor().sign(&owner()), "345c280c88437d55c6579bbe2d0250f95160b642b7ebfef87ce5a0beb8bb4ac4"),
        (
            "client, enrolled",
            enrolled().sign(REPOSITORY, &owner()),
            "cdbd5d53b2c0c2ccf035dad5374f5ae4aca0172321483f273b83093bb8b2fedb",
        ),
        (
            "client, joined",
            joined().sign(REPOSITORY, &enrollment()),
            "f9817b4c8b3a8e8ec4c0528eee39194c7685ff8cebdd7921099f87d5034e94c4",
        ),
        (
            "client, revoked",
            revoked().sign(REPOSITORY, &owner()),
            "9c9c5f9268f9fa2205b7cf7443990f3c2fa752175cfee0511bcf8c9e6b67e3de",
        ),
        (
            "manifest",
            manifest().sign(REPOSITORY, &device()),
            "20780e04126fbb919d6ae0378bf8afc30f7a5618b6aefc3b45295596e0e95274",
        ),
        (
            "change",
            change().sign(REPOSITORY, &device()),
            "042ac6a177b3cfe7db77abba9649150c2e594cb6ba33280342264eb3d48094e7",
        ),
        (
            "manifest that tells its extent",
            manifest_with_extent().sign(REPOSITORY, &device()),
            "925d6d00c6a9222d88ecff3f7c98a9bedd3124cb509fd69a8d19293510a91ac6",
        ),
        (
            "manifest with proven packs",
            proven_manifest().sign(REPOSITORY, &device()),
            "fa50770214248e7c1e4f688f10d1bf1307a3c68e856d4cec732b49d47d15c72d",
        ),
        (
            "change that proves packs",
            proving_change().sign(REPOSITORY, &device()),
            "3e7ec4e5e76aef14d3aeb0fac59db22f927cb606d94f61a7cf3ee886c3b604c0",
        ),
        (
            "change that the owner signs too",
            owners_change().sign(REPOSITORY, &device()),
            "62c7902c6a75513156a7fdfb33180dafc9c4c9db246b22484b2f90fdb606a3c0",
        ),
        ("receipt", receipt().encode(), "f50caeceaf2b5bc3c7f646ccf958551505d441c2c6f62b375a4bc1a1b7383383"),
    ];
    for (record, bytes, expected) in records {
        assert_eq!(hash(&bytes), expected, "{record}");
    }
}

#[test]
fn expiry_is_as_it_always_was() {
    assert_eq!(
        hex(&expiry().encode()),
        "636f70616c726563120158000000a6000201582023232323232323232323232323232323232323232323232323232323\
         232323230201031b17979cfe3d85cd150482501f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f50202020202020202020202020\
         202020200504758caf2ad8c93ce90e0ca0505f727d558d897a5a32265286dc0f7acfa9b4b2bb"
    );
}

#[test]
fn policy_is_as_it_always_was() {
    assert_eq!(
        hex(&policy().encode()),
        "a700a3000302181e061affffffff01a200840000020c048401060000028282501d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d\
         501e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e81501c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c03840000070004781a4345542d\
         31434553542c4d332e352e302c4d31302e352e302f33051a0001518006181e"
    );
}

#[test]
fn policy_with_a_guard_is_as_it_always_was() {
    assert_eq!(
        hex(&guarded_policy().encode()),
        "a900a3000302181e061affffffff01a200840000020c048401060000028282501d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d\
         501e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e81501c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c03840000070004781a4345542d\
         31434553542c4d332e352e302c4d31302e352e302f33051a0001518006181e0782031a00127500088218321a04000000"
    );
}

#[test]
fn snapshot_description_is_as_it_always_was() {
    assert_eq!(
        hex(&info().encode()),
        "aa00656865726f6e0182442f657463472f686f6d652fff02676e696768746c790382676f6666736974656c77c3b66368\
         656e746c696368042005841a0001331319138818461a4d7c6d00068401021a0001331000070f086b636f70616c20302e\
         312e3009646d697261"
    );
}

#[test]
fn snapshot_description_with_exclusions_is_as_it_always_was() {
    assert_eq!(
        hex(&info_with_exclusions().encode()),
        "ab00656865726f6e0182442f657463472f686f6d652fff02676e696768746c790382676f6666736974656c77c3b66368\
         656e746c696368042005841a0001331319138818461a4d7c6d00068401021a0001331000070f086b636f70616c20302e\
         312e3009646d6972611840a5008282f4632a2e6f82f567214b6565702e4f0182492e6e6f6261636b75704c4341434845\
         4449522e544147021a8000000003f504f4"
    );
}

#[test]
fn snapshot_description_with_troubles_is_as_it_always_was() {
    assert_eq!(
        hex(&info_with_troubles().encode()),
        "ac00656865726f6e0182442f657463472f686f6d652fff02676e696768746c790382676f6666736974656c77c3b66368\
         656e746c696368042005841a0001331319138818461a4d7c6d00068401021a0001331001070f086b636f70616c20302e\
         312e3009646d6972611840a5008282f4632a2e6f82f567214b6565702e4f0182492e6e6f6261636b75704c4341434845\
         4449522e544147021a8000000003f504f41841a3000101814a6574632f736861646f7702814f686f6d652fff2f6d6169\
         6c2e6c6f67"
    );
}

#[test]
fn snapshot_description_with_an_origin_is_as_it_always_was() {
    assert_eq!(
        hex(&info_with_an_origin().encode()),
        "ad00656865726f6e0182442f657463472f686f6d652fff02676e696768746c790382676f6666736974656c77c3b66368\
         656e746c696368042005841a0001331319138818461a4d7c6d00068401021a0001331001070f086b636f70616c20302e\
         312e3009646d6972611840a5008282f4632a2e6f82f567214b6565702e4f0182492e6e6f6261636b75704c4341434845\
         4449522e544147021a8000000003f504f41841a3000101814a6574632f736861646f7702814f686f6d652fff2f6d6169\
         6c2e6c6f671842a300502121212121212121212121212121212101502222222222222222222222222222222202502323\
         2323232323232323232323232323"
    );
}
