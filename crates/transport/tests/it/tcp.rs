//! The tests of the system's own kind of endpoint, on tcp.

#[path = "each/bad_input.rs"]
mod bad_input;
#[path = "each/budget.rs"]
mod budget;
#[path = "each/calls.rs"]
mod calls;
#[path = "each/connections.rs"]
mod connections;
#[path = "each/idle.rs"]
mod idle;
#[path = "../support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use transport::{CallError, Channel, ChannelOptions, ServerOptions};

use self::support::{Fixture, eventually, read_to_close};

/// Guards: P9
#[test]
fn a_tcp_server_is_nobodys_and_is_called_only_by_who_trusts_anybody() {
    let fixture = Fixture::new(ServerOptions::default());
    let refused = Channel::connect(fixture.endpoint.clone(), ChannelOptions::default());
    assert!(
        matches!(refused, Err(CallError::ForeignOwner { .. })),
        "{refused:?}"
    );
    let deadline = Instant::now() + Duration::from_secs(30);
    let answer = fixture.channel().call("/v1.Test/Echo", b"fine", deadline);
    assert_eq!(answer.unwrap(), b"fine");
}

#[test]
fn all_who_come_by_tcp_have_the_share_of_one_client() {
    let mut options = ServerOptions::default();
    options.max_process_connections = 2;
    let fixture = Fixture::new(options);
    let _first = fixture.raw();
    let _second = fixture.raw();
    eventually("both are in", || fixture.server.usage().connections == 2);
    assert_eq!(read_to_close(&mut fixture.raw()), b"");
    assert_eq!(fixture.server.usage().turned_away, 1);
}
