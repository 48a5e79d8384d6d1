//! The program's open handles before and after many calls of every method.

use std::fs;
use std::path::Path;
use std::time::Instant;

use client::Client;
use transport::{CallError, Channel, ChannelOptions};
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::volume::v1 as volume;

use crate::exe::{Server, TIMEOUT, look_until, turn};
use crate::messages::{Request, text};
use crate::ordinary;

const ROUNDS: usize = 3;

/// Guards: P40
#[test]
fn weakness_17_no_call_that_went_well_or_failed_leaves_a_handle() {
    let _turn = turn();
    let server = Server::start();
    let folder = server.folder.path();
    let volume_id = volume_on_the_data_disk(folder);
    let channels: Vec<_> = wire::GROUPS
        .iter()
        .map(|group| channel(folder, group))
        .collect();
    // Opens connections, and every handle that stays open for good.
    let first = round(&channels, &volume_id);
    assert!(first.well > 40 && first.failed > 100, "{first:?}");
    let before = handles(&server);
    for _ in 0..ROUNDS {
        round(&channels, &volume_id);
    }
    // A leak of one handle in one method would show as at least so many.
    let bound = before + ROUNDS - 1;
    look_until(
        || format!("{before} handles, and there are {}", handles(&server)),
        || handles(&server) <= bound,
    );
}

/// How many calls ended how.
#[derive(Debug, Default)]
struct Ends {
    well: usize,
    failed: usize,
}

/// Calls every method of every version: as a driver does, without any field, and with unknown names.
fn round(channels: &[Channel], volume_id: &str) -> Ends {
    let mut ends = Ends::default();
    for (group, channel) in wire::GROUPS.iter().zip(channels) {
        for method in group.methods {
            for request in requests(group, method, volume_id) {
                match channel.call(method.path, &request, Instant::now() + TIMEOUT) {
                    Ok(_) => ends.well += 1,
                    Err(CallError::Status(_)) => ends.failed += 1,
                    Err(error) => panic!("{}: {error}", method.path),
                }
            }
        }
    }
    ends
}

fn requests(group: &wire::Group, method: &wire::Method, volume_id: &str) -> [Vec<u8>; 3] {
    let request = Request::of(group, method);
    let usual = |leaf: &_, field| ordinary::value(leaf, field, volume_id);
    let unknown = request.encode(&|leaf, field| match leaf.is_text {
        true => text(field, br"C:\var\lib\kubelet\missing\at all"),
        false => usual(leaf, field),
    });
    [request.encode(&usual), Vec::new(), unknown]
}

/// The open files of the program, sockets included.
fn handles(server: &Server) -> usize {
    let folder = format!("/proc/{}/fd", server.process().id());
    fs::read_dir(folder).expect("it lives").count()
}

fn channel(folder: &Path, group: &wire::Group) -> Channel {
    let endpoint = transport::Endpoint::local(&folder.join("sockets"), &group.pipe_name())
        .expect("a group's name");
    Channel::connect(endpoint, ChannelOptions::default()).expect("it listens")
}

fn volume_on_the_data_disk(folder: &Path) -> String {
    let client = Client::local(folder.join("sockets"));
    ask::<disk::rpc::Rescan>(&client, &disk::RescanRequest {});
    ask::<disk::rpc::PartitionDisk>(&client, &disk::PartitionDiskRequest { disk_number: 1 });
    let list = volume::ListVolumesOnDiskRequest {
        disk_number: 1,
        partition_number: 0,
    };
    let mut volume_ids = ask::<volume::rpc::ListVolumesOnDisk>(&client, &list).volume_ids;
    let volume_id = volume_ids.pop().expect("a volume");
    let format = volume::FormatVolumeRequest {
        volume_id: volume_id.clone(),
    };
    ask::<volume::rpc::FormatVolume>(&client, &format);
    volume_id
}

fn ask<R: Rpc>(client: &Client, request: &R::Request) -> R::Response {
    client.call::<R>(request, TIMEOUT).expect("it is done")
}
