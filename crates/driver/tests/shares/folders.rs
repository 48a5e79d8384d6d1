//! Folders below a share.

use transport::Code;

use wincsi::sim::smb::ServerSpec;

use crate::fixture::{Fixture, PASSWORD, POD, USER, Volume, volume};

#[test]
fn a_folder_that_the_share_lacks_is_not_found_and_leaves_nothing() {
    let fixture = Fixture::new();
    let missing = Volume {
        remote: r"\\files\data\none",
        ..volume("1")
    };
    let error = fixture.stage(&missing).unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    assert_eq!(fixture.mappings(), [""; 0]);
    assert_eq!(fixture.records(), 0);
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
