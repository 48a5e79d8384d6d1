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
fn disk() {
    replay("disk", entry::disk);
}

#[test]
fn device_id() {
    replay("device_id", entry::device_id);
}

#[test]
fn device_path() {
    replay("device_path", entry::device_path);
}

#[test]
fn ioctl() {
    replay("ioctl", entry::ioctl);
}

#[test]
fn location() {
    replay("location", entry::location);
}

#[test]
fn reparse() {
    replay("reparse", entry::reparse);
}

#[test]
fn smbios() {
    replay("smbios", entry::smbios);
}

#[test]
fn wql() {
    replay("wql", entry::wql);
}

#[test]
fn credential() {
    replay("credential", entry::credential);
}

#[test]
fn multi_string() {
    replay("multi_string", entry::multi_string);
}
