//! The tests of docs/guide.md, taken from the page.

include!(concat!(env!("OUT_DIR"), "/tests/stage.rs"));
