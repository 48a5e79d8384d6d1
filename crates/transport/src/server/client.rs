//! One process's use of a server, and one account's with all its processes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::Peer;
use crate::sys::{Identity, UserId};

/// A process with all its connections, or all tcp connections. If the system does not report the process, a connection
/// is a client by itself, and has no share to keep to.
#[derive(Debug, Default)]
pub(crate) struct Client {
    identity: Identity,
    /// None when the system does not tell it.
    user: Option<Arc<User>>,
    connections: Tally,
    calls: Tally,
    waiting: Tally,
}

/// An account with all its processes.
#[derive(Debug, Default)]
struct User {
    connections: Tally,
}

/// A count of something limited for each client.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicUsize);

/// The processes with connections, or with calls that outlived theirs, and their accounts.
#[derive(Debug, Default)]
pub(super) struct Clients {
    known: HashMap<Identity, Weak<Client>>,
    users: HashMap<UserId, Weak<User>>,
}

impl Clients {
    /// The client of this identity. A new client's account is queried once: a process keeps its account.
    pub(super) fn find(
        &mut self,
        identity: Identity,
        user: impl FnOnce() -> Option<UserId>,
    ) -> Arc<Client> {
        if let Some(known) = self.known.get(&identity).and_then(Weak::upgrade) {
            return known;
        }
        let user = user().map(|id| known_or_new(&mut self.users, id, Arc::default));
        let client = || {
            Arc::new(Client {
                identity,
                user,
                ..Client::default()
            })
        };
        match identity {
            Identity::Unknown => client(),
            _ => known_or_new(&mut self.known, identity, client),
        }
    }
}

/// The entry of `known` under `key`, or a new one; dropped entries are removed.
fn known_or_new<K: Eq + Hash, T>(
    known: &mut HashMap<K, Weak<T>>,
    key: K,
    new: impl FnOnce() -> Arc<T>,
) -> Arc<T> {
    if let Some(found) = known.get(&key).and_then(Weak::upgrade) {
        return found;
    }
    known.retain(|_, value| value.strong_count() > 0);
    let value = new();
    known.insert(key, Arc::downgrade(&value));
    value
}

impl Client {
    #[cfg(test)]
    pub(crate) fn of(peer: Peer) -> Self {
        Self {
            identity: peer.pid.into(),
            ..Self::default()
        }
    }

    pub(crate) fn peer(&self) -> Peer {
        self.identity.peer()
    }

    /// Counts one more connection, unless it has its share.
    pub(super) fn begin_connection(&self, share: usize) -> bool {
        let has_begun = self.connections.take(self.share(share));
        if let Some(user) = self.user.as_ref().filter(|_| has_begun) {
            user.connections.take(usize::MAX);
        }
        has_begun
    }

    pub(super) fn end_connection(&self) {
        self.connections.give_back();
        if let Some(user) = &self.user {
            user.connections.give_back();
        }
    }

    /// The connections of its account, and its own.
    pub(super) fn standing(&self) -> (usize, usize) {
        let own = self.connections.count();
        let user = self.user.as_ref();
        (user.map_or(own, |user| user.connections.count()), own)
    }

    /// Whether it has more connections than another: its account, where the two have different ones,
    /// else the process.
    pub(super) fn has_more_than(&self, other: &Self) -> bool {
        let (own, others) = (self.standing(), other.standing());
        match (&self.user, &other.user) {
            (Some(user), Some(another)) if !Arc::ptr_eq(user, another) => own.0 > others.0,
            _ => own.1 > others.1,
        }
    }

    /// Counts one more call, unless it has its share.
    pub(super) fn begin_call(&self, share: usize) -> bool {
        self.calls.take(self.share(share))
    }

    pub(super) fn end_call(&self) {
        self.calls.give_back();
    }

    /// Counts a call that goes on after a wait, even beyond the share.
    pub(super) fn resume_call(&self) {
        self.calls.add();
    }

    /// Counts one more waiting call, unless the share is used up.
    pub(super) fn begin_wait(&self, share: usize) -> bool {
        self.waiting.take(self.share(share))
    }

    pub(super) fn end_wait(&self) {
        self.waiting.give_back();
    }

    fn share(&self, share: usize) -> usize {
        match self.identity {
            Identity::Unknown => usize::MAX,
            Identity::Process(_) | Identity::Tcp => share,
        }
    }
}

impl Tally {
    /// Counts one more, unless there are as many.
    pub(super) fn take(&self, most: usize) -> bool {
        let has_room = self.0.fetch_add(1, Ordering::AcqRel) < most;
        if !has_room {
            self.give_back();
        }
        has_room
    }

    /// Counts one more, however many there are.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn give_back(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(clients: &mut Clients, pid: u32) -> Arc<Client> {
        clients.find(Identity::Process(pid), || None)
    }

    fn of(clients: &mut Clients, pid: u32, user: u8) -> Arc<Client> {
        let client = clients.find(Identity::Process(pid), || Some(UserId::new(&[user])));
        client.begin_connection(usize::MAX);
        client
    }

    #[test]
    fn accounts_are_compared_first_and_processes_of_one_account_by_themselves() {
        let mut clients = Clients::default();
        let first = of(&mut clients, 1, b'a');
        let second = of(&mut clients, 2, b'a');
        let other = [(); 2].map(|()| of(&mut clients, 3, b'b'));
        assert_eq!(first.standing(), (2, 1));
        assert!(!first.has_more_than(&other[0]) && !other[0].has_more_than(&first));
        assert!(!first.has_more_than(&second), "one each");
        of(&mut clients, 2, b'a');
        assert!(second.has_more_than(&first) && first.has_more_than(&other[0]));
        second.end_connection();
        let unknown = find(&mut clients, 9);
        assert!(first.has_more_than(&unknown));
        assert_eq!(first.standing(), (2, 1));
    }

    #[test]
    fn a_process_has_one_share_and_another_has_its_own() {
        let mut clients = Clients::default();
        let first = find(&mut clients, 1);
        assert!(first.begin_call(2) && find(&mut clients, 1).begin_call(2));
        assert!(!first.begin_call(2) && !first.begin_call(2));
        assert!(first.begin_connection(2), "calls are not connections");
        assert!(find(&mut clients, 2).begin_call(2));
        first.end_call();
        assert!(first.begin_call(2));
    }

    #[test]
    fn who_is_not_known_has_no_share() {
        let mut clients = Clients::default();
        let unknown = clients.find(Identity::Unknown, || None);
        assert!((0..9).all(|_| unknown.begin_call(2)));
        assert!(clients.find(Identity::Unknown, || None).begin_call(0));
    }

    /// Guards: P9
    #[test]
    fn all_who_come_by_tcp_have_one_share_together() {
        let mut clients = Clients::default();
        let first = clients.find(Identity::Tcp, || None);
        let second = clients.find(Identity::Tcp, || None);
        assert!(first.begin_connection(2) && second.begin_connection(2));
        assert!(!first.begin_connection(2) && !second.begin_connection(2));
        assert!(find(&mut clients, 1).begin_connection(2));
    }

    #[test]
    fn a_process_is_remembered_until_nothing_of_it_is_left() {
        let mut clients = Clients::default();
        let first = find(&mut clients, 1);
        assert!(first.begin_call(1));
        assert!(!find(&mut clients, 1).begin_call(1), "still the same");
        drop(first);
        let _second = find(&mut clients, 2);
        assert_eq!(clients.known.len(), 1);
        assert!(find(&mut clients, 1).begin_call(1));
    }
}
