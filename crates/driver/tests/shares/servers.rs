//! Servers that change, and names that they may have.

use transport::Code;
use wincsi::sim::smb::{ServerHealth, ServerSpec};

use crate::fixture::{Fixture, PASSWORD, POD, ROOT, SERVER, SHARE, USER, Volume, volume};

/// The volume, whose server has another address by now.
fn moved() -> Volume<'static> {
    Volume {
        remote: r"\\10.0.0.2\data",
        server: Some("files"),
        ..volume("pv")
    }
}

#[test]
fn a_server_with_another_address_is_mapped_by_it_and_the_old_mapping_goes() {
    let fixture = Fixture::new();
    let moved = moved();
    let spec = ServerSpec::sharing(SHARE, USER, PASSWORD);
    fixture.add_server("10.0.0.2", &spec);
    fixture.stage(&volume("pv")).unwrap();
    fixture.stage(&moved).unwrap();
    assert_eq!(fixture.mappings(), [ROOT], "what serves is not cut");
    assert!(fixture.try_unmap_by_hand(ROOT));
    fixture.stage(&moved).unwrap();
    assert_eq!(fixture.mappings(), [r"\\10.0.0.2\data"]);
    fixture.unstage(&moved).unwrap();
    assert_eq!(fixture.mappings(), [""; 0]);
}

#[test]
fn a_server_that_is_silent_keeps_the_mapping_of_pods_also_where_its_name_has_another_address() {
    let fixture = Fixture::new();
    let moved = moved();
    fixture.add_server("10.0.0.2", &ServerSpec::sharing(SHARE, USER, PASSWORD));
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    let smb = fixture.servers();
    smb.set_condition(SERVER, ServerHealth::Down).unwrap();
    // Over the pipes nobody tells that it is silent.
    if let Err(error) = fixture.stage_again(&moved) {
        assert_eq!(error.code(), Code::Unavailable, "{error}");
    }
    smb.set_condition(SERVER, ServerHealth::Up).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.write(&moved.target(POD), "not cut");
}

#[test]
fn a_publish_with_the_new_password_renews_a_mapping_whose_old_one_the_server_refuses() {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.change_password("rotated");
    let rotated = Volume {
        password: "rotated",
        ..volume("pv")
    };
    fixture.publish_with_secret(&rotated, POD).unwrap();
    fixture.write(&rotated.target(POD), "by the new password");
}

#[test]
fn a_share_is_known_by_its_mapping_whatever_letters_its_name_has() {
    let fixture = Fixture::new();
    let server = ServerSpec::sharing("Ärger & Söhne$", USER, PASSWORD);
    fixture.add_server("nas", &server);
    let volume = Volume {
        remote: r"\\NAS\Ärger & Söhne$",
        ..volume("1")
    };
    fixture.stage(&volume).unwrap();
    fixture.publish(&volume, POD).unwrap();
    assert_eq!(fixture.mappings(), [r"\\nas\ärger & söhne$"]);
    fixture.unpublish(&volume, POD).unwrap();
    fixture.unstage(&volume).unwrap();
    assert_eq!(fixture.mappings(), [""; 0]);
}
