//! A real Samba on a loopback port, as the user of the test.

#![allow(dead_code, reason = "each program uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const PASSWORD: &str = "pass wörd";

const START: Duration = Duration::from_secs(30);

pub(crate) struct Samba {
    folder: tempfile::TempDir,
    child: Child,
    port: Port,
}

/// A port that no other Samba has: two would share it, as Samba sets SO_REUSEPORT. A UDP socket reserves it.
struct Port {
    number: u16,
    _reserved: UdpSocket,
}

impl Samba {
    /// With the shares `encrypted`, which demands it, `plain`, and `readers`, all of the folder [`root`](Self::root),
    /// and `second`, of a folder of its own.
    pub(crate) fn start() -> Self {
        Self::with("")
    }

    /// With more lines of the global section.
    pub(crate) fn with(lines: &str) -> Self {
        Self::run(lines, None)
    }

    /// On a disk of so many bytes, which only the server sees.
    pub(crate) fn on_disk(size: u64) -> Self {
        Self::run("", Some(size))
    }

    fn run(lines: &str, disk: Option<u64>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["share", "second", "state"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let port = Port::reserve();
        let config = folder.path().join("smb.conf");
        std::fs::write(&config, configuration(folder.path(), port.number, lines)).unwrap();
        let mut command = Command::new(program(if disk.is_some() { "unshare" } else { "smbd" }));
        if let Some(size) = disk {
            let script = format!("mount -t tmpfs -o size={size} none \"$0\" && exec \"$@\"");
            let is_root = user() == "root";
            let more = ["--map-current-user", "--keep-caps"];
            command.args(more.iter().filter(|_| !is_root));
            command.args(["--mount", "sh", "-c", &script]);
            command.args([folder.path().join("share"), program("smbd")]);
        }
        let mut child = command
            .args(["--foreground", "--debug-stdout", "-d2"])
            .arg("--configfile")
            .arg(&config)
            // At its end it kills its process group, so it has one of its own. This pipe ends with the
            // test, be it killed, and then Samba ends too.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        await_line(child.stdout.take().unwrap(), "waiting for connections");
        let samba = Self {
            folder,
            child,
            port,
        };
        samba.add_user(&user());
        samba
    }

    /// Ends the session of each client of a share.
    pub(crate) fn close_share(&self, share: &str) {
        let config = self.folder.path().join("smb.conf");
        let closed = Command::new(program("smbcontrol"))
            .arg("--configfile")
            .arg(&config)
            .args(["smbd", "close-share", share])
            .status();
        assert!(closed.unwrap().success(), "smbcontrol failed");
    }

    /// What Samba's own client answers to a command.
    pub(crate) fn client(&self, command: &str) -> String {
        let output = Command::new(program("smbclient"))
            .args(["//127.0.0.1/plain", &format!("--port={}", self.port())])
            .arg(format!("--user={}%{PASSWORD}", user()))
            .args(["--command", command])
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    /// Lets a user of this machine log on.
    pub(crate) fn add_user(&self, user: &str) {
        let config = self.folder.path().join("smb.conf");
        let mut child = Command::new(program("pdbedit"))
            .arg("--configfile")
            .arg(&config)
            .args(["--create", "--password-from-stdin", "--user", user])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let twice = format!("{PASSWORD}\n{PASSWORD}\n");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(twice.as_bytes()).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success(), "pdbedit failed");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.number
    }

    /// The folder of the share `second`.
    pub(crate) fn second(&self) -> PathBuf {
        self.folder.path().join("second")
    }

    /// The folder of the other shares.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("share")
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The user of the test.
pub(crate) fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn configuration(folder: &Path, port: u16, lines: &str) -> String {
    let folder = folder.display();
    let state = format!("{folder}/state");
    let share = |name, path, encryption, read_only| {
        format!(
            "[{name}]\npath = {folder}/{path}\nread only = {read_only}\nsmb encrypt = {encryption}\n\
             map readonly = yes\n"
        )
    };
    format!(
        "[global]\nprivate dir = {state}\nlock directory = {state}\nstate directory = {state}\n\
         cache directory = {state}\npid directory = {state}\nncalrpc dir = {state}\n\
         smb ports = {port}\ninterfaces = 127.0.0.1\n\
         bind interfaces only = yes\ndisable netbios = yes\nserver signing = mandatory\n\
         map to guest = bad user\nstore dos attributes = no\n\
         change notify = no\n\
         load printers = no\nprinting = bsd\nprintcap name = /dev/null\ndisable spoolss = yes\n\
         passdb backend = tdbsam:{state}/passdb.tdb\n\
         log file = {state}/log\n{lines}\n{}{}{}{}",
        share("encrypted", "share", "required", "no"),
        share("plain", "share", "auto", "no"),
        share("readers", "share", "auto", "yes"),
        share("second", "second", "auto", "no"),
    )
}

fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders
        .map(|folder| folder.join(name))
        .find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing: install Debian's package samba"))
}

impl Port {
    /// Below those that Linux gives to clients and to who asks for any.
    fn reserve() -> Self {
        (20_000..32_000)
            .find_map(|number| {
                let reserved = UdpSocket::bind(("127.0.0.1", number)).ok()?;
                let is_free = TcpListener::bind(("127.0.0.1", number)).is_ok();
                is_free.then_some(Self {
                    number,
                    _reserved: reserved,
                })
            })
            .unwrap()
    }
}

/// Waits for a line with this text, and reads the others until the end, so that the program never blocks.
fn await_line(output: std::process::ChildStdout, text: &'static str) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    let until = Instant::now() + START;
    let mut lines = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(line) if line.contains(text) => return,
            Ok(line) => lines.push(line),
            Err(error) => panic!("smbd did not start ({error}):\n{}", lines.join("\n")),
        }
    }
}
