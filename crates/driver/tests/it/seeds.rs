//! The seeds of the fuzz targets, each through its target.

#[path = "../../fuzz/entry.rs"]
mod entry;

use std::fs;
use std::path::Path;

fn replay(target: &str, entry: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let mut seeds = 0;
    for file in fs::read_dir(folder).unwrap() {
        entry(&fs::read(file.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}

#[test]
fn bundle() {
    replay("bundle", entry::bundle);
}

#[test]
fn negotiate() {
    replay("negotiate", entry::negotiate);
}
