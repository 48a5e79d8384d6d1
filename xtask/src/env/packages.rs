//! The one list of what the chores install, but for Go.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Need, find_program};
use crate::{cargo, process};

const PROBE: Duration = Duration::from_secs(60);
const INSTALL: Duration = Duration::from_secs(20 * 60);

/// Debian's packages, each with a program that proves it.
const PACKAGES: &[(Need, &str, &str)] = &[
    (Need::Cluster, "curl", "curl"),
    (Need::Cluster, "etcd-server", "etcd"),
    (Need::Cluster, "openssl", "openssl"),
    (Need::Cluster, "util-linux", "setpriv"),
    (Need::Image, "libhivex-bin", "hivexml"),
    (Need::Image, "skopeo", "skopeo"),
    (Need::Mkfs, "apfsprogs", "mkapfs"),
    (Need::Mkfs, "bcache-tools", "make-bcache"),
    (Need::Mkfs, "btrfs-progs", "mkfs.btrfs"),
    (Need::Mkfs, "cryptsetup-bin", "cryptsetup"),
    (Need::Mkfs, "dosfstools", "mkfs.fat"),
    (Need::Mkfs, "drbd-utils", "drbdmeta"),
    (Need::Mkfs, "e2fsprogs", "mke2fs"),
    (Need::Mkfs, "erofs-utils", "mkfs.erofs"),
    (Need::Mkfs, "exfatprogs", "mkfs.exfat"),
    (Need::Mkfs, "f2fs-tools", "mkfs.f2fs"),
    (Need::Mkfs, "fdisk", "sfdisk"),
    (Need::Mkfs, "gdisk", "sgdisk"),
    (Need::Mkfs, "genisoimage", "genisoimage"),
    (Need::Mkfs, "gfs2-utils", "mkfs.gfs2"),
    (Need::Mkfs, "jfsutils", "mkfs.jfs"),
    (Need::Mkfs, "nilfs-tools", "mkfs.nilfs2"),
    (Need::Mkfs, "ntfs-3g", "mkntfs"),
    (Need::Mkfs, "ocfs2-tools", "mkfs.ocfs2"),
    (Need::Mkfs, "reiserfsprogs", "mkfs.reiserfs"),
    (Need::Mkfs, "squashfs-tools", "mksquashfs"),
    (Need::Mkfs, "udftools", "mkudffs"),
    (Need::Mkfs, "util-linux", "mkswap"),
    (Need::Mkfs, "xfsprogs", "mkfs.xfs"),
    (Need::Samba, "samba", "smbd"),
    (
        Need::Samba,
        "samba-vfs-modules",
        "/usr/lib/x86_64-linux-gnu/samba/vfs/streams_xattr.so",
    ),
    (Need::Samba, "smbclient", "smbclient"),
    (
        Need::Windows,
        "gcc-mingw-w64-x86-64",
        "x86_64-w64-mingw32-gcc",
    ),
    (Need::Wine, "wine64", "wine64"),
];

/// Rust's targets.
const TARGETS: [(Need, &str); 3] = [
    (Need::Msvc, cargo::MSVC),
    (Need::Static, cargo::STATIC),
    (Need::Windows, cargo::WINDOWS),
];

/// Installs what the needs lack, and returns what is missing then, with the reason.
pub(super) fn provide(needs: &[Need]) -> Vec<String> {
    let mut missing = provide_packages(needs);
    for (_, target) in TARGETS.iter().filter(|(need, _)| needs.contains(need)) {
        if let Err(error) = provide_target(target) {
            missing.push(format!("Rust target {target} ({error:#})"));
        }
    }
    missing
}

/// All in one go, and if that fails one by one, since a release of Debian may lack one of them.
fn provide_packages(needs: &[Need]) -> Vec<String> {
    let all: Vec<&str> = absent(needs).map(|(_, package, _)| *package).collect();
    if all.is_empty() || apt_install(&all).is_ok() && absent(needs).next().is_none() {
        return Vec::new();
    }
    let missing = absent(needs).filter_map(|(_, package, program)| {
        let found = || is_there(program).then_some(());
        let done = apt_install(&[package]);
        let done = done.and_then(|()| found().context("its program is not found"));
        let error = done.err()?;
        Some(format!("Debian package {package} ({error:#})"))
    });
    missing.collect()
}

fn absent(needs: &[Need]) -> impl Iterator<Item = &'static (Need, &'static str, &'static str)> {
    let wanted = PACKAGES.iter().filter(|(need, _, _)| needs.contains(need));
    wanted.filter(|(_, _, program)| !is_there(program))
}

/// A program, or a file by its whole path.
fn is_there(name: &str) -> bool {
    find_program(name).is_some() || name.starts_with('/') && Path::new(name).exists()
}

/// Says what it does before it does it.
pub(super) fn apt_install(packages: &[&str]) -> Result<()> {
    println!("setup: installing Debian packages: {}", packages.join(" "));
    apt_get(&["update"])?;
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let as_root: &[&str] = match rustix::process::geteuid().is_root() {
        true => &["env"],
        false => &["sudo", "-n"],
    };
    let mut command = Command::new(as_root[0]);
    command
        .args(&as_root[1..])
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    let done = process::capture(command.args(arguments), INSTALL)?;
    done.success("apt-get").map(drop)
}

fn provide_target(target: &str) -> Result<()> {
    if library(target)?.is_dir() {
        return Ok(());
    }
    println!("setup: installing Rust target {target}");
    let mut rustup = Command::new(find_program("rustup").context("no rustup to install it with")?);
    rustup
        .args(["target", "add", target])
        .current_dir(cargo::root());
    process::capture(&mut rustup, INSTALL)?.success("rustup target add")?;
    ensure!(library(target)?.is_dir(), "its library is not there");
    Ok(())
}

fn library(target: &str) -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    rustc
        .args(["--print=target-libdir", "--target", target])
        .current_dir(cargo::root());
    let output = process::capture(&mut rustc, PROBE)?.success("rustc --print")?;
    Ok(PathBuf::from(output.trim()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use formats::fixtures::tools::{Run, TOOLS};

    use super::*;

    #[test]
    fn the_tools_of_the_fixtures_have_rows() {
        let makers = PACKAGES.iter().filter(|(need, _, _)| *need == Need::Mkfs);
        let rows: BTreeSet<_> = makers
            .map(|(_, package, program)| (*package, *program))
            .collect();
        let live = TOOLS.iter().filter(|tool| tool.run == Run::Live);
        let used: BTreeSet<_> = live.map(|tool| (tool.package, tool.program())).collect();
        assert_eq!(rows, used);
    }
}
