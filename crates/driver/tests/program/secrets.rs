//! Secrets and tokens that kubelet sends with a call reach no output, at the most talkative.

use std::collections::BTreeMap;

use wincsi::sim::iscsi::{self, TargetSpec};
use wincsi::sim::smb::ServerSpec;
use wincsi::sim::{Bus, DiskSpec, IdentifierKind};
use wire::csi::v1::node::{NodePublishVolume, NodeStageVolume};
use wire::csi::v1::volume_capability::{AccessType, MountVolume};

use crate::driver::{Driver, IDENTIFIER};
use crate::kubelet::Volume;
use crate::log::owned;

/// In no text by accident.
const SECRET: &str = "Zx81-qUUx-horse!";
const IQN: &str = "iqn.2026-01.com.example:data";
const TOKEN: &str = "eyJhbGciOiJ-canary-4711";
/// Where kubelet puts a pod's tokens, if CSIDriver has `tokenRequests`
/// (<https://kubernetes-csi.github.io/docs/token-requests.html>).
const TOKENS: &str = "csi.storage.k8s.io/serviceAccount.tokens";

/// Guards: P21, P80, P92
#[test]
fn secrets_and_tokens_reach_no_output() {
    let mut driver = Driver::start();
    let volume = Volume::new("vol-a");
    let mut outputs = vec![stage(&driver, &volume), publish(&driver, &volume)];
    outputs.extend(driver.records().into_iter().map(|(_, text)| text));
    // Each once more, where it fails: at a path that is none, and in words that Windows does not format.
    for path in ["relative", r"C:\a\..\b"] {
        let mut elsewhere = volume.clone();
        path.clone_into(&mut elsewhere.staging);
        outputs.extend([stage(&driver, &elsewhere), publish(&driver, &elsewhere)]);
    }
    outputs.extend(refused_shares(&driver));
    outputs.extend(served_share(&driver));
    outputs.extend(served_lun(&mut driver));
    outputs.extend(collected(&driver));
    outputs.push(format!("{:?}", volume.stats(&driver).unwrap()));
    volume.unpublish(&driver).unwrap();
    volume.unstage(&driver).unwrap();
    driver.wait_for("NodeUnstageVolume: OK");
    outputs.extend([driver.log(), driver.page("/metrics")]);
    assert!(
        outputs
            .iter()
            .any(|text| text.contains("NodePublishVolume"))
    );
    let has = |words| outputs.iter().any(|text| text.contains(words));
    for words in [r"\\\\none\\d\\(not shown: ", "has no such folder", "a, b"] {
        assert_eq!(has(words), words != "a, b", "{words}");
    }
    for text in outputs {
        for canary in [SECRET, TOKEN] {
            let (first, second) = canary.split_at(canary.len() / 2);
            assert!(
                !text.contains(first) && !text.contains(second),
                "{canary} in {text}"
            );
        }
    }
}

/// The answers for shares, with the secret wherever people have put one. No server of the node has them, but for one.
fn refused_shares(driver: &Driver) -> Vec<String> {
    let source = "//files/data";
    let with_secret = format!("//pods:{SECRET}@files/data");
    let [nowhere, no_folder] =
        ["none", "full"].map(|server| format!("//{server}/d/{SECRET}@a, b/c"));
    let full = ServerSpec::sharing("d", r"AZURE\pods", SECRET);
    driver.servers().add_server("full", &full).unwrap();
    let [flag, list, value, port] = [
        format!("password={SECRET}"),
        format!("vers=3.0,pass=x,{SECRET},{SECRET}=x"),
        format!("bogus={SECRET},sec={SECRET},cache={SECRET}"),
        format!("port={SECRET}"),
    ];
    let cases = [
        (source, vec![flag.clone(), list, value]),
        (source, vec![port]),
        (source, vec![SECRET.to_owned()]),
        (&with_secret, vec![]),
        (&nowhere, vec![]),
        (&no_folder, vec![]),
    ];
    let answers = cases.into_iter().flat_map(|(source, flags)| {
        let staged = stage_share(driver, source, flags);
        [staged, publish_inline(driver, source, &flag)]
    });
    answers.collect()
}

