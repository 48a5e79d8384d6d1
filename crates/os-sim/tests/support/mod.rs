//! What several tests have in common.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod bench;
pub(crate) mod scene;
