//! Plays the driver: a disk and a share are staged, published, unpublished and unstaged on a node.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use example_driver::Driver;
use wincsi::disks::{Criterion, DiskQuery, Page83};
use wincsi::sim::{ClockMode, SimNode, demo};
use wincsi::smb::{Credentials, RemotePath};
use wincsi::{Node, NodeApi, Options, Os, WinPath, Zeroizing, pipes};

/// The node part of a CSI driver, played once. The password of the share is read from standard input.
#[derive(Parser)]
struct Arguments {
    /// Who does the work: simulated:FOLDER, native, pipes, or sockets:FOLDER.
    #[arg(long)]
    node: String,
    /// The page 0x83 identifier of the disk.
    #[arg(long)]
    disk: String,
    /// The share.
    #[arg(long)]
    share: String,
    /// Who may use the share.
    #[arg(long)]
    user: String,
    /// The kubelet's folder on the node.
    #[arg(long, default_value = r"C:\var\lib\kubelet")]
    kubelet: String,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let node = node_of(&arguments.node)?;
    let path = |below: &str| format!(r"{}\{below}", arguments.kubelet).parse::<WinPath>();
    let (disk, disk_of_pod) = (path(r"plugins\disk\globalmount")?, path(r"pods\1\disk")?);
    let (share, share_of_pod) = (path(r"plugins\share\globalmount")?, path(r"pods\1\share")?);
    let remote = RemotePath::parse(&arguments.share)?;
    let user = credentials(&arguments.user)?;
    let identifier = Criterion::Page83(Page83::parse(&arguments.disk)?);
    let wanted = DiskQuery::all([identifier])?;
    let driver = Driver::new(node, path(r"plugins\driver\shares")?);

    done("stage disk", driver.stage_disk(&wanted, &disk))?;
    done("stage share", driver.stage_share(&remote, &user, &share))?;
    done("publish disk", driver.publish(&disk, &disk_of_pod))?;
    done("publish share", driver.publish(&share, &share_of_pod))?;
    done("unpublish disk", driver.unpublish(&disk_of_pod))?;
    done("unpublish share", driver.unpublish(&share_of_pod))?;
    done("unstage disk", driver.unstage_disk(&wanted, &disk))?;
    done("unstage share", driver.unstage_share(&remote, &share))
}

/// The switch: each line makes the same handle.
fn node_of(name: &str) -> anyhow::Result<Arc<dyn NodeApi>> {
    Ok(match name.split_once(':').unwrap_or((name, "")) {
        ("simulated", folder) => Arc::new(Node::new(simulated(folder)?, Options::default())),
        ("native", "") => {
            let native = wincsi::native("wincsi-example-driver")?;
            Arc::new(Node::new(native, Options::default()))
        }
        ("pipes", "") => Arc::new(pipes::Node::pipes()),
        ("sockets", folder) => Arc::new(pipes::Node::sockets(folder)),
        _ => anyhow::bail!("no such node: {name}"),
    })
}

/// The demonstration's node, made in the folder when there is none yet.
fn simulated(folder: &str) -> anyhow::Result<Os> {
    println!("SIMULATED NODE in {folder}: nothing here touches a real disk");
    let folder = Path::new(folder);
    let node = match SimNode::exists(folder) {
        true => SimNode::open(folder, ClockMode::Real)?,
        false => demo::create(folder, ClockMode::Real)?,
    };
    Ok(node.os())
}

fn credentials(user: &str) -> anyhow::Result<Credentials> {
    let mut password = Zeroizing::new(String::new());
    io::stdin().read_line(&mut password)?;
    let password = Zeroizing::new(password.trim_end().to_owned());
    Credentials::new(user, password).context("a user's name is wanted")
}

fn done(call: &str, outcome: wincsi::Result<()>) -> anyhow::Result<()> {
    outcome.with_context(|| call.to_owned())?;
    println!("{call}: done");
    Ok(())
}
