//! The seeds of the fuzz targets, each through its target.

#[path = "../../fuzz/entry.rs"]
mod entry;

use std::fs;
use std::path::Path;

#[test]
fn assembly() {
    replay("assembly", entry::assembly);
}

#[test]
fn authority() {
    replay("authority", entry::authority);
}

/// Each seed as it is, and in pieces of other sizes.
fn replay(target: &str, entry: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let mut seeds = 0;
    for file in fs::read_dir(folder).expect("every target has a folder of seeds") {
        let path = file.expect("the folder can be read").path();
        let mut seed = fs::read(path).expect("a seed can be read");
        entry(&seed);
        for size in [0, 1, 7, 255] {
            *seed.first_mut().expect("a seed begins with its size") = size;
            entry(&seed);
        }
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}
