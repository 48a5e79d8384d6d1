//! FormatVolume on a formatted volume, by the flag and by the volume's mount points.

use std::fs;
use std::time::{Duration, Instant};

use os::{Files as _, WinPath};
use os_sim::{ClockMode, demo};
use prost::Message as _;
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint};
use wincsi_proxy::flags::Config;
use wincsi_proxy::paths::Confinement;
use wire::volume::v1 as volume;

use super::harness::Proxy;
use super::support::raw_volume;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Where an operator mounts local volumes.
const OUTSIDE: &str = r"C:\mnt\disks\x";

/// Where a driver stages.
const INSIDE: &str = r"C:\var\lib\kubelet\plugins\demo\globalmount";

/// A server, and the data disk's volume, formatted and mounted at this folder.
struct Fixture {
    proxy: Proxy,
    volume: String,
}

impl Fixture {
    fn mounted_at(folder: &str, change: impl FnOnce(&mut Config)) -> Self {
        let proxy = Proxy::start_with(|config| {
            let home = config.simulate.clone().expect("a folder");
            let node = demo::create(&home, ClockMode::Real).expect("a node");
            let path: WinPath = folder.parse().expect("a path");
            for depth in 1..=path.components().len() {
                // The system disk has some of them.
                let _ = node.files().create_directory(&path.prefix(depth));
            }
            config.audit_log = Some(config.listen.with_file_name("audit.log"));
            // As with `-volume-dir`, for this folder.
            config.confinement = Confinement::Anywhere;
            change(config);
        });
        let volume = raw_volume(&proxy.client);
        let fixture = Self { proxy, volume };
        fixture.format().expect("it is blank");
        let request = volume::MountVolumeRequest {
            volume_id: fixture.volume.clone(),
            target_path: folder.to_owned(),
        };
        let mounted = fixture.proxy.call::<volume::rpc::MountVolume>(&request);
        mounted.expect("mounted");
        fixture
    }

    fn format(&self) -> Result<(), String> {
        let request = volume::FormatVolumeRequest {
            volume_id: self.volume.clone(),
        };
        let formatted = self.proxy.call::<volume::rpc::FormatVolume>(&request);
        formatted.map(drop).map_err(|error| error.to_string())
    }

    /// The audit log's remark on the last call.
    fn remark(&self) -> Option<String> {
        let lines = self.proxy.audit_lines();
        let last = lines.last().expect("a line");
        assert_eq!(last["operation"], "volume.FormatVolume");
        last["remark"].as_str().map(str::to_owned)
    }
}

fn guarded(guard: node::FormatGuard) -> impl FnOnce(&mut Config) {
    move |config| config.format_guard = guard
}

/// The cycle of sig-storage-local-static-provisioner.
/// Guards: P63
#[test]
fn a_released_local_volume_is_wiped_by_default_and_audited() {
    let fixture = Fixture::mounted_at(OUTSIDE, |_| {});
    assert_eq!(fixture.format(), Ok(()));
    let remark = Some("formatted over a filesystem: NTFS".to_owned());
    assert_eq!(fixture.remark(), remark);
}

#[test]
fn a_staged_volume_is_wiped_without_a_guard_only() {
    let fixture = Fixture::mounted_at(INSIDE, |_| {});
    let refused = fixture.format().expect_err("it may be in use");
    assert!(
        refused.contains("mounted within the working folders"),
        "{refused}"
    );
    assert_eq!(fixture.remark(), None);
    drop(fixture);
    let fixture = Fixture::mounted_at(INSIDE, guarded(node::FormatGuard::Off));
    assert_eq!(fixture.format(), Ok(()));
    let remark = Some("formatted over a filesystem: NTFS".to_owned());
    assert_eq!(fixture.remark(), remark);
}

/// The old content may be gone, as the format reached Windows.
/// Guards: P63
#[test]
fn a_format_over_a_filesystem_that_fails_is_audited() {
    for guard in [node::FormatGuard::Signatures, node::FormatGuard::Off] {
        let fixture = Fixture::mounted_at(OUTSIDE, guarded(guard));
        let script = fixture.proxy.node().join("faults.toml");
        let stop = "[[fault]]\noperation = 'MSFT_Volume.Format'\neffect = 'half-way'\n";
        fs::write(&script, stop).expect("a script of faults");
        fixture.format().expect_err("it stops half-way");
        let remark = Some("began to format over a filesystem: NTFS".to_owned());
        assert_eq!(fixture.remark(), remark);
    }
}

/// Guards: P66
#[test]
fn the_folder_of_notes_is_a_file_of_the_servers() {
    let fixture = Fixture::mounted_at(OUTSIDE, |config| {
        config.state_dir = format!(r"{OUTSIDE}\notes").parse().ok();
    });
    let refused = fixture.format().expect_err("it holds the notes");
    assert!(refused.contains("which this server uses"), "{refused}");
}

#[test]
fn a_strict_server_wipes_no_volume() {
    let fixture = Fixture::mounted_at(OUTSIDE, guarded(node::FormatGuard::Strict));
    let refused = fixture.format().expect_err("it holds a filesystem");
    assert!(refused.contains("NTFS filesystem at offset 3"), "{refused}");
}

/// wincsi's own client requests this with each call.
/// Guards: P72
#[test]
fn a_client_can_request_a_strict_guard_and_unknown_guards_are_invalid() {
    let fixture = Fixture::mounted_at(OUTSIDE, |_| {});
    let group = &volume::GROUP;
    let method = group.method("FormatVolume").expect("it is served");
    let format = |value| {
        let name = group.pipe_name();
        let endpoint = Endpoint::local(&fixture.proxy.sockets(), &name).expect("a name");
        let mut options = ChannelOptions::default();
        options.metadata = Some((wire::FORMAT_GUARD, value));
        let channel = Channel::connect(endpoint, options).expect("it listens");
        let request = volume::FormatVolumeRequest {
            volume_id: fixture.volume.clone(),
        };
        let soon = Instant::now() + TIMEOUT;
        match channel.call(method.path, &request.encode_to_vec(), soon) {
            Err(CallError::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    };
    let strict = format(wire::STRICT);
    assert!(strict.message.contains("NTFS filesystem"), "{strict}");
    assert_eq!(format("stricter").code, Code::InvalidArgument);
    assert_eq!(fixture.format(), Ok(()), "the server itself is not strict");
}
