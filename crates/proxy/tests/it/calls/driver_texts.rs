//! Each text that drivers match on has its own condition on the wire, and no other has it.

use node::driver_texts::{self, Returned};
use os_sim::demo;
use wire::filesystem::v1 as filesystem;
use wire::smb::v1 as smb;
use wire::volume::v1 as volume;

use crate::support::{KUBELET, Proxy, formatted_volume};

/// A server with a formatted volume mounted at `staging`, links to it and elsewhere, a directory
/// and a vanished volume.
struct DriverTextsFixture {
    proxy: Proxy,
    volume_id: String,
}

fn path(name: &str) -> String {
    format!(r"{KUBELET}\{name}")
}

impl DriverTextsFixture {
    fn new() -> Self {
        let proxy = Proxy::start();
        let volume_id = formatted_volume(&proxy.client);
        let fixture = Self { proxy, volume_id };
        fixture.furnish();
        fixture
    }

    fn furnish(&self) {
        for folder in ["staging", "plain", "gone"] {
            let path = path(folder);
            self.proxy
                .answer::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest { path });
        }
        self.mount("staging").expect("it is empty");
        for (target, link) in [("staging", "pod"), ("plain", "aside"), ("gone", "dangling")] {
            let request = filesystem::CreateSymlinkRequest {
                source_path: path(target),
                target_path: path(link),
            };
            self.proxy
                .answer::<filesystem::rpc::CreateSymlink>(&request);
        }
        let gone = filesystem::RmdirRequest {
            path: path("gone"),
            force: false,
        };
        self.proxy.answer::<filesystem::rpc::Rmdir>(&gone);
    }

    fn look_up(&self, name: &str) -> Result<String, String> {
        let target_path = path(name);
        let request = volume::GetVolumeIdFromTargetPathRequest { target_path };
        let found = self
            .proxy
            .text::<volume::rpc::GetVolumeIdFromTargetPath>(&request);
        found.map(|answer| answer.volume_id)
    }

    fn mount(&self, name: &str) -> Result<(), String> {
        let request = volume::MountVolumeRequest {
            volume_id: self.volume_id.clone(),
            target_path: path(name),
        };
        self.proxy
            .text::<volume::rpc::MountVolume>(&request)
            .map(drop)
    }

    fn unmount(&self, name: &str) -> Result<(), String> {
        let request = volume::UnmountVolumeRequest {
            volume_id: self.volume_id.clone(),
            target_path: path(name),
        };
        let done = self.proxy.text::<volume::rpc::UnmountVolume>(&request);
        done.map(drop)
    }

    fn map(&self, link: &str) -> Result<(), String> {
        let request = smb::NewSmbGlobalMappingRequest {
            remote_path: demo::SHARE.into(),
            local_path: path(link),
            username: demo::SMB_USER.into(),
            password: demo::SMB_PASSWORD.into(),
        };
        let done = self.proxy.text::<smb::rpc::NewSmbGlobalMapping>(&request);
        done.map(drop)
    }

    fn unmap(&self) -> Result<(), String> {
        let remote_path = demo::SHARE.into();
        let request = smb::RemoveSmbGlobalMappingRequest { remote_path };
        let done = self
            .proxy
            .text::<smb::rpc::RemoveSmbGlobalMapping>(&request);
        done.map(drop)
    }

    fn rmdir(&self, name: &str) -> Result<(), String> {
        let request = filesystem::RmdirRequest {
            path: path(name),
            force: false,
        };
        let done = self.proxy.text::<filesystem::rpc::Rmdir>(&request);
        done.map(drop)
    }

    /// Every call whose answer must not contain some text, with its answer.
    fn of_all_paths(
        &self,
        call: fn(&Self, &str) -> Result<(), String>,
        names: &[&str],
        never: &str,
    ) {
        for name in names {
            if let Err(text) = call(self, name) {
                assert!(!text.contains(never), "{name}: {text}");
            }
        }
    }
}

