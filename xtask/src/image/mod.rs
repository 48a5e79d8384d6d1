//! `cargo xtask image`: the image of the node plugin for HostProcess containers, as an OCI layout.
//!
//! Such a container has no files of Windows: it sees the node's. So the image is two small layers, written here without
//! a builder of images and only with our own bytes: a base of folders and empty hives, and the exe. docs/fidelity.md
//! says what read it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::cargo::{self, Build};
use crate::env::{self, Need};

mod descriptor;
mod hive;
mod layer;
mod layout;

/// Write the HostProcess image of wincsi.exe as an OCI layout
#[derive(Args)]
pub(crate) struct Image {
    /// Take this exe; without it, one is built for release
    #[arg(long)]
    exe: Option<PathBuf>,
    /// The layout's folder; without it, one below cargo's target folder. A layout there is replaced
    #[arg(long)]
    output: Option<PathBuf>,
}

impl Image {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let exe = match self.exe {
            Some(exe) => exe,
            None => build()?,
        };
        let folder = match self.output {
            Some(folder) => folder,
            None => cargo::work_dir("image")?,
        };
        write(&exe, &folder)?;
        let (tag, folder) = (layout::TAG, folder.display());
        println!("image: oci:{folder}:{tag}; push it with");
        println!("  skopeo copy oci:{folder}:{tag} docker://REGISTRY/wincsi:{tag}");
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the image of an exe, replacing an existing layout.
pub(crate) fn write(exe: &Path, folder: &Path) -> Result<()> {
    let program = fs::read(exe).with_context(|| format!("read {}", exe.display()))?;
    ensure!(
        program.starts_with(b"MZ"),
        "{}: no Windows program",
        exe.display()
    );
    layout::write(folder, &[layer::base()?, layer::upper(&program)?])
}

fn build() -> Result<PathBuf> {
    env::provide(&[Need::Windows])?;
    Build {
        package: "wincsi-driver",
        binary: "wincsi",
        profile: "release",
        target: Some(cargo::WINDOWS),
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
            write(&exe, &image).unwrap();
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
    fn what_is_no_windows_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let exe = folder.path().join("wincsi");
        fs::write(&exe, b"\x7fELF").unwrap();
        let error = write(&exe, &folder.path().join("image")).unwrap_err();
        assert!(error.to_string().contains("no Windows program"), "{error}");
    }
}
