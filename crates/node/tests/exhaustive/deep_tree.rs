//! A deep tree on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use crate::support::{Rig, path};

/// As deep as a path of the host under the node's folder may be; the walk itself is bounded by what
/// Windows allows.
#[test]
fn a_deep_tree_goes() {
    let rig = Rig::new();
    let mut deep = String::from(r"C:\deep");
    deep.push_str(&r"\d".repeat(150));
    rig.filesystem()
        .make_directory(&path(&deep), rig.soon())
        .unwrap();
    let top = path(r"C:\deep");
    rig.filesystem().remove_tree(&top, rig.soon()).unwrap();
    assert!(!rig.filesystem().path_exists(&top, rig.soon()).unwrap());
}
