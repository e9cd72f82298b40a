//! Every content, restored by the reader as WebAssembly, is what was saved (`tests/restores.json`).

#[path = "../../../tests/src/restores.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the driver in the crate `tests` takes the same file, and uses more of it"
)]
mod table;

use table::Restores;

use super::wasi::Place;
use crate::kit::PASSPHRASE;

#[test]
fn the_reader_in_wasi_restores_every_content_as_it_was_saved() {
    let mut restores = Restores::of("cli/tests/reader/restores.rs");
    let place = Place::bare();
    let source = place.path("source");
    restores.write(&source);
    place.copal(&["init"]);
    place.copal(&["backup", "source"]);
    restores.append(&source);
    place.copal(&["backup", "source"]);
    let inside = |place: &Place| place.path("out").join(source.strip_prefix("/").unwrap());

    place.reads(&["restore", "repository", "out"], PASSPHRASE);
    restores.compare("reader in WASI into a folder", &source, &inside(&place));
    let other = Place::of(&place);
    let ran = other.reads(&["restore", "repository", "--tar", "-"], PASSPHRASE);
    other.unpack(&ran.out);
    restores.compare("reader in WASI as an archive", &source, &inside(&other));
    restores.finish();
}
