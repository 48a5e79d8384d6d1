//! Calls that fail, hang or die, and their leftovers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod crash_mounted_folder;
mod crash_services;
mod errors;
mod hangs;
mod nulls;

use wincsi_node::api::{Error, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundDisk, SerialNumber};

use crate::support::{DATA, NodeFixture};

fn api(fixture: &NodeFixture) -> &dyn NodeApi {
    &fixture.node
}

fn found(fixture: &NodeFixture) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    api(fixture).disks().find(&wanted, fixture.soon()).unwrap()
}

fn partition(fixture: &NodeFixture) -> Result<(), Error> {
    api(fixture)
        .disks()
        .partition(&found(fixture), fixture.soon())
}
