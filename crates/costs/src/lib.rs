//! What each call costs the node, counted, beside what it costs with csi-proxy.
//!
//! Every operation of the pipes is called in this process, through the handlers that serve it, on a
//! simulated node whose operations are counted ([`os_meter`]). The counts are exact: `tests/` holds
//! them, and the tables of `docs/benchmarks-node.md` are the ones that this crate renders. Times come
//! along when the program runs; they are worth what the machine is worth.
//!
//! csi-proxy's counts are not measured, as it runs on Windows alone. They are derived from what its
//! source does, and each row says how.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod calls;
mod frontier;
mod growth;
mod handles;
mod report;
mod sample;
mod scenario;
mod stage;

#[cfg_attr(unix, path = "cpu/unix.rs")]
#[cfg_attr(not(unix), path = "cpu/elsewhere.rs")]
mod cpu;

pub use self::calls::SCENARIOS;
pub use self::frontier::Crossed;
pub use self::frontier::Crossing;
pub use self::frontier::Frontier;
pub use self::frontier::WbemCall;
pub use self::growth::Growth;
pub use self::growth::SIZES;
pub use self::handles::MORE_HANDLES;
pub use self::handles::MoreHandles;
pub use self::report::cpu_table;
pub use self::report::crossings_table;
pub use self::report::derivation_table;
pub use self::report::excess_table;
pub use self::report::growth_table;
pub use self::report::handles_list;
pub use self::report::operations_table;
pub use self::report::provider_table;
pub use self::sample::Cpu;
pub use self::sample::Sample;
pub use self::scenario::Excess;
pub use self::scenario::Peer;
pub use self::scenario::Provider;
pub use self::scenario::Scenario;
pub use self::stage::Stage;
