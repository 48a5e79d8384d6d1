use std::env;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use first_driver::{stage, unstage};
use wincsi::disks::{Criterion, DiskQuery, Page83};
use wincsi::sim::{ClockMode, SimNode, demo};
use wincsi::{Node, NodeApi, Options, pipes};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["create", folder] => {
            demo::create(Path::new(folder), ClockMode::Real)?;
            println!("made {folder}, with the disk {}", demo::DISK_PAGE83);
        }
        [node, "stage", disk, staging] => {
            stage(&*node_of(node)?, &query(disk)?, &staging.parse()?)?;
            println!("staged at {staging}");
        }
        [node, "unstage", disk, staging] => {
            unstage(&*node_of(node)?, &query(disk)?, &staging.parse()?)?;
            println!("unstaged from {staging}");
        }
        _ => return Err("create FOLDER, or NODE stage|unstage DISK STAGING".into()),
    }
    Ok(())
}

/// Chooses the backend: each line makes the same handle.
fn node_of(name: &str) -> Result<Arc<dyn NodeApi>, Box<dyn Error>> {
    let options = Options::default();
    Ok(match name.split_once(':').unwrap_or((name, "")) {
        ("simulated", folder) => {
            let sim = SimNode::open(Path::new(folder), ClockMode::Real)?;
            Arc::new(Node::new(sim.os(), options))
        }
        ("sockets", folder) => Arc::new(pipes::Node::sockets(folder)),
        ("pipes", "") => Arc::new(pipes::Node::pipes()),
        ("native", "") => Arc::new(Node::new(wincsi::native("first-driver")?, options)),
        _ => return Err("NODE is simulated:FOLDER, sockets:FOLDER, pipes or native".into()),
    })
}

fn query(disk: &str) -> Result<DiskQuery, Box<dyn Error>> {
    let identifier = Criterion::Page83(Page83::parse(disk)?);
    Ok(DiskQuery::all([identifier])?)
}
