//! A hung disk or volume does not use up the threads of calls, however often its callers repeat.

use std::sync::MutexGuard;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, ClientCause, ClientError};
use os_sim::testing::TestNode;
use os_sim::{Effect, Rule};
use transport::{CallError, Server, ServerOptions};
use wincsi_proxy::paths::WorkingDirs;
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::volume::v1 as volume;

use crate::support::{KUBELET, TIMEOUT, ask, formatted_volume, operations, serve_on, turn};

/// Longer than anybody sleeps before a look at the virtual clock.
const SLICE: Duration = Duration::from_millis(200);

/// The most running calls.
const RUNNING: usize = 4;

/// More of them than may run.
const REPEATED: usize = 10 * RUNNING;

/// A server with few threads on a node with a formatted volume on disk 1.
struct HangFixture {
    client: Client,
    volume_id: String,
    _server: Server,
    sim: TestNode,
    _turn: MutexGuard<'static, ()>,
}

impl HangFixture {
    fn new() -> Self {
        let turn = turn();
        let sim = TestNode::demo(tempfile::tempdir().expect("a folder"));
        let dirs = WorkingDirs::parse(vec![KUBELET.to_owned()]).expect("a path");
        let mut options = ServerOptions::default();
        options.max_running_calls = RUNNING;
        let server = serve_on(operations(sim.os(), dirs), sim.home(), options);
        let client = Client::local(sim.home());
        let volume_id = formatted_volume(&client);
        let _ = sim.take_trace();
        Self {
            client,
            volume_id,
            _server: server,
            sim,
            _turn: turn,
        }
    }

    fn ask<R: Rpc>(&self, request: &R::Request) -> R::Response {
        ask::<R>(&self.client, request)
    }

    /// Another client's call, with its own patience.
    fn begin<R: Rpc>(
        &self,
        request: R::Request,
        patience: Duration,
    ) -> Receiver<Result<R::Response, ClientError>>
    where
        R::Request: Send + 'static,
        R::Response: Send + 'static,
    {
        let client = Client::local(self.sim.home());
        let (answer, answered) = mpsc::channel();
        thread::spawn(move || answer.send(client.call::<R>(&request, patience)));
        self.sim.wait_for_hang(1);
        answered
    }

    fn stats(&self) -> volume::GetVolumeStatsRequest {
        let volume_id = self.volume_id.clone();
        volume::GetVolumeStatsRequest { volume_id }
    }

    fn looks_at(&self, object: &str) -> usize {
        let trace = self.sim.take_trace();
        trace.iter().filter(|op| op.object == object).count()
    }
}

/// Calls until it succeeds: a hung call ends a moment after its release.
fn eventually<T>(ask: impl Fn() -> Result<T, ClientError>) -> T {
    let end = Instant::now() + TIMEOUT;
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    }
}

/// Both in one test: on Windows all servers of a machine have the same pipes.
#[test]
fn what_hangs_costs_one_running_call_however_often_it_is_asked() {
    let fixture = HangFixture::new();
    the_stats_of_a_volume_that_hangs(&fixture);
    the_ids_beside_a_disk_that_hangs(&fixture);
}

fn the_stats_of_a_volume_that_hangs(fixture: &HangFixture) {
    let space = Rule::on("GetDiskFreeSpaceExW", Effect::Hang).object(&fixture.volume_id);
    let hang = fixture.sim.fault(space);
    let first = fixture.begin::<volume::rpc::GetVolumeStats>(fixture.stats(), SLICE);
    let error = first.recv_timeout(TIMEOUT).expect("an answer");
    assert!(error.is_err(), "by its deadline");
    fixture.sim.let_pass(Duration::from_secs(60));
    for _ in 0..REPEATED {
        let refused = fixture
            .client
            .call::<volume::rpc::GetVolumeStats>(&fixture.stats(), TIMEOUT);
        let text = match refused.expect_err("it hangs").cause {
            ClientCause::Call(CallError::Status(status)) => status.message,
            other => panic!("{other}"),
        };
        let expected = "does not answer: a call from before has not ended";
        assert!(text.ends_with(expected), "{text}");
        fixture.ask::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {});
    }
    assert_eq!(fixture.looks_at(&fixture.volume_id), 1);
    fixture.sim.faults().remove(hang);
    eventually(|| {
        fixture
            .client
            .call::<volume::rpc::GetVolumeStats>(&fixture.stats(), TIMEOUT)
    });
}

fn the_ids_beside_a_disk_that_hangs(fixture: &HangFixture) {
    let _ = fixture.sim.take_trace();
    let page = Rule::on("IOCTL_STORAGE_QUERY_PROPERTY", Effect::Hang).object("disk 1");
    let hang = fixture.sim.fault(page);
    let first = fixture.begin::<disk::rpc::ListDiskIds>(disk::ListDiskIdsRequest {}, TIMEOUT);
    let begun = Instant::now();
    let answer = loop {
        assert!(begun.elapsed() < TIMEOUT, "not answered");
        fixture.sim.let_pass(Duration::from_secs(5));
        if let Ok(answer) = first.recv_timeout(SLICE) {
            break answer;
        }
    };
    let others: Vec<_> = answer
        .expect("the others' ids")
        .disk_ids
        .into_keys()
        .collect();
    assert_eq!(others, [0]);
    for _ in 0..REPEATED {
        let answer = fixture.ask::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {});
        assert!(!answer.disk_ids.contains_key(&1));
    }
    assert_eq!(fixture.looks_at("disk 1"), 1);
    fixture.sim.faults().remove(hang);
    let begun = Instant::now();
    while !fixture
        .ask::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {})
        .disk_ids
        .contains_key(&1)
    {
        assert!(begun.elapsed() < TIMEOUT, "it answers again");
    }
}
