//! The objects of the life, from `tests/cluster/objects`, and what the API server's objects say.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Steps;
use super::api::{self, Api, Effect};
use crate::chart;
use crate::env::Helm;
use crate::manifests::{self, Manifest};
use crate::test::chart as cases;
use crate::trial::NODE;

pub(super) const DRIVER: &str = "wincsi.io";

/// The claim of `disk.yaml` and its pod.
pub(super) const CLAIM: &str = "/api/v1/namespaces/default/persistentvolumeclaims/trial-data";
pub(super) const POD: &str = "/api/v1/namespaces/default/pods/trial-pod";

/// Those of `iscsi.yaml`.
pub(super) const LUN_CLAIM: &str = "/api/v1/namespaces/default/persistentvolumeclaims/trial-lun";
pub(super) const LUN_POD: &str = "/api/v1/namespaces/default/pods/iscsi-pod";

/// The size of both claims, and when they have grown.
pub(super) const SIZE: &str = "1Gi";
pub(super) const GROWN: &str = "2Gi";

pub(super) const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

pub(super) fn node_path() -> String {
    format!("/api/v1/nodes/{NODE}")
}

pub(super) fn csi_node_path() -> String {
    format!("/apis/storage.k8s.io/v1/csinodes/{NODE}")
}

pub(super) fn volume_path(name: &str) -> String {
    format!("/api/v1/persistentvolumes/{name}")
}

/// A file's objects: its pods, and all others.
pub(super) struct Objects {
    pub(super) pods: Vec<Manifest>,
    others: Vec<Manifest>,
}

impl Objects {
    pub(super) fn read(file: &str) -> Result<Self> {
        Self::at(&format!("tests/cluster/objects/{file}"))
    }

    /// Those of any file of the project.
    pub(super) fn at(file: &str) -> Result<Self> {
        Ok(Self::of(manifests::read(file)?))
    }

    fn of(all: Vec<Manifest>) -> Self {
        let (pods, others) = all.into_iter().partition(|one| one.kind() == "Pod");
        Self { pods, others }
    }

    /// The same with a value in the place of each of these words.
    pub(super) fn with(self, values: &[(&str, &str)]) -> Result<Self> {
        let all = self.pods.into_iter().chain(self.others).map(|one| one.text);
        let mut text = all.collect::<Vec<_>>().join("\n---\n");
        for (word, value) in values {
            text = text.replace(word, value);
        }
        Ok(Self::of(manifests::objects(&text)?))
    }

    /// Applies all but the pods in the file's order: a claim of no volume may take any that is there.
    pub(super) fn apply(&self, api: &Api) -> Result<()> {
        for one in &self.others {
            api.apply(one, &one.text, Effect::Stored)?;
        }
        Ok(())
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = &Manifest> {
        let all = self.others.iter();
        all.filter(|one| one.kind() == "PersistentVolumeClaim")
    }

    /// Their places, pods first and claims before volumes.
    pub(super) fn paths(&self) -> Vec<String> {
        let all = self.pods.iter().chain(self.others.iter().rev());
        all.map(api::path).collect()
    }
}

/// Applies the manifests in `deploy/` and what the chart renders for each mix of its tests by the server's own validation,
/// and three that the server must refuse. It stores only the namespace.
pub(super) fn check_manifests(api: &Api, steps: &Steps) -> Result<()> {
    let mut all = manifests::all()?;
    let [helm, _] = Helm::both()?;
    for mix in cases::data::<Vec<Value>>("bases")? {
        let values = [chart::images(), mix[1].clone()];
        all.extend(manifests::objects(&chart::render(&helm, &values, &[])?)?);
    }
    // This server knows none.
    all.retain(|one| one.kind() != "PodMonitor");
    let (namespaces, objects): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| one.kind() == "Namespace");
    for one in &namespaces {
        api.apply(one, &one.text, Effect::Stored)?;
    }
    for one in &objects {
        api.apply(one, &one.text, Effect::DryRun)?;
    }
    for [from, to, reason] in cases::data::<Vec<[String; 3]>>("judge")? {
        let has = |one: &&Manifest| one.is_host_process() && one.text.contains(&from);
        let one = objects.iter().find(has);
        let one = one.with_context(|| format!("no manifest has {from}"))?;
        let Err(error) = api.apply(one, &one.text.replace(&from, &to), Effect::DryRun) else {
            bail!("the API server takes {to:?} for {from:?}");
        };
        let text = format!("{error:#}");
        ensure!(text.contains(&reason), "refused for another reason: {text}");
    }
    let number = namespaces.len() + objects.len();
    let shown_by = format!(
        "{number} objects pass strict validation; refused: a misspelt field, capabilities, no \
         hostNetwork"
    );
    steps.done("manifests applied", &shown_by);
    Ok(())
}

