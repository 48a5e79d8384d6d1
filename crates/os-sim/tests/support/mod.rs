//! Helpers of several tests.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod node_fixture;
pub(crate) mod storage_fixture;
