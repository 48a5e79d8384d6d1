//! What an operator reads of a share that is refused.

use wire::csi::v1::volume_capability::access_mode::Mode;

use crate::share_requests::fixture::{Fixture, PASSWORD, Volume};

const STUCK: &str = include_str!("../../../../../docs/stuck.md");

/// The cluster's life compares these events as a whole, with one of a server beside them.
#[test]
fn the_page_has_events_of_requests_as_they_are() {
    let fixture = Fixture::lenient();
    let of_context = |context| {
        let mut volume = Volume::of("");
        volume.context = context;
        fixture.refusal(&volume)
    };
    let with_secret = |mut volume: Volume, secrets| {
        volume.secrets = secrets;
        volume
    };
    let source = "//files/data";
    let misspelt = vec![("username", "pods"), ("pasword", PASSWORD)];
    let mut disk = with_secret(Volume::of(""), vec![]);
    disk.context = vec![("lun", "1")];
    disk.mode = Mode::SingleNodeWriter;
    let inline = with_secret(Volume::inline(source), vec![]);
    for refused in [
        of_context(vec![("source", source), ("subDirr", "reports")]),
        fixture.refusal(&with_secret(Volume::of(source), misspelt)),
        of_context(vec![("subDir", "reports")]),
        fixture.refusal(&disk),
        fixture.publish(&inline).unwrap_err().to_string(),
    ] {
        let refused = refused.replacen(": ", " desc = ", 1);
        let event = format!("\" : rpc error: code = {refused}\n");
        assert!(STUCK.replace("\r\n", "\n").contains(&event), "{event}");
    }
}

#[test]
fn a_wrong_password_has_windowss_number_and_the_user() {
    let mut volume = Volume::of("//files/data");
    volume.secrets = vec![("username", "pods"), ("password", "wrong")];
    let refused = Fixture::lenient().stage(&volume).unwrap_err().message;
    assert!(refused.contains("incorrect. (1326)"), "{refused}");
    assert!(refused.contains(r"as AZURE\pods"), "{refused}");
    assert!(!refused.contains("wrong"), "{refused}");
}

#[test]
fn an_option_that_a_mapping_lacks_has_the_volumes_name() {
    let fixture = Fixture::lenient();
    fixture.stage(&Volume::of("//files/data")).unwrap();
    let mut signed = Volume::of("//files/data").with(&["sign"]);
    signed.handle = "signed";
    let refused = fixture.stage(&signed).unwrap_err().message;
    assert!(
        refused.contains("without sign (RequireIntegrity)"),
        "{refused}"
    );
}

#[test]
fn a_source_with_a_port_is_refused_with_the_option() {
    let refused = Fixture::lenient().refusal(&Volume::of("//files:445/data"));
    assert!(refused.contains("mount option port=N"), "{refused}");
}

#[test]
fn a_name_of_the_cluster_needs_its_dns() {
    let volume = Volume::of("//files.shop.svc.cluster.local/data");
    let refused = Fixture::lenient().stage(&volume).unwrap_err().message;
    assert!(refused.contains("-cluster-dns"), "{refused}");
}
