//! Folders below a share.

use transport::Code;

use crate::fixture::{Fixture, Volume, volume};

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
