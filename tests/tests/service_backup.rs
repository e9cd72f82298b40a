//! A backup through ingest and back.

use copal_engine::client::Role;
use copal_service::view;
use copal_store::memory::MemoryStore;
use copal_tests::kit::{Client, How, Random, Reader, Repository, SeededEntropy, Tree, path};
use futures::executor::block_on;

fn random_tree(seed: u64, files: usize, most: usize) -> Tree {
    let mut random = Random::new(seed);
    (0..files)
        .map(|at| {
            let mut content = vec![0; random.below(most)];
            random.fill(&mut content);
            (path(&format!("d{}/f{at:03}", at % 3)), content)
        })
        .collect()
}

#[test]
fn what_was_backed_up_is_restored_also_with_many_manifests_and_content_lists() {
    let (store, entropy, repository) = (MemoryStore::new(), SeededEntropy::new(1), Repository::new());
    let reader = Reader::new(&repository);
    block_on(async {
        repository.create(&store).await.unwrap();
        let client = repository.register(&store, 1, Role::Full).await.unwrap();
        let host = repository.host(&store, &entropy);
        for (seed, files, most, split) in
            [(1, 20, 3000, None), (2, 20, 3000, Some(4)), (3, 3, 90_000, None), (4, 0, 1, None)]
        {
            let tree = random_tree(seed, files, most);
            let how = How { split, ..How::default() };
            let id = client.back_up(&host, &tree, &how).await.unwrap();
            let view = view::read(&store).await.unwrap();
            let snapshot = view.state.snapshots.values().find(|snapshot| snapshot.id == id).unwrap();
            assert_eq!(reader.restore(&store, &view, snapshot).await.unwrap(), tree, "seed {seed}");
        }
    });
    let _: Option<Client> = None;
}