/// The answers for a share that is mapped with the secret, and mapped again with the next one, and the records of it.
fn served_share(driver: &Driver) -> Vec<String> {
    let next = format!("{SECRET}-next");
    let server = |password: &str| ServerSpec::sharing("data", r"AZURE\pods", password);
    let servers = driver.servers();
    servers.add_server("nas", &server(SECRET)).unwrap();
    let mut volume = Volume::new("vol-nas");
    volume.staging = volume.staging.replace(r"\1\", r"\nas\");
    volume.target = volume.target.replace(r"\pv\", r"\nas\");
    let (mut to_stage, mut to_publish) = (volume.to_stage(), volume.to_publish());
    (to_stage.volume_context, to_stage.secrets) = (share("//nas/data"), secrets());
    let staged = driver.call::<NodeStageVolume>(&to_stage).unwrap();
    let first = driver.records();
    servers
        .change_server("nas", |nas| nas.user = server(&next).user)
        .unwrap();
    // The mapping has a password that the server takes no more.
    (to_publish.volume_context, to_publish.secrets) = (share("//nas/data"), secrets());
    let refused = driver.call::<NodePublishVolume>(&to_publish);
    to_publish.secrets.insert(String::from("password"), next);
    let renewed = driver.call::<NodePublishVolume>(&to_publish).unwrap();
    let renewals = driver.records();
    assert_ne!(hash_in(&first), hash_in(&renewals));
    let stats = volume.stats(driver).unwrap();
    let mut outputs = vec![format!("{staged:?} {refused:?} {renewed:?} {stats:?}")];
    outputs.extend(first.into_iter().chain(renewals).map(|(_, text)| text));
    outputs
}

/// The hash of the secret in the records of which one is a share's.
fn hash_in(records: &[(String, String)]) -> &str {
    let mut hashes = records
        .iter()
        .filter_map(|(_, text)| text.split_once("$argon2id$"));
    hashes.next().unwrap().1.split('"').next().unwrap()
}

/// The answers for a LUN that is logged in to with the secret in each place of a login, or refused, and the records of it.
fn served_lun(driver: &mut Driver) -> Vec<String> {
    let [discovery, mutual] = ["disc", "mutu"].map(|end| format!("{}-{end}", &SECRET[..8]));
    let (discovery, mutual, long) = (&*discovery, &*mutual, &*format!("{SECRET}x"));
    let asking = |secret| TargetSpec::named(IQN).asking("node", secret);
    let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, "6001405000000001");
    let target = asking(SECRET).proving(mutual).with_disk("lun", disk);
    let mut server = iscsi::ServerSpec::at("10.0.0.9").offering(target);
    server.discovery = asking(discovery).chap;
    driver.array().set_image("lun", 64 << 20).unwrap();
    driver.array().add_server("array", &server).unwrap();
    let mut volume = Volume::new("vol-lun");
    volume.staging = volume.staging.replace(r"\1\", r"\lun\");
    volume.target = volume.target.replace(r"\pv\", r"\lun\");
    let mut beside = Volume::new("vol-beside");
    beside.staging = beside.staging.replace(r"\1\", r"\beside\");
    let stage_of = |driver: &Driver, of: &Volume, [session, proof, discovery]: [&str; 3]| {
        let mut request = of.to_stage();
        request.volume_context = owned(&[("portal", "10.0.0.9"), ("iqn", IQN), ("lun", "0")]);
        request.secrets = owned(&[
            ("node.session.auth.username", "node"),
            ("node.session.auth.password", session),
            ("node.session.auth.username_in", "target"),
            ("node.session.auth.password_in", proof),
            ("node.sendtargets.auth.username", "node"),
            ("node.sendtargets.auth.password", discovery),
        ]);
        driver.call::<NodeStageVolume>(&request)
    };
    let stage = |driver: &Driver, login| stage_of(driver, &volume, login);
    let right = [SECRET, mutual, discovery];
    let mut outputs = vec![format!("{:?}", stage(driver, right).unwrap_err())];
    driver.restart_with(&["-iscsi-mutual-secret=true"]);
    for wrong in [
        [mutual, mutual, discovery],
        [SECRET, SECRET, discovery],
        [SECRET, mutual, SECRET],
        [long, "", ""],
    ] {
        outputs.push(format!("{:?}", stage(driver, wrong).unwrap_err()));
    }
    stage(driver, right).unwrap();
    stage_of(driver, &beside, [discovery, mutual, discovery]).unwrap();
    driver.wait_for("with another CHAP secret");
    outputs.push(format!("{:?}", volume.publish(driver)));
    let records = driver.records().into_iter().map(|(_, text)| text);
    outputs.extend(records.filter(|text| text.contains(IQN)));
    let is_hashed = |text: &String| text.contains("$argon2id$");
    assert!(outputs.iter().any(is_hashed), "{outputs:?}");
    outputs
}

/// The bundles with names and without.
fn collected(driver: &Driver) -> [String; 2] {
    let bundles = [&[][..], &["-anonymous"]].map(|flags| driver.collect(flags));
    let folder = "globalmount";
    for name in [
        "vol-nas", r"\\nas\\", "azure", IQN, "10.0.0.9", IDENTIFIER, folder,
    ] {
        let has = |bundle: &String| bundle.to_lowercase().contains(name);
        assert_eq!(bundles.each_ref().map(has), [true, false], "{name}");
    }
    bundles
}

fn stage_share(driver: &Driver, source: &str, flags: Vec<String>) -> String {
    let mut request = Volume::new("vol-share").to_stage();
    request.volume_context = share(source);
    request.secrets = secrets();
    let capability = request.volume_capability.as_mut().unwrap();
    capability.access_type = Some(AccessType::Mount(MountVolume {
        mount_flags: flags,
        ..Default::default()
    }));
    format!("{:?}", driver.call::<NodeStageVolume>(&request))
}

fn publish_inline(driver: &Driver, source: &str, options: &str) -> String {
    let mut request = Volume::new("vol-inline").to_publish();
    request.staging_target_path.clear();
    request.volume_context = share(source);
    let more = [
        ("csi.storage.k8s.io/ephemeral", "true"),
        ("mountOptions", options),
    ];
    let more = more.map(|(key, value)| (key.to_owned(), value.to_owned()));
    request.volume_context.extend(more);
    request.secrets = secrets();
    format!("{:?}", driver.call::<NodePublishVolume>(&request))
}

fn share(source: &str) -> BTreeMap<String, String> {
    [(String::from("source"), source.to_owned())].into()
}

fn secrets() -> BTreeMap<String, String> {
    let pairs = [("username", "pods"), ("password", SECRET)];
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The answer, and debug output of the request.
fn stage(driver: &Driver, volume: &Volume) -> String {
    let mut request = volume.to_stage();
    request
        .secrets
        .insert(String::from("password"), SECRET.to_owned());
    request
        .volume_context
        .insert(TOKENS.to_owned(), TOKEN.to_owned());
    let shown = format!("{request:?}");
    let answer = driver.call::<NodeStageVolume>(&request);
    format!("{shown} {answer:?}")
}

fn publish(driver: &Driver, volume: &Volume) -> String {
    let mut request = volume.to_publish();
    request
        .secrets
        .insert(String::from("password"), SECRET.to_owned());
    request
        .volume_context
        .insert(TOKENS.to_owned(), TOKEN.to_owned());
    let shown = format!("{request:?}");
    let answer = driver.call::<NodePublishVolume>(&request);
    format!("{shown} {answer:?}")
}
