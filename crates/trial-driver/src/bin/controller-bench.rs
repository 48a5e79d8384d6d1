//! The measurements of `cargo xtask bench controller`: calls of wincsi-controller over its socket. It prints one number.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::{Args, Parser, Subcommand};
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint};
use wincsi_trial_driver::{send, text_map};
use wire::csi::v1::controller::{CreateVolume, DeleteVolume};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::volume_content_source::{Type, VolumeSource};
use wire::csi::v1::{
    CapacityRange, CreateVolumeRequest, DeleteVolumeRequest, VolumeCapability, VolumeContentSource,
};

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
    /// The seconds of a clone of a volume with so many files of a size, in the folder of the share.
    Clone {
        share: PathBuf,
        files: u32,
        bytes: u64,
    },
    /// How many volumes are made and deleted in a second beside clones of such a volume, one after the other.
    PairsBesideClones {
        callers: u32,
        pairs: u32,
        share: PathBuf,
        files: u32,
        bytes: u64,
    },
    /// Puts so many files of a size into a folder.
    Fill {
        folder: PathBuf,
        files: u32,
        bytes: u64,
    },
}

fn main() -> anyhow::Result<()> {
    let Arguments { site, command } = Arguments::parse();
    let number = match command {
        Command::Pairs { callers, pairs } => site.pairs(callers, pairs)?,
        Command::Delete { share, files } => site.delete(&share, files)?,
        Command::Clone {
            share,
            files,
            bytes,
        } => site.clone(&share, files, bytes)?,
        Command::PairsBesideClones {
            callers,
            pairs,
            share,
            files,
            bytes,
        } => site.pairs_beside_clones((callers, pairs), &share, (files, bytes))?,
        Command::Fill {
            folder,
            files,
            bytes,
        } => return fill(&folder, files, bytes),
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
        fill(&folder, files, 0)?;
        let began = Instant::now();
        remove(&channel, &id, &wanted)?;
        let seconds = began.elapsed().as_secs_f64();
        ensure!(!folder.exists(), "the folder stays");
        Ok(seconds)
    }

    fn clone(&self, share: &Path, files: u32, bytes: u64) -> anyhow::Result<f64> {
        let channel = self.channel()?;
        let source = self.filled(&channel, share, (files, bytes))?;
        let wanted = self.clone_of(&source);
        let began = Instant::now();
        let id = make(&channel, &wanted)?;
        let seconds = began.elapsed().as_secs_f64();
        let copied = share.join(&wanted.name).read_dir()?.count();
        ensure!(
            u32::try_from(copied) == Ok(files),
            "{copied} files are in the clone"
        );
        remove(&channel, &id, &wanted)?;
        remove(&channel, &source, &wanted)?;
        Ok(seconds)
    }

    fn pairs_beside_clones(
        &self,
        (callers, pairs): (u32, u32),
        share: &Path,
        content: (u32, u64),
    ) -> anyhow::Result<f64> {
        let channel = self.channel()?;
        let source = self.filled(&channel, share, content)?;
        let wanted = self.clone_of(&source);
        let is_over = AtomicBool::new(false);
        let rate = thread::scope(|scope| {
            let cloning = scope.spawn(|| -> anyhow::Result<()> {
                while !is_over.load(Ordering::Relaxed) {
                    remove(&channel, &make(&channel, &wanted)?, &wanted)?;
                }
                Ok(())
            });
            let rate = self.pairs(callers, pairs);
            is_over.store(true, Ordering::Relaxed);
            let cloned = cloning.join();
            cloned.unwrap_or_else(|_| bail!("the cloning thread panicked"))?;
            rate
        })?;
        remove(&channel, &source, &wanted)?;
        Ok(rate)
    }

    /// A volume with so many files of a size. Returns its handle.
    fn filled(
        &self,
        channel: &Channel,
        share: &Path,
        (files, bytes): (u32, u64),
    ) -> anyhow::Result<String> {
        let id = make(channel, &self.request("pvc-source"))?;
        fill(&share.join("pvc-source"), files, bytes)?;
        Ok(id)
    }

    fn clone_of(&self, source: &str) -> CreateVolumeRequest {
        let mut wanted = self.request("pvc-clone");
        let volume_id = source.to_owned();
        wanted.volume_content_source = Some(VolumeContentSource {
            r#type: Some(Type::Volume(VolumeSource { volume_id })),
        });
        wanted
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

fn fill(folder: &Path, files: u32, bytes: u64) -> anyhow::Result<()> {
    for at in 0..files {
        let mut file = File::create(folder.join(format!("file-{at}"))).context("fill a folder")?;
        io::copy(&mut io::repeat(b'x').take(bytes), &mut file)?;
    }
    Ok(())
}

/// As csi-provisioner does, calls again after a deadline: a clone of many files takes longer than one call.
fn make(channel: &Channel, wanted: &CreateVolumeRequest) -> anyhow::Result<String> {
    loop {
        match send::<CreateVolume>(channel, wanted) {
            Ok(made) => return Ok(made.volume.context("no volume")?.volume_id),
            Err(error) if is_deadline(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_deadline(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<CallError>();
    matches!(error, Some(CallError::Status(status)) if status.code == Code::DeadlineExceeded)
}

fn remove(channel: &Channel, id: &str, made: &CreateVolumeRequest) -> anyhow::Result<()> {
    let request = DeleteVolumeRequest {
        volume_id: id.to_owned(),
        secrets: made.secrets.clone(),
    };
    send::<DeleteVolume>(channel, &request).map(drop)
}
