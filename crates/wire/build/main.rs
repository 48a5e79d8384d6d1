//! Compiles `proto/` into Rust: the messages, a marker type for each RPC, and the table of methods.
//!
//! Each file is compiled by itself. csi-proxy names a protobuf package after the version alone, so
//! `v1` exists in four groups, and one descriptor set of all files would mix them.

mod messages;
mod names;
mod plugin;
mod secrets;
mod source;
mod table;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a module of the crate; the build needs its parser and order alone"
)]
#[path = "../src/version.rs"]
mod version;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    for input in ["build", "proto", "src/version.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?;
    let out = Path::new(&out);
    let group_versions = source::compile_all(Path::new("proto/csi-proxy"))?;
    for group_version in &group_versions {
        messages::write(group_version, &out.join(group_version.group))?;
    }
    fs::write(out.join("groups.rs"), table::write(&group_versions)?)?;
    plugin::write_all(Path::new("proto"), out)?;
    Ok(())
}
