//! Mappings and volumes as real machines listed them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use formats::fixtures::field::{self, Recorded};
use os::VolumeId;
use os::schema::smb_global_mapping::status;
use wincsi_node::RemotePath;

#[test]
fn a_recorded_mapping_is_of_a_share_and_has_a_status_that_we_know() {
    let mappings = field::objects("MSFT_SmbGlobalMapping");
    assert_eq!(mappings.len(), 3);
    for (_, mapping) in mappings {
        let remote = mapping.text("RemotePath").unwrap();
        let share = RemotePath::parse(remote).unwrap().to_string();
        assert_eq!(share.trim_end_matches('\\'), remote);
        let Some(Recorded::Word(word)) = mapping.get("Status") else {
            panic!("{mapping}");
        };
        assert!(status::VALUES.iter().any(|row| row.name == word), "{word}");
    }
}

/// Windows writes them in one form, whatever the version of the GUID.
#[test]
fn a_recorded_volume_name_is_a_volume_id_and_comes_back_as_it_was() {
    let volumes = field::objects("MSFT_Volume");
    assert_eq!(volumes.len(), 3);
    for (_, volume) in volumes {
        let name = volume.text("Path").unwrap();
        let id: VolumeId = name.parse().unwrap();
        assert_eq!(id.to_string(), name);
    }
}
