//! The chart in `charts/wincsi`: what is written from the table of its values and from its templates, and how Helm
//! renders it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::env::Helm;
use crate::{cargo, process};

pub(crate) mod table;

const LIMIT: Duration = Duration::from_secs(60);

/// How a manifest in `deploy/` begins that is rendered from a template; behind it are the template and its values.
const RENDERED: &str =
    "# `cargo xtask docs` writes this: helm template wincsi charts/wincsi --namespace wincsi ";

pub(crate) fn folder() -> PathBuf {
    cargo::root().join("charts/wincsi")
}

/// The values without which nothing renders: nothing is published.
pub(crate) fn images() -> Value {
    let of = |name: &str| json!({"repository": format!("registry.example.com/{name}")});
    let mut images = of("wincsi");
    images["pipes"] = of("wincsi-pipes");
    images["controller"] = of("wincsi-controller");
    json!({"image": images})
}

/// Writes all that comes from the table and the templates.
pub(crate) fn write() -> Result<()> {
    let [helm, _] = Helm::both()?;
    let of_table = table::files()?.map(|(file, text)| (file.to_owned(), text));
    // Into the chart first.
    for (file, text) in of_table {
        fs::write(cargo::root().join(&file), text).context(file)?;
    }
    for (file, text) in manifests(&helm)? {
        fs::write(cargo::root().join(&file), text).context(file)?;
    }
    println!("docs: docs/chart.md, charts/wincsi and deploy/ written");
    Ok(())
}

/// The files of `deploy/` that are rendered, with their texts.
pub(crate) fn manifests(helm: &Helm) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(cargo::root().join("deploy"))? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let Some((before, rest)) = text.split_once(RENDERED) else {
            continue;
        };
        let arguments = rest.lines().next().unwrap_or_default();
        let words: Vec<_> = arguments.split(' ').collect();
        let rendered = render(helm, &[images()], &words)?;
        let (_, object) = rendered.split_once("apiVersion:").context("no object")?;
        let object = object.trim_end();
        let name = path.file_name().unwrap_or_default().display();
        all.push((
            format!("deploy/{name}"),
            format!("{before}{RENDERED}{arguments}\napiVersion:{object}\n"),
        ));
    }
    ensure!(all.len() == 5, "{} manifests are rendered", all.len());
    Ok(all)
}

/// The chart's objects with these values, the later ones over the earlier; an error has what Helm printed.
pub(crate) fn render(helm: &Helm, values: &[Value], arguments: &[&str]) -> Result<String> {
    let mut command = helm.command(&["template", "wincsi", "--namespace", "wincsi"]);
    run(command.args(arguments), values)
}

/// As [`render`], by `helm lint --strict`.
pub(crate) fn lint(helm: &Helm, values: &[Value]) -> Result<String> {
    run(&mut helm.command(&["lint", "--strict"]), values)
}

fn run(command: &mut Command, values: &[Value]) -> Result<String> {
    command.arg(folder());
    // Without releases' linker flags Helm 3 takes itself for one of Kubernetes 1.20.
    command.arg("--kube-version=1.36.3");
    let mut files = Vec::new();
    for one in values {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(one.to_string().as_bytes())?;
        command.arg("--values").arg(file.path());
        files.push(file);
    }
    let done = process::capture(command, LIMIT)?;
    ensure!(done.status.success(), "{}", done.output);
    Ok(done.output)
}
