//! Readers of the image: Debian's, containerd's matcher, and hcsshim's reader of layers under Wine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Programs, tool};
use crate::host::Host;
use crate::process;

const LIMIT: Duration = Duration::from_secs(2 * 60);

/// The judged image.
pub(super) struct Image<'a> {
    pub(super) layout: &'a Path,
    pub(super) programs: &'a Programs,
    pub(super) host: Host<'a>,
}

type Judge = fn(&Image<'_>) -> Result<()>;

pub(super) const ALL: [(&str, Judge); 5] = [
    ("skopeo inspects and copies the image", skopeo),
    ("skopeo refuses a layout with a changed byte", corrupted),
    ("hivexml reads the hives of the base layer", hives),
    (
        "hcsshim's reader finds files that Users cannot write",
        layers,
    ),
    ("containerd takes the image on hosts of each build", hosts),
];

fn skopeo(image: &Image<'_>) -> Result<()> {
    let mut inspect = tool(
        "skopeo",
        &["inspect", "--config"],
        Path::new(&image.reference()),
    );
    let config = run(&mut inspect, "skopeo inspect")?;
    let config: Value = serde_json::from_str(&config).context("read the configuration")?;
    ensure!(config["os"] == "windows", "its system: {}", config["os"]);
    let folder = tempfile::tempdir()?;
    copy(&image.reference(), folder.path())
}

/// Reads each blob, and compares it with its digest.
fn copy(from: &str, folder: &Path) -> Result<()> {
    let to = format!("dir:{}", folder.join("copy").display());
    let mut copy = tool(
        "skopeo",
        &["--insecure-policy", "copy", from],
        Path::new(&to),
    );
    run(&mut copy, "skopeo copy").map(drop)
}

fn corrupted(image: &Image<'_>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let layout = folder.path().join("image");
    run(
        &mut tool("cp", &["--recursive", text(image.layout)?], &layout),
        "cp",
    )?;
    let changed = Image {
        layout: &layout,
        ..*image
    };
    let layer = &changed.layers()?[1];
    let mut bytes = fs::read(layer)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(layer, bytes)?;
    let copied = copy(&changed.reference(), folder.path());
    ensure!(copied.is_err(), "skopeo copied it");
    Ok(())
}

fn hives(image: &Image<'_>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut unpack = tool(
        "tar",
        &["--extract", "--gzip", "--file"],
        &image.layers()?[0],
    );
    run(unpack.arg("--directory").arg(folder.path()), "tar")?;
    let config = folder.path().join("Files/Windows/System32/config");
    for name in ["DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM"] {
        let printed = run(&mut tool("hivexml", &[], &config.join(name)), "hivexml")?;
        ensure!(
            printed.contains("name=\"ROOT\" root=\"1\""),
            "{name}: {printed}"
        );
    }
    Ok(())
}

fn layers(image: &Image<'_>) -> Result<()> {
    let layers = image.layers()?;
    ensure!(layers.len() == 2, "{} layers", layers.len());
    for (layer, expected) in layers.iter().zip([BASE, UPPER]) {
        let mut list = image.host.command(&image.programs.layers);
        list.arg(image.host.path(layer));
        let printed = run(&mut list, "layers")?;
        expect_entries(&printed, expected)?;
    }
    Ok(())
}

const BASE: &[&str] = &[
    "Files 16",
    "Files/Windows 16",
    "Files/Windows/System32 16",
    "Files/Windows/System32/config 16",
    "Files/Windows/System32/config/DEFAULT 32",
    "Files/Windows/System32/config/SAM 32",
    "Files/Windows/System32/config/SECURITY 32",
    "Files/Windows/System32/config/SOFTWARE 32",
    "Files/Windows/System32/config/SYSTEM 32",
];
const UPPER: &[&str] = &[
    "Files 16",
    "Files/wincsi.exe 32",
    "Files/csi-proxy.exe 32",
    "Hives 16",
];

/// Owned by Administrators; Users may read and execute.
const DESCRIPTOR: &str = "O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)";

/// Lines of name, attributes, length, length of the stream, and descriptor.
fn expect_entries(printed: &str, expected: &[&str]) -> Result<()> {
    let mut entries = Vec::new();
    for line in printed.lines() {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [name, attributes, _, _, descriptor] = fields[..] else {
            anyhow::bail!("no entry: {line}");
        };
        ensure!(descriptor == DESCRIPTOR, "{name} has {descriptor}");
        entries.push(format!("{name} {attributes}"));
    }
    ensure!(entries == expected, "{entries:?}");
    Ok(())
}

/// The control: an image of a build is refused by an older host.
fn hosts(image: &Image<'_>) -> Result<()> {
    let config = image.blob(&image.manifest()?["config"])?;
    let answers = image.ask_matcher(&config)?;
    ensure!(
        answers == "17763 true\n20348 true\n26100 true\n",
        "{answers}"
    );
    let mut value: Value = serde_json::from_slice(&fs::read(config)?)?;
    value["os.version"] = "10.0.20348.1".into();
    let of_a_build = tempfile::NamedTempFile::new()?;
    fs::write(&of_a_build, value.to_string())?;
    let answers = image.ask_matcher(of_a_build.path())?;
    ensure!(
        answers == "17763 false\n20348 true\n26100 true\n",
        "{answers}"
    );
    Ok(())
}

impl Image<'_> {
    fn reference(&self) -> String {
        format!("oci:{}", self.tagged().display())
    }

    fn tagged(&self) -> PathBuf {
        let tag = env!("CARGO_PKG_VERSION");
        PathBuf::from(format!("{}:{tag}", self.layout.display()))
    }

    fn ask_matcher(&self, config: &Path) -> Result<String> {
        let mut hosts = Command::new(&self.programs.hosts);
        hosts.arg(config).args(["17763", "20348", "26100"]);
        run(&mut hosts, "hosts")
    }

    fn layers(&self) -> Result<Vec<PathBuf>> {
        let manifest = self.manifest()?;
        let layers = manifest["layers"].as_array().context("no layers")?;
        layers.iter().map(|layer| self.blob(layer)).collect()
    }

    fn manifest(&self) -> Result<Value> {
        let index: Value = serde_json::from_slice(&fs::read(self.layout.join("index.json"))?)?;
        let manifest = self.blob(&index["manifests"][0])?;
        Ok(serde_json::from_slice(&fs::read(manifest)?)?)
    }

    fn blob(&self, descriptor: &Value) -> Result<PathBuf> {
        let digest = descriptor["digest"].as_str().context("no digest")?;
        Ok(self.layout.join("blobs").join(digest.replace(':', "/")))
    }
}

fn run(command: &mut Command, what: &str) -> Result<String> {
    process::capture(command, LIMIT)?.success(what)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exe_that_users_own_is_red() {
        let good = format!("Files 16 0 108 {DESCRIPTOR}\n");
        expect_entries(&good, &["Files 16"]).unwrap();
        let of_users = good.replace("O:BA", "O:BU");
        let error = expect_entries(&of_users, &["Files 16"]).unwrap_err();
        assert!(error.to_string().starts_with("Files has O:BU"), "{error}");
        assert!(expect_entries(&good, &["Files 16", "Hives 16"]).is_err());
    }
}
