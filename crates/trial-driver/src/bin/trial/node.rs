//! A simulated node beside an SMB server, made before there is a driver, restarted, and used as a pod would use it: it
//! writes and reads where a path leads once the links and mounted folders on its way are followed.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use wincsi::WinPath;
use wincsi::sim::files::FileTree;
use wincsi::sim::iscsi::IscsiControl;
use wincsi::sim::smb::{ServerSpec, SmbControl};
use wincsi::sim::{
    Arrives, Bus, ClockMode, Content, CreateError, DiskSpec, HardwareControl, IdentifierKind,
    NodeSpec, Profile, ServiceSpec, SimNode, Start, demo,
};

/// Make a simulated node, restart it, or use a file on one as a pod does.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a node in a folder, and print the folder of its drive C.
    Make {
        folder: PathBuf,
        /// The node's name.
        #[arg(long)]
        name: String,
    },
    /// Make the node that the demo plays on, and print the folder of its drive C.
    Demo {
        folder: PathBuf,
        /// A machine of this profile: azure-scsi, ebs, hyper-v or vsphere.
        #[arg(long)]
        profile: Option<Profile>,
    },
    /// Set up an SMB server beside a node, and print the folder of its share.
    Share {
        folder: PathBuf,
        /// The server's name.
        server: String,
        /// The share's name.
        share: String,
        /// Who may use it, as `DOMAIN\user`.
        user: String,
        /// That user's password.
        password: String,
        /// The TCP port of the server.
        #[arg(long, default_value_t = 445)]
        port: u16,
    },
    /// Print the shares that a node has mapped, one a line, also while a process has the node open.
    Mappings { folder: PathBuf },
    /// Print the targets of a node's iSCSI sessions and the portals that it knows, one a line, also while a process has the
    /// node open.
    Sessions { folder: PathBuf },
    /// Attach a blank disk of 1 GiB to a node.
    Attach {
        folder: PathBuf,
        /// Its page 0x83 identifier.
        identifier: String,
    },
    /// Restart a node that nobody has open, and print the id of its new boot.
    Reboot { folder: PathBuf },
    /// Print where on this machine a file of the node lies.
    Find {
        folder: PathBuf,
        /// The folder of drive C, as `make` printed it.
        #[arg(long)]
        drive_c: PathBuf,
        /// Where, as the node names it.
        path: WinPath,
    },
    /// Write a file at a path of the node, also while a process has the node open, and print where on this machine it lies.
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

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Make { folder, name } => print(make(&folder, &name)?.display()),
        Command::Demo { folder, profile } => {
            print(drive_c(&demo_node(&folder, profile)?)?.display());
        }
        Command::Share {
            folder,
            server,
            share,
            user,
            password,
            port,
        } => {
            let mut spec = ServerSpec::sharing(&share, &user, &password);
            spec.tcp_ports = vec![port];
            print(add_share(&folder, (&server, &share), &spec)?.display());
        }
        Command::Mappings { folder } => {
            let mapped = SmbControl::at(folder).mapped()?;
            mapped.iter().for_each(print);
        }
        Command::Sessions { folder } => {
            let servers = IscsiControl::at(folder);
            let sessions = servers.sessions()?.into_iter();
            sessions.for_each(|target| print(format!("session {target}")));
            let portals = servers.portals()?.into_iter();
            portals.for_each(|portal| print(format!("portal {portal}")));
        }
        Command::Attach { folder, identifier } => attach(&folder, &identifier)?,
        Command::Reboot { folder } => print(reboot(&folder)?),
        Command::Find {
            folder,
            drive_c,
            path,
        } => print(find(&FileTree::beside(&folder, &drive_c), &path)?.display()),
        Command::Write {
            folder,
            drive_c,
            path,
            text,
        } => print(write(&FileTree::beside(&folder, &drive_c), &path, &text)?.display()),
    }
    Ok(())
}

fn print(what: impl Display) {
    println!("{what}");
}

