//! Listings and searches of trees with damaged pages.

use super::*;

/// Damages one of at least three blocks of a tree's pages. `choose` gets their number.
pub(crate) fn damage_pages(machine: &Machine, choose: impl Fn(usize) -> usize) {
    let packs: Vec<Value> =
        machine.names("packs/").iter().map(|pack| machine.run(&["cat", pack]).ok().json()).collect();
    let tree = packs.iter().find(|pack| pack["kind"] == "tree").unwrap();
    let blocks = tree["blocks"].as_array().unwrap();
    assert!(blocks.len() > 2, "{} blocks", blocks.len());
    let offset = blocks[choose(blocks.len())]["offset"].as_u64().unwrap() as usize;
    machine.flip(&text(&tree["object"]), offset + 40);
}

/// A snapshot of these sources, whose first block of pages is damaged.
fn damaged_tree(sources: &[&str]) -> Machine {
    let machine = Machine::new();
    for directory in ["a", "b", "c"] {
        for number in 0..800 {
            machine.write(&format!("{directory}/{number:03}"), format!("{directory}{number}").repeat(100));
        }
    }
    machine.ok(&[&["backup"], sources].concat());
    damage_pages(&machine, |_| 0);
    machine
}

#[test]
fn damage_hides_what_it_hits_and_nothing_else() {
    let machine = damaged_tree(&["source"]);
    let all = machine.run(&["ls", "-R", "--json", "latest"]).exits(4);
    let paths = below(&machine, &all.rows());
    assert!(paths.contains(&"c/799".to_owned()) && !paths.contains(&"a/000".to_owned()));
    assert!(all.err.contains("cannot be listed") && all.err.contains("packs/"), "{all}");
    let between = format!("latest:{}/a/0005", machine.path("source").display());
    assert_eq!(machine.run(&["ls", "--json", &between]).exits(4).kind(), "damaged", "it may be there");
    let place = format!("latest:{}/c", machine.path("source").display());
    assert_eq!(listed(&machine, &[&place]).len(), 800, "what lies elsewhere is not read");
    let found = machine.run(&["find", "79?", "--json"]).exits(4);
    assert!(below(&machine, &found.rows()).contains(&"c/795".to_owned()));
    assert!(found.err.contains("snapshot ") && found.err.contains("cannot be listed"), "{found}");
}

#[test]
fn damage_in_one_of_several_sources_hides_none_of_the_others() {
    let machine = damaged_tree(&["source/a", "source/b", "source/c"]);
    let all = machine.run(&["ls", "-R", "--json", "latest"]).exits(4);
    let paths = below(&machine, &all.rows());
    let third = paths.iter().filter(|path| path.starts_with("c/"));
    assert_eq!(third.count(), 800, "each once");
    assert!(paths.contains(&"c".to_owned()) && !paths.contains(&"a/000".to_owned()));
    let told: Vec<_> = all.err.lines().filter(|line| line.contains("cannot be listed")).collect();
    let different: std::collections::HashSet<_> = told.iter().collect();
    assert!(!told.is_empty() && told.len() == different.len(), "{all}");
    let tops = below(&machine, &machine.run(&["ls", "--json", "latest"]).exits(4).rows());
    assert!(tops.ends_with(&["b".to_owned(), "c".to_owned()]), "{tops:?}");
}
