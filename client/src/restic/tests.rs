//! Repositories that somebody with the key has made to do harm.

use copal_format::limits::SNAPSHOT_TAGS;
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_store::memory::MemoryStore;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::snapshot::PATHS_MAX;
use super::*;

/// Collects blobs, and makes a repository of them.
#[derive(Default)]
struct Evil {
    pack: Vec<u8>,
    blobs: Vec<Value>,
}

impl Evil {
    fn blob(&mut self, text: &[u8]) -> String {
        let sealed = MasterKey::zero().seal(text);
        let id = BlobId(Sha256::digest(text).into()).to_string();
        self.blobs.push(json!({"id": id, "offset": self.pack.len(), "length": sealed.len()}));
        self.pack.extend(sealed);
        id
    }

    fn tree(&mut self, nodes: Value) -> String {
        self.blob(json!({"nodes": nodes}).to_string().as_bytes())
    }

    fn restic(self) -> Restic {
        let store = Arc::new(MemoryStore::new());
        let pack = "ab".repeat(32);
        wait(store.create(&name(&format!("data/ab/{pack}")), self.pack.into())).unwrap();
        let mut index = Index::default();
        assert!(index.add(json!({"packs": [{"id": pack, "blobs": self.blobs}]}).to_string().as_bytes()));
        index.finish();
        let (key, id) = (MasterKey::zero(), BlobId([1; 32]));
        Restic { store, key, id, index, recent: Mutex::default(), problems: Vec::new() }
    }
}

/// The paths of all entries of a tree, and what is wrong with the others.
fn walked(restic: &Restic, root: &str) -> (Vec<String>, Vec<String>) {
    walk_to_end(&mut *restic.entries(BlobId::from_hex(root).unwrap().chunk()))
}

fn walk_to_end(walk: &mut dyn Entries) -> (Vec<String>, Vec<String>) {
    let (mut paths, mut troubles) = (Vec::new(), Vec::new());
    loop {
        let next = walk.next().unwrap();
        troubles.extend(walk.troubles().into_iter().map(|(path, why)| format!("{path}: {why}")));
        let Some(entry) = next else { return (paths, troubles) };
        paths.push(entry.path.to_string());
    }
}

fn node(name: &str, kind: &str) -> Value {
    json!({"name": name, "type": kind, "mtime": "2020-01-01T00:00:00Z", "linktarget": "x"})
}

#[test]
fn no_name_leads_out_of_its_directory_and_none_comes_twice() {
    let mut evil = Evil::default();
    let names = ["", ".", "..", "a", "a", "/b", "\\x00", "../c", "b", "aa", "c\\q", "d"];
    let nodes: Vec<_> = names.iter().map(|name| node(name, "fifo")).collect();
    let root = evil.tree(json!(nodes));
    let (paths, troubles) = walked(&evil.restic(), &root);
    assert_eq!((paths, troubles.len()), (vec!["a".into(), "b".into(), "d".into()], 9));
}

#[test]
fn what_is_wrong_with_one_entry_costs_only_that_entry() {
    let mut evil = Evil::default();
    let gone = "77".repeat(32);
    let not_json = evil.blob(b"{");
    let with = |name: &str, kind: &str, field: &str, value: Value| {
        let mut node = node(name, kind);
        node[field] = value;
        node
    };
    let root = evil.tree(json!([
        with("a", "dir", "subtree", json!(gone)),
        with("b", "dir", "subtree", json!(not_json)),
        node("c", "dir"),
        with("d", "fifo", "mtime", json!("never")),
        with("e", "fifo", "uid", json!(-1)),
        node("f", "irregular"),
        with("g", "file", "content", json!([gone])),
        with("h", "file", "content", json!(["zz"])),
        with("i", "fifo", "extended_attributes", json!([{"name": "user.x", "value": "?"}])),
        42,
        node("k", "socket"),
        node("l", "symlink"),
        with("m", "symlink", "linktarget", json!("x\0y")),
        with("n", "symlink", "linktarget", json!("")),
        with("o", "fifo", "extended_attributes", json!([{"name": "user.\0", "value": ""}])),
    ]));
    let restic = evil.restic();
    let (paths, troubles) = walked(&restic, &root);
    assert_eq!(paths, ["a", "b", "c", "g", "l"]);
    assert_eq!(troubles.len(), 12, "{troubles:#?}");
    let absent = restic.chunk(&BlobId::from_hex(&gone).unwrap().chunk(), &mut |_| {});
    assert!(matches!(absent, Err(ReadError::Absent { .. })));
}

