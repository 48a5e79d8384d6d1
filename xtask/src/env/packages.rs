//! The chores' Debian packages: one table.

use super::{Need, Provision, apt, path};

/// A row of the table: any one of the programs proves the package.
struct Package {
    programs: &'static [&'static str],
    package: &'static str,
    need: Need,
}

const fn row(need: Need, package: &'static str, programs: &'static [&'static str]) -> Package {
    Package {
        programs,
        package,
        need,
    }
}

const PACKAGES: &[Package] = &[
    row(
        Need::Mingw,
        "gcc-mingw-w64-x86-64",
        &["x86_64-w64-mingw32-gcc"],
    ),
    row(Need::Wine, "wine64", crate::wine::LOADERS),
    row(Need::Cluster, "curl", &["curl"]),
    row(Need::Cluster, "etcd-server", &["etcd"]),
    row(Need::Cluster, "openssl", &["openssl"]),
    row(Need::Cluster, "util-linux", &["setpriv"]),
    row(Need::Image, "libhivex-bin", &["hivexml"]),
    row(Need::Image, "skopeo", &["skopeo"]),
    row(Need::Image, "umoci", &["umoci"]),
    row(Need::Mkfs, "apfsprogs", &["mkapfs"]),
    row(Need::Mkfs, "bcache-tools", &["make-bcache"]),
    row(Need::Mkfs, "btrfs-progs", &["mkfs.btrfs"]),
    row(Need::Mkfs, "cryptsetup-bin", &["cryptsetup"]),
    row(Need::Mkfs, "dosfstools", &["mkfs.fat"]),
    row(Need::Mkfs, "drbd-utils", &["drbdmeta"]),
    row(Need::Mkfs, "e2fsprogs", &["mke2fs"]),
    row(Need::Mkfs, "erofs-utils", &["mkfs.erofs"]),
    row(Need::Mkfs, "exfatprogs", &["mkfs.exfat"]),
    row(Need::Mkfs, "f2fs-tools", &["mkfs.f2fs"]),
    row(Need::Mkfs, "fdisk", &["sfdisk"]),
    row(Need::Mkfs, "gdisk", &["sgdisk"]),
    row(Need::Mkfs, "genisoimage", &["genisoimage"]),
    row(Need::Mkfs, "gfs2-utils", &["mkfs.gfs2"]),
    row(Need::Mkfs, "jfsutils", &["mkfs.jfs"]),
    row(Need::Mkfs, "nilfs-tools", &["mkfs.nilfs2"]),
    row(Need::Mkfs, "ntfs-3g", &["mkntfs"]),
    row(Need::Mkfs, "ocfs2-tools", &["mkfs.ocfs2"]),
    row(Need::Mkfs, "reiserfsprogs", &["mkfs.reiserfs"]),
    row(Need::Mkfs, "squashfs-tools", &["mksquashfs"]),
    row(Need::Mkfs, "udftools", &["mkudffs"]),
    row(Need::Mkfs, "util-linux", &["mkswap"]),
    row(Need::Mkfs, "xfsprogs", &["mkfs.xfs"]),
];

/// Installs the packages of `needs` with missing programs: all in one go, and if that fails one by one, since a release
/// of Debian may lack one of them.
pub(super) fn provide(needs: &[Need], provision: &mut Provision) {
    let wanted = absent(needs);
    let names: Vec<&str> = wanted.iter().map(|p| p.package).collect();
    if names.is_empty() || apt::install(&names).is_ok() && absent(needs).is_empty() {
        return;
    }
    for package in absent(needs) {
        let outcome = apt::install(&[package.package]);
        if package.is_there() {
            continue;
        }
        let why = match outcome {
            Ok(()) => "installed, yet its program is not found".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        let reason = format!("Debian package {} ({why})", package.package);
        provision.note(package.need, reason);
    }
}

fn absent(needs: &[Need]) -> Vec<&'static Package> {
    let wanted = PACKAGES.iter().filter(|p| needs.contains(&p.need));
    wanted.filter(|p| !p.is_there()).collect()
}

impl Package {
    fn is_there(&self) -> bool {
        self.programs
            .iter()
            .any(|program| path::find(program).is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use formats::fixtures::tools::{Run, TOOLS};

    use super::*;

    #[test]
    fn every_package_has_one_row_for_each_need_and_a_program() {
        let rows: BTreeSet<_> = PACKAGES.iter().map(|p| (p.package, p.need)).collect();
        assert_eq!(rows.len(), PACKAGES.len());
        assert!(PACKAGES.iter().all(|p| !p.programs.is_empty()));
    }

    #[test]
    fn the_tools_of_the_fixtures_have_rows() {
        let makers = PACKAGES.iter().filter(|p| p.need == Need::Mkfs);
        let rows: BTreeSet<_> = makers
            .flat_map(|p| p.programs.iter().map(|program| (p.package, *program)))
            .collect();
        let live = TOOLS.iter().filter(|tool| tool.run == Run::Live);
        let used: BTreeSet<_> = live.map(|tool| (tool.package, tool.program())).collect();
        assert_eq!(rows, used);
    }
}
