//! What a script does and looks at on the node without csi-proxy, and in the driver's container.

use os::{Files, Win32};
use os_sim::iscsi::IscsiControl;
use os_sim::{Bus, Content, DiskSpec, IdentifierKind, Profile};

use super::Player;
use crate::fixture::{NodeFixture, path};
use crate::servers;

/// The errors of a local look at a dead share, by which the drivers recognise it.
const CORRUPTED: [u32; 10] = [53, 54, 59, 64, 65, 66, 67, 1219, 1326, 10064];

/// A disk after growth, in bytes.
const GROWN: u64 = 4 << 30;

/// An action to take, and its result as text: empty for no.
type Action<'a> = Box<dyn FnOnce() -> String + 'a>;

/// The action in these words, if there is such a one.
pub(super) fn action<'a>(player: &'a Player<'_>, words: &'a [&str]) -> Option<Action<'a>> {
    if let Some(look) = look(player.fixture, words) {
        return Some(look);
    }
    let change = change(player.fixture, words);
    let change = change.map(|change| -> Action<'_> {
        Box::new(move || {
            change();
            String::new()
        })
    });
    change.or_else(|| container(player, words))
}

/// The driver's files in its own container.
fn container<'a>(player: &'a Player<'_>, words: &'a [&str]) -> Option<Action<'a>> {
    let files = move || player.container.borrow_mut();
    Some(match *words {
        ["container", "add", name] => Box::new(move || yes(files().insert(name.to_owned()))),
        ["container", "files"] => Box::new(move || yes(!files().is_empty())),
        ["container", "remove", name] => Box::new(move || yes(files().remove(name))),
        _ => return None,
    })
}

fn look<'a>(node: &'a NodeFixture, words: &'a [&str]) -> Option<Action<'a>> {
    Some(match *words {
        ["node", "dead", path] => Box::new(move || yes(is_dead(node, path))),
        ["node", "disk", name] => Box::new(move || yes(node.disk(name).is_some())),
        ["node", "exists", path] => Box::new(move || yes(node.is_there(path))),
        ["node", "filesystem", staging] => Box::new(move || node.file_system(staging)),
        ["node", "link", path] => Box::new(move || node.read_link(path).unwrap_or_default()),
        ["node", "mapped", share] => Box::new(move || {
            let mapped = servers::mapped(&node.sim).into_iter();
            mapped.filter(|mapped| mapped == share).count().to_string()
        }),
        ["node", "mounts", disk] => Box::new(move || {
            let volumes = node.volumes_of(disk).into_iter();
            volumes.flat_map(|volume| node.mounts_of(volume)).collect()
        }),
        ["node", "online", disk] => Box::new(move || yes(node.is_online(disk))),
        ["node", "readable", path] => Box::new(move || yes(node.read_directory(path).is_ok())),
        ["node", "total", staging] => Box::new(move || node.space(staging).total.to_string()),
        ["node", "used", staging] => Box::new(move || {
            let space = node.space(staging);
            (space.total - space.free).to_string()
        }),
        _ => return None,
    })
}

fn change<'a>(node: &'a NodeFixture, words: &'a [&str]) -> Option<Box<dyn FnOnce() + 'a>> {
    let (hardware, files) = (node.sim.hardware(), node.sim.files());
    Some(match *words {
        // name, bus, serial number, logical unit, page 0x83
        ["node", "attach", name, bus, serial, lun, page83] => Box::new(move || {
            let disk = disk(bus, page83).serial(serial).lun(lun.parse().unwrap());
            attach(node, name, &disk);
        }),
        // profile, name, place, identity
        ["node", "attach_as_on", profile, name, unit, identity] => Box::new(move || {
            let profile: Profile = profile.parse().unwrap();
            attach(node, name, &profile.disk(unit.parse().unwrap(), identity));
        }),
        ["node", "detach", name] => Box::new(move || hardware.detach_disk(name).unwrap()),
        ["node", "grow", name] => Box::new(move || hardware.grow_disk(name, GROWN).unwrap()),
        ["node", "grow_image", name] => Box::new(move || {
            let servers = IscsiControl::at(node.node_folder(""));
            servers.set_image(name, GROWN).unwrap();
        }),
        ["node", "mkdir", path] => Box::new(move || node.make_directories(path)),
        ["node", "remove", file] => Box::new(move || files.remove_file(&path(file)).unwrap()),
        ["node", "rmdir", folder] => Box::new(move || drop(files.remove_directory(&path(folder)))),
        ["node", "wait"] => Box::new(move || node.wait_until_the_provider_noticed()),
        ["node", "write", file] => Box::new(move || files.write_file(&path(file), b"{}").unwrap()),
        _ => return None,
    })
}

fn yes(is_so: bool) -> String {
    if is_so {
        "yes".to_owned()
    } else {
        String::new()
    }
}

fn is_dead(node: &NodeFixture, path: &str) -> bool {
    let code = node
        .read_directory(path)
        .err()
        .and_then(|error| error.win32());
    code.is_some_and(|Win32(code)| CORRUPTED.contains(&code))
}

fn disk(bus: &str, page83: &str) -> DiskSpec {
    match bus {
        "nvme" => DiskSpec::on(Bus::Nvme),
        "scsi" => DiskSpec::on(Bus::Scsi).identified(IdentifierKind::Vendor, page83),
        other => panic!("no script has disks on {other}"),
    }
}

fn attach(node: &NodeFixture, name: &str, disk: &DiskSpec) {
    let content = Content::blank(2 << 30);
    node.sim
        .hardware()
        .attach_disk(name, disk, &content)
        .unwrap();
}
