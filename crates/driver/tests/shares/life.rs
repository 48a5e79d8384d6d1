//! A volume from its stage to its unstage.

use transport::Code;

use crate::fixture::{Fixture, Host, POD, ROOT, SERVER, SHARE, Volume, volume};

/// As a kubelet that was configured anew has it.
pub(crate) const SPELT_OTHERWISE: &str = r"c:\VAR\Lib\kubeLET";

#[test]
fn a_share_is_staged_published_measured_and_gone() {
    let fixture = Fixture::new();
    let volume = volume("pv");
    fixture.stage(&volume).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.publish(&volume, "pod").unwrap();
    fixture.write(&volume.target("pod"), "by a pod");
    let file = fixture
        .servers()
        .share_folder(SERVER, SHARE)
        .join("written.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "by a pod");
    match fixture.stats(&volume, "pod") {
        Ok(stats) => assert!(stats.total > 0 && stats.abnormal.is_none()),
        Err(error) => {
            assert_eq!(
                (crate::HOST, error.code()),
                (Host::Pipes, Code::FailedPrecondition)
            );
            assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
        }
    }
    fixture.unpublish(&volume, "pod").unwrap();
    fixture.unstage(&volume).unwrap();
    assert_eq!(fixture.mappings(), [""; 0]);
    assert!(!fixture.exists(&volume.staging()));
    assert_eq!(fixture.records(), 0);
}

#[test]
fn volumes_of_one_share_have_one_mapping_until_the_last_is_gone() {
    let fixture = Fixture::new();
    fixture.make_folder("a");
    let (one, other) = (
        volume("1"),
        Volume {
            remote: r"\\files\data\a",
            ..volume("2")
        },
    );
    fixture.stage(&one).unwrap();
    fixture.stage(&other).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.unstage(&one).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.unstage(&other).unwrap();
    assert_eq!(fixture.mappings(), [""; 0]);
}

/// Windows compares paths without case.
#[test]
fn a_share_is_one_in_each_spelling_of_its_paths() {
    let mut fixture = Fixture::new();
    let spelt_otherwise = Volume {
        kubelet: SPELT_OTHERWISE,
        ..volume("pv")
    };
    let plain = volume("pv");
    for (record, calls) in [(&plain, &spelt_otherwise), (&spelt_otherwise, &plain)] {
        fixture.stage(record).unwrap();
        fixture.stage(calls).unwrap();
        fixture.publish(record, POD).unwrap();
        fixture.restart_driver();
        fixture.publish(calls, POD).unwrap();
        assert_eq!(
            fixture.stats(calls, POD).is_ok(),
            crate::HOST == Host::InProcess
        );
        fixture.unstage(calls).unwrap_err();
        fixture.unpublish(calls, POD).unwrap();
        fixture.unstage(calls).unwrap();
        assert!(!fixture.exists(&record.target(POD)) && !fixture.exists(&record.staging()));
        assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
    }
}

#[test]
fn a_record_goes_whose_staging_folder_kubelet_removed_for_another_driver() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.remove_staging_folder(&volume("pv"));
    fixture.restart();
    assert_eq!((fixture.records(), fixture.mappings().len()), (0, 0));
}
