//! A flood of manifests that are all rejected: who has nothing but a client's request key can leave them.

use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::receipt::{Outcome, Receipt};

use super::world::{row, upload, with_camera};
use crate::kit::text;

#[test]
fn behind_a_flood_of_rejected_manifests_the_newest_snapshot_tells_the_last_good_one() {
    let (owner, machine) = with_camera();
    machine.write("file", "text");
    upload(&machine, &[]).ok();
    owner.ok(&["ingest"]);
    let before = row(&owner, "camera");
    let client = ClientId::from_hex(&text(&before["id"])).unwrap();
    for number in 2..=200 {
        std::fs::write(owner.object(&layout::manifest(client, number)), "?").unwrap();
    }
    owner.run(&["ingest"]).exits(5);
    // A false receipt in the depth of the flood shows that nobody reads it.
    let name = layout::receipt(client, 100);
    let bytes = std::fs::read(owner.object(&name)).unwrap();
    let rejected = Receipt::decode(client, 100, &bytes).unwrap();
    owner.replace(&name, &Receipt { outcome: Outcome::Accepted, ..rejected }.encode());
    assert_eq!(row(&owner, "camera"), before);
    assert_eq!(owner.json(&["client", "revoke", "camera"])["last_good"], 1);
    owner.replace(&name, &bytes);
    owner.run(&["rebuild-index"]);
    assert_eq!(owner.snapshots().len(), 1);
}
