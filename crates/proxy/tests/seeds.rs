//! The seeds of the fuzz targets, each through its target. A program of its own: the target `request` serves until the
//! process ends, on pipes that are the machine's.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

#[path = "../fuzz/entry.rs"]
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
fn flags() {
    replay("flags", entry::flags);
}

#[test]
fn http() {
    replay("http", entry::http);
}

#[test]
fn policy() {
    replay("policy", entry::policy);
}

#[test]
fn request() {
    replay("request", entry::request);
}