/// aws-ebs: `(Get-Item -Path \S+).Target, output: , error: <nil>`, where parentheses group and a dot
/// is any character.
fn matches_the_empty_target(text: &str) -> bool {
    text.split("Get-Item -Path ").skip(1).any(|rest| {
        let end = rest.find("Target, output: , error: <nil>");
        end.is_some_and(|end| end > 1 && !rest[..end].contains(char::is_whitespace))
    })
}

/// Guards: P23
#[test]
fn a_plain_directory_has_no_target() {
    let fixture = DriverTextsFixture::new();
    let text = fixture.look_up("plain").expect_err("nothing is mounted");
    assert!(text.contains(driver_texts::PLAIN_DIRECTORY), "{text}");
    assert!(
        text.contains("not a mounted folder"),
        "csi-proxy 1.3: {text}"
    );
    assert!(matches_the_empty_target(&text), "{text}");
    for name in ["none", "none\\below", "aside", "dangling", "staging\\none"] {
        let text = fixture.look_up(name).expect_err(name);
        assert!(!matches_the_empty_target(&text), "{name}: {text}");
    }
}

#[test]
fn a_missing_path_does_not_exist() {
    let fixture = DriverTextsFixture::new();
    for name in ["none", "none\\below"] {
        let text = fixture.look_up(name).expect_err(name);
        assert!(text.contains(driver_texts::MISSING), "{name}: {text}");
        assert!(
            text.contains(driver_texts::FILE_NOT_FOUND),
            "csi-proxy 1.3: {text}"
        );
    }
    for name in ["plain", "aside", "dangling", "dangling\\below"] {
        let text = fixture.look_up(name).expect_err(name);
        assert!(!text.contains(driver_texts::MISSING), "{name}: {text}");
    }
    assert_eq!(fixture.look_up("pod"), Ok(fixture.volume_id));
}

/// aws-ebs would take either text for "nothing mounted", and detach the disk.
#[test]
fn a_volume_that_vanished_reads_as_nothing_that_drivers_look_for() {
    let fixture = DriverTextsFixture::new();
    let hardware = fixture.proxy.hardware();
    hardware.detach_disk("data").expect("it is there");
    for name in ["staging", "pod", "staging\\below", "pod\\below"] {
        let text = fixture.look_up(name).expect_err(name);
        assert!(!text.contains(driver_texts::MISSING), "{name}: {text}");
        assert!(!matches_the_empty_target(&text), "{name}: {text}");
    }
}

#[test]
fn an_access_path_is_not_valid_where_nothing_is_mounted() {
    let fixture = DriverTextsFixture::new();
    for name in ["plain", "none"] {
        let text = fixture.unmount(name).expect_err(name);
        assert!(text.contains(driver_texts::NOT_MOUNTED), "{name}: {text}");
    }
    let others = ["pod", "aside", "dangling", "dangling\\below", "staging"];
    fixture.of_all_paths(
        DriverTextsFixture::unmount,
        &others,
        driver_texts::NOT_MOUNTED,
    );
}

/// democratic-csi takes the text for "mine is mounted": if it is mounted, the call succeeds.
#[test]
fn an_access_path_is_never_said_to_be_in_use() {
    let fixture = DriverTextsFixture::new();
    fixture.mount("staging").expect("it is mounted already");
    let system = fixture
        .proxy
        .answer::<volume::rpc::ListVolumesOnDisk>(&volume::ListVolumesOnDiskRequest::default());
    let request = volume::MountVolumeRequest {
        volume_id: system.volume_ids[0].clone(),
        target_path: path("staging"),
    };
    let text = fixture
        .proxy
        .complaint::<volume::rpc::MountVolume>(&request);
    assert!(text.contains("The directory is not empty."), "{text}");
    assert!(!text.contains(driver_texts::PATH_IN_USE), "{text}");
    let others = ["pod", "aside", "dangling", "none"];
    fixture.of_all_paths(
        DriverTextsFixture::mount,
        &others,
        driver_texts::PATH_IN_USE,
    );
}

