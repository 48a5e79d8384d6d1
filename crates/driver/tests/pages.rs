//! The tables of docs/disks.md are those of the code.

use wincsi_driver::code::code_rows;
use wincsi_driver::kubelet::{attribute_rows, format_rows};

const PAGE: &str = include_str!("../../../docs/disks.md");

#[test]
fn the_page_of_disks_has_the_tables_of_keys_and_codes() {
    let page = PAGE.replace("\r\n", "\n");
    for (name, rows) in [
        ("attribute_rows", attribute_rows()),
        ("format_rows", format_rows()),
        ("code_rows", code_rows()),
    ] {
        assert!(page.contains(&rows), "docs/disks.md lacks {name}:\n{rows}");
    }
}