fn make(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let mut spec = NodeSpec::named(name);
    // Windows Server 2025: older builds map shares at SMB's own port alone.
    spec.build = 26100;
    spec.service.push(ServiceSpec {
        name: "kubelet".to_owned(),
        display_name: "kubelet".to_owned(),
        start: Start::Automatic,
        command: Some(r"C:\k\kubelet.exe --root-dir=C:\var\lib\kubelet".to_owned()),
        ..ServiceSpec::default()
    });
    drive_c(&SimNode::create(folder, &spec, ClockMode::Real)?)
}

pub(crate) fn demo_node(folder: &Path, profile: Option<Profile>) -> Result<SimNode, CreateError> {
    match profile {
        Some(profile) => demo::create_on(profile, folder, ClockMode::Real),
        None => demo::create(folder, ClockMode::Real),
    }
}

fn drive_c(node: &SimNode) -> anyhow::Result<PathBuf> {
    Ok(node.files().host_path(&r"C:\".parse()?)?)
}

fn add_share(
    folder: &Path,
    (server, share): (&str, &str),
    spec: &ServerSpec,
) -> anyhow::Result<PathBuf> {
    let control = SmbControl::at(folder);
    control.add_server(server, spec)?;
    let place = control.share_folder(server, share);
    fs::create_dir_all(&place)?;
    Ok(place)
}

fn attach(folder: &Path, identifier: &str) -> anyhow::Result<()> {
    let disk = DiskSpec::on(Bus::Sas)
        .serial(identifier)
        .identified(IdentifierKind::Naa, identifier)
        .arriving(Arrives::ByPolicy);
    let blank = Content::blank(1 << 30);
    HardwareControl::at(folder).attach_disk(identifier, &disk, &blank)?;
    Ok(())
}

fn reboot(folder: &Path) -> anyhow::Result<String> {
    let node = SimNode::open(folder, ClockMode::Real)?;
    node.reboot()?;
    Ok(node.os().boot.boot_id()?.0)
}

fn find(files: &FileTree, path: &WinPath) -> anyhow::Result<PathBuf> {
    files.read_file(path)?;
    Ok(files.host_path(path)?)
}

fn write(files: &FileTree, path: &WinPath, text: &str) -> anyhow::Result<PathBuf> {
    files.write_file(path, text.as_bytes())?;
    Ok(files.host_path(path)?)
}

#[cfg(test)]
mod tests {
    use os::LinkKind;

    use super::*;

    fn path(text: &str) -> WinPath {
        text.parse().unwrap()
    }

    #[test]
    fn a_node_that_is_restarted_has_another_boot() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), "node").unwrap();
        let first = reboot(folder.path()).unwrap();
        assert_ne!(reboot(folder.path()).unwrap(), first);
    }

    #[test]
    fn what_a_pod_writes_lies_where_the_links_lead() {
        let folder = tempfile::tempdir().unwrap();
        let drive_c = make(folder.path(), "node").unwrap();
        let files = FileTree::beside(folder.path(), &drive_c);
        let volume = drive_c.with_file_name("6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f");
        fs::create_dir(&volume).unwrap();
        fs::create_dir(drive_c.join("staged")).unwrap();
        let mounted = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\".parse();
        files
            .set_mount_point(&path(r"C:\staged"), mounted.unwrap())
            .unwrap();
        os::Files::create_symlink(&files, &path(r"C:\pod"), r"C:\staged", LinkKind::Directory)
            .unwrap();

        let written = write(&files, &path(r"C:\pod\a.txt"), "text").unwrap();
        assert_eq!(written, volume.join("a.txt"));
        assert_eq!(fs::read_to_string(&written).unwrap(), "text");
        assert_eq!(find(&files, &path(r"C:\pod\a.txt")).unwrap(), written);
        assert!(find(&files, &path(r"C:\pod\b.txt")).is_err());
        assert!(write(&files, &path(r"C:\none\a.txt"), "text").is_err());
    }
}
