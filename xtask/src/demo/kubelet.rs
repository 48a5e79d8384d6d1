//! The second play: kubelet and `wincsi node`, on a simulated node with a restart in the middle.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use tempfile::TempDir;

use super::{PLAY, Programs};
use crate::host::{self, Host};
use crate::process::{self, Background};
use crate::trial;

/// A line of wincsi's log: kubelet may call.
const READY: &str = "serving CSI as";

const START: Duration = Duration::from_secs(60);

/// Plays both acts, and ends wincsi.
pub(crate) fn play(host: Host<'_>, programs: &Programs) -> Result<()> {
    let fixture = KubeletFixture::set(host, programs)?;
    let wincsi = fixture.start("before")?;
    fixture.act("first", &wincsi)?;
    // The machine loses its power, and wincsi with it.
    drop(wincsi);
    fixture.node("reboot")?;
    println!("\nthe node restarts: wincsi was killed, and is started anew\n");
    let wincsi = fixture.start("after")?;
    fixture.act("second", &wincsi)?;
    fixture.end(wincsi)
}

/// A simulated node, and where wincsi serves it.
struct KubeletFixture<'a> {
    host: Host<'a>,
    programs: &'a Programs,
    dir: TempDir,
    /// The folder of its drive C, as programs on the host read it.
    drive_c: String,
    registration: String,
    flags: Vec<String>,
}

impl<'a> KubeletFixture<'a> {
    fn set(host: Host<'a>, programs: &'a Programs) -> Result<Self> {
        let dir = trial::private_dir()?;
        let (registration, flags) = endpoints(host, &dir)?;
        let mut fixture = Self {
            host,
            programs,
            dir,
            drive_c: String::new(),
            registration,
            flags,
        };
        fixture
            .node("demo")?
            .trim()
            .clone_into(&mut fixture.drive_c);
        Ok(fixture)
    }

    fn start(&self, when: &str) -> Result<Background> {
        let mut wincsi = self.host.command(&self.programs.wincsi);
        wincsi
            .args(["node", "--host=sim", "--nodeid=demo"])
            .args(&self.flags);
        wincsi.arg(format!("--simulate={}", self.path("node")));
        wincsi.arg(format!("--state-dir={}", self.path("records")));
        let log = self.dir.path().join(format!("wincsi-{when}.log"));
        let mut wincsi = Background::start("wincsi", &mut wincsi, &log)?;
        wincsi.wait_for_line(READY, START)?;
        Ok(wincsi)
    }

    fn act(&self, act: &str, wincsi: &Background) -> Result<()> {
        let mut player = self.host.command(&self.programs.trial);
        player.args(["demo", "kubelet", "--node", &self.path("node")]);
        player.args(["--act", act, "--drive-c", &self.drive_c]);
        player.args(["--registration", &self.registration]);
        let played = process::follow(&mut player, PLAY)?.success("the play of kubelet");
        let end = |error| anyhow!("{error:#}\nthe end of wincsi's log:\n{}", wincsi.tail());
        played.map(drop).map_err(end)
    }

    /// Ends wincsi as the system ends a pod. Under Wine a signal kills.
    fn end(&self, wincsi: Background) -> Result<()> {
        if let Host::Linux = self.host {
            let status = wincsi.stop(START)?;
            ensure!(
                status.success(),
                "wincsi ended with {status} when asked to stop"
            );
        }
        trial::expect_no_record(&self.dir.path().join("records"))
    }

    fn node(&self, verb: &str) -> Result<String> {
        let mut command = self.host.command(&self.programs.trial);
        command.args(["node", verb, &self.path("node")]);
        let (done, printed) = process::data(&mut command, PLAY)?;
        done.success(verb)?;
        Ok(printed)
    }

    /// Something in the fixture's folder, as programs on the host read it.
    fn path(&self, name: &str) -> String {
        self.host.path(&self.dir.path().join(name))
    }
}

/// Where registration is served, and wincsi's flags for it. Wine has no Unix sockets.
fn endpoints(host: Host<'_>, dir: &TempDir) -> Result<(String, Vec<String>)> {
    match host {
        Host::Linux => {
            let kubelet: PathBuf = dir.path().join("kubelet");
            // Kubelet makes them as it starts.
            for folder in ["plugins", "plugins_registry"] {
                fs::create_dir_all(kubelet.join(folder)).context("make kubelet's folders")?;
            }
            let socket = kubelet.join("plugins_registry/wincsi.io-reg.sock");
            let flag = format!("--kubelet-path={}", kubelet.display());
            Ok((format!("unix:{}", socket.display()), vec![flag]))
        }
        Host::Wine(_) => {
            let [csi, registration] = host::free_ports()?;
            let [csi, registration] =
                [csi, registration].map(|port| format!("tcp://127.0.0.1:{port}"));
            let flags = vec![
                format!("--endpoint={csi}"),
                format!("--registration-endpoint={registration}"),
            ];
            Ok((registration, flags))
        }
    }
}
