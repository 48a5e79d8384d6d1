//! What an operator reads of a share that is refused.

use crate::fixture::{Fixture, Volume};

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
