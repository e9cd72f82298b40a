//! The pages for people who come from another program: every line of ours is run in the page's order, and with restic and
//! Borg every line of theirs.

mod page;
mod side;

use crate::kit::{assert_same, texts};
use page::Page;
use side::Side;

#[test]
fn restic_s_lines_and_ours_do_what_the_page_says() {
    let page = Page::read("from-restic.md");
    let (restic, copal) = both_sides(&page, "restic");
    for side in [&restic, &copal] {
        assert_same(&side.path("home/ada"), &side.restored("tmp/all"));
    }
    let imported = brought_over(&page, restic, &copal, "");
    assert!(imported > 1, "{imported}");
}

#[test]
fn borg_s_lines_and_ours_do_what_the_page_says() {
    let page = Page::read("from-borg.md");
    let (borg, copal) = both_sides(&page, "borg");
    for side in [&borg, &copal] {
        assert_same(&side.path("home/ada"), &side.restored("tmp/all"));
    }
    let imported = brought_over(&page, borg, &copal, "borg");
    assert!(imported > 7, "{imported}");
}

#[test]
fn the_lines_for_those_who_come_from_kopia_do_what_the_page_says() {
    let page = Page::read("from-kopia.md");
    let mut copal = Side::new("copal");
    copal.follow(&page);
    assert_same(&copal.path("home/ada"), &copal.path("tmp/all"));
}

/// Runs both columns of a page, each on a machine of its own.
fn both_sides(page: &Page, program: &'static str) -> (Side, Side) {
    let followed = |program| {
        let mut side = Side::new(program);
        side.follow(page);
        side
    };
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| followed(program));
        let ours = followed("copal");
        (theirs.join().expect("their column is right"), ours)
    })
}

/// Brings the other program's snapshots into a new repository as the page says; gives how many there are then.
fn brought_over(page: &Page, mut machine: Side, ours: &Side, label: &str) -> usize {
    machine.take_variables(ours);
    machine.ok("copal init");
    assert!(!page.blocks.is_empty(), "the page says how");
    for block in &page.blocks {
        machine.ok(block);
    }
    let documents = machine.path("home/ada/Documents");
    machine.ok(&format!("copal restore 'latest:{}' --label '{label}' --target /tmp/imported", documents.display()));
    assert_same(&documents, &machine.path("tmp/imported"));
    let listed = machine.ok(&format!("copal snapshots --json --label '{label}'"));
    texts(&serde_json::from_slice(&listed).expect("JSON"), "id").len()
}
