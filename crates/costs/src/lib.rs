//! What each call costs the node, counted, beside what it costs with csi-proxy: one table.
//!
//! `tests/table.rs` runs every [`Row`] on a simulated node, through the handlers that serve the pipes,
//! and holds its counts; `tests/native.rs` holds them for `os-windows`' way to WMI. `docs/benchmarks.md`
//! has its tables of costs from the same rows; the example `costs_page` prints all of them.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod calls;
mod cost;
mod csi;
mod page;
mod test_node;

use anyhow::Result;

pub use self::cost::{Cost, Counted, Counter};
pub use self::csi::{Call, CsiRow, DRIVERS, ROWS, SHARES, sum};
pub use self::page::{calls, with_tables};
pub use self::test_node::TestNode;

/// A call, as csi-proxy's newest version names it (`disk.PartitionDisk`), and its situations.
#[derive(Debug, Clone, Copy)]
pub struct CostedCall(pub &'static str, pub &'static [Row]);

/// A situation that decides what a call has to do.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Empty where there is but one.
    pub situation: &'static str,
    /// What the node needs.
    pub cost: Cost,
    /// The queries and methods that csi-proxy needs, by its source.
    pub csi_proxy: [u64; 2],
    /// What breaks without the queries or methods that we need beyond csi-proxy's; else empty.
    pub reason: &'static str,
    /// Brings the situation about, makes the call, and returns what it cost.
    pub run: fn(&TestNode) -> Result<Counted>,
}

/// All rows, each with the name of its call.
pub fn rows() -> impl Iterator<Item = (&'static str, &'static Row)> {
    let calls = calls::TABLE.iter().copied().flatten();
    calls.flat_map(|CostedCall(name, rows)| rows.iter().map(|row| (*name, row)))
}

impl Row {
    /// Whether the providers have more work than with csi-proxy.
    #[must_use]
    pub fn exceeds(&self) -> bool {
        let mut both = self.cost.iter().zip(&self.csi_proxy);
        both.any(|(ours, theirs)| ours > theirs)
    }

    /// In what a run differs from the row, if it does: an error, or other counts, by each operation.
    #[must_use]
    pub fn wrong(&self, call: &str, node: &TestNode) -> Option<String> {
        let found = match (self.run)(node) {
            Ok(counted) if counted.cost() == self.cost => return None,
            Ok(counted) => format!("{:?}{counted}", counted.cost()),
            Err(error) => format!("{error:#}"),
        };
        Some(format!("{call} {}: {found}", self.situation))
    }

    const fn because(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }
}

const fn row(
    situation: &'static str,
    cost: Cost,
    csi_proxy: [u64; 2],
    run: fn(&TestNode) -> Result<Counted>,
) -> Row {
    Row {
        situation,
        cost,
        csi_proxy,
        reason: "",
        run,
    }
}
