//! The pages that are written from tables say what the tables say.

use wincsi_proxy::flags;

#[test]
fn the_page_of_flags_is_the_tables() {
    let page = include_str!("../../../docs/flags.md").replace("\r\n", "\n");
    assert!(
        page == flags::page(),
        "docs/flags.md is stale: run `cargo xtask docs`"
    );
}
