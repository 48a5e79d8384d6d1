//! One call in one situation.

use anyhow::Context;
use anyhow::Result;
use os_meter::Counts;
use os_meter::Kind;

use crate::Sample;
use crate::Stage;

/// A call in a situation that decides what it has to do.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The operation, as in the catalogue: `disk.PartitionDisk`.
    pub operation: &'static str,
    /// The situation; empty where there is but one.
    pub state: &'static str,
    /// What csi-proxy does in it.
    pub peer: Peer,
    /// What the provider has to do here beyond csi-proxy's, where it has.
    pub excess: Option<Excess>,
    run: fn(&Stage) -> Result<Sample>,
}

/// What csi-proxy does, by its source.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The work of WMI providers.
    pub provider: Provider,
    /// Handles to files and devices, as far as the source names them: a lower bound.
    pub handles: u64,
    /// The section of our notes on csi-proxy's behaviour.
    pub section: &'static str,
    /// How the counts follow from it.
    pub derivation: &'static str,
}

/// What the provider has to do beyond csi-proxy's, and no more than this.
#[derive(Debug, Clone, Copy)]
pub struct Excess {
    /// By how much.
    pub provider: Provider,
    /// What breaks without it, and why it cannot be had otherwise.
    pub reason: &'static str,
}

/// The work that WMI providers have with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Queries and associations.
    pub queries: u64,
    /// Methods.
    pub methods: u64,
}

impl Provider {
    /// Nothing is asked.
    pub const NOTHING: Self = Self {
        queries: 0,
        methods: 0,
    };

    /// That of our own call.
    #[must_use]
    pub fn of(counts: &Counts) -> Self {
        Self {
            queries: counts.of(Kind::Query),
            methods: counts.of(Kind::Method),
        }
    }

    /// By how much it is more than another, in queries and in methods.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self {
            queries: self.queries.saturating_sub(other.queries),
            methods: self.methods.saturating_sub(other.methods),
        }
    }
}

impl Scenario {
    /// Brings the situation about, makes the call, and tells what the call took.
    ///
    /// # Errors
    /// The situation cannot be had, or the call fails.
    pub fn run(&self, stage: &Stage) -> Result<Sample> {
        (self.run)(stage).with_context(|| format!("{} {}", self.operation, self.state))
    }

    pub(crate) const fn of(operation: &'static str, run: fn(&Stage) -> Result<Sample>) -> Self {
        Self {
            operation,
            state: "",
            peer: Peer {
                provider: Provider::NOTHING,
                handles: 0,
                section: "",
                derivation: "",
            },
            excess: None,
            run,
        }
    }

    pub(crate) const fn when(mut self, state: &'static str) -> Self {
        self.state = state;
        self
    }

    pub(crate) const fn by(mut self, section: &'static str, derivation: &'static str) -> Self {
        self.peer.section = section;
        self.peer.derivation = derivation;
        self
    }

    pub(crate) const fn asking(mut self, queries: u64, methods: u64) -> Self {
        self.peer.provider = Provider { queries, methods };
        self
    }

    pub(crate) const fn opening(mut self, handles: u64) -> Self {
        self.peer.handles = handles;
        self
    }

    pub(crate) const fn more_by(
        mut self,
        queries: u64,
        methods: u64,
        reason: &'static str,
    ) -> Self {
        let provider = Provider { queries, methods };
        self.excess = Some(Excess { provider, reason });
        self
    }
}
