//! Kubelet's program, from a copy of Kubernetes' module with a few edited places. A place is given by a text that has to
//! occur exactly once.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::programs::{BUILD, linker_flags};
use super::wine;
use crate::env::{self, Go, GoModule};
use crate::host::Host;
use crate::{cargo, process};

const KUBERNETES: &str = "k8s.io/kubernetes";

/// A place in kubelet's source, and its other text.
pub(super) struct Edit {
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    pub(super) instead: &'static str,
}

/// On Linux kubelet labels its node `linux`, and refuses pods of another system; and nodes of one machine share its
/// loopback. Package machine of our program says instead what the harness says.
const EDITS: &[Edit] = &[
    Edit {
        file: "pkg/kubelet/kubelet_node_status.go",
        text: "goruntime \"runtime\"",
        instead: "goruntime \"github.com/wincsi/wincsi/tests/cluster/kube/machine\"",
    },
    Edit {
        file: "pkg/kubelet/lifecycle/predicate.go",
        text: "\t\"runtime\"\n",
        instead: "\truntime \"github.com/wincsi/wincsi/tests/cluster/kube/machine\"\n",
    },
    Edit {
        file: "pkg/probe/http/request.go",
        text: "\t\"k8s.io/kubernetes/pkg/probe\"\n",
        instead: "\t\"github.com/wincsi/wincsi/tests/cluster/kube/machine\"\n\
            \t\"k8s.io/kubernetes/pkg/probe\"\n",
    },
    Edit {
        file: "pkg/probe/http/request.go",
        text: "host := httpGet.Host",
        instead: "host := machine.Here(httpGet.Host)",
    },
];

/// Builds it for a host.
pub(super) fn build(host: Host<'_>, go: &Go) -> Result<PathBuf> {
    let (program, edits) = match host {
        Host::Linux => ("kubelet", &[][..]),
        Host::Wine(_) => ("kubelet.exe", wine::EDITS),
    };
    let copy = copy_of_kubernetes(go, &mut EDITS.iter().chain(edits))?;
    let to = cargo::work_dir("cluster/bin")?.join(program);
    let mut command = go.command(env::GO_CLUSTER, &["build", "-trimpath", "-ldflags"]);
    command.arg(linker_flags()?);
    command.arg("-modfile").arg(write_modfile(&copy)?);
    command.arg("-o").arg(&to).arg("./kubelet");
    let built = process::follow(command.env("GOOS", host.goos()), BUILD)?;
    built.success(&format!("go build of {program}"))?;
    Ok(to)
}

/// Kubernetes' versions, with the copy in place of the module.
fn write_modfile(copy: &Path) -> Result<PathBuf> {
    let versions = env::GO_CLUSTER.path();
    let modfile = cargo::work_dir("cluster")?.join("kubelet.mod");
    let text = fs::read_to_string(&versions).context("read Kubernetes' versions")?;
    fs::write(
        &modfile,
        format!("{text}\nreplace {KUBERNETES} => {}\n", copy.display()),
    )?;
    fs::copy(
        versions.with_extension("sum"),
        modfile.with_extension("sum"),
    )?;
    Ok(modfile)
}

fn copy_of_kubernetes(go: &Go, edits: &mut dyn Iterator<Item = &Edit>) -> Result<PathBuf> {
    let module = module_folder(go, env::GO_CLUSTER, KUBERNETES)?;
    let copy = cargo::work_dir("cluster")?.join("kubernetes");
    let _ = fs::remove_dir_all(&copy);
    process::copy_folder(&module, &copy)?;
    for Edit {
        file,
        text,
        instead,
    } in edits
    {
        let file = copy.join(file);
        let source = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let edited =
            replace_once(&source, text, instead).with_context(|| file.display().to_string())?;
        fs::write(&file, edited)?;
    }
    Ok(copy)
}

/// A module's folder in Go's cache; fetches a missing one.
pub(super) fn module_folder(go: &Go, versions: GoModule, module: &str) -> Result<PathBuf> {
    let words = ["mod", "download", "-json", module];
    let mut fetch = go.command(versions, &words);
    let (done, printed) = process::data(&mut fetch, BUILD)?;
    done.success("go mod download")?;
    let printed: Value = serde_json::from_str(&printed)?;
    Ok(printed["Dir"].as_str().context("no folder")?.into())
}

/// Fails unless the text occurs exactly once: otherwise the edit was made for another source.
fn replace_once(source: &str, text: &str, instead: &str) -> Result<String> {
    let found = source.matches(text).count();
    ensure!(found == 1, "{text:?} is there {found} times, not once");
    Ok(source.replacen(text, instead, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_to_be_there_exactly_once() {
        assert_eq!(replace_once("a b c", "b", "d").unwrap(), "a d c");
        let error = replace_once("a b b", "b", "d").unwrap_err().to_string();
        assert_eq!(error, "\"b\" is there 2 times, not once");
        assert!(replace_once("a c", "b", "d").is_err());
    }
}
