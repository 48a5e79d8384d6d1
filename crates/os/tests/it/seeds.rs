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
    for file in fs::read_dir(folder).expect("every target has a folder of seeds") {
        let path = file.expect("the folder can be read").path();
        entry(&fs::read(path).expect("a seed can be read"));
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}

#[test]
fn path() {
    replay("path", entry::path);
}

#[test]
fn volume_id() {
    replay("volume_id", entry::volume_id);
}
