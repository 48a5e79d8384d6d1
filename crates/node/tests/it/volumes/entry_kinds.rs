//! The kinds of entries, the targets of links, and lists of directories.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;

use os::{Files, LinkKind, ReparseTag, VolumeId, Win32, WinPath};
use os_sim::{Effect, Rule};
use wincsi_node::{
    EntryKind, FilesystemError, LeadsTo, Link, LinkForm, LinkTarget, Look, MapRequest, RemotePath,
    ResolveError,
};

use crate::support::swap::Swap;
use crate::support::{DATA, NodeFixture, SHARE, STAGING, path};

const LINK: &str = r"C:\var\link";

fn look(fixture: &NodeFixture, at: &str) -> Look {
    fixture
        .filesystem()
        .look(&path(at), fixture.soon())
        .unwrap()
}

fn linked(fixture: &NodeFixture, to: &str, kind: LinkKind) -> Look {
    let files = fixture.files();
    files.create_symlink(&path(LINK), to, kind).unwrap();
    let look = look(fixture, LINK);
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
    let fixture = NodeFixture::with_mounted_volume();
    assert_eq!(look(&fixture, r"C:\var\missing"), Look::Missing);
    assert_eq!(look(&fixture, r"C:\missing\below"), Look::Missing);
    assert_eq!(look(&fixture, r"C:\"), Look::Directory);
    assert_eq!(look(&fixture, r"C:\var"), Look::Directory);
    fixture.write(r"C:\var\file", "12345");
    assert_eq!(look(&fixture, r"C:\var\file"), Look::File { size: 5 });
    let socket = [0x23, 0, 0, 0x80, 0, 0, 0, 0];
    let files = fixture.files();
    files
        .create_reparse_point(&path(r"C:\var\sock"), LinkKind::File, &socket)
        .unwrap();
    let tag = ReparseTag::AF_UNIX;
    assert_eq!(look(&fixture, r"C:\var\sock"), Look::Other { tag });
}

#[test]
fn a_mounted_folder_is_told_also_when_its_volume_is_gone() {
    let fixture = NodeFixture::with_mounted_volume();
    let volume = fixture.volume();
    let mounted = |is_there| Look::MountedFolder { volume, is_there };
    assert_eq!(look(&fixture, STAGING), mounted(true));
    let link = fixture
        .filesystem()
        .read_link(&fixture.staging(), fixture.soon());
    assert_eq!(link, Ok(Some(LinkTarget::Volume(volume))));
    let through = to_directory(STAGING, LeadsTo::Directory);
    assert_eq!(linked(&fixture, STAGING, LinkKind::Directory), through);
    fixture.hardware().detach_disk(DATA).unwrap();
    assert_eq!(look(&fixture, STAGING), mounted(false));
    let dangling = to_directory(STAGING, LeadsTo::Nothing);
    assert_eq!(linked(&fixture, STAGING, LinkKind::Directory), dangling);
}

#[test]
fn a_link_tells_its_form_its_target_and_what_is_there() {
    let fixture = NodeFixture::with_mounted_volume();
    let inside = format!(r"{STAGING}\data.txt");
    let file = to_path(LinkForm::File, &inside, LeadsTo::File);
    assert_eq!(linked(&fixture, &inside, LinkKind::File), file);
    // Windows opens nothing through such a link.
    let wrong = to_path(LinkForm::File, STAGING, LeadsTo::Directory);
    assert_eq!(linked(&fixture, STAGING, LinkKind::File), wrong);
    let relative = to_directory(r"C:\var\lib", LeadsTo::Directory);
    assert_eq!(
        linked(&fixture, r"..\var\lib", LinkKind::Directory),
        relative
    );
    let dangling = to_directory(r"C:\gone\x", LeadsTo::Nothing);
    assert_eq!(
        linked(&fixture, r"C:\gone\x", LinkKind::Directory),
        dangling
    );
    let endless = to_directory(LINK, LeadsTo::Nothing);
    assert_eq!(linked(&fixture, LINK, LinkKind::Directory), endless);
    let drive = to_directory(r"Q:\x", LeadsTo::OtherDrive);
    assert_eq!(linked(&fixture, r"Q:\x", LinkKind::Directory), drive);
    let volume = fixture.volume();
    let to_volume = Look::Link(Link {
        form: LinkForm::Directory,
        target: LinkTarget::Volume(volume),
        leads: LeadsTo::Directory,
    });
    assert_eq!(
        linked(&fixture, &volume.to_string(), LinkKind::Directory),
        to_volume
    );
    fixture.junction(LINK, r"C:\var\lib");
    let junction = to_path(LinkForm::Junction, r"C:\var\lib", LeadsTo::Directory);
    assert_eq!(look(&fixture, LINK), junction);
}

/// Also where the share lies behind another link.
#[test]
fn nothing_is_asked_of_a_share_that_a_link_leads_to() {
    let fixture = NodeFixture::with_server();
    let remote = RemotePath::parse(SHARE).unwrap();
    let chain = path(r"C:\var\chain");
    let files = fixture.files();
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
            fixture.smb().map(&mapping, fixture.soon()).unwrap();
        }
        let trace = fixture.trace(|| {
            let below = format!(r"{SHARE}\pv");
            let share = LeadsTo::Share { is_mapped };
            assert_eq!(
                linked(&fixture, &below, LinkKind::Directory),
                to_directory(&below, share)
            );
            let through = r"C:\var\chain\pv";
            assert_eq!(
                linked(&fixture, through, LinkKind::Directory),
                to_directory(through, share)
            );
        });
        let asked = trace.iter().find(|op| op.object.starts_with(r"\\files"));
        assert_eq!(asked, None);
    }
}

