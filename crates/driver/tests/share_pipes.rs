//! What holds of shares in process holds over csi-proxy's pipes: the same cases, with a proxy in this process that serves
//! the simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "deaths/mod.rs"]
mod deaths;
#[path = "shares/fixture.rs"]
mod fixture;
#[path = "shares/life.rs"]
mod life;
#[path = "disks/fixture/pipes.rs"]
mod served;
#[path = "shares/users.rs"]
mod users;

use transport::Code;
use wincsi_driver::record::Lifetime;

use self::fixture::{Fixture, Host, POD, Volume, volume};

const HOST: Host = Host::Pipes;

#[test]
fn an_inline_volume_is_refused_by_name_as_the_pipes_list_no_mappings() {
    let fixture = Fixture::new();
    let inline = Volume {
        lifetime: Lifetime::Inline,
        ..volume("csi-1")
    };
    let error = fixture.publish_inline(&inline, POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(error.to_string().contains("mapping-list"), "{error}");
    assert_eq!((fixture.records(), fixture.mappings().len()), (0, 0));
}
