//! The example as a driver in this process, and as a program.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod calls;
mod program;
