//! The API server's objects, through curl: as anybody can look at them while the cluster is up.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::manifests::Manifest;
use crate::process;

const CALL: Duration = Duration::from_secs(30);

pub(super) const RIGHTS: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The API server, as the user with all rights.
#[derive(Clone)]
pub(super) struct Api {
    pub(super) url: String,
    /// Curl's settings, the token among them.
    pub(super) config: PathBuf,
}

/// What becomes of an applied object.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Stored,
    DryRun,
}

impl Api {
    /// A starting API server; it will write its certificate to a file.
    pub(super) fn new(url: String, certificate: &Path, token: &str, dir: &Path) -> Result<Self> {
        let config = dir.join("curl.conf");
        let text = format!(
            "silent\ncacert = \"{}\"\nheader = \"Authorization: Bearer {token}\"\n",
            certificate.display()
        );
        fs::write(&config, text).context("write curl's settings")?;
        Ok(Self { url, config })
    }

    /// Whether a health page of the server says yes. A server not yet up counts as no.
    pub(super) fn is_well(&self, page: &str) -> Result<Option<()>> {
        let done = process::capture(&mut self.curl("GET", page), CALL)?;
        Ok(done.output.ends_with("\n200").then_some(()))
    }

    /// An object; `None` when there is none.
    pub(super) fn find(&self, path: &str) -> Result<Option<Value>> {
        self.ask(&mut self.curl("GET", path))
    }

    /// Puts an object there as `kubectl apply --server-side --validate=strict` does, and returns the stored one.
    pub(super) fn apply(&self, one: &Manifest, text: &str, effect: Effect) -> Result<Value> {
        let dry_run = match effect {
            Effect::Stored => "",
            Effect::DryRun => "&dryRun=All",
        };
        let path = path(one);
        let place = format!("{path}?fieldManager=xtask&fieldValidation=Strict{dry_run}");
        self.patch(&place, "application/apply-patch+yaml", text)
    }

    /// Changes fields of an object.
    pub(super) fn merge(&self, path: &str, fields: &Value) -> Result<Value> {
        self.patch(path, "application/merge-patch+json", &fields.to_string())
    }

    pub(super) fn delete(&self, path: &str) -> Result<()> {
        self.there(path, &mut self.curl("DELETE", path)).map(drop)
    }

    /// What an account may do in a namespace, as `kubectl auth can-i --list` says.
    pub(super) fn rights(&self, account: &str, namespace: &str) -> Result<BTreeSet<String>> {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        });
        let mut curl = self.curl("POST", path);
        curl.arg("--header");
        curl.arg(format!("Impersonate-User: system:serviceaccount:{account}"));
        let answer = self.send(path, &mut curl, "application/json", &review.to_string())?;
        Ok(rules(&answer["status"]["resourceRules"]))
    }

    fn patch(&self, path: &str, kind: &str, text: &str) -> Result<Value> {
        self.send(path, &mut self.curl("PATCH", path), kind, text)
    }

    fn send(&self, path: &str, curl: &mut Command, kind: &str, text: &str) -> Result<Value> {
        curl.args([
            "--header",
            &format!("Content-Type: {kind}"),
            "--data-raw",
            text,
        ]);
        self.there(path, curl)
    }

    fn there(&self, path: &str, curl: &mut Command) -> Result<Value> {
        let object = self.ask(curl).with_context(|| path.to_owned())?;
        object.with_context(|| format!("the API server has no {path}"))
    }

    fn ask(&self, curl: &mut Command) -> Result<Option<Value>> {
        answer(&process::capture(curl, CALL)?.success("curl")?)
    }

    fn curl(&self, method: &str, path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.arg("--config").arg(&self.config);
        curl.args(["--write-out", "\\n%{http_code}", "--request", method]);
        curl.arg(format!("{}{path}", self.url));
        curl
    }
}

/// A list of rules, each as a text.
pub(super) fn rules(list: &Value) -> BTreeSet<String> {
    let rules = list.as_array().into_iter().flatten();
    let parts = ["apiGroups", "resources", "resourceNames", "verbs"];
    rules
        .map(|rule| parts.map(|part| rule[part].to_string()).join(" "))
        .collect()
}

/// Where an object is.
pub(super) fn path(one: &Manifest) -> String {
    let version = one.api_version();
    let group = if version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let kind = one.kind().to_lowercase();
    let plural = if kind.ends_with('s') { "es" } else { "s" };
    let of_default = [
        "daemonset",
        "persistentvolumeclaim",
        "pod",
        "secret",
        "volumesnapshot",
    ];
    let of_default = of_default.contains(&&*kind).then_some("default");
    let namespace = one.namespace().or(of_default);
    let namespace = namespace.map_or(String::new(), |name| format!("/namespaces/{name}"));
    format!("{group}/{version}{namespace}/{kind}{plural}/{}", one.name())
}

/// Reads curl's output: the object, and after it the status in a line of its own.
fn answer(output: &str) -> Result<Option<Value>> {
    let (body, status) = output.rsplit_once('\n').context("curl printed no status")?;
    match status {
        "404" => Ok(None),
        "200" | "201" | "202" => serde_json::from_str(body).context("read the API server's answer"),
        _ => bail!("the API server answered {status}\n{body}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_read_and_refusals_are_errors() {
        let object = answer("{\"kind\":\n\"Pod\"}\n200").unwrap();
        assert_eq!(object, Some(json!({"kind": "Pod"})));
        assert_eq!(answer("{}\n404").unwrap(), None);
        let refused = answer("not so\n422").unwrap_err().to_string();
        assert_eq!(refused, "the API server answered 422\nnot so");
        assert!(answer("").is_err());
    }
}
