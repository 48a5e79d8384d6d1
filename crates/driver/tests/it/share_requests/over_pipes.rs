//! Requests for shares that csi-proxy's pipes carry.

#[path = "../../support/served.rs"]
mod served;

use std::sync::Arc;

use wincsi_driver::kinds::share::attributes::ShareRules;

use self::served::Served;
use crate::share_requests::fixture::{Fixture, Volume};
use crate::share_requests::strict;

/// A driver that does all through a proxy of its own.
fn over_pipes(rules: ShareRules) -> Fixture {
    Fixture::on(rules, |sim, _| {
        let sockets = tempfile::tempdir().unwrap();
        let served = Served::start(sim, sockets.path());
        let node = Arc::new(served.client());
        (node, Some(Box::new((served, sockets))))
    })
}

#[test]
fn options_that_the_pipes_do_not_have_are_accepted_counted_and_reported_or_refused_if_strict() {
    let volume = Volume::of("//files/data").with(&["seal,vers=3.0", "port=4450", "ro"]);
    let fixture = over_pipes(ShareRules::default());
    for _ in 0..2 {
        fixture.stage(&volume).unwrap();
    }
    assert_eq!(fixture.mappings().len(), 1);
    let page = fixture.metrics();
    for (labels, count) in [
        ("option=\"seal\",class=\"pipes\"", 2),
        ("option=\"port\",class=\"pipes\"", 2),
        ("option=\"ro\",class=\"honoured\"", 2),
    ] {
        assert!(page.contains(&format!("{{{labels}}} {count}\n")), "{page}");
    }
    let events = fixture.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(
        events[0].contains("seal (-host=proxy does not have it), port ("),
        "{events:?}"
    );
    let refused = over_pipes(strict()).refusal(&volume);
    assert!(
        refused.contains("seal") && !refused.contains("vers"),
        "{refused}"
    );
}