/// The text at a place of an object, `/status/phase` say.
pub(super) fn text<'a>(object: &'a Value, place: &str) -> Option<&'a str> {
    object.pointer(place)?.as_str()
}

/// The volume of a bound claim.
pub(super) fn bound_to(claim: &Value) -> Option<String> {
    let is_bound = text(claim, "/status/phase") == Some("Bound");
    let volume = text(claim, "/spec/volumeName").filter(|_| is_bound);
    volume.map(str::to_owned)
}

pub(super) fn runs(pod: &Value) -> Option<()> {
    (text(pod, "/status/phase") == Some("Running")).then_some(())
}

/// Whether a condition of a node or a pod holds.
pub(super) fn holds(object: &Value, condition: &str) -> bool {
    let mut all = items(object, "/status/conditions");
    all.any(|one| one["type"] == condition && one["status"] == "True")
}

/// Whether the list of a node's drivers has ours.
pub(super) fn has_driver(csi_node: &Value) -> bool {
    items(csi_node, "/spec/drivers").any(|one| one["name"] == DRIVER)
}

/// The attachments of a volume in their list.
pub(super) fn attachments_of<'a>(list: &'a Value, volume: &str) -> Vec<&'a Value> {
    let name = "/spec/source/persistentVolumeName";
    let all = items(list, "/items").filter(|one| text(one, name) == Some(volume));
    all.collect()
}

fn items<'a>(object: &'a Value, place: &str) -> impl Iterator<Item = &'a Value> {
    let list = object.pointer(place).and_then(Value::as_array);
    list.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read_by_what_they_say() {
        let node = json!({"status": {"conditions": [
            {"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": "True"},
        ]}});
        assert!(holds(&node, "Ready") && !holds(&node, "MemoryPressure"));
        assert!(!holds(&json!({}), "Ready"));
        let driver = json!({"spec": {"drivers": [{"name": DRIVER}]}});
        assert!(has_driver(&driver));
        assert!(!has_driver(&json!({"spec": {"drivers": null}})));
        let list = json!({"items": [{"spec": {"source": {"persistentVolumeName": "pv"}}}]});
        assert_eq!(attachments_of(&list, "pv").len(), 1);
        assert!(attachments_of(&list, "another").is_empty());
    }

    #[test]
    fn the_objects_of_the_life_have_places() {
        let files = [
            "disk.yaml",
            "iscsi.yaml",
            "shares.yaml",
            "failures.yaml",
            "share.yaml",
            "clone.yaml",
            "move.yaml",
            "snapshot.yaml",
            "restored.yaml",
            "given.yaml",
        ];
        let counts = files.map(|file| {
            let objects = Objects::read(file).unwrap();
            let paths = objects.paths();
            (objects.pods.len(), objects.claims().count(), paths.len())
        });
        assert_eq!(
            counts,
            [
                (1, 1, 4),
                (1, 1, 4),
                (6, 5, 19),
                (6, 5, 20),
                (1, 1, 3),
                (0, 1, 1),
                (0, 2, 5),
                (0, 0, 1),
                (1, 1, 2),
                (0, 0, 2)
            ]
        );
        for (file, pod, claim) in [
            ("disk.yaml", POD, CLAIM),
            ("iscsi.yaml", LUN_POD, LUN_CLAIM),
        ] {
            let paths = Objects::read(file).unwrap().paths();
            assert_eq!(paths[..2], [pod, claim]);
        }
    }
}
