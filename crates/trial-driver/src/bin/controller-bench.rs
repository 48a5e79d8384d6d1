//! The measurements of `cargo xtask bench controller`: calls of wincsi-controller over its socket. It prints one number.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::{Args, Parser, Subcommand};
use transport::{Channel, ChannelOptions, Endpoint};
use wincsi_trial_driver::{send, text_map};
use wire::csi::v1::controller::{CreateVolume, DeleteVolume};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{CapacityRange, CreateVolumeRequest, DeleteVolumeRequest, VolumeCapability};

/// Measure wincsi-controller over its socket.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    site: Site,
    #[command(subcommand)]
    command: Command,
}

/// The controller, and the share of its volumes.
#[derive(Args)]
struct Site {
    socket: PathBuf,
    /// As classes name it.
    source: String,
    port: u16,
    user: String,
    password: String,
}

#[derive(Subcommand)]
enum Command {
    /// How many volumes are made and deleted in a second.
    Pairs { callers: u32, pairs: u32 },
    /// The seconds of a delete of a volume with so many files, in the folder of the share.
    Delete { share: PathBuf, files: u32 },
    /// Puts so many files into a folder.
    Fill { folder: PathBuf, files: u32 },
}

fn main() -> anyhow::Result<()> {
    let Arguments { site, command } = Arguments::parse();
    let number = match command {
        Command::Pairs { callers, pairs } => site.pairs(callers, pairs)?,
        Command::Delete { share, files } => site.delete(&share, files)?,
        Command::Fill { folder, files } => return fill(&folder, files),
    };
    println!("{number}");
    Ok(())
}

impl Site {
    fn pairs(&self, callers: u32, pairs: u32) -> anyhow::Result<f64> {
        let next = AtomicU32::new(0);
        let channel = self.channel()?;
        let work = || -> anyhow::Result<()> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= pairs {
                    return Ok(());
                }
                self.live(&channel, &format!("pvc-{callers}-{at}"))?;
            }
        };
        // The first call of a process opens a connection, and makes the folder of the records.
        self.live(&channel, "pvc-first")?;
        let began = Instant::now();
        thread::scope(|scope| {
            let callers = Vec::from_iter((0..callers).map(|_| scope.spawn(work)));
            let mut ended = callers.into_iter().map(thread::ScopedJoinHandle::join);
            ended.try_for_each(|ended| ended.unwrap_or_else(|_| bail!("a caller panicked")))
        })?;
        Ok(f64::from(pairs) / began.elapsed().as_secs_f64())
    }

    fn delete(&self, share: &Path, files: u32) -> anyhow::Result<f64> {
        let channel = self.channel()?;
        let wanted = self.request("pvc-full");
        let id = make(&channel, &wanted)?;
        let folder = share.join("pvc-full");
        fill(&folder, files)?;
        let began = Instant::now();
        remove(&channel, &id, &wanted)?;
        let seconds = began.elapsed().as_secs_f64();
        ensure!(!folder.exists(), "the folder stays");
        Ok(seconds)
    }

    fn live(&self, channel: &Channel, name: &str) -> anyhow::Result<()> {
        let wanted = self.request(name);
        remove(channel, &make(channel, &wanted)?, &wanted)
    }

    fn channel(&self) -> anyhow::Result<Channel> {
        let endpoint = Endpoint::socket(self.socket.clone());
        Ok(Channel::connect(endpoint, ChannelOptions::default())?)
    }

    fn request(&self, name: &str) -> CreateVolumeRequest {
        let port = format!("port={}", self.port);
        let mount = MountVolume {
            mount_flags: vec![port.clone()],
            ..MountVolume::default()
        };
        let capability = VolumeCapability {
            access_type: Some(AccessType::Mount(mount)),
            access_mode: Some(AccessMode {
                mode: Mode::MultiNodeMultiWriter.into(),
            }),
        };
        let mut wanted = CreateVolumeRequest::default();
        wanted.name = name.to_owned();
        wanted.capacity_range = Some(CapacityRange {
            required_bytes: 1 << 30,
            limit_bytes: 0,
        });
        wanted.volume_capabilities = vec![capability];
        wanted.parameters = text_map([("source", &self.source)]);
        wanted.secrets = text_map([
            ("username", &self.user),
            ("password", &self.password),
            ("mountOptions", &port),
        ]);
        wanted
    }
}

fn fill(folder: &Path, files: u32) -> anyhow::Result<()> {
    for at in 0..files {
        File::create(folder.join(format!("file-{at}"))).context("fill a folder")?;
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
