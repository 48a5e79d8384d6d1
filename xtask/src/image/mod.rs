//! `cargo xtask image`: the image for HostProcess containers, and that of the controller, as OCI layouts.
//!
//! A HostProcess container has no files of Windows: it sees the node's. So its image is two small layers, written here
//! without a builder of images and only with our own bytes: a base of folders and empty hives, and the exes.
//! docs/fidelity.md says what read it. The controller's is a static program alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;

use crate::cargo::{self, Build};
use crate::env::{self, Need};

mod descriptor;
mod hive;
mod layer;
mod layout;

/// Write the image of wincsi.exe and csi-proxy.exe for HostProcess containers as an OCI layout
#[derive(Args)]
pub(crate) struct Image {
    /// Write the image of wincsi-controller, for Linux
    #[arg(long, conflicts_with_all = ["exe", "csi_proxy"])]
    controller: bool,
    /// Take this wincsi.exe; without it, both exes are built for release
    #[arg(long, requires = "csi_proxy")]
    exe: Option<PathBuf>,
    /// Take this csi-proxy.exe
    #[arg(long, requires = "exe")]
    csi_proxy: Option<PathBuf>,
    /// The layout's folder; without it, one below cargo's target folder. A layout there is replaced
    #[arg(long)]
    output: Option<PathBuf>,
}

impl Image {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let name = ["wincsi", CONTROLLER][usize::from(self.controller)];
        let folder = match self.output {
            Some(folder) => folder,
            None => cargo::work_dir(&format!("image/{name}"))?,
        };
        match (self.controller, self.exe.zip(self.csi_proxy)) {
            (true, _) => {
                write_controller(&controller()?, &folder)?;
            }
            (false, Some((exe, csi_proxy))) => write(&exe, &csi_proxy, &folder)?,
            (false, None) => {
                let windows = (Need::Windows, cargo::WINDOWS);
                let exe = build("wincsi-driver", "wincsi", windows)?;
                write(&exe, &build("wincsi-proxy", "csi-proxy", windows)?, &folder)?;
            }
        }
        let (tag, folder) = (layout::TAG, folder.display());
        println!("image: oci:{folder}:{tag}; push it with");
        println!("  skopeo copy oci:{folder}:{tag} docker://REGISTRY/{name}:{tag}");
        Ok(ExitCode::SUCCESS)
    }
}

/// The program, and its package.
const CONTROLLER: &str = "wincsi-controller";

/// Where programs are looked for. The runtime adds the image's root to it only where there is a PATH at all (hcsshim,
/// internal/jobcontainers).
const PATH: &str = r"PATH=C:\Windows\System32;C:\Windows";

/// Writes the image for HostProcess containers, replacing an existing layout.
pub(crate) fn write(exe: &Path, csi_proxy: &Path, folder: &Path) -> Result<()> {
    let programs = [("wincsi.exe", exe), ("csi-proxy.exe", csi_proxy)];
    let read = programs.map(|(name, path)| Ok((name, read(path, "Windows", b"MZ")?)));
    let exes: Vec<_> = read.into_iter().collect::<Result<_>>()?;
    let image = layout::Image {
        os: "windows",
        config: json!({"Entrypoint": ["wincsi.exe"], "Cmd": ["node"], "Env": [PATH]}),
        layers: vec![layer::base()?, layer::upper(&exes)?],
    };
    layout::write(folder, &image)
}

/// Writes the controller's image, replacing an existing layout.
pub(crate) fn write_controller(program: &Path, folder: &Path) -> Result<()> {
    let bytes = read(program, "Linux", b"\x7fELF")?;
    let image = layout::Image {
        os: "linux",
        config: json!({"Entrypoint": [format!("/{CONTROLLER}")], "User": "65532:65532"}),
        layers: vec![layer::of_linux(CONTROLLER, &bytes)?],
    };
    layout::write(folder, &image)
}

fn read(program: &Path, system: &str, begins: &[u8]) -> Result<Vec<u8>> {
    let bytes = fs::read(program).with_context(|| format!("read {}", program.display()))?;
    let is_one = bytes.starts_with(begins);
    ensure!(is_one, "{}: no {system} program", program.display());
    Ok(bytes)
}

/// The program of the controller's image.
pub(crate) fn controller() -> Result<PathBuf> {
    build(CONTROLLER, CONTROLLER, (Need::Static, cargo::STATIC))
}

fn build(package: &str, binary: &str, (need, target): (Need, &str)) -> Result<PathBuf> {
    env::provide(&[need])?;
    Build {
        package,
        binary,
        profile: "release",
        target: Some(target),
    }
    .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index has the digest of the manifest, and the manifest has those of all else.
    #[test]
    fn an_exe_has_one_image_and_a_layout_that_is_there_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (exe, image) = (folder.path().join("exe"), folder.path().join("image"));
        let mut indexes = Vec::new();
        for program in ["MZ 1", "MZ 2", "MZ 1"] {
            fs::write(&exe, program).unwrap();
            write(&exe, &exe, &image).unwrap();
            indexes.push(fs::read_to_string(image.join("index.json")).unwrap());
        }
        assert!(
            indexes[0] == indexes[2] && indexes[0] != indexes[1],
            "{indexes:?}"
        );
        let blobs = fs::read_dir(image.join("blobs/sha256")).unwrap();
        assert_eq!(blobs.count(), 4, "two layers, configuration, manifest");
    }

    #[test]
    fn a_program_of_another_system_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let exe = folder.path().join("wincsi");
        fs::write(&exe, b"\x7fELF").unwrap();
        let image = folder.path().join("image");
        let error = write(&exe, &exe, &image).unwrap_err();
        assert!(error.to_string().contains("no Windows program"), "{error}");
    }
}
