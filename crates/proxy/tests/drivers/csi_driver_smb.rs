//! Two volumes of one share, and a driver that lost its counts of a share's users.

use super::*;

scripted!("csi_driver_smb" [v1 v1beta1]);

fn smb(fixture: &NodeFixture) -> Player<'_> {
    Player::start(fixture, SCRIPT, "v1", Form::Backslashes)
}

fn second_of<'a>(smb: &Player<'a>) -> Player<'a> {
    smb.another(SCRIPT, "pvc-2", r"\\FileServer\share/pvc-2")
}

fn check_mapped(smb: &Player<'_>, times: &str) {
    smb.play("mapped", &[("times", times)]).unwrap();
}

#[test]
fn two_volumes_of_a_share_share_its_mapping() -> Answer<()> {
    let fixture = player::node(SCRIPT, "v1", "node");
    let one = smb(&fixture);
    let two = second_of(&one);
    for (driver, volume) in [(&one, "pvc-1"), (&two, "pvc-2")] {
        driver.must(Ask::Stage)?;
        driver.must(Ask::Publish)?;
        fixture.pod_writes(&driver.paths().target, volume);
    }
    check_mapped(&one, "1");
    one.must(Ask::Unpublish)?;
    one.must(Ask::Unstage)?;
    check_mapped(&two, "1");
    let read = fixture.pod_reads(&two.paths().target, "pvc-2");
    assert_eq!(read.as_deref(), Ok("pvc-2"));
    two.must(Ask::Unpublish)?;
    two.must(Ask::Unstage)?;
    two.must(Ask::Unstaged)
}

/// Each volume stays staged and mapped until its count is there again.
#[test]
fn a_driver_that_lost_its_counts_unstages_no_volume() -> Answer<()> {
    let fixture = player::node(SCRIPT, "v1", "node");
    let before = smb(&fixture);
    before.must(Ask::Stage)?;
    let two = second_of(&before);
    two.must(Ask::Stage)?;
    two.must(Ask::Publish)?;
    fixture.pod_writes(&two.paths().target, "kept");
    let one = Player::new(&fixture, SCRIPT, "v1", Form::Backslashes);
    let two = second_of(&one);
    for driver in [&one, &two] {
        driver.must(Ask::Unstage).unwrap_err();
        driver.must(Ask::Stage)?;
        driver.must(Ask::Unstage).unwrap_err();
    }
    check_mapped(&one, "1");
    let read = fixture.pod_reads(&two.paths().target, "kept");
    assert_eq!(read.as_deref(), Ok("kept"));
    two.must(Ask::Unpublish)?;
    for driver in [&one, &two] {
        driver.play("start", &[])?;
    }
    for driver in [&one, &two] {
        driver.must(Ask::Unstage)?;
    }
    two.must(Ask::Unstaged)
}
