//! Folders below a share.

use std::fs;

use transport::Code;
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, POD, Volume, volume};

const FOLDER: &str = r"\\files\data\none";

fn of_folder(handle: &str) -> Volume<'_> {
    Volume {
        remote: FOLDER,
        ..volume(handle)
    }
}

fn inline() -> Volume<'static> {
    Volume {
        lifetime: Lifetime::Inline,
        ..of_folder("csi-1")
    }
}

#[test]
fn a_folder_that_the_share_lacks_is_not_found_and_leaves_nothing() {
    let fixture = Fixture::new();
    let error = fixture.stage(&of_folder("1")).unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    assert_eq!(fixture.mappings(), [""; 0]);
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_file_is_no_folder_and_leaves_nothing() {
    let fixture = Fixture::new();
    fs::write(fixture.make_folder("").join("none"), "a file").unwrap();
    let staged = fixture.stage(&of_folder("1"));
    for refused in [staged, fixture.publish_inline(&inline(), POD)] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{refused}");
        assert!(refused.to_string().contains(FOLDER), "{refused}");
        assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
        assert!(!fixture.exists(&of_folder("1").staging()));
    }
}

/// Nothing of the volume is cut, and once the folder is there again it is published.
#[test]
fn a_folder_that_is_gone_is_not_published() {
    let fixture = Fixture::new();
    let folder = fixture.make_folder("none");
    let volume = of_folder("1");
    fixture.stage(&volume).unwrap();
    fixture.publish_inline(&inline(), "inline").unwrap();
    fs::remove_dir(&folder).unwrap();
    for secret in [false, true] {
        let published = match secret {
            true => fixture.publish_with_secret(&volume, POD),
            false => fixture.publish(&volume, POD),
        };
        let refused = published.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{refused}");
        assert!(!fixture.exists(&volume.target(POD)));
    }
    let again = fixture.publish_inline(&inline(), "inline").unwrap_err();
    assert_eq!(again.code(), Code::Unavailable, "{again}");
    fs::create_dir(&folder).unwrap();
    fixture.publish(&volume, POD).unwrap();
    fixture.publish_inline(&inline(), "inline").unwrap();
}
