//! Misspelt keys, and those of other drivers.

use transport::Code;

use crate::share_requests::fixture::{Fixture, PASSWORD, Volume};

type Pair = (&'static str, &'static str);

#[test]
fn a_misspelt_attribute_is_refused_with_the_meant_one() {
    let source = ("source", "//files/data");
    let disk = ("page83", "600224801234567890abcdef00000001");
    for (context, key, meant) in [
        (&[source, ("subDirr", "a")][..], "subDirr", "subDir"),
        (&[source, ("sbuDir", "a")], "sbuDir", "subDir"),
        (&[("src", "//files/data")], "src", "source"),
        (&[("sourc", "//files/data")], "sourc", "source"),
        (&[("subDir", "a"), ("SRC", "//files/data")], "SRC", "source"),
        (&[("Page83", disk.1)], "Page83", "page83"),
        (&[disk, ("Label", "a")], "Label", "label"),
        (&[disk, ("rootAcll", "a")], "rootAcll", "rootAcl"),
    ] {
        let refused = Fixture::lenient().refusal(&with(context));
        assert!(refused.contains(&format!("{key:?}")), "{refused}");
        assert!(refused.contains(&format!("write {meant}")), "{refused}");
    }
}

#[test]
fn a_misspelt_key_of_an_inline_volume_is_refused() {
    let fixture = Fixture::lenient();
    for (key, meant) in [("subDirr", "subDir"), ("mountOption", "mountOptions")] {
        let mut volume = Volume::inline("//files/data");
        volume.context.push((key, "a"));
        let refused = fixture.publish(&volume).unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument, "{refused}");
        assert!(refused.message.contains(&format!("write {meant}")));
    }
}

#[test]
fn a_misspelt_key_of_a_secret_is_refused() {
    let fixture = Fixture::lenient();
    for (key, meant) in [
        ("pasword", "password"),
        ("user name", "username"),
        ("sourec", "source"),
    ] {
        let mut volume = Volume::of("//files/data");
        volume.secrets.retain(|(key, _)| *key != meant);
        volume.secrets.push((key, PASSWORD));
        let refused = fixture.refusal(&volume);
        assert!(refused.contains(&format!("{key:?}")), "{refused}");
        assert!(refused.contains(&format!("write {meant}")), "{refused}");
        assert!(!refused.contains(PASSWORD), "{refused}");
    }
    let mut volume = Volume::of("//files/data");
    volume.secrets = vec![("USERNAME", "pods"), ("Password", PASSWORD)];
    volume.secrets.push(("passwords", "of others"));
    // The controller's lists of snapshots read it.
    volume
        .secrets
        .push(("source", "//files/other\n//more/data"));
    volume.secrets.push(("sources", "of others"));
    fixture.stage(&volume).unwrap();
    let mappings = fixture.mappings();
    assert!(
        mappings.len() == 1 && mappings[0].0 == r"\\files\data",
        "{mappings:?}"
    );
}

#[test]
fn a_staged_volume_is_refused_for_no_key() {
    let mut misspelt = Volume::of("//files/data");
    misspelt.context.push(("subDirr", "a"));
    misspelt.secrets.push(("domian", "x"));
    let fixture = Fixture::lenient();
    fixture.stage(&Volume::of("//files/data")).unwrap();
    fixture.stage(&misspelt).unwrap();
    fixture.publish(&misspelt).unwrap();
    let of_another = Fixture::lenient();
    of_another.stage_by_csi_driver_smb(r"\\files\data");
    of_another.publish(&misspelt).unwrap();
    let of_another = Fixture::lenient();
    of_another.stage_by_csi_driver_smb(r"\\files\data");
    of_another.stage(&misspelt).unwrap();
}

#[test]
fn attributes_of_other_drivers_are_no_mistakes() {
    let mut volume = Volume::of("//files/data");
    for key in ["skuName", "createSubDir", "storageAccount", "server"] {
        volume.context.push((key, "a"));
    }
    Fixture::lenient().stage(&volume).unwrap();
}

#[test]
fn a_share_without_a_source_is_no_disk() {
    let of_nobody = |mut volume: Volume| {
        volume.secrets.clear();
        volume
    };
    for volume in [
        with(&[]),
        of_nobody(with(&[("subDir", "a")])),
        with(&[("source", " ")]),
    ] {
        let refused = Fixture::lenient().refusal(&volume);
        assert!(refused.contains("source is missing"), "{refused}");
        assert!(!refused.contains("disk"), "{refused}");
    }
}

/// With a user.
fn with(context: &[Pair]) -> Volume {
    let mut volume = Volume::of("");
    volume.context = context.to_vec();
    volume
}
