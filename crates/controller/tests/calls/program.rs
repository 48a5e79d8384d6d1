//! The program: a claim's folder comes and goes by calls over its socket, and it ends by a signal.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use prost::Message as _;
use tempfile::TempDir;
use transport::{Channel, ChannelOptions, Code, Endpoint, Owner};
use wire::Rpc;
use wire::csi::v1::controller::{
    ControllerExpandVolume, CreateVolume, DeleteVolume, ValidateVolumeCapabilities,
};
use wire::csi::v1::identity::{GetPluginCapabilities, GetPluginInfo, Probe};
use wire::csi::v1::plugin_capability::Type;
use wire::csi::v1::{
    DeleteVolumeRequest, GetPluginCapabilitiesRequest, GetPluginInfoRequest, ProbeRequest,
};

use crate::fixture::{capability, growth, look, map, request, secrets};
use crate::server::Samba;

/// Bounds every wait: only a test that has failed already gets there.
const TIMEOUT: Duration = Duration::from_secs(60);

/// In no text by accident.
const CANARY: &str = "Zx81-qUUx-horse!";

struct Program {
    process: Child,
    folder: TempDir,
    channel: Channel,
    pages: SocketAddr,
}

impl Program {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pages = unused_address();
        let socket = folder.path().join("csi").join("csi.sock");
        let process = Command::new(env!("CARGO_BIN_EXE_wincsi-controller"))
            .arg("-v=5")
            .arg(format!("-metrics-address={pages}"))
            .env("WINCSI_ENDPOINT", format!("unix:{}", socket.display()))
            .stderr(File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut options = ChannelOptions::default();
        options.owner = Owner::AdministratorsOrOwnUser;
        let until = Instant::now() + TIMEOUT;
        let channel = loop {
            match Channel::connect(Endpoint::socket(&socket), options.clone()) {
                Ok(channel) => break channel,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            thread::yield_now();
        };
        Self {
            process,
            folder,
            channel,
            pages,
        }
    }

    fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, String> {
        let until = Instant::now() + TIMEOUT;
        let answer = self.channel.call(R::PATH, &request.encode_to_vec(), until);
        let answer = answer.map_err(|error| error.to_string())?;
        Ok(R::Response::decode(answer.as_slice()).unwrap())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The head and body of a page.
    fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.pages).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    /// Sends the signal that kubelet sends.
    fn signal(&self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
    }

    fn end(mut self) -> String {
        self.signal();
        assert!(self.process.wait().unwrap().success());
        self.log()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_claims_folder_comes_and_goes() {
    let samba = Samba::start();
    let program = Program::start();
    let info = program.call::<GetPluginInfo>(&GetPluginInfoRequest {});
    assert_eq!(info.unwrap().name, "wincsi.io");
    let probed = program.call::<Probe>(&ProbeRequest {}).unwrap();
    assert_eq!(probed.ready, Some(true));
    let announced = program.call::<GetPluginCapabilities>(&GetPluginCapabilitiesRequest {});
    let all = announced.unwrap().capabilities.into_iter();
    let types = all.filter_map(|it| it.r#type);
    let types: Vec<_> = types.map(|it| matches!(it, Type::Service(_))).collect();
    assert_eq!(types, [false, true], "expansion, and a controller");

    let wanted = request("pvc-1", samba.port());
    let made = program.call::<CreateVolume>(&wanted).unwrap();
    let folder = samba.root().join("pvc-1");
    fs::write(folder.join("data"), "data").unwrap();
    let delete = DeleteVolumeRequest {
        volume_id: made.volume.unwrap().volume_id,
        secrets: secrets(samba.port()),
    };
    for _ in 0..2 {
        program.call::<DeleteVolume>(&delete).unwrap();
        assert!(!folder.exists());
    }
    for path in ["/healthz", "/readyz"] {
        assert!(program.page(path).contains("200 OK"), "{path}");
    }
    let page = program.page("/metrics");
    for line in [
        "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"DeleteVolume\",grpc_service=\"csi.v1.Controller\",grpc_type=\"unary\"} 2",
        "# TYPE wincsi_controller_folders_left_total counter",
        "wincsi_controller_clone_failures_total{reason=\"space\"} 0",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    let log = program.end();
    let source = "source=\"//127.0.0.1/encrypted\"";
    for line in ["CreateVolume: OK", "volume=\"pvc-1\"", source, "stopped"] {
        assert!(log.contains(line), "{line} in {log}");
    }
}

#[test]
fn each_end_has_its_code() {
    let mut program = Program::start();
    let socket = program.folder.path().join("csi/csi.sock");
    let taken = format!("-endpoint=unix:{}", socket.display());
    for (flag, code) in [("-nodeid=x", 2), (taken.as_str(), 1)] {
        let mut other = Command::new("timeout");
        other.args(["60", env!("CARGO_BIN_EXE_wincsi-controller"), flag]);
        assert_eq!(other.status().unwrap().code(), Some(code), "{flag}");
    }
    // A call that runs is answered before the program ends.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let wanted = request("pvc-1", silent.local_addr().unwrap().port());
    thread::scope(|scope| {
        let call = scope.spawn(|| program.call::<CreateVolume>(&wanted));
        let (server, _) = silent.accept().unwrap();
        program.signal();
        while !program.log().contains("stopping") {
            assert!(!call.is_finished());
        }
        drop(server);
        let error = call.join().unwrap().unwrap_err();
        assert!(error.contains("negotiate"), "{error}");
    });
    assert!(program.process.wait().unwrap().success());
}

/// Guards: P21
#[test]
fn secrets_are_in_no_output() {
    let samba = Samba::start();
    let program = Program::start();
    let mut wanted = request("pvc-1", samba.port());
    program.call::<CreateVolume>(&wanted).unwrap();
    let mut outputs = Vec::new();
    // Of the first name something is left, and no code is final.
    wanted.name = String::from("pvc-2");
    let mut fail = |change: &[(&str, &str)]| {
        wanted.secrets.extend(map(change));
        let secrets = wanted.secrets.clone();
        outputs.push(program.call::<CreateVolume>(&wanted).unwrap_err());
        let volume_id = String::from("127.0.0.1/encrypted#pvc-1##");
        let look = look(&volume_id, secrets.clone(), capability(""));
        let looked = program.call::<ValidateVolumeCapabilities>(&look);
        outputs.push(looked.unwrap_err());
        let grow = growth(&volume_id, wanted.capacity_range, secrets.clone());
        let grown = program.call::<ControllerExpandVolume>(&grow).unwrap();
        outputs.push(format!("{grown:?}"));
        let delete = DeleteVolumeRequest { volume_id, secrets };
        outputs.push(program.call::<DeleteVolume>(&delete).unwrap_err());
    };
    fail(&[("password", CANARY)]);
    fail(&[("password", &format!("{CANARY}\n{CANARY}"))]);
    fail(&[("username", &format!("a@{CANARY}\\b"))]);
    fail(&[("domain", &CANARY.repeat(99)), ("username", "a")]);
    fail(&[("mountOptions", &format!("port={CANARY}"))]);
    let has = |output: &String, part| assert!(output.contains(part), "{output}");
    has(&outputs[0], Code::Unauthenticated.name());
    has(&outputs[4], "control character");
    outputs.push(program.page("/metrics"));
    let record = samba.root().join(".wincsi/pvc-1.volume");
    outputs.push(fs::read_to_string(record).unwrap());
    outputs.push(program.end());
    for text in outputs {
        for part in ["Zx81", "horse!", crate::server::PASSWORD] {
            assert!(!text.contains(part), "{part} in {text}");
        }
    }
}

/// Nothing goes by its age, and the log has it once.
#[test]
fn what_nobody_asks_for_is_in_the_log() {
    let samba = Samba::start();
    let left = ["clones/pvc-8", "deleted/pvc-9"].map(|it| samba.root().join(".wincsi").join(it));
    for folder in &left {
        fs::create_dir_all(folder.join("sub")).unwrap();
    }
    let three_hours = Duration::from_secs(3 * 60 * 60 + 10);
    let folder = File::open(&left[0]).unwrap();
    folder
        .set_modified(SystemTime::now() - three_hours)
        .unwrap();
    let program = Program::start();
    for name in ["pvc-1", "pvc-2"] {
        let wanted = request(name, samba.port());
        program.call::<CreateVolume>(&wanted).unwrap();
    }
    let log = program.end();
    for line in [r"\.wincsi\clones has pvc-8", r"\.wincsi\deleted has pvc-9"] {
        assert_eq!(log.matches(line).count(), 1, "{line} in {log}");
    }
    for age in ["180", "0"] {
        assert!(
            log.contains(&format!("which changed {age} min ago")),
            "{log}"
        );
    }
    assert!(left.iter().all(|folder| folder.join("sub").exists()));
}

fn unused_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}
