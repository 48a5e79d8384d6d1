//! Objects of Kubernetes: the manifests in `deploy/`, as the cluster applies them and as their programs are started, and
//! those of tests.

use std::fs;

use anyhow::{Context, Result};
use saphyr::{LoadableYamlNode, YamlOwned};

use crate::{cargo, trial};

/// An object of Kubernetes.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// As it is in its file.
    pub(crate) text: String,
    object: YamlOwned,
}

/// A container's program.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Program {
    pub(crate) command: Vec<String>,
    pub(crate) args: Vec<String>,
    /// The command line of its preStop hook, started by the runtime like the command.
    pub(crate) pre_stop: Vec<String>,
    /// `None` is a value filled in by Kubernetes.
    pub(crate) env: Vec<(String, Option<String>)>,
    pub(crate) liveness: Probe,
    pub(crate) readiness: Probe,
}

/// A container's page for kubelet.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Probe {
    pub(crate) path: String,
    /// Its address in the container: without a host kubelet comes from outside of the pod.
    pub(crate) address: String,
}

/// All objects of the manifests that are deployed, in the order of the files' names.
pub(crate) fn all() -> Result<Vec<Manifest>> {
    let mut names = trial::names(&cargo::root().join("deploy"))?;
    names.retain(|name| name.ends_with(".yaml"));
    let read = names.iter().map(|name| read(&format!("deploy/{name}")));
    let read: Vec<_> = read.collect::<Result<_>>()?;
    Ok(read.into_iter().flatten().collect())
}

/// The objects of a file.
pub(crate) fn read(file: &str) -> Result<Vec<Manifest>> {
    let text = fs::read_to_string(cargo::root().join(file)).with_context(|| file.to_owned())?;
    objects(&text).with_context(|| file.to_owned())
}

/// The objects of a text, a file's or what Helm renders.
pub(crate) fn objects(text: &str) -> Result<Vec<Manifest>> {
    let one = |text: &str| {
        let object = YamlOwned::load_from_str(text)?.into_iter().next();
        Ok(Manifest {
            text: text.to_owned(),
            object: object.context("an empty document")?,
        })
    };
    let text = text.strip_prefix("---\n").unwrap_or(text);
    text.split("\n---\n").map(one).collect()
}

impl Manifest {
    pub(crate) fn api_version(&self) -> &str {
        self.word(&["apiVersion"]).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> &str {
        self.word(&["kind"]).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.word(&["metadata", "name"]).unwrap_or_default()
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.word(&["metadata", "namespace"])
    }

    /// Whether its pods are HostProcess ones.
    pub(crate) fn is_host_process(&self) -> bool {
        let options = ["securityContext", "windowsOptions", "hostProcess"];
        let flag = at(&self.object, &[&POD[..], &options].concat());
        flag.and_then(YamlOwned::as_bool).unwrap_or_default()
    }

    /// The program of its pods' first container.
    pub(crate) fn program(&self) -> Option<Program> {
        let container = at(&self.object, &[&POD[..], &["containers"]].concat())?;
        let container = container.as_sequence_get(0)?;
        let pre_stop = at(container, &["lifecycle", "preStop", "exec"])?;
        Some(Program {
            command: words(container, "command"),
            args: words(container, "args"),
            pre_stop: words(pre_stop, "command"),
            env: items(container, "env").filter_map(variable).collect(),
            liveness: probe(container, "livenessProbe")?,
            readiness: probe(container, "readinessProbe")?,
        })
    }

    fn word(&self, path: &[&str]) -> Option<&str> {
        at(&self.object, path)?.as_str()
    }
}

const POD: [&str; 3] = ["spec", "template", "spec"];

fn at<'a>(object: &'a YamlOwned, path: &[&str]) -> Option<&'a YamlOwned> {
    let mut path = path.iter();
    path.try_fold(object, |object, key| object.as_mapping_get(key))
}

fn items<'a>(object: &'a YamlOwned, key: &str) -> impl Iterator<Item = &'a YamlOwned> {
    let list = object.as_mapping_get(key).and_then(YamlOwned::as_sequence);
    list.into_iter().flatten()
}

fn words(object: &YamlOwned, key: &str) -> Vec<String> {
    let words = items(object, key).filter_map(YamlOwned::as_str);
    words.map(str::to_owned).collect()
}

fn variable(one: &YamlOwned) -> Option<(String, Option<String>)> {
    let word = |key| Some(one.as_mapping_get(key)?.as_str()?.to_owned());
    Some((word("name")?, word("value")))
}

fn probe(container: &YamlOwned, name: &str) -> Option<Probe> {
    let page = at(container, &[name, "httpGet"])?;
    let port = port(container, page.as_mapping_get("port")?)?;
    let host = at(page, &["host"]).and_then(YamlOwned::as_str);
    Some(Probe {
        path: at(page, &["path"])?.as_str()?.to_owned(),
        address: format!("{}:{port}", host.unwrap_or("0.0.0.0")),
    })
}

/// A number, or the name of one of the container's ports.
fn port(container: &YamlOwned, port: &YamlOwned) -> Option<i64> {
    let Some(name) = port.as_str() else {
        return port.as_integer();
    };
    let named = |one: &&YamlOwned| at(one, &["name"]).and_then(YamlOwned::as_str) == Some(name);
    let port = items(container, "ports").find(named)?;
    at(port, &["containerPort"])?.as_integer()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemon_sets() -> Vec<Manifest> {
        let mut all = all().unwrap();
        all.retain(|one| one.kind() == "DaemonSet");
        all
    }

    #[test]
    fn what_reaches_a_shell_is_fixed_and_all_else_is_a_variable() {
        let daemon_sets = daemon_sets();
        assert_eq!(daemon_sets.len(), 3);
        for one in daemon_sets {
            let program = one.program().unwrap();
            let exe = match one.is_host_process() {
                true => "wincsi.exe",
                false => r"C:\wincsi.exe",
            };
            assert_eq!(program.command, [exe]);
            assert_eq!(program.args, ["node"]);
            assert_eq!(program.pre_stop, [exe, "node", "drain"]);
            let commands = one.text.matches("command:").count();
            assert_eq!(commands, 2, "{}: another program", one.name());
            let names = program.env.iter().map(|(name, _)| name);
            assert!(names.into_iter().all(|name| name.starts_with("WINCSI_")));
        }
    }

    #[test]
    fn probes_ask_where_the_pages_are_served() {
        for one in daemon_sets() {
            let program = one.program().unwrap();
            let is_address = |(name, _): &&(String, _)| name == "WINCSI_METRICS_ADDRESS";
            let (_, served) = program.env.iter().find(is_address).unwrap();
            for probe in [program.liveness, program.readiness] {
                assert_eq!(Some(&probe.address), served.as_ref(), "{}", probe.path);
            }
        }
    }

    #[test]
    fn a_file_may_have_several_objects() {
        let both = objects("kind: A\nmetadata:\n  name: a\n---\nkind: B\n").unwrap();
        let kinds: Vec<_> = both.iter().map(Manifest::kind).collect();
        assert_eq!(kinds, ["A", "B"]);
        assert_eq!((both[0].name(), both[0].namespace()), ("a", None));
        assert!(objects("kind: A\n---\n").is_err());
    }
}
