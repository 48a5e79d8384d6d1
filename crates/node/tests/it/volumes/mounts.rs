//! Mounting and unmounting on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind, VolumeId, Win32};
use os_sim::{Bus, DiskSpec};
use uuid::Uuid;
use wincsi_node::{VolumeError, driver_texts};

use crate::support::{DATA, GIB, NodeFixture, assert_says, path};

/// Guards: P43
#[test]
fn mounting_again_succeeds_and_another_volumes_target_is_refused() {
    let fixture = NodeFixture::with_mounted_volume();
    let volumes = fixture.volumes();
    volumes
        .mount(fixture.volume(), &fixture.staging(), fixture.soon())
        .unwrap();
    fixture.plug(&DiskSpec::on(Bus::Sas).serial("other").lun(9), "other", GIB);
    let other = fixture.disk_of("other");
    fixture.disks().partition(other, fixture.soon()).unwrap();
    let other = volumes.sole_on_disk(other, fixture.soon()).unwrap();
    let error = volumes
        .mount(other, &fixture.staging(), fixture.soon())
        .unwrap_err();
    assert!(
        matches!(&error, VolumeError::TargetInUse { mounted, .. } if *mounted == fixture.volume())
    );
    assert!(
        !error.to_string().contains(driver_texts::PATH_IN_USE),
        "{error}"
    );
    fixture.make_directory(r"C:\var\full\x");
    let full = volumes
        .mount(fixture.volume(), &path(r"C:\var\full"), fixture.soon())
        .unwrap_err();
    assert!(
        full.to_string().ends_with("The directory is not empty."),
        "{full}"
    );
}

/// Windows would mount where a link leads; the simulated node refuses it, too, so that its answer proves nothing.
#[test]
fn windows_is_not_asked_to_mount_at_a_link() {
    let fixture = NodeFixture::with_volume();
    let (tree, folder) = (fixture.files(), path(r"C:\folder"));
    tree.create_directory(&folder).unwrap();
    let (symlink, junction) = (r"C:\symlink", r"C:\junction");
    let kind = LinkKind::Directory;
    tree.create_symlink(&path(symlink), r"C:\folder", kind)
        .unwrap();
    fixture.junction(junction, r"C:\folder");
    for link in [symlink, junction] {
        let asked = fixture.trace(|| {
            let mounted = fixture
                .volumes()
                .mount(fixture.volume(), &path(link), fixture.soon());
            mounted.unwrap_err();
        });
        let mounts = |op: &os_sim::Op| op.operation == "SetVolumeMountPointW";
        assert!(!asked.is_empty() && !asked.iter().any(mounts), "{asked:?}");
    }
}

/// Guards: P43
#[test]
fn only_the_volume_that_is_mounted_is_unmounted() {
    let fixture = NodeFixture::with_mounted_volume();
    let volumes = fixture.volumes();
    let other = VolumeId(Uuid::from_u128(1));
    let error = volumes
        .unmount(other, &fixture.staging(), fixture.soon())
        .unwrap_err();
    let expected = format!(
        "unmount volume {other}: volume {} is mounted at {}",
        fixture.volume(),
        fixture.staging()
    );
    assert_eq!(error.to_string(), expected);
    for nothing in [r"C:\var", r"C:\var\none"] {
        let error = volumes
            .unmount(fixture.volume(), &path(nothing), fixture.soon())
            .unwrap_err();
        assert_says(&error, driver_texts::NOT_MOUNTED);
    }
    volumes
        .unmount(fixture.volume(), &fixture.staging(), fixture.soon())
        .unwrap();
    assert_eq!(fixture.precious(), "precious");
}