#[test]
fn unmapping_an_unmapped_share_returns_the_text_drivers_match() {
    let fixture = DriverTextsFixture::new();
    let text = fixture.unmap().expect_err("nothing is mapped");
    assert!(text.contains(driver_texts::NOT_MAPPED), "{text}");
    fixture.map("share").expect("nothing is in the way");
    fixture.unmap().expect("it is mapped");
}

#[test]
fn a_directory_in_the_place_of_a_link_is_a_resource_that_exists() {
    let fixture = DriverTextsFixture::new();
    let text = fixture.map("plain").expect_err("there is a directory");
    assert!(text.contains(driver_texts::NAME_TAKEN), "{text}");
    let others = ["pod", "dangling", "staging"];
    fixture.of_all_paths(DriverTextsFixture::map, &others, driver_texts::NAME_TAKEN);
    fixture.unmap().expect_err("nothing was mapped for them");
    fixture.map("share").expect("nothing is in the way");
    fixture.map("share").expect("the link is there already");
}

#[test]
fn a_directory_that_is_missing_is_a_file_that_cannot_be_found() {
    let fixture = DriverTextsFixture::new();
    let text = fixture.rmdir("none").expect_err("it is missing");
    assert!(text.contains(driver_texts::FILE_NOT_FOUND), "{text}");
    fixture
        .proxy
        .answer::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest {
            path: path(r"plain\full"),
        });
    let others = ["plain", "none\\below", "dangling\\below"];
    for name in others {
        let text = fixture.rmdir(name).expect_err(name);
        assert!(
            !text.contains(driver_texts::FILE_NOT_FOUND),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_path_without_a_drive_is_not_absolute() {
    let fixture = DriverTextsFixture::new();
    let complaint = |path: &str| {
        let path = path.to_owned();
        let request = filesystem::PathExistsRequest { path };
        fixture.proxy.text::<filesystem::rpc::PathExists>(&request)
    };
    let text = complaint("plain").expect_err("it has no drive");
    assert!(text.contains(driver_texts::NOT_ABSOLUTE), "{text}");
    let text = complaint(r"C:\Windows").expect_err("it is elsewhere");
    assert!(!text.contains(driver_texts::NOT_ABSOLUTE), "{text}");
    complaint(&path("none")).expect("it does not exist");
}

/// A volume of the largest size needs no such text.
#[test]
fn a_volume_without_room_to_grow_is_grown() {
    let fixture = DriverTextsFixture::new();
    let grow = |size_bytes| {
        let volume_id = fixture.volume_id.clone();
        let request = volume::ResizeVolumeRequest {
            volume_id,
            size_bytes,
        };
        let done = fixture.proxy.text::<volume::rpc::ResizeVolume>(&request);
        done.map(drop)
    };
    for size in [0, 1, 1 << 20, 1 << 30] {
        grow(size).expect("it is as large");
    }
    let text = grow(1 << 40).expect_err("there is no room");
    assert!(!text.contains(driver_texts::EXTENT_TOO_SMALL), "{text}");
}

/// The page for readers is made from this list: it names the texts checked above.
/// Guards: P23
#[test]
fn every_text_has_a_driver_a_call_and_a_condition() {
    let methods = wire::GROUPS.iter().flat_map(|group| group.methods);
    let calls: Vec<_> = methods.map(|method| method.name).collect();
    for text in driver_texts::ALL {
        assert!(!text.drivers.is_empty(), "{text:?}");
        for call in text.call.split(", ") {
            assert!(calls.contains(&call), "{call}");
        }
        let (Returned::When(why) | Returned::Never(why)) = text.returned;
        assert!(why.contains(' '), "{text:?}");
    }
}
