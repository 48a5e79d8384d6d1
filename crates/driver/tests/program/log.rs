//! What an operator finds in the log.

use std::io::Write as _;
use std::net::TcpStream;

use wincsi::sim::smb::{ServerHealth, ServerSpec};
use wire::csi::v1::NodeStageVolumeRequest;
use wire::csi::v1::node::{NodePublishVolume, NodeStageVolume};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};

use crate::driver::Driver;
use crate::kubelet::Volume;

const CLAIM: [(&str, &str); 2] = [
    ("csi.storage.k8s.io/pvc/name", "data"),
    ("csi.storage.k8s.io/pvc/namespace", "shop"),
];
const POD: [(&str, &str); 2] = [
    ("csi.storage.k8s.io/pod.name", "web-0"),
    ("csi.storage.k8s.io/pod.namespace", "shop"),
];
const SECRET: &str = "Zx81-qUUx-horse!";

#[test]
fn each_call_is_a_line_with_its_volume_claim_and_pod() {
    let driver = Driver::start();
    let volume = Volume::new("vol-a");
    let mut request = volume.to_stage();
    request.volume_context = owned(&CLAIM);
    driver.call::<NodeStageVolume>(&request).unwrap();
    let mut request = volume.to_publish();
    request.volume_context = owned(&POD);
    driver.call::<NodePublishVolume>(&request).unwrap();
    volume.stats(&driver).unwrap();
    volume.unstage(&driver).unwrap_err();
    volume.unpublish(&driver).unwrap();
    volume.expand(&driver, 1).unwrap_err();
    volume.unstage(&driver).unwrap();
    driver.wait_for("NodeUnstageVolume: OK");
    for (call, words) in [
        (
            "NodeStageVolume",
            &[r#"pvc/name="data" pvc/namespace="shop""#][..],
        ),
        (
            "NodePublishVolume",
            &[r#"pod.name="web-0" pod.namespace="shop""#],
        ),
        ("NodeGetVolumeStats", &[]),
        ("NodeUnpublishVolume", &[]),
    ] {
        let line = &lines(&driver, &format!("{call}: OK in "))[..];
        let [line] = line else { panic!("{line:?}") };
        assert!(line.contains(r#"volume="vol-a""#), "{line}");
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
    }
    let failed = lines(&driver, "NodeUnstageVolume: FailedPrecondition in ");
    assert!(failed[0].starts_with('E'), "{failed:?}");
    assert!(failed[0].contains("is published at") && failed[0].contains(r#"volume="vol-a""#));
    for call in ["NodeStageVolume", "NodePublishVolume", "NodeExpandVolume"] {
        assert_eq!(lines(&driver, &format!("{call}:")).len(), 1, "{call}");
    }
}

/// Guards: P21
#[test]
fn fields_of_a_call_are_on_a_list_and_in_the_log_at_5() {
    let mut driver = Driver::start();
    for verbosity in [5, 2] {
        driver.restart_with(&[&format!("-v={verbosity}")]);
        let name = format!("vol-{verbosity}");
        let request = with_canaries(Volume::new(&name).to_stage());
        driver.call::<NodeStageVolume>(&request).unwrap_err();
        driver.wait_for(&format!("volume={name:?}"));
        let line = lines(&driver, "NodeStageVolume:").pop().unwrap();
        let has_fields = verbosity == 5;
        for field in ["globalmount", "SingleNodeWriter", "ntfs", r#"subDir="a/b""#] {
            assert_eq!(line.contains(field), has_fields, "{field}: {line}");
        }
        assert!(!line.contains("other.example"), "{line}");
    }
    assert!(!driver.log().contains(SECRET) && !driver.log().contains("horse"));
}

#[test]
fn kubelets_connections_are_no_lines_and_junk_is_one() {
    let driver = Driver::start();
    for bytes in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0xff; 64]] {
        let mut stream = TcpStream::connect(driver.csi_address()).unwrap();
        stream.write_all(bytes).unwrap();
    }
    driver.wait_for("the connection does not begin with the HTTP/2 preface");
    let closed = lines(&driver, "connection closed");
    assert_eq!(closed.len(), 1, "{closed:?}");
    assert_eq!(lines(&driver, "client connected"), [""; 0]);
}

#[test]
fn a_share_that_waits_after_a_reboot_is_no_error() {
    let mut driver = Driver::start();
    let server = ServerSpec::sharing("data", r"AZURE\pods", SECRET);
    driver.servers().add_server("nas", &server).unwrap();
    let volume = Volume::new("vol-nas");
    let mut request = volume.to_stage();
    request.publish_context.clear();
    request.volume_context = owned(&[("source", "//nas/data")]);
    request.secrets = owned(&[("username", "pods"), ("password", SECRET)]);
    driver.call::<NodeStageVolume>(&request).unwrap();
    driver.end_and_open().reboot().unwrap();
    driver.start_again();
    driver.wait_for("1 volumes have a record; 1 are away");
    assert!(driver.log().contains("waits for its next stage"));
    assert!(driver.page("/metrics").contains("wincsi_volume_abnormal{"));
    driver.call::<NodeStageVolume>(&request).unwrap();
    assert!(!driver.page("/metrics").contains("wincsi_volume_abnormal{"));
    let log = driver.log();
    let errors: Vec<_> = log.lines().filter(|line| line.starts_with('E')).collect();
    assert_eq!(errors, [""; 0]);
}

/// After the restart only its record has the name.
#[test]
fn a_share_with_an_at_is_in_no_line_after_a_restart() {
    let mut driver = Driver::start();
    let server = ServerSpec::sharing("da@ta", r"AZURE\pods", SECRET);
    driver.servers().add_server("nas", &server).unwrap();
    let volume = Volume::new("vol-nas");
    let mut request = volume.to_stage();
    request.publish_context.clear();
    request.volume_context = owned(&[("source", "//nas/da@ta")]);
    request.secrets = owned(&[("username", "pods"), ("password", SECRET)]);
    driver.call::<NodeStageVolume>(&request).unwrap();
    let mut publish = volume.to_publish();
    publish.volume_context = request.volume_context.clone();
    driver.call::<NodePublishVolume>(&publish).unwrap();
    drop(driver.end_and_open());
    driver.start_again();
    let set = |driver: &Driver, health| driver.servers().set_condition("nas", health).unwrap();
    set(&driver, ServerHealth::Down);
    let text = volume.stats(&driver).unwrap_err().message;
    assert!(text.contains(r"\\nas\(not shown"), "{text}");
    set(&driver, ServerHealth::Up);
    driver.end_and_open().reboot().unwrap();
    driver.start_again();
    publish.secrets = owned(&[("username", "pods"), ("password", "another")]);
    let text = driver
        .call::<NodePublishVolume>(&publish)
        .unwrap_err()
        .message;
    assert!(text.contains(r"\\nas\(not shown"), "{text}");
    driver.call::<NodeStageVolume>(&request).unwrap();
    request.secrets = publish.secrets.clone();
    driver.call::<NodeStageVolume>(&request).unwrap();
    driver.wait_for("mapped with another password");
    let warned = lines(&driver, "mapped with another password");
    assert!(warned[0].contains(r"\\nas\(not shown"), "{warned:?}");
    assert!(!driver.log().contains("da@ta"));
}

#[test]
fn guesses_at_a_password_are_one_line() {
    let mut driver = Driver::start();
    driver.restart_with(&["-v=2"]);
    let server = ServerSpec::sharing("data", r"AZURE\pods", SECRET);
    driver.servers().add_server("nas", &server).unwrap();
    let publish = |name: &str, password| {
        let volume = Volume::new(name);
        let mut request = volume.to_publish();
        request.staging_target_path.clear();
        request.target_path = request.target_path.replace(r"\pv\", &format!(r"\{name}\"));
        let context = [
            ("source", "//nas/data"),
            ("csi.storage.k8s.io/ephemeral", "true"),
        ];
        request.volume_context = owned(&context);
        request.secrets = owned(&[("username", "pods"), ("password", password)]);
        driver.call::<NodePublishVolume>(&request)
    };
    publish("csi-1", SECRET).unwrap();
    for name in ["csi-2", "csi-3", "csi-3"] {
        publish(name, "guess").unwrap_err();
    }
    driver.wait_for("only by one of its own credential");
    let lines = lines(&driver, "only by one of its own credential");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(r#"volume="csi-2""#), "{lines:?}");
    let refused = "wincsi_smb_inline_refused_total 3";
    assert!(driver.page("/metrics").contains(refused));
}

#[test]
fn a_second_writer_of_a_disk_is_one_warning() {
    let driver = Driver::start();
    let (first, mut second) = (Volume::new("vol-a"), Volume::new("vol-b"));
    second.staging = second.staging.replace(r"\1\", r"\2\");
    for volume in [&first, &second, &second] {
        volume.stage(&driver).unwrap();
    }
    driver.wait_for("both write to it");
    let warned = lines(&driver, "both write to it");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        ["vol-a", "vol-b"]
            .iter()
            .all(|volume| warned[0].contains(volume))
    );
    for volume in [&first, &second] {
        volume.unstage(&driver).unwrap();
    }
    for volume in [&first, &second] {
        let mut request = volume.to_stage();
        let mode = Mode::MultiNodeReaderOnly.into();
        let capability = request.volume_capability.as_mut().unwrap();
        capability.access_mode = Some(AccessMode { mode });
        driver.call::<NodeStageVolume>(&request).unwrap();
    }
    assert_eq!(lines(&driver, "both write to it").len(), 1);
}

#[test]
fn attributes_that_nobody_reads_are_one_line_a_volume() {
    let driver = Driver::start();
    let attributes = [("skuName", SECRET), (CLAIM[0].0, "data"), ("label", "x")];
    let volume = Volume::new("vol-a");
    volume.stage_with(&driver, &attributes).unwrap();
    volume.stage_with(&driver, &attributes).unwrap();
    let refused = Volume::new("vol-b").stage_with(&driver, &[("lable", "x")]);
    assert!(refused.unwrap_err().message.contains("write label"));
    driver.wait_for(r#"volume="vol-b""#);
    let unknown = lines(&driver, "attributes that wincsi does not have");
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert!(unknown[0].ends_with(r#"["skuName"]"#), "{unknown:?}");
}

#[cfg(unix)]
#[test]
fn a_start_over_the_pipes_says_what_they_lack() {
    let mut driver = Driver::start();
    driver.restart_with(&["-host=proxy", "-simulate", "-proxy-sockets=."]);
    driver.wait_for("no volume of another driver is taken over");
    let taken = lines(&driver, "taken over");
    assert_eq!(taken.len(), 1, "{taken:?}");
}

fn lines(driver: &Driver, words: &str) -> Vec<String> {
    let log = driver.log();
    let lines = log.lines().filter(|line| line.contains(words));
    lines.map(str::to_owned).collect()
}

/// With a secret wherever people have put one.
fn with_canaries(mut request: NodeStageVolumeRequest) -> NodeStageVolumeRequest {
    let source = format!("//pods:{SECRET}@files/data");
    request.volume_context = owned(&[
        ("source", &source),
        ("subDir", "a/b"),
        ("other.example/key", SECRET),
        ("csi.storage.k8s.io/serviceAccount.tokens", SECRET),
    ]);
    request.secrets = owned(&[("username", "pods"), ("password", SECRET)]);
    let capability = request.volume_capability.as_mut().unwrap();
    capability.access_type = Some(AccessType::Mount(MountVolume {
        fs_type: String::from("ntfs"),
        mount_flags: vec![format!("password={SECRET}"), SECRET.to_owned()],
        ..Default::default()
    }));
    request
}

pub(crate) fn owned<T: FromIterator<(String, String)>>(pairs: &[(&str, &str)]) -> T {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}
