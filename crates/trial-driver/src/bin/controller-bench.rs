//! The measurements of `cargo xtask bench controller`: calls of wincsi-controller over its socket. It prints one number,
//! or one for each call.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint};
use wincsi_trial_driver::{send, text_map};
use wire::csi::v1::controller::{CreateSnapshot, CreateVolume, DeleteSnapshot, DeleteVolume};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::volume_content_source::{SnapshotSource, Type, VolumeSource};
use wire::csi::v1::{
    CapacityRange, CreateSnapshotRequest, CreateVolumeRequest, DeleteSnapshotRequest,
    DeleteVolumeRequest, VolumeCapability, VolumeContentSource,
};

/// How many files are in each of several folders.
const FOLDER: u32 = 1_000;

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

#[derive(Clone, Copy, ValueEnum)]
enum Copy {
    Clone,
    Snapshot,
    Restore,
}

#[derive(Subcommand)]
enum Command {
    /// How many volumes are made and deleted in a second.
    Pairs { callers: u32, pairs: u32 },
    /// The seconds of a delete of a volume with so many files, in the folder of the share.
    Delete { share: PathBuf, files: u32 },
    /// The seconds of copies of a volume with so many files of a size, in the folder of the share: a number for each.
    Copy {
        share: PathBuf,
        files: u32,
        bytes: u64,
        /// In folders, since Samba looks through a whole folder for each new name.
        #[arg(long)]
        in_folders: bool,
        #[arg(required = true)]
        copies: Vec<Copy>,
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
        Command::Copy {
            share,
            files,
            bytes,
            in_folders,
            copies,
        } => {
            let folders = if in_folders { files / FOLDER } else { 0 };
            return site.copies(&share, (files, bytes, folders), &copies);
        }
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

    fn copies(
        &self,
        share: &Path,
        content: (u32, u64, u32),
        copies: &[Copy],
    ) -> anyhow::Result<()> {
        let channel = self.channel()?;
        let source = self.filled(&channel, share, content)?;
        let wanted = self.request("pvc-source");
        for copy in copies {
            let seconds = match copy {
                Copy::Clone => self.volume_of(&channel, share, volume(&source))?,
                Copy::Snapshot => {
                    let (id, seconds) = self.snapshot(&channel, &source)?;
                    self.remove_snapshot(&channel, id)?;
                    seconds
                }
                Copy::Restore => {
                    let (id, _) = self.snapshot(&channel, &source)?;
                    let snapshot_id = id.clone();
                    let content = Type::Snapshot(SnapshotSource { snapshot_id });
                    let seconds = self.volume_of(&channel, share, content)?;
                    self.remove_snapshot(&channel, id)?;
                    seconds
                }
            };
            println!("{seconds}");
        }
        remove(&channel, &source, &wanted)
    }

    /// The seconds in which a volume comes to be of another or of a snapshot.
    fn volume_of(&self, channel: &Channel, share: &Path, content: Type) -> anyhow::Result<f64> {
        let wanted = self.copy_of(content);
        let began = Instant::now();
        let id = make(channel, &wanted)?;
        let seconds = began.elapsed().as_secs_f64();
        let [copied, had] = [&*wanted.name, "pvc-source"].map(|name| count(&share.join(name)));
        ensure!(copied? == had?, "the copy has not all files");
        remove(channel, &id, &wanted)?;
        Ok(seconds)
    }

    fn snapshot(&self, channel: &Channel, source: &str) -> anyhow::Result<(String, f64)> {
        let mut wanted = CreateSnapshotRequest::default();
        wanted.name = "snapshot-1".to_owned();
        wanted.source_volume_id = source.to_owned();
        wanted.secrets = self.secrets();
        let began = Instant::now();
        let taken = repeated(|| send::<CreateSnapshot>(channel, &wanted))?;
        let taken = taken.snapshot.context("no snapshot")?;
        Ok((taken.snapshot_id, began.elapsed().as_secs_f64()))
    }

    fn remove_snapshot(&self, channel: &Channel, snapshot_id: String) -> anyhow::Result<()> {
        let secrets = self.secrets();
        let request = DeleteSnapshotRequest {
            snapshot_id,
            secrets,
        };
        send::<DeleteSnapshot>(channel, &request).map(drop)
    }

    fn pairs_beside_clones(
        &self,
        (callers, pairs): (u32, u32),
        share: &Path,
        (files, bytes): (u32, u64),
    ) -> anyhow::Result<f64> {
        let channel = self.channel()?;
        let source = self.filled(&channel, share, (files, bytes, 0))?;
        let wanted = self.copy_of(volume(&source));
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

    /// A volume with so many files of a size, in its own folder or in so many. Returns its handle.
    fn filled(
        &self,
        channel: &Channel,
        share: &Path,
        (files, bytes, folders): (u32, u64, u32),
    ) -> anyhow::Result<String> {
        let id = make(channel, &self.request("pvc-source"))?;
        let folder = share.join("pvc-source");
        if folders == 0 {
            fill(&folder, files, bytes)?;
        }
        for at in 0..folders {
            let folder = folder.join(format!("folder-{at}"));
            fs::create_dir(&folder)?;
            fill(&folder, files / folders, bytes)?;
        }
        Ok(id)
    }

    fn copy_of(&self, content: Type) -> CreateVolumeRequest {
        let mut wanted = self.request("pvc-copy");
        let r#type = Some(content);
        wanted.volume_content_source = Some(VolumeContentSource { r#type });
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
            mount_flags: vec![port],
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
        wanted.secrets = self.secrets();
        wanted
    }

    fn secrets(&self) -> BTreeMap<String, String> {
        text_map([
            ("username", &self.user),
            ("password", &self.password),
            ("mountOptions", &format!("port={}", self.port)),
        ])
    }
}

fn fill(folder: &Path, files: u32, bytes: u64) -> anyhow::Result<()> {
    for at in 0..files {
        let mut file = File::create(folder.join(format!("file-{at}"))).context("fill a folder")?;
        io::copy(&mut io::repeat(b'x').take(bytes), &mut file)?;
    }
    Ok(())
}

/// How many files a folder has, and those below it.
fn count(folder: &Path) -> io::Result<usize> {
    folder.read_dir()?.try_fold(0, |files, entry| {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => Ok(files + count(&entry.path())?),
            false => Ok(files + 1),
        }
    })
}

fn volume(id: &str) -> Type {
    let volume_id = id.to_owned();
    Type::Volume(VolumeSource { volume_id })
}

fn make(channel: &Channel, wanted: &CreateVolumeRequest) -> anyhow::Result<String> {
    let made = repeated(|| send::<CreateVolume>(channel, wanted))?;
    Ok(made.volume.context("no volume")?.volume_id)
}

/// As the sidecars do, calls again after a deadline: a copy of many files takes longer than one call.
fn repeated<T>(mut call: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    loop {
        match call() {
            Err(error) if is_deadline(&error) => {}
            called => return called,
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
