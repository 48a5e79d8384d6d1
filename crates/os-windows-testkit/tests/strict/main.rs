//! The objects' refusals: a wrong client has to see them here.

#![cfg(windows)]

mod refusals;
