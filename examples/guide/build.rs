//! Takes the files of the guide's project out of its page: a block that names a file is a part of it.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

const PAGE: &str = "../../docs/guide.md";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PAGE}");
    let out: PathBuf = env::var_os("OUT_DIR")
        .ok_or("cargo names no OUT_DIR")?
        .into();
    for (file, text) in files(&fs::read_to_string(PAGE)?) {
        let place = out.join(file);
        fs::create_dir_all(place.parent().unwrap_or(Path::new("")))?;
        fs::write(place, text)?;
    }
    Ok(())
}

/// The text of each file: its blocks, one after the other.
fn files(page: &str) -> BTreeMap<&str, String> {
    let mut files = BTreeMap::<_, String>::new();
    let mut file = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), file) {
            (Some(language), None) => file = Some(language.split_once(' ').map(|(_, file)| file)),
            (Some(_), Some(_)) => file = None,
            (None, Some(Some(file))) => files
                .entry(file)
                .or_default()
                .push_str(&format!("{line}\n")),
            (None, _) => {}
        }
    }
    files
}
