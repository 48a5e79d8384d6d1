//! Whose connection makes room for another when there are as many as there may be.
//!
//! A share of each process (a quarter) does not keep a few of them from having all connections for
//! ever. So at the limit the account that has the most pays, and of its processes the one that has
//! the most: that one's connection that has been idle for the longest is ended, as HTTP/2 says, and
//! the newcomer is taken. Nobody pays for a newcomer that would then have more than it: of two who
//! take turns each would otherwise end the other's connections for ever.
//!
//! # Why accounts have no share of their own
//! On a node nearly all clients are SYSTEM, drivers and those that attack them from a container with
//! the same rights. A bound for each account would keep out drivers long before the server is full
//! and would guard nothing, as the others hardly use what it leaves them. Accounts count only where
//! there is no room left and two of them want it; among the processes of one account it is the
//! processes that count. An account that the system does not tell is compared by its processes.
//!
//! # What is not evicted
//! A connection on which a call runs: one process runs half of the calls at most. A request that is not whole or
//! waits for its turn and a response that is not taken protect nobody, or a byte on each connection would. Those that
//! have been asked to go and have not gone are counted on top of the limit, and at most [`LEAVING`] of them; no call
//! begins on them, and those whose call runs on count as the others do.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::Client;
use crate::conn::Connection;

/// Connections that may be on their way out.
const LEAVING: usize = 64;

/// What there is for a newcomer.
pub(super) enum Room {
    Free,
    /// There is when this one leaves.
    After(Arc<Connection>),
    None,
}

/// Looks for room for one more of `newcomer`'s, which is counted with it already.
pub(super) fn room(open: &HashMap<u64, Arc<Connection>>, newcomer: &Client, most: usize) -> Room {
    if open.len() < most {
        return Room::Free;
    }
    // Those that go on with a call are bounded by the calls that may run.
    let goes = |it: &&Arc<Connection>| it.is_leaving() && it.idle_since().is_some();
    let leaving = open.values().filter(goes).count();
    if open.len() - leaving < most {
        return Room::Free;
    }
    if leaving >= LEAVING {
        return Room::None;
    }
    open.values()
        .filter(|it| !it.is_leaving() && it.client().has_more_than(newcomer))
        .filter_map(|it| Some((it.client().standing(), Reverse(it.idle_since()?), it)))
        .max_by_key(|&(standing, idle_since, _)| (standing, idle_since))
        .map_or(Room::None, |(_, _, it)| Room::After(Arc::clone(it)))
}
