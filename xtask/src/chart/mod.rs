//! The chart in `charts/wincsi`: what is written from the table of its values and from its templates, and how Helm
//! renders it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::env::Helm;
use crate::{cargo, process};

pub(crate) mod table;

const LIMIT: Duration = Duration::from_secs(60);

/// How a manifest is marked that is rendered from a template; behind it are its values and the template.
const RENDERED: &str =
    "# `cargo xtask docs` writes this: helm template wincsi charts/wincsi --namespace wincsi ";

pub(crate) fn folder() -> PathBuf {
    cargo::root().join("charts/wincsi")
}

/// The values without which nothing renders: nothing is published.
pub(crate) fn images() -> Value {
    let of = |name: &str| json!({"repository": format!("registry.example.com/{name}")});
    let mut image = of("wincsi");
    image["pipes"] = of("wincsi-pipes");
    image["controller"] = of("wincsi-controller");
    json!({"image": image})
}

/// Writes all that comes from the table and the templates.
pub(crate) fn write() -> Result<()> {
    let [helm, _] = Helm::both()?;
    for one in files(&helm)? {
        let (file, text) = one?;
        fs::write(cargo::root().join(&file), text).context(file)?;
    }
    println!("docs: docs/chart.md, charts/wincsi and deploy/ written");
    Ok(())
}

/// What is written, with its text. The manifests, rendered when they are asked for, come behind what they need.
pub(crate) fn files(helm: &Helm) -> Result<impl Iterator<Item = Result<(String, String)>>> {
    let of_table = table::files()?.map(|(file, text)| Ok((file.to_owned(), text)));
    let rendered = ["driver", "node-hostprocess", "node-pipes", "node-smb"];
    let manifests = rendered.into_iter().map(|name| manifest(helm, name));
    Ok(of_table.into_iter().chain(manifests))
}

fn manifest(helm: &Helm, name: &str) -> Result<(String, String)> {
    let file = format!("deploy/{name}.yaml");
    let text = fs::read_to_string(cargo::root().join(&file))?;
    let (before, rest) = text.split_once(RENDERED).context("not rendered")?;
    let arguments = rest.lines().next().unwrap_or_default();
    let rendered = render(helm, &[], &arguments.split(' ').collect::<Vec<_>>())?;
    let (_, object) = rendered.split_once("apiVersion:").context("no object")?;
    let object = object.trim_end();
    let text = format!("{before}{RENDERED}{arguments}\napiVersion:{object}\n");
    Ok((file, text))
}

/// The chart's objects with these values, the later ones over the earlier; an error has what Helm printed.
pub(crate) fn render(helm: &Helm, values: &[Value], arguments: &[&str]) -> Result<String> {
    let template = ["template", "wincsi", "--namespace=wincsi"];
    run(helm, &folder(), &[&template, arguments].concat(), values)
}

/// What a command of Helm prints for a chart.
pub(crate) fn run(
    helm: &Helm,
    chart: &Path,
    arguments: &[&str],
    values: &[Value],
) -> Result<String> {
    let mut command = helm.command(arguments);
    command.arg(chart);
    // Without releases' linker flags Helm 3 takes itself for one of Kubernetes 1.20.
    command.arg("--kube-version=1.36.3");
    let mut files = Vec::new();
    for one in values {
        let mut file = tempfile::NamedTempFile::new()?;
        write!(file, "{one}")?;
        command.arg("--values").arg(file.path());
        files.push(file);
    }
    let done = process::capture(&mut command, LIMIT)?;
    ensure!(done.status.success(), "{}", done.output);
    Ok(done.output)
}