#[test]
fn of_very_many_lost_entries_the_first_are_named_in_few_words_and_the_others_counted() {
    let mut evil = Evil::default();
    let mut long = node("a", "fifo");
    long["uid"] = json!("x".repeat(100_000));
    let bad = |name: &str| vec![node(name, "irregular"); 600];
    let mut below = node("b", "dir");
    below["subtree"] = json!(evil.tree(json!(bad("c"))));
    let nodes: Vec<Value> = [long, below].into_iter().chain(bad("d")).collect();
    let root = evil.tree(json!(nodes));
    let restic = evil.restic();
    let (paths, troubles) = walked(&restic, &root);
    assert_eq!((paths, troubles.len() as u64), (vec!["b".into()], walk::NAMED + 1));
    assert!(troubles.last().unwrap().contains("201 more entries"), "{:?}", troubles.last());
    assert!(troubles.iter().all(|trouble| trouble.len() < 1_000));
    // A walk whose troubles nobody takes holds no more of them.
    let mut walk = Walk::new(&restic, BlobId::from_hex(&root).unwrap().chunk(), ENTRIES_MAX);
    while walk.next().unwrap().is_some() {}
    assert!(walk.next().unwrap().is_none());
    assert_eq!(walk.troubles().len() as u64, walk::NAMED + 1);
}

#[test]
fn lengths_that_the_index_makes_up_take_no_memory_and_other_content_is_not_believed() {
    let mut evil = Evil::default();
    let [large, long, short, other] = [&b"large"[..], b"long", b"short", b"other"].map(|text| evil.blob(text));
    evil.blobs[0]["uncompressed_length"] = json!(u32::MAX);
    evil.blobs[1]["length"] = json!(u32::MAX);
    evil.blobs[2]["length"] = json!(3);
    evil.blobs[3]["offset"] = json!(0);
    let restic = evil.restic();
    for id in [large, long, short, other] {
        let read = restic.chunk(&BlobId::from_hex(&id).unwrap().chunk(), &mut |_| panic!("it is not read"));
        assert!(matches!(read, Err(ReadError::Damaged { .. })), "{read:?}");
    }
    // A frame of Zstandard that says nothing of its length, with many zeros.
    let bomb = zstd::stream::encode_all(std::io::repeat(0).take(64 << 20), 1).unwrap();
    assert_eq!(decompressed(&bomb, 1 << 20), None);
}

#[test]
fn what_restic_has_not_named_is_passed_over_and_what_is_no_file_costs_only_itself() {
    let mut restic = Evil::default().restic();
    let text = json!({"time": "2020-01-01T00:00:00Z", "tree": "0".repeat(64), "paths": ["/a"]}).to_string();
    let sealed = MasterKey::zero().seal(text.as_bytes());
    let object = format!("snapshots/{}", BlobId(Sha256::digest(&sealed).into()));
    let zeros = "0".repeat(64);
    for folder in ["keys", "index", "snapshots"] {
        for named in [zeros.clone(), format!("{zeros}-tmp-123456"), ".DS_Store".into()] {
            wait(restic.store.create(&name(&format!("{folder}/{named}")), "x".into())).unwrap();
        }
        let found: Vec<_> = files(restic.store.as_ref(), &format!("{folder}/")).unwrap();
        assert_eq!(found.iter().map(|file| file.key.as_str()).collect::<Vec<_>>(), [format!("{folder}/{zeros}")]);
    }
    wait(restic.store.create(&name(&object), sealed.into())).unwrap();
    restic.store = Arc::new(Fault::new(restic.store.clone(), move |call| match call.key.ends_with(&zeros) {
        true => Fate::FailBefore(StoreError::Obstructed { key: call.key.into() }),
        false => Fate::Proceed,
    }));
    assert_eq!((restic.snapshots().unwrap().len(), restic.problems.len()), (1, 1));
    assert!(restic.problems[0].1.contains("something else is in its place"), "{:?}", restic.problems);
}

