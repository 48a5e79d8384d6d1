//! Secrets and tokens that kubelet sends with a call reach no output, at the most talkative.

use wire::csi::v1::node::{NodePublishVolume, NodeStageVolume};

use crate::driver::Driver;
use crate::kubelet::Volume;

/// In no text by accident.
const SECRET: &str = "Zx81-qUUx-horse!";
const TOKEN: &str = "eyJhbGciOiJ-canary-4711";
/// Where kubelet puts a pod's tokens, if CSIDriver has `tokenRequests`
/// (<https://kubernetes-csi.github.io/docs/token-requests.html>).
const TOKENS: &str = "csi.storage.k8s.io/serviceAccount.tokens";

#[test]
fn secrets_and_tokens_reach_no_output() {
    let driver = Driver::start();
    let volume = Volume::new("vol-a");
    let mut outputs = vec![stage(&driver, &volume), publish(&driver, &volume)];
    outputs.extend(driver.records().into_iter().map(|(_, text)| text));
    // Each once more, where it fails: at a path that is none, and in words that Windows does not format.
    for path in ["relative", r"C:\a\..\b"] {
        let mut elsewhere = volume.clone();
        path.clone_into(&mut elsewhere.staging);
        outputs.extend([stage(&driver, &elsewhere), publish(&driver, &elsewhere)]);
    }
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
