//! The requests to Kubernetes, and its objects' places.

use serde_json::{Value, json};

use crate::trial::NODE;

pub(super) const DRIVER: &str = "wincsi.io";

const CLASS: &str = "trial";
const CLAIM: &str = "trial-data";
const POD: &str = "trial-pod";

/// The claim's size at first, and when it has grown.
pub(super) const SIZE: &str = "1Gi";
pub(super) const GROWN: &str = "2Gi";

/// The lists for new objects, and objects by their place.
pub(super) const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";
pub(super) const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
pub(super) const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
pub(super) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(super) const CSI_NODES: &str = "/apis/storage.k8s.io/v1/csinodes";
pub(super) const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

pub(super) fn node_path() -> String {
    format!("/api/v1/nodes/{NODE}")
}

pub(super) fn csi_node_path() -> String {
    format!("{CSI_NODES}/{NODE}")
}

pub(super) fn claim_path() -> String {
    format!("{CLAIMS}/{CLAIM}")
}

pub(super) fn pod_path() -> String {
    format!("{PODS}/{POD}")
}

pub(super) fn volume_path(name: &str) -> String {
    format!("/api/v1/persistentvolumes/{name}")
}

pub(super) fn driver() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {
            "attachRequired": true,
            // Without it the driver does not know that a volume is inline.
            "podInfoOnMount": true,
            "volumeLifecycleModes": ["Persistent", "Ephemeral"],
        },
    })
}

pub(super) fn class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS},
        "provisioner": DRIVER,
        "allowVolumeExpansion": true,
    })
}

pub(super) fn claim() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": SIZE}},
            "storageClassName": CLASS,
        },
    })
}

/// The change that makes a claim grow.
pub(super) fn growth() -> Value {
    json!({"spec": {"resources": {"requests": {"storage": GROWN}}}})
}

/// The name of a pod's volume.
pub(super) const DATA: &str = "data";

/// The disk's pod.
pub(super) fn pod() -> Value {
    pod_with(POD, json!({"persistentVolumeClaim": {"claimName": CLAIM}}))
}

/// A pod on the node, named without a scheduler, with this volume.
pub(super) fn pod_with(name: &str, mut volume: Value) -> Value {
    volume["name"] = json!(DATA);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "trial",
                "image": "example.com/trial:1",
                "volumeMounts": [{"name": DATA, "mountPath": "/data"}],
            }],
            "volumes": [volume],
        },
    })
}

/// The text at a place of an object, `/status/phase` say.
pub(super) fn text<'a>(object: &'a Value, place: &str) -> Option<&'a str> {
    object.pointer(place)?.as_str()
}

/// Whether a condition of a node or a pod holds.
pub(super) fn holds(object: &Value, condition: &str) -> bool {
    let conditions = object.pointer("/status/conditions");
    let mut all = conditions.and_then(Value::as_array).into_iter().flatten();
    all.any(|one| one["type"] == condition && one["status"] == "True")
}

/// Whether the list of a node's drivers has ours.
pub(super) fn has_driver(csi_node: &Value) -> bool {
    let drivers = csi_node.pointer("/spec/drivers").and_then(Value::as_array);
    let mut all = drivers.into_iter().flatten();
    all.any(|one| one["name"] == DRIVER)
}

/// The attachments of a volume in their list.
pub(super) fn attachments_of<'a>(list: &'a Value, volume: &str) -> Vec<&'a Value> {
    let all = list["items"].as_array().into_iter().flatten();
    all.filter(|one| text(one, "/spec/source/persistentVolumeName") == Some(volume))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_by_what_they_say() {
        let node = json!({"status": {"conditions": [
            {"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": "True"},
        ]}});
        assert!(holds(&node, "Ready") && !holds(&node, "MemoryPressure"));
        assert!(!holds(&json!({}), "Ready"));
        assert!(has_driver(
            &json!({"spec": {"drivers": [{"name": DRIVER}]}})
        ));
        assert!(!has_driver(&json!({"spec": {"drivers": null}})));
        let list = json!({"items": [{"spec": {"source": {"persistentVolumeName": "pv"}}}]});
        assert_eq!(attachments_of(&list, "pv").len(), 1);
        assert!(attachments_of(&list, "another").is_empty());
    }
}
