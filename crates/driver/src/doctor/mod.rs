//! `wincsi doctor`: what a sick node has, from one table of checks ([`CHECKS`]).
//!
//! A look changes nothing: no rescan, mapping, logon or write, and no lock that a call could wait for. Each question has a
//! deadline, and a part of Windows that does not answer in time is a finding, and is asked no more in that look.
//!
//! | who looks | when | what it cannot see |
//! |---|---|---|
//! | the running driver, by an RPC beside Drain ([`Doctor`]) | the command asks, or every five minutes for the metric | what its host lacks |
//! | the command ([`command`]) | no driver answers | calls that run, and registration |

mod aside;
pub mod bundle;
mod checks;
pub mod command;
mod notes;
mod report;
pub mod server;
mod service;
mod subject;
mod table;

pub use self::report::{Finding, Report, Severity, Unseen, Way};
pub use self::service::Doctor;
pub(crate) use self::service::Periodic;
pub use self::table::{CHECKS, Check, stuck_rows};
