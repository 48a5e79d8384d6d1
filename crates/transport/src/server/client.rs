//! What one process takes of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::Peer;

/// A process with all its connections. Where the system does not tell whose a connection is, it
/// is a client by itself, and has no share to keep to.
#[derive(Debug, Default)]
pub(crate) struct Client {
    peer: Peer,
    connections: Tally,
    calls: Tally,
}

/// How many there are, of those that a client may have.
#[derive(Debug, Default)]
struct Tally(AtomicUsize);

/// The processes that have connections, or calls that go on without one.
#[derive(Debug, Default)]
pub(super) struct Clients(HashMap<u32, Weak<Client>>);

impl Clients {
    /// The client that `peer` is.
    pub(super) fn find(&mut self, peer: Peer) -> Arc<Client> {
        let client = || {
            Arc::new(Client {
                peer,
                ..Client::default()
            })
        };
        let Some(pid) = peer.pid else {
            return client();
        };
        if let Some(known) = self.0.get(&pid).and_then(Weak::upgrade) {
            return known;
        }
        self.0.retain(|_, client| client.strong_count() > 0);
        let client = client();
        self.0.insert(pid, Arc::downgrade(&client));
        client
    }
}

impl Client {
    pub(crate) fn peer(&self) -> Peer {
        self.peer
    }

    /// Counts one more connection, unless it has its share.
    pub(super) fn begin_connection(&self, share: usize) -> bool {
        self.connections.take(self.share(share))
    }

    pub(super) fn end_connection(&self) {
        self.connections.give_back();
    }

    /// Counts one more call, unless it has its share.
    pub(super) fn begin_call(&self, share: usize) -> bool {
        self.calls.take(self.share(share))
    }

    pub(super) fn end_call(&self) {
        self.calls.give_back();
    }

    fn share(&self, share: usize) -> usize {
        self.peer.pid.map_or(usize::MAX, |_| share)
    }
}

impl Tally {
    fn take(&self, most: usize) -> bool {
        let has_room = self.0.fetch_add(1, Ordering::AcqRel) < most;
        if !has_room {
            self.give_back();
        }
        has_room
    }

    fn give_back(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Peer {
        Peer { pid: Some(pid) }
    }

    #[test]
    fn a_process_has_one_share_and_another_has_its_own() {
        let mut clients = Clients::default();
        let first = clients.find(process(1));
        assert!(first.begin_call(2) && clients.find(process(1)).begin_call(2));
        assert!(!first.begin_call(2) && !first.begin_call(2));
        assert!(first.begin_connection(2), "calls are not connections");
        assert!(clients.find(process(2)).begin_call(2));
        first.end_call();
        assert!(first.begin_call(2));
    }

    #[test]
    fn who_is_not_known_has_no_share() {
        let mut clients = Clients::default();
        let unknown = clients.find(Peer::default());
        assert!((0..9).all(|_| unknown.begin_call(2)));
        assert!(clients.find(Peer::default()).begin_call(0));
    }

    #[test]
    fn a_process_is_remembered_until_nothing_of_it_is_left() {
        let mut clients = Clients::default();
        let first = clients.find(process(1));
        assert!(first.begin_call(1));
        assert!(!clients.find(process(1)).begin_call(1), "still the same");
        drop(first);
        let _second = clients.find(process(2));
        assert_eq!(clients.0.len(), 1);
        assert!(clients.find(process(1)).begin_call(1));
    }
}
