//! Counting what an operation of a provider becomes on its way to WMI.

use std::collections::BTreeSet;

use crate::Provider;

/// What stands between the operations of the system and what serves them, and counts.
pub trait Frontier: Send + Sync {
    /// What has crossed since this was asked last.
    fn take(&self) -> Vec<Crossing>;
}

/// A call of `IWbemServices`, which is a round trip to WMI's process on Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossing {
    /// Which connection it went over, in the order in which they were made.
    pub connection: usize,
    /// What was called.
    pub call: WbemCall,
    /// How often.
    pub times: u64,
}

/// Which call of `IWbemServices`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WbemCall {
    /// `GetObject` of this class: its definition.
    Definition(String),
    /// `ExecMethod`, of `class.method`.
    Method(String),
    /// `ExecQuery`.
    Query,
}

/// The crossings of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossed {
    /// Queries and methods that crossed.
    pub provider: Provider,
    /// How many definitions cross before them on connections that are new: one for each method.
    pub definitions: usize,
}

impl Crossed {
    /// All that crossed.
    #[must_use]
    pub fn of(crossings: &[Crossing]) -> Self {
        let mut provider = Provider::NOTHING;
        let mut methods = BTreeSet::new();
        for crossing in crossings {
            match &crossing.call {
                WbemCall::Definition(_) => {}
                WbemCall::Method(method) => {
                    provider.methods += crossing.times;
                    methods.insert(method);
                }
                WbemCall::Query => provider.queries += crossing.times,
            }
        }
        Self {
            provider,
            definitions: methods.len(),
        }
    }
}
