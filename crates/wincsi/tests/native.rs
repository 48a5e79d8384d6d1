//! The native node is there by the target.

use std::env::consts::OS;

use wincsi::{NotWindows, native};

#[test]
fn there_is_a_native_node_on_windows_only() {
    let refused = native("wincsi-test").err();
    assert_eq!(refused, (OS != "windows").then_some(NotWindows));
}
