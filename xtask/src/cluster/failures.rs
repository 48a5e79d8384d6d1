//! Pods that fail, and the event that an operator sees of each: docs/stuck.md has the same words.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::life::{Life, bound_to};
use super::objects::{self, DRIVER, text};
use super::share_objects::{SECRETS, VOLUMES};
use crate::{cargo, trial};

/// The page, and the line before its events.
const PAGE: &str = "docs/stuck.md";
const COMMAND: &str = "$ kubectl describe pod POD\n";

const EVENTS: &str = "/api/v1/namespaces/default/events";

/// A pod whose volume cannot be mounted.
struct Failure {
    /// The pod's name, also its claim's, volume's and Secret's.
    name: &'static str,
    origin: Origin,
    /// The volume's.
    attributes: Value,
    /// The Secret's.
    data: Option<Value>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Origin {
    Static,
    Inline,
}

/// In the page's order.
fn all() -> [Failure; 6] {
    let (source, user, password) = (trial::source(), trial::USER, trial::PASSWORD);
    let data = |key: &str, password: &str| Some(json!({"username": user, key: password}));
    let right = data("password", password);
    // It contains the right one, for which the logs are searched.
    let wrong = data("password", &format!("{password} battery"));
    let failure = |name, attributes, data| Failure {
        name,
        origin: Origin::Static,
        attributes,
        data,
    };
    let misspelt = json!({"source": source, "subDirr": "reports"});
    [
        failure("wrong-password", json!({"source": source}), wrong),
        failure("misspelt-attribute", misspelt, right.clone()),
        failure(
            "misspelt-secret",
            json!({"source": source}),
            data("pasword", password),
        ),
        failure("no-source", json!({"subDir": "reports"}), right),
        failure("lun-alone", json!({"lun": "1"}), None),
        Failure {
            origin: Origin::Inline,
            ..failure("no-secret", json!({"source": source}), None)
        },
    ]
}

impl Life<'_> {
    /// Begins pods that fail, compares their events with the page's, and ends them.
    pub(super) fn fail(&mut self) -> Result<()> {
        let page = fs::read_to_string(cargo::root().join(PAGE)).context(PAGE)?;
        let all = all();
        self.begin_failures(&all)?;
        let seen = all.iter().map(|failure| self.event(failure.name));
        let seen = seen.collect::<Result<Vec<_>>>()?;
        for event in &seen {
            println!("          {event}");
        }
        compare(&page, &seen)?;
        self.end_failures(&all)?;
        let shown_by = format!("the events of {} pods are those of {PAGE}", all.len());
        self.done("failures seen", &shown_by);
        Ok(())
    }

    fn begin_failures(&mut self, all: &[Failure]) -> Result<()> {
        let api = &self.plane.api;
        for failure in all {
            if let Some(secret) = failure.secret() {
                api.create(SECRETS, &secret)?;
            }
            if failure.origin == Origin::Static {
                api.create(VOLUMES, &failure.volume())?;
                api.create(objects::CLAIMS, &failure.claim())?;
            }
        }
        for failure in all {
            if failure.origin == Origin::Static {
                self.wait_for(&failure.claim_path(), bound_to)?;
            }
            self.plane.api.create(objects::PODS, &failure.pod())?;
        }
        Ok(())
    }

    /// The one failed mount of a pod as `kubectl describe` shows it, but for its age.
    fn event(&mut self, pod: &str) -> Result<String> {
        let which = format!("reason=FailedMount,involvedObject.name={pod}");
        let events = format!("{EVENTS}?fieldSelector={which}");
        self.wait_for(&events, |list| {
            let event = list.pointer("/items/0")?;
            let places = ["/type", "/reason", "/source/component", "/message"];
            let columns: Option<Vec<_>> = places.iter().map(|at| text(event, at)).collect();
            Some(columns?.join("  "))
        })
    }

    /// Nothing of them is left, and no password was said.
    fn end_failures(&mut self, all: &[Failure]) -> Result<()> {
        let paths = || all.iter().flat_map(Failure::paths);
        for path in paths() {
            self.plane.api.delete(&path)?;
        }
        for path in paths() {
            self.wait_until_gone(&path)?;
        }
        self.node.expect_no_mapping()?;
        self.expect_no_password()
    }
}

impl Failure {
    fn secret(&self) -> Option<Value> {
        let data = self.data.as_ref()?;
        Some(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.name},
            "stringData": data,
        }))
    }

    fn volume(&self) -> Value {
        let (name, source) = (self.name, trial::source());
        // The controller attaches a folder of the share, and says nothing that identifies a disk.
        let handle = format!("{}#static#{name}#", source.trim_start_matches('/'));
        let mut csi = json!({
            "driver": DRIVER,
            "volumeHandle": handle,
            "volumeAttributes": self.attributes,
        });
        if self.data.is_some() {
            csi["nodeStageSecretRef"] = json!({"name": name, "namespace": "default"});
        }
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": objects::SIZE},
                "csi": csi,
                "persistentVolumeReclaimPolicy": "Retain",
            },
        })
    }

    fn claim(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": self.name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": objects::SIZE}},
                "storageClassName": "",
                "volumeName": self.name,
            },
        })
    }

    fn claim_path(&self) -> String {
        format!("{}/{}", objects::CLAIMS, self.name)
    }

    /// The pod, and what was made for it.
    fn paths(&self) -> Vec<String> {
        let name = self.name;
        let mut paths = vec![format!("{}/{name}", objects::PODS)];
        if self.origin == Origin::Static {
            paths.extend([self.claim_path(), objects::volume_path(name)]);
        }
        if self.data.is_some() {
            paths.push(format!("{SECRETS}/{name}"));
        }
        paths
    }

    fn pod(&self) -> Value {
        let volume = match self.origin {
            Origin::Static => json!({"persistentVolumeClaim": {"claimName": self.name}}),
            Origin::Inline => {
                json!({"csi": {"driver": DRIVER, "volumeAttributes": self.attributes}})
            }
        };
        objects::pod_with(self.name, volume)
    }
}

/// Fails unless the page's events are these.
fn compare(page: &str, seen: &[String]) -> Result<()> {
    let (_, after) = page.split_once(COMMAND).context("no command in the page")?;
    let (events, _) = after.split_once("```").context("no end of the events")?;
    let seen: String = seen.iter().map(|event| format!("{event}\n")).collect();
    ensure!(
        events == seen,
        "{PAGE} has\n{events}and kubelet says\n{seen}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_each_event_and_no_other() {
        let page = |events: &str| format!("Look:\n```console\n{COMMAND}{events}```\nText.\n");
        let seen = ["a b", "c"].map(str::to_owned);
        compare(&page("a b\nc\n"), &seen).unwrap();
        for events in ["a b\n", "a b\nc\nd\n", "a d\nc\n", "c\na b\n", ""] {
            assert!(compare(&page(events), &seen).is_err(), "{events}");
        }
        assert!(compare("a b\nc\n", &seen).is_err());
    }
}
