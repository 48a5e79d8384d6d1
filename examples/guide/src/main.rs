//! The program of docs/guide.md, taken from the page.

include!(concat!(env!("OUT_DIR"), "/src/main.rs"));
