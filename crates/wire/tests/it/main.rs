//! The descriptors and the bytes against the contract.

mod contract;
mod encoding;
