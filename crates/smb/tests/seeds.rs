//! The seeds of the fuzz target, through what it asks of the crate.

use std::fs;

#[test]
fn seeds_are_decoded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/answers");
    let files = fs::read_dir(folder).unwrap();
    let seeds = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    let seeds = Vec::from_iter(seeds);
    assert!(!seeds.is_empty());
    for seed in seeds {
        (0..=seed.len()).for_each(|len| wincsi_smb::decode_everything(&seed[..len]));
    }
}
