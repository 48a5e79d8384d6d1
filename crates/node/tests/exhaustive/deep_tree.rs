//! A deep tree on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use crate::support::{NodeFixture, path};

/// As deep as a path of the host under the node's folder may be; the walk itself is bounded by what
/// Windows allows.
#[test]
fn a_deep_tree_goes() {
    let fixture = NodeFixture::new();
    let mut deep = String::from(r"C:\deep");
    deep.push_str(&r"\d".repeat(150));
    fixture.make_directory(&deep);
    let top = path(r"C:\deep");
    fixture
        .filesystem()
        .remove_tree(&top, fixture.soon())
        .unwrap();
    assert!(
        !fixture
            .filesystem()
            .path_exists(&top, fixture.soon())
            .unwrap()
    );
}
