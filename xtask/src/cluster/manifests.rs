//! The manifests in `deploy/`, applied to the API server; it stores only the namespace.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::plane::Plane;
use super::steps::Steps;
use crate::manifests::{self, Manifest};
use crate::process;

const CALL: Duration = Duration::from_secs(30);

/// A field of the DaemonSets, and an unknown one.
const FIELD: &str = "automountServiceAccountToken:";
const MISSPELT: &str = "automountServiceAccountTokens:";

/// Applies all of them by the server's own validation, and one with a misspelt field: the server must refuse it.
pub(super) fn check(plane: &Plane, steps: &Steps) -> Result<()> {
    let (namespaces, objects): (Vec<_>, Vec<_>) = manifests::all()?
        .into_iter()
        .partition(|one| one.kind() == "Namespace");
    for one in &namespaces {
        apply(plane, one, &one.text, Effect::Stored)?;
    }
    for one in &objects {
        apply(plane, one, &one.text, Effect::DryRun)?;
    }
    let refused = refused(plane, &objects)?;
    let number = namespaces.len() + objects.len();
    let shown_by = format!("{number} objects pass strict validation; a misspelt field: {refused}");
    steps.done("manifests applied", &shown_by);
    Ok(())
}

/// How the server refuses a misspelt field.
fn refused(plane: &Plane, objects: &[Manifest]) -> Result<String> {
    let one = objects.iter().find(|one| one.text.contains(FIELD));
    let one = one.context("no manifest has the field that is to be misspelt")?;
    let misspelt = one.text.replace(FIELD, MISSPELT);
    match apply(plane, one, &misspelt, Effect::DryRun) {
        Ok(()) => bail!("the API server takes {MISSPELT}"),
        Err(error) => {
            let text = format!("{error:#}");
            let reason = "field not declared in schema";
            ensure!(text.contains(reason), "refused for another reason: {text}");
            Ok(reason.to_owned())
        }
    }
}

#[derive(Clone, Copy)]
enum Effect {
    Stored,
    DryRun,
}

/// As `kubectl apply --server-side --validate=strict` does.
fn apply(plane: &Plane, one: &Manifest, text: &str, effect: Effect) -> Result<()> {
    let file = plane.kubeconfig.with_file_name("manifest.yaml");
    fs::write(&file, text).context("write the manifest for curl")?;
    let dry_run = match effect {
        Effect::Stored => "",
        Effect::DryRun => "&dryRun=All",
    };
    let mut curl = Command::new("curl");
    curl.arg("--config").arg(plane.api.config());
    curl.args(["--write-out", "\\n%{http_code}", "--request", "PATCH"]);
    curl.args(["--header", "Content-Type: application/apply-patch+yaml"]);
    curl.arg("--data-binary")
        .arg(format!("@{}", file.display()));
    curl.arg(format!(
        "{}{}?fieldManager=xtask&fieldValidation=Strict{dry_run}",
        plane.api.url(),
        path(one)?
    ));
    let answer = process::capture(&mut curl, CALL)?.success("curl")?;
    let (body, status) = answer.rsplit_once('\n').context("curl printed no status")?;
    let (kind, name) = (one.kind(), one.name());
    ensure!(
        matches!(status, "200" | "201"),
        "{kind} {name}: {status}\n{body}"
    );
    Ok(())
}

/// Where an object is.
fn path(one: &Manifest) -> Result<String> {
    let (group, list) = match one.kind() {
        "CSIDriver" => ("/apis/storage.k8s.io/v1", "csidrivers"),
        "DaemonSet" => ("/apis/apps/v1", "daemonsets"),
        "Namespace" => ("/api/v1", "namespaces"),
        "PersistentVolume" => ("/api/v1", "persistentvolumes"),
        "PersistentVolumeClaim" => ("/api/v1", "persistentvolumeclaims"),
        "Pod" => ("/api/v1", "pods"),
        "Secret" => ("/api/v1", "secrets"),
        kind => bail!("the place of a {kind} is not known"),
    };
    let name = one.name();
    Ok(match one.namespace() {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{list}/{name}"),
        None => format!("{group}/{list}/{name}"),
    })
}
