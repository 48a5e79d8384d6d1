//! The driver of docs/guide.md, taken from the page.

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));
