//! The seeds of the fuzz target, each through the target.

#[path = "../fuzz/entry.rs"]
mod entry;

use std::{fs, path::Path};

#[test]
fn mend() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/mend");
    let mut seeds = 0;
    for file in fs::read_dir(folder).expect("the target has a folder of seeds") {
        let path = file.expect("the folder can be read").path();
        let seed = fs::read(path).expect("a seed can be read");
        for size in [0, 1, 7, 255] {
            let mut sized = seed.clone();
            *sized
                .first_mut()
                .expect("a seed begins with its chunk size") = size;
            entry::mend(&sized);
        }
        seeds += 1;
    }
    assert!(seeds > 0, "no seeds");
}
