//! What is measured: wincsi-controller and smbclient.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;
use wincsi_trial_driver::text_map;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{CapacityRange, CreateVolumeRequest, VolumeCapability};

use crate::smbd::{PASSWORD, Samba, user};

const START: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A process of the controller, until this is dropped.
pub(crate) struct Controller {
    home: TempDir,
    child: Child,
}

impl Controller {
    pub(crate) fn start(program: &Path, share: &str) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        fs::set_permissions(home.path(), Permissions::from_mode(0o700))?;
        let mut command = Command::new(program);
        command.arg(format!(
            "-endpoint=unix:{}",
            home.path().join("csi.sock").display()
        ));
        command.arg(format!("-require-privacy={}", share == "encrypted"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("start wincsi-controller")?;
        let controller = Self { home, child };
        let by = Instant::now() + START;
        while !controller.socket().exists() {
            ensure!(Instant::now() < by, "wincsi-controller does not serve");
            thread::sleep(PAUSE);
        }
        Ok(controller)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.home.path().join("csi.sock")
    }

    /// The most memory that it had, in KiB.
    pub(crate) fn peak_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        Ok(number.context("no VmHWM")?.parse()?)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request for a folder of the share.
pub(crate) fn request(name: &str, samba: &Samba, share: &str) -> CreateVolumeRequest {
    let (user, port) = (user(), format!("port={}", samba.port()));
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
    wanted.parameters = text_map([("source", &format!("//127.0.0.1/{share}"))]);
    wanted.secrets = text_map([
        ("username", &user),
        ("password", PASSWORD),
        ("mountOptions", &port),
    ]);
    wanted
}

/// One smbclient for each measurement, with the same user and privacy.
pub(crate) struct Smbclient {
    home: TempDir,
    arguments: Vec<String>,
}

impl Smbclient {
    pub(crate) fn new(samba: &Samba, share: &str) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let file = home.path().join("user");
        fs::write(
            &file,
            format!("username = {}\npassword = {PASSWORD}\n", user()),
        )?;
        let mut arguments = vec![
            format!("//127.0.0.1/{share}"),
            format!("--port={}", samba.port()),
            format!("--authentication-file={}", file.display()),
            "--max-protocol=SMB3_11".to_owned(),
        ];
        if share == "encrypted" {
            arguments.push("--client-protection=encrypt".to_owned());
        }
        Ok(Self { home, arguments })
    }

    /// The seconds that commands take, and the logon.
    pub(crate) fn run(&self, commands: &str) -> anyhow::Result<f64> {
        let began = Instant::now();
        let mut child = Command::new("smbclient")
            .args(&self.arguments)
            .current_dir(self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start smbclient, of Debian's package of that name")?;
        let mut stdin = child.stdin.take().context("no pipe")?;
        stdin.write_all(commands.as_bytes())?;
        drop(stdin);
        let ended = child.wait()?;
        if !ended.success() {
            bail!("smbclient: {ended}");
        }
        Ok(began.elapsed().as_secs_f64())
    }
}
