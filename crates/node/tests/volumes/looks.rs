//! What an entry is, where it leads, and what a directory holds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;

use os::{Files, LinkKind, ReparseTag, VolumeId, Win32, WinPath};
use os_sim::{Effect, Rule};
use wincsi_node::{
    EntryKind, FilesystemError, LeadsTo, Link, LinkForm, LinkTarget, Look, MapRequest, RemotePath,
};

use crate::support::{DATA, Rig, SHARE, STAGING, path};

const LINK: &str = r"C:\var\link";

fn look(rig: &Rig, at: &str) -> Look {
    rig.filesystem().look(&path(at), rig.soon()).unwrap()
}

fn linked(rig: &Rig, to: &str, kind: LinkKind) -> Look {
    let files = rig.sim.files();
    files.create_symlink(&path(LINK), to, kind).unwrap();
    let look = look(rig, LINK);
    match kind {
        LinkKind::Directory => files.remove_directory(&path(LINK)),
        LinkKind::File => files.remove_file(&path(LINK)),
    }
    .unwrap();
    look
}

fn to_path(form: LinkForm, target: &str, leads: LeadsTo) -> Look {
    let target = LinkTarget::Path(path(target));
    Look::Link(Link {
        form,
        target,
        leads,
    })
}

fn to_directory(target: &str, leads: LeadsTo) -> Look {
    to_path(LinkForm::Directory, target, leads)
}