#[test]
fn an_error_of_one_object_costs_that_object_and_one_of_the_store_is_no_damage() {
    let mut evil = Evil::default();
    let (tree, blob) = (evil.tree(json!([])), evil.blob(b"content"));
    let mut restic = evil.restic();
    let snapshot = json!({"time": "2020-01-01T00:00:00Z", "tree": tree, "paths": ["/a"]}).to_string();
    for text in [snapshot.clone(), snapshot + " "] {
        let sealed = MasterKey::zero().seal(text.as_bytes());
        let object = format!("snapshots/{}", BlobId(Sha256::digest(&sealed).into()));
        wait(restic.store.create(&name(&object), sealed.into())).unwrap();
    }
    let broken = wait(list_all(restic.store.as_ref(), "snapshots/")).unwrap().remove(1).key.to_string();
    let fails = move |key: &str| key == broken || key.starts_with("data/");
    let cause = || std::io::Error::other("Input/output error").into();
    let whole = restic.store.clone();
    restic.store = Arc::new(Fault::new(whole.clone(), move |call| match fails(call.key) {
        true => Fate::FailBefore(StoreError::Io { op: call.op, key: call.key.into(), source: cause() }),
        false => Fate::Proceed,
    }));
    assert_eq!((restic.snapshots().unwrap().len(), restic.problems.len()), (1, 1));
    let (paths, troubles) = walked(&restic, &tree);
    assert!(paths.is_empty() && troubles[0].contains("Input/output error"), "{troubles:?}");
    let id = BlobId::from_hex(&blob).unwrap().chunk();
    assert!(matches!(restic.chunk(&id, &mut |_| {}), Err(ReadError::Damaged { .. })));
    for is_away in [true, false] {
        restic.store = Arc::new(Fault::new(whole.clone(), move |call| {
            let (op, key, source) = (Op::Read, call.key.into(), cause());
            Fate::FailBefore(match is_away {
                true => StoreError::Transient { op, key, source },
                // A disk that is gone: nothing of it can be read.
                false => StoreError::Io { op, key, source },
            })
        }));
        assert!(matches!(restic.snapshots(), Err(ResticError::Store(_))), "{is_away}");
        assert!(matches!(restic.chunk(&id, &mut |_| {}), Err(ReadError::Store(_))), "{is_away}");
    }
}

#[test]
fn paths_that_no_snapshot_can_hold_become_the_directory_above_them() {
    let mut evil = Evil::default();
    let (root, restic) = (evil.tree(json!([])), evil.restic());
    let object = format!("snapshots/{}", "0".repeat(64));
    let snapshot = |host: &str, paths: &[String]| {
        let text = json!({"time": "2020-01-01T00:00:00Z", "tree": root, "hostname": host, "paths": paths}).to_string();
        restic.snapshot(&object, text.as_bytes()).map(|made| (made.paths, made.paths_cut))
    };
    let many: Vec<String> = (0..70_000).map(|at| format!("/home/ada/{at}")).collect();
    assert_eq!(snapshot("h", &many), Ok((vec![b"home/ada".to_vec()], Some(70_000))));
    let long: Vec<String> = (0..20).map(|at| format!("/{at}/{}", "n".repeat(60_000))).collect();
    assert_eq!(snapshot("h", &long), Ok((vec![b"".to_vec()], Some(20))));
    assert_eq!(snapshot("h", &long[..2]).unwrap().1, None);
    assert!(snapshot(&"h".repeat(5_000), &[]).unwrap_err().contains("host"));
    assert!(snapshot("h", &[format!("/{}", "n".repeat(70_000))]).unwrap_err().contains("path"));
}

#[test]
fn a_tree_of_very_short_nodes_is_refused_before_they_take_memory() {
    let text = ["{\"nodes\":[0", &",0".repeat(12 << 20), "]}"].concat();
    let length = text.len();
    let refused = Tree::of(text.into()).err().unwrap();
    assert!((1..length).contains(&refused.column()), "{refused}");
}