/// A pod that may write where a link leads: without a hold the look would go where the swap leads, to a server also.
/// Guards: P58
#[test]
fn a_directory_that_becomes_a_link_leads_no_look_elsewhere() {
    for victim in [r"C:\var\pod\dir", r"C:\top"] {
        for elsewhere in [r"C:\var\other", SHARE] {
            let fixture = NodeFixture::with_server();
            let soon = fixture.soon();
            for directory in [victim, r"C:\var\other\x"] {
                fixture.make_directory(directory);
            }
            let child = path(&format!(r"{victim}\x"));
            let files = fixture.files();
            files
                .create_symlink(&path(LINK), &child.to_string(), LinkKind::Directory)
                .unwrap();
            let held = Swap::above_to_link(&fixture, child.clone(), elsewhere);
            let looked = held.node.operations().filesystem().look(&path(LINK), soon);
            let nothing = to_directory(&child.to_string(), LeadsTo::Nothing);
            assert_eq!(looked, Ok(nothing), "{victim}, {elsewhere}");
            assert!(held.has_swapped());
            let swap = Swap::to_link_once_found(&fixture, path(victim), elsewhere);
            let looked = swap.node.operations().filesystem().look(&path(LINK), soon);
            let Err(FilesystemError::Resolve(ResolveError::Unreadable { source, .. })) = looked
            else {
                panic!("{victim}, {elsewhere}: {looked:?}");
            };
            assert_eq!(source.win32(), Some(Win32::REPARSE_POINT_ENCOUNTERED));
            assert!(swap.has_swapped());
        }
    }
}

#[test]
fn a_link_is_read_without_a_look_at_what_it_leads_to() {
    let fixture = NodeFixture::with_mounted_volume();
    let read = |at: &str| fixture.filesystem().read_link(&path(at), fixture.soon());
    fixture.symlink(LINK, SHARE);
    assert_eq!(read(LINK), Ok(Some(LinkTarget::Path(path(SHARE)))));
    let device = r"C:\var\device";
    let files = fixture.files();
    files
        .create_symlink(&path(device), r"\\.\PhysicalDrive0", LinkKind::File)
        .unwrap();
    assert_eq!(read(device), Ok(Some(LinkTarget::NoPath)));
    assert_eq!(read(r"C:\var"), Ok(None));
    let missing = read(r"C:\var\missing").unwrap_err();
    assert!(matches!(missing, FilesystemError::Inspect { source, .. }
        if source.win32() == Some(Win32::FILE_NOT_FOUND)));
}

