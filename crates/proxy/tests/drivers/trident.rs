//! Trident's query of a share's volume.

use super::*;

scripted!("trident"[v1]);

/// NodeGetVolumeStats. The driver logs the failure and reports that nothing is used.
#[test]
fn a_share_has_no_volume_and_is_not_asked_for_one() -> Answer<()> {
    let fixture = player::node(SCRIPT, "v1", "node");
    let driver = Player::start(&fixture, SCRIPT, "v1", Form::Backslashes);
    driver.must(Ask::Stage)?;
    driver.must(Ask::Publish)?;
    let _ = fixture.sim.take_trace();
    let looked = driver.play("measure", &[]);
    let failure = looked.expect_err("a share is no volume");
    assert!(
        failure.text.contains("on no drive or volume of this node"),
        "{failure:?}"
    );
    let known = node::driver_texts::ALL.iter().map(|known| known.words);
    let read = known.into_iter().find(|known| failure.text.contains(known));
    assert_eq!(read, None, "{failure:?}");
    let seen = fixture.sim.take_trace();
    let packets = seen.iter().filter(|op| op.object.contains("fileserver"));
    assert_eq!(packets.count(), 0, "{seen:?}");
    Ok(())
}