#[test]
fn lists_of_very_short_elements_are_refused_before_they_take_memory() {
    let restic = Evil::default().restic();
    let object = format!("snapshots/{}", "0".repeat(64));
    for (list, length, most) in [("paths", 2 << 20, PATHS_MAX), ("tags", 2_000, SNAPSHOT_TAGS)] {
        let root = "0".repeat(64);
        let elements = vec![r#""""#; length].join(",");
        let text = format!(r#"{{"time":"2020-01-01T00:00:00Z","tree":"{root}","{list}":[{elements}]}}"#);
        let refused = restic.snapshot(&object, text.as_bytes()).unwrap_err();
        assert!(refused.contains(&format!("more than {most} elements")), "{refused}");
    }
    let attributes = vec![r#"{"name":""}"#; 1 << 17].join(",");
    let text = format!(r#"{{"name":"a","type":"file","extended_attributes":[{attributes}]}}"#);
    let refused = serde_json::from_str::<node::Node<'_>>(&text).err().unwrap();
    assert!((1..text.len()).contains(&refused.column()), "{refused}");
}

#[test]
fn a_small_snapshot_file_that_unpacks_to_a_long_one_is_not_read() {
    let mut restic = Evil::default().restic();
    let text = json!({"time": "2020-01-01T00:00:00Z", "tree": "0".repeat(64), "paths": ["/a"]}).to_string();
    for spaces in [0, SNAPSHOT_MAX as usize] {
        let text = text.clone() + &" ".repeat(spaces);
        let packed = zstd::stream::encode_all(text.as_bytes(), 1).unwrap();
        let sealed = MasterKey::zero().seal(&[&[2], packed.as_slice()].concat());
        let object = format!("snapshots/{}", BlobId(Sha256::digest(&sealed).into()));
        wait(restic.store.create(&name(&object), sealed.into())).unwrap();
    }
    assert_eq!((restic.snapshots().unwrap().len(), restic.problems.len()), (1, 1));
    assert!(restic.problems[0].1.contains("longer than it may be"), "{:?}", restic.problems);
}

#[test]
fn snapshot_files_after_those_that_take_all_memory_are_named_and_not_read() {
    let mut restic = Evil::default().restic();
    let paths: Vec<String> = (0..100).map(|at| format!("/home/{at}")).collect();
    for host in ["a", "b", "c"] {
        let (time, tree) = ("2020-01-01T00:00:00Z", "0".repeat(64));
        let text = json!({"time": time, "tree": tree, "hostname": host, "paths": paths}).to_string();
        let sealed = MasterKey::zero().seal(text.as_bytes());
        let object = format!("snapshots/{}", BlobId(Sha256::digest(&sealed).into()));
        wait(restic.store.create(&name(&object), sealed.into())).unwrap();
    }
    assert_eq!((restic.snapshots().unwrap().len(), restic.problems.len()), (3, 0));
    assert_eq!(restic.snapshots_within(6_000).unwrap().len(), 2);
    assert!(restic.problems[0].1.contains("take 6000 bytes of memory"), "{:?}", restic.problems);
    assert_eq!(restic.problems.len(), 1);
}

#[test]
fn directories_that_share_what_is_below_them_end_with_the_most_entries_of_a_snapshot() {
    let mut evil = Evil::default();
    let mut tree = evil.tree(json!([]));
    for _ in 0..40 {
        let nodes = ["a", "b"].map(|name| {
            let mut above = node(name, "dir");
            above["subtree"] = json!(tree);
            above
        });
        tree = evil.tree(json!(nodes));
    }
    let (restic, root) = (evil.restic(), BlobId::from_hex(&tree).unwrap().chunk());
    let (paths, troubles) = walk_to_end(&mut Walk::new(&restic, root, 1_000));
    assert_eq!((paths.len(), troubles.len()), (1_000, 1), "{troubles:?}");
    assert!(troubles[0].contains("more than 1000 entries"), "{troubles:?}");
}

#[test]
fn a_chain_of_directories_ends_where_paths_end() {
    let mut evil = Evil::default();
    let mut tree = evil.tree(json!([]));
    for _ in 0..400 {
        let mut above = node(&"n".repeat(200), "dir");
        above["subtree"] = json!(tree);
        tree = evil.tree(json!([above]));
    }
    let (paths, troubles) = walked(&evil.restic(), &tree);
    assert!(paths.len() < 400 && troubles.len() == 1, "{} {troubles:?}", paths.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "\\PC{0,100}") {
        let _ = MasterKey::zero().open(&bytes);
        let _ = decompressed(&bytes, 1000);
        let _ = Index::default().add(&bytes);
        let _ = node::time(&text);
        let mut evil = Evil::default();
        let root = evil.blob(&bytes);
        let named = evil.tree(json!([node(&text, "file")]));
        let restic = evil.restic();
        walked(&restic, &root);
        walked(&restic, &named);
    }
}