fn listed(fixture: &NodeFixture, at: &WinPath) -> BTreeMap<String, EntryKind> {
    let listing = fixture.filesystem().list(at, 100, fixture.soon()).unwrap();
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
    let fixture = NodeFixture::with_mounted_volume();
    let (filesystem, soon) = (fixture.filesystem(), fixture.soon());
    let top = path(r"C:\var\top");
    fixture.make_directory(r"C:\var\top\directory");
    fixture.write(r"C:\var\top\file", "12345");
    filesystem
        .link_directory(&fixture.staging(), &path(r"C:\var\top\link"), soon)
        .unwrap();
    fixture.make_directory(r"C:\var\top\mounted");
    fixture
        .volumes()
        .mount(fixture.volume(), &path(r"C:\var\top\mounted"), soon)
        .unwrap();
    // The leftover of a link that was being made when its process died.
    fixture.write(
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
    assert_eq!(listed(&fixture, &top), expected);
    assert_eq!(
        listed(&fixture, &path(r"C:\var\top\link")).len(),
        1,
        "it is followed"
    );
    let some = filesystem.list(&top, 2, soon).unwrap();
    assert!(some.entries.len() <= 2 && !some.is_whole, "{some:?}");
}

/// Of the form of what a link leaves, with a number.
fn as_if_left(number: u32) -> String {
    format!(r"C:\var\top\.wincsi-link-{number:032x}")
}

/// A pod could hide what it keeps otherwise.
#[test]
fn what_somebody_keeps_under_a_name_of_ours_is_shown() {
    let fixture = NodeFixture::with_mounted_volume();
    let (filesystem, soon) = (fixture.filesystem(), fixture.soon());
    let [empty, full, file, nothing, mounted] = [0, 1, 2, 3, 4].map(as_if_left);
    for directory in [&empty, &format!(r"{full}\inner"), &mounted] {
        fixture.make_directory(directory);
    }
    fixture.write(&file, "12345");
    fixture.write(&nothing, "");
    let volume = fixture.volume();
    fixture
        .volumes()
        .mount(volume, &path(&mounted), soon)
        .unwrap();
    let name = |at: &str| path(at).name().unwrap().to_string();
    let expected = [
        (name(&full), EntryKind::Directory),
        (name(&file), EntryKind::File { size: 5 }),
        (name(&mounted), EntryKind::MountPoint),
    ];
    assert_eq!(listed(&fixture, &path(r"C:\var\top")), expected.into());
    assert_eq!(look(&fixture, &full), Look::Directory);
    assert_eq!(look(&fixture, &file), Look::File { size: 5 });
    for at in [&full, &file, &mounted] {
        assert!(filesystem.path_exists(&path(at), soon).unwrap(), "{at}");
    }
    for at in [&empty, &nothing] {
        assert_eq!(look(&fixture, at), Look::Missing, "{at}");
        assert!(!filesystem.path_exists(&path(at), soon).unwrap(), "{at}");
    }
}

#[test]
fn what_is_left_of_links_takes_no_place_in_a_list() {
    let fixture = NodeFixture::with_mounted_volume();
    let (filesystem, soon) = (fixture.filesystem(), fixture.soon());
    let top = path(r"C:\var\top");
    for number in 0..20 {
        let left = path(&as_if_left(number));
        filesystem.make_directory(&left, soon).unwrap();
    }
    for name in ["one", "two"] {
        fixture.write(&format!(r"{top}\{name}"), "");
    }
    for (most, is_whole) in [(0, false), (1, false), (2, true), (3, true)] {
        let listing = filesystem.list(&top, most, soon).unwrap();
        assert_eq!(listing.entries.len(), most.min(2), "{most}");
        assert_eq!(listing.is_whole, is_whole, "{most}");
    }
}

/// Processes that may write in a directory chose the names there, and drivers match on texts.
#[test]
fn no_error_of_a_look_has_a_name_that_a_link_or_a_directory_gave() {
    let fixture = NodeFixture::with_mounted_volume();
    let evil = r"C:\var\is not a mounted folder";
    fixture.symlink(LINK, evil);
    let (filesystem, soon) = (fixture.filesystem(), fixture.soon());
    let mut errors = 0;
    for operation in [
        "GetFileAttributesExW",
        "FSCTL_GET_REPARSE_POINT",
        "FindFirstFileExW",
    ] {
        for object in ["*", "*mounted folder*"] {
            let fault = Effect::fail(Win32::IO_DEVICE);
            let rule = fixture.fault(Rule::on(operation, fault).object(object));
            let looked = filesystem.look(&path(LINK), soon).map(drop);
            let listed = filesystem.list(&path(LINK), 1, soon).map(drop);
            for failed in [looked, listed].into_iter().filter_map(Result::err) {
                assert!(!failed.to_string().contains("mounted folder"), "{failed}");
                errors += 1;
            }
            fixture.faults().remove(rule);
        }
    }
    assert!(errors > 3, "{errors}");
}

#[test]
fn a_volume_that_nobody_knows_is_not_there() {
    let fixture = NodeFixture::with_mounted_volume();
    let gone = VolumeId(uuid::Uuid::from_u128(0x0bad));
    let link = linked(&fixture, &gone.to_string(), LinkKind::Directory);
    let Look::Link(link) = link else {
        panic!("{link:?}");
    };
    assert_eq!(link.leads, LeadsTo::Nothing);
}