#[test]
fn an_entry_is_told_by_its_kind() {
    let rig = Rig::with_mounted_volume();
    assert_eq!(look(&rig, r"C:\var\missing"), Look::Missing);
    assert_eq!(look(&rig, r"C:\missing\below"), Look::Missing);
    assert_eq!(look(&rig, r"C:\"), Look::Directory);
    assert_eq!(look(&rig, r"C:\var"), Look::Directory);
    rig.write(r"C:\var\file", "12345");
    assert_eq!(look(&rig, r"C:\var\file"), Look::File { size: 5 });
    let socket = [0x23, 0, 0, 0x80, 0, 0, 0, 0];
    let files = rig.sim.files();
    files
        .create_reparse_point(&path(r"C:\var\sock"), LinkKind::File, &socket)
        .unwrap();
    let tag = ReparseTag::AF_UNIX;
    assert_eq!(look(&rig, r"C:\var\sock"), Look::Other { tag });
}

#[test]
fn a_mounted_folder_is_told_also_when_its_volume_is_gone() {
    let rig = Rig::with_mounted_volume();
    let volume = rig.volume();
    let mounted = |is_there| Look::MountedFolder { volume, is_there };
    assert_eq!(look(&rig, STAGING), mounted(true));
    let link = rig.filesystem().read_link(&rig.staging(), rig.soon());
    assert_eq!(link, Ok(Some(LinkTarget::Volume(volume))));
    let through = to_directory(STAGING, LeadsTo::Directory);
    assert_eq!(linked(&rig, STAGING, LinkKind::Directory), through);
    rig.sim.hardware().detach_disk(DATA).unwrap();
    assert_eq!(look(&rig, STAGING), mounted(false));
    let dangling = to_directory(STAGING, LeadsTo::Nothing);
    assert_eq!(linked(&rig, STAGING, LinkKind::Directory), dangling);
}

#[test]
fn a_link_tells_its_form_its_target_and_what_is_there() {
    let rig = Rig::with_mounted_volume();
    let inside = format!(r"{STAGING}\data.txt");
    let file = to_path(LinkForm::File, &inside, LeadsTo::File);
    assert_eq!(linked(&rig, &inside, LinkKind::File), file);
    // What Windows opens nothing through.
    let wrong = to_path(LinkForm::File, STAGING, LeadsTo::Directory);
    assert_eq!(linked(&rig, STAGING, LinkKind::File), wrong);
    let relative = to_directory(r"C:\var\lib", LeadsTo::Directory);
    assert_eq!(linked(&rig, r"..\var\lib", LinkKind::Directory), relative);
    let dangling = to_directory(r"C:\gone\x", LeadsTo::Nothing);
    assert_eq!(linked(&rig, r"C:\gone\x", LinkKind::Directory), dangling);
    let endless = to_directory(LINK, LeadsTo::Nothing);
    assert_eq!(linked(&rig, LINK, LinkKind::Directory), endless);
    let drive = to_directory(r"Q:\x", LeadsTo::OtherDrive);
    assert_eq!(linked(&rig, r"Q:\x", LinkKind::Directory), drive);
    let volume = rig.volume();
    let to_volume = Look::Link(Link {
        form: LinkForm::Directory,
        target: LinkTarget::Volume(volume),
        leads: LeadsTo::Directory,
    });
    assert_eq!(
        linked(&rig, &volume.to_string(), LinkKind::Directory),
        to_volume
    );
    rig.junction(LINK, r"C:\var\lib");
    let junction = to_path(LinkForm::Junction, r"C:\var\lib", LeadsTo::Directory);
    assert_eq!(look(&rig, LINK), junction);
}

/// Also where the share lies behind another link.
#[test]
fn nothing_is_asked_of_a_share_that_a_link_leads_to() {
    let rig = Rig::with_server();
    let remote = RemotePath::parse(SHARE).unwrap();
    let chain = path(r"C:\var\chain");
    let files = rig.sim.files();
    files
        .create_symlink(&chain, SHARE, LinkKind::Directory)
        .unwrap();
    for is_mapped in [false, true] {
        if is_mapped {
            let credentials = wincsi_node::Credentials::new(
                crate::support::USER,
                zeroize::Zeroizing::new(crate::support::PASSWORD.to_owned()),
            );
            let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
            rig.smb().map(&mapping, rig.soon()).unwrap();
        }
        let trace = rig.trace(|| {
            let below = format!(r"{SHARE}\pv");
            let share = LeadsTo::Share { is_mapped };
            assert_eq!(
                linked(&rig, &below, LinkKind::Directory),
                to_directory(&below, share)
            );
            let through = r"C:\var\chain\pv";
            assert_eq!(
                linked(&rig, through, LinkKind::Directory),
                to_directory(through, share)
            );
        });
        let asked = trace.iter().find(|op| op.object.starts_with(r"\\files"));
        assert_eq!(asked, None);
    }
}

#[test]
fn a_link_is_read_without_a_look_at_what_it_leads_to() {
    let rig = Rig::with_mounted_volume();
    let read = |at: &str| rig.filesystem().read_link(&path(at), rig.soon());
    rig.sim
        .files()
        .create_symlink(&path(LINK), SHARE, LinkKind::Directory)
        .unwrap();
    assert_eq!(read(LINK), Ok(Some(LinkTarget::Path(path(SHARE)))));
    assert_eq!(read(r"C:\var"), Ok(None));
    let missing = read(r"C:\var\missing").unwrap_err();
    assert!(matches!(missing, FilesystemError::Inspect { source, .. }
        if source.win32() == Some(Win32::FILE_NOT_FOUND)));
}

fn listed(rig: &Rig, at: &WinPath) -> BTreeMap<String, EntryKind> {
    let listing = rig.filesystem().list(at, 100, rig.soon()).unwrap();
    assert!(listing.is_whole);
    let entries = listing.entries.into_iter();
    entries
        .map(|entry| {
            (
                entry.name.as_os_str().to_string_lossy().into_owned(),
                entry.kind,
            )
        })
        .collect()
}

#[test]
fn a_directory_is_listed_with_what_each_entry_is() {
    let rig = Rig::with_mounted_volume();
    let (filesystem, soon) = (rig.filesystem(), rig.soon());
    let top = path(r"C:\var\top");
    filesystem
        .make_directory(&path(r"C:\var\top\directory"), soon)
        .unwrap();
    rig.write(r"C:\var\top\file", "12345");
    filesystem
        .link_directory(&rig.staging(), &path(r"C:\var\top\link"), soon)
        .unwrap();
    filesystem
        .make_directory(&path(r"C:\var\top\mounted"), soon)
        .unwrap();
    rig.volumes()
        .mount(rig.volume(), &path(r"C:\var\top\mounted"), soon)
        .unwrap();
    // What a link leaves that was being made when its process died.
    rig.write(
        r"C:\var\top\.wincsi-link-0123456789abcdef0123456789abcdef",
        "",
    );
    let expected = [
        ("directory", EntryKind::Directory),
        ("file", EntryKind::File { size: 5 }),
        ("link", EntryKind::Symlink(LinkKind::Directory)),
        ("mounted", EntryKind::MountPoint),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(name, kind)| (name.to_owned(), kind)).into();
    assert_eq!(listed(&rig, &top), expected);
    assert_eq!(
        listed(&rig, &path(r"C:\var\top\link")).len(),
        1,
        "it is followed"
    );
    let some = filesystem.list(&top, 2, soon).unwrap();
    assert!(some.entries.len() <= 2 && !some.is_whole, "{some:?}");
}

/// Whoever may write in a directory chose the names there, and drivers match on texts.
#[test]
fn no_error_of_a_look_has_a_name_that_a_link_or_a_directory_gave() {
    let rig = Rig::with_mounted_volume();
    let evil = r"C:\var\is not a mounted folder";
    rig.sim
        .files()
        .create_symlink(&path(LINK), evil, LinkKind::Directory)
        .unwrap();
    let (filesystem, soon) = (rig.filesystem(), rig.soon());
    let mut errors = 0;
    for operation in [
        "GetFileAttributesExW",
        "FSCTL_GET_REPARSE_POINT",
        "FindFirstFileExW",
    ] {
        for object in ["*", "*mounted folder*"] {
            let fault = Effect::fail(Win32::IO_DEVICE);
            let rule = rig
                .sim
                .faults()
                .add(Rule::on(operation, fault).object(object));
            let looked = filesystem.look(&path(LINK), soon).map(drop);
            let listed = filesystem.list(&path(LINK), 1, soon).map(drop);
            for failed in [looked, listed].into_iter().filter_map(Result::err) {
                assert!(!failed.to_string().contains("mounted folder"), "{failed}");
                errors += 1;
            }
            rig.sim.faults().remove(rule);
        }
    }
    assert!(errors > 3, "{errors}");
}

#[test]
fn a_volume_that_nobody_knows_is_not_there() {
    let rig = Rig::with_mounted_volume();
    let gone = VolumeId(uuid::Uuid::from_u128(0x0bad));
    let link = linked(&rig, &gone.to_string(), LinkKind::Directory);
    let Look::Link(link) = link else {
        panic!("{link:?}");
    };
    assert_eq!(link.leads, LeadsTo::Nothing);
}
