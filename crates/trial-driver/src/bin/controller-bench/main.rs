//! The measurements of `cargo xtask bench controller`: volumes of wincsi-controller on a Samba of this machine, and
//! smbclient beside it.
//!
//! Each figure is a line of words: what was measured, of which share, and numbers.

mod samba;
#[path = "../../../../smb/tests/samba/smbd.rs"]
mod smbd;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use transport::{Channel, ChannelOptions, Endpoint};
use wincsi_trial_driver::send;
use wire::csi::v1::controller::{CreateVolume, DeleteVolume};
use wire::csi::v1::{CreateVolumeRequest, DeleteVolumeRequest};

use self::samba::{Controller, Smbclient, request};
use self::smbd::Samba;

/// Measure wincsi-controller beside smbclient, on a Samba of this machine.
#[derive(Parser)]
struct Arguments {
    /// The program wincsi-controller.
    controller: PathBuf,
    /// How many volumes are made and deleted.
    #[arg(long)]
    pairs: u32,
    /// How many files are deleted with a folder.
    #[arg(long)]
    files: u32,
    /// How many files are in the one folder whose delete is weighed.
    #[arg(long)]
    heap: u32,
}

/// How many callers there are at a time.
const CALLERS: [u32; 2] = [1, 16];

/// To how many files the memory for many is compared.
const FEW: u32 = 1_000;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let samba = Samba::start();
    for share in ["encrypted", "plain"] {
        let smbclient = Smbclient::new(&samba, share)?;
        println!("bare {share} {}", smbclient.pairs(arguments.pairs)?);
        let controller = Controller::start(&arguments.controller, share)?;
        for callers in CALLERS {
            let rate = pairs(&controller, &samba, share, [callers, arguments.pairs])?;
            println!("pairs-{callers} {share} {rate}");
        }
        println!(
            "deltree {share} {}",
            smbclient.deltree(&samba, arguments.files)?
        );
        println!(
            "delete {share} {}",
            delete(&controller, &samba, share, arguments.files)?
        );
        for files in [FEW, arguments.heap] {
            let controller = Controller::start(&arguments.controller, share)?;
            delete(&controller, &samba, share, files)?;
            println!("memory-{files} {share} {}", controller.peak_kib()?);
        }
    }
    Ok(())
}

/// How many volumes are made and deleted in a second.
fn pairs(
    controller: &Controller,
    samba: &Samba,
    share: &str,
    [callers, pairs]: [u32; 2],
) -> anyhow::Result<f64> {
    let next = AtomicU32::new(0);
    let channel = controller.channel()?;
    let work = || -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= pairs {
                return Ok(());
            }
            let wanted = request(&format!("pvc-{callers}-{at}"), samba, share);
            remove(&channel, &make(&channel, &wanted)?, &wanted)?;
        }
    };
    // The first call of a process opens a connection and makes the base's folder of records.
    let first = request("pvc-first", samba, share);
    remove(&channel, &make(&channel, &first)?, &first)?;
    let began = Instant::now();
    thread::scope(|scope| {
        let callers = Vec::from_iter((0..callers).map(|_| scope.spawn(work)));
        let mut ended = callers.into_iter().map(|caller| caller.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| anyhow::bail!("a caller panicked")))
    })?;
    Ok(f64::from(pairs) / began.elapsed().as_secs_f64())
}

/// The seconds of a delete of a volume with so many files.
fn delete(controller: &Controller, samba: &Samba, share: &str, files: u32) -> anyhow::Result<f64> {
    let channel = controller.channel()?;
    let wanted = request("pvc-full", samba, share);
    let id = make(&channel, &wanted)?;
    let folder = samba.root().join("pvc-full");
    fill(&folder, files)?;
    let began = Instant::now();
    remove(&channel, &id, &wanted)?;
    let seconds = began.elapsed().as_secs_f64();
    ensure!(!folder.exists(), "the folder stays");
    Ok(seconds)
}

fn fill(folder: &Path, files: u32) -> anyhow::Result<()> {
    for at in 0..files {
        File::create(folder.join(format!("file-{at}"))).context("fill a volume")?;
    }
    Ok(())
}

fn make(channel: &Channel, wanted: &CreateVolumeRequest) -> anyhow::Result<String> {
    let made = send::<CreateVolume>(channel, wanted)?;
    Ok(made.volume.context("no volume")?.volume_id)
}

fn remove(channel: &Channel, id: &str, made: &CreateVolumeRequest) -> anyhow::Result<()> {
    let request = DeleteVolumeRequest {
        volume_id: id.to_owned(),
        secrets: made.secrets.clone(),
    };
    send::<DeleteVolume>(channel, &request).map(drop)
}

impl Controller {
    fn channel(&self) -> anyhow::Result<Channel> {
        let endpoint = Endpoint::socket(self.socket());
        Ok(Channel::connect(endpoint, ChannelOptions::default())?)
    }
}

impl Smbclient {
    /// The seconds that `deltree` takes for a folder of so many files.
    fn deltree(&self, samba: &Samba, files: u32) -> anyhow::Result<f64> {
        let folder = samba.root().join("tree");
        fs::create_dir(&folder)?;
        fill(&folder, files)?;
        let seconds = self.run("deltree tree\n")?;
        ensure!(!folder.exists(), "deltree left the folder");
        Ok(seconds)
    }

    /// How many folders are made and removed in a second.
    fn pairs(&self, pairs: u32) -> anyhow::Result<f64> {
        let commands = (0..pairs).map(|at| format!("mkdir bare-{at}\nrmdir bare-{at}\n"));
        Ok(f64::from(pairs) / self.run(&commands.collect::<String>())?)
    }
}