/// democratic-csi takes the text for "unmounted" and disconnects the target.
#[test]
fn nothing_else_reads_as_unmounted() {
    let fixture = NodeFixture::with_mounted_volume();
    let (volume, staging) = (fixture.volume(), fixture.staging().to_string());
    let link = |at: &str, target: &str| {
        let kind = LinkKind::Directory;
        fixture
            .files()
            .create_symlink(&path(at), target, kind)
            .unwrap();
    };
    link(r"C:\var\pod", &staging);
    link(r"C:\var\dangling", r"C:\nowhere");
    fixture.junction(r"C:\var\junction", &staging);
    fixture.write(r"C:\var\file", "");
    let refused = |at: &str| {
        let refused = fixture.volumes().unmount(volume, &path(at), fixture.soon());
        let text = refused.unwrap_err().to_string();
        assert!(!text.contains(driver_texts::NOT_MOUNTED), "{at}: {text}");
    };
    for at in [
        r"C:\var\pod",
        r"C:\var\dangling",
        r"C:\var\dangling\below",
        r"C:\var\junction",
        r"C:\var\file",
    ] {
        refused(at);
    }
    for code in [Win32::ACCESS_DENIED, Win32::TIMEOUT] {
        let fault = fixture.fail("GetFileAttributesExW", code);
        refused(&staging);
        fixture.faults().remove(fault);
    }
    fixture.hardware().detach_disk(DATA).unwrap();
    refused(&format!(r"{staging}\below"));
}

/// Only the tag of a mount point makes a mounted folder; csi-proxy compares by bits, which those of
/// other tags share.
/// Guards: P50
#[test]
fn a_reparse_point_of_another_tag_is_no_mounted_folder() {
    let fixture = NodeFixture::with_mounted_volume();
    let link = path(r"C:\var\direct");
    let target = fixture.volume().to_string();
    fixture
        .files()
        .create_symlink(&link, &target, LinkKind::Directory)
        .unwrap();
    let volumes = fixture.volumes();
    let refused = volumes.unmount(fixture.volume(), &link, fixture.soon());
    assert!(
        matches!(refused, Err(VolumeError::NotAMountedFolder { .. })),
        "{refused:?}"
    );
    assert!(fixture.os().files.entry(&link).unwrap().tag.is_some());
}

/// Other paths of the volume stay alive, and so does the folder.
#[test]
fn one_of_two_paths_is_unmounted() {
    let fixture = NodeFixture::with_mounted_volume();
    let second = path(r"C:\var\second");
    fixture
        .filesystem()
        .make_directory(&second, fixture.soon())
        .unwrap();
    let volumes = fixture.volumes();
    volumes
        .mount(fixture.volume(), &second, fixture.soon())
        .unwrap();
    volumes
        .unmount(fixture.volume(), &fixture.staging(), fixture.soon())
        .unwrap();
    assert_eq!(fixture.read(r"C:\var\second\data.txt"), "precious");
    assert_eq!(
        fixture
            .filesystem()
            .path_exists(&fixture.staging(), fixture.soon()),
        Ok(true)
    );
}

/// Guards: P43
#[test]
fn a_volume_that_cannot_be_flushed_stays_mounted() {
    let fixture = NodeFixture::with_mounted_volume();
    let volume = fixture.volume();
    fixture.fail("FlushFileBuffers", Win32::IO_DEVICE);
    let error = fixture
        .volumes()
        .unmount(volume, &fixture.staging(), fixture.soon())
        .unwrap_err();
    assert!(
        matches!(
            error,
            VolumeError::Failed {
                operation: "flush",
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        fixture
            .volumes()
            .of_target(&fixture.staging(), fixture.soon()),
        Ok(volume)
    );
}

#[test]
fn write_protection_counts_as_flushed_on_a_read_only_volume_alone() {
    let fixture = NodeFixture::with_mounted_volume();
    let volume = fixture.volume();
    fixture.fail("FlushFileBuffers", Win32::WRITE_PROTECT);
    let volumes = fixture.volumes();
    volumes
        .unmount(volume, &fixture.staging(), fixture.soon())
        .unwrap_err();
    fixture.make_read_only();
    volumes
        .unmount(volume, &fixture.staging(), fixture.soon())
        .unwrap();
}

/// Guards: P43
#[test]
fn a_volume_that_is_gone_is_unmounted() {
    let fixture = NodeFixture::with_mounted_volume();
    let volume = fixture.volume();
    fixture.hardware().detach_disk(DATA).unwrap();
    fixture
        .volumes()
        .unmount(volume, &fixture.staging(), fixture.soon())
        .unwrap();
    let entry = fixture.os().files.entry(&fixture.staging()).unwrap();
    assert_eq!(entry.tag, None);
}
