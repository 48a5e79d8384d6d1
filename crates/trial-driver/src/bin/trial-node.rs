//! A simulated node for the trial driver, made before there is a driver, and used as a pod would use it: it writes
//! where a path leads once the links and mounted folders on its way are followed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Parser, Subcommand};
use os::{Error, Root};
use wincsi::sim::files::{FileTree, Roots};
use wincsi::sim::{ClockMode, NodeSpec, SimNode};
use wincsi::{Win32, WinPath};

/// Make a simulated node, or write a file on one as a pod does.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a node in a folder, and print the folder of its drive C.
    Make {
        folder: PathBuf,
        /// The node's name.
        #[arg(long)]
        name: String,
    },
    /// Write a file at a path of the node, whoever has the node open, and print where on this machine it lies.
    Write {
        folder: PathBuf,
        /// The folder of drive C, as `make` printed it.
        #[arg(long)]
        drive_c: PathBuf,
        /// Where, as the node names it.
        path: WinPath,
        text: String,
    },
}

fn main() -> anyhow::Result<()> {
    let place = match Arguments::parse().command {
        Command::Make { folder, name } => make(&folder, &name)?,
        Command::Write {
            folder,
            drive_c,
            path,
            text,
        } => write(Folders { folder, drive_c }, &path, &text)?,
    };
    println!("{}", place.display());
    Ok(())
}

fn make(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let node = SimNode::create(folder, &NodeSpec::named(name), ClockMode::Real)?;
    let drive_c: WinPath = r"C:\".parse()?;
    Ok(node.files().host_path(&drive_c)?)
}

fn write(folders: Folders, path: &WinPath, text: &str) -> anyhow::Result<PathBuf> {
    let files = FileTree::new(Arc::new(folders));
    files.write_file(path, text.as_bytes())?;
    Ok(files.host_path(path)?)
}

/// Where a node's drive C and its volumes lie.
struct Folders {
    folder: PathBuf,
    drive_c: PathBuf,
}

impl Roots for Folders {
    fn folder(&self, root: &Root) -> os::Result<PathBuf> {
        let place = match root {
            Root::Drive('C') => Some(self.drive_c.clone()),
            Root::Volume(volume) => Some(self.folder.join("volumes").join(volume.0.to_string())),
            Root::Drive(_) | Root::Share { .. } => None,
        };
        let there = place.filter(|place| place.is_dir());
        there.ok_or_else(|| Error::new("CreateFileW", root, Win32::PATH_NOT_FOUND))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use os::LinkKind;

    use super::*;

    fn path(text: &str) -> WinPath {
        text.parse().unwrap()
    }

    #[test]
    fn what_a_pod_writes_lies_where_the_links_lead() {
        let folder = tempfile::tempdir().unwrap();
        let drive_c = make(folder.path(), "node").unwrap();
        let folders = || Folders {
            folder: folder.path().to_owned(),
            drive_c: drive_c.clone(),
        };
        let files = FileTree::new(Arc::new(folders()));
        let volume = drive_c.with_file_name("6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f");
        fs::create_dir(&volume).unwrap();
        fs::create_dir(drive_c.join("staged")).unwrap();
        let mounted = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\".parse();
        files
            .set_mount_point(&path(r"C:\staged"), mounted.unwrap())
            .unwrap();
        os::Files::create_symlink(&files, &path(r"C:\pod"), r"C:\staged", LinkKind::Directory)
            .unwrap();

        let written = write(folders(), &path(r"C:\pod\a.txt"), "text").unwrap();
        assert_eq!(written, volume.join("a.txt"));
        assert_eq!(fs::read_to_string(written).unwrap(), "text");
        assert!(write(folders(), &path(r"C:\none\a.txt"), "text").is_err());
    }
}
