//! A CSI controller for SMB shares: a claim becomes a folder, and goes again.

#![forbid(unsafe_code)]

pub mod volumes;
