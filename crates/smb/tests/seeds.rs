//! The seeds of the fuzz target, through what it asks of the crate.

use std::fs;
use std::path::Path;

#[test]
fn seeds_are_decoded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/answers");
    let mut seeds = 0;
    for file in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        for len in 0..=bytes.len() {
            wincsi_smb::decode_everything(&bytes[..len]);
        }
        seeds += 1;
    }
    assert!(seeds > 0, "no seeds");
}
