//! Which connection makes room for another when the server is full.
//!
//! A share for each process (a quarter) does not stop a few of them from having all connections for
//! ever. So at the limit the account with the most connections pays, and of its processes the one
//! with the most: its longest idle connection gets HTTP/2's graceful end, and the newcomer is
//! taken. No process pays for a newcomer that would then have more: otherwise two could end each
//! other's connections in turn for ever.
//!
//! # Why accounts have no share of their own
//! On a node nearly all clients are SYSTEM: drivers, and attackers in a container with the same rights. A bound for
//! each account would keep out drivers long before the server is full and would guard nothing, as other accounts hardly
//! use the rest. Accounts count only if the server is full and two of them compete; within one account its processes
//! compete. Unknown accounts are compared by their processes.
//!
//! # What is not evicted
//! A connection with a running call: one process runs half of the calls at most. An incomplete or waiting request and
//! an untaken response protect no connection, or one byte on each would. Connections that were asked to go are counted
//! on top of the limit, at most [`LEAVING`] of them; no call begins on them, and those with a running call count as
//! others do.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::Client;
use crate::conn::Connection;

/// The most connections on their way out.
const LEAVING: usize = 64;

/// The room for a newcomer.
pub(super) enum Room {
    Free,
    /// There is when this one leaves.
    After(Arc<Connection>),
    None,
}

/// Finds room for one more connection of `newcomer`, already counted with it.
pub(super) fn room(open: &HashMap<u64, Arc<Connection>>, newcomer: &Client, most: usize) -> Room {
    if open.len() < most {
        return Room::Free;
    }
    // The limit of running calls bounds those with a call.
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
