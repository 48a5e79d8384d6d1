//! The properties that a simulated machine reports for each class, on a machine with an object of each.

use os::schema::{CLASSES, Class, bios, storage_setting};
use os::{Cause, Deadline, Instance, Provider, Query};
use wincsi_os_sim::{NodeSpec, Profile};

use crate::profiles::machine::Machine;

/// A class, and the properties that its objects have.
pub(crate) type Reported = (&'static str, Vec<&'static str>);

/// The reports of kernel and firmware, by their names in records.
const BESIDE_PROVIDERS: [(&str, &[&str]); 2] = [
    ("Page83", &["Page83", "SerialNumber"]),
    (
        bios::CLASS.name,
        &[
            "Manufacturer",
            "ReleaseDate",
            "SMBIOSBIOSVersion",
            "SerialNumber",
        ],
    ),
];

/// The classes of the table without objects of a machine: bases, errors, and those of CimV2, of which the seam queries
/// processes alone, and no record has any.
const NOT_SIMULATED: [&str; 9] = [
    "MSFT_StorageObject",
    "CIM_Error",
    "MSFT_StorageExtendedStatus",
    "MSFT_WmiError",
    "Win32_BaseService",
    "Win32_Service",
    "CIM_BIOSElement",
    "Win32_BIOS",
    "Win32_Process",
];

/// All that a machine of the profile reports.
pub(crate) fn reported(profile: Profile) -> Vec<Reported> {
    let machine = Machine::of(NodeSpec::named("node-1").profile(profile));
    machine.add_portal("192.0.2.7", &["iqn.2001-04.com.example:one"]);
    machine.log_in("iqn.2001-04.com.example:one");
    machine.map_share();
    let with_objects = CLASSES.iter().filter(|class| !class.is_association());
    let (with, without): (Vec<_>, Vec<_>) = with_objects
        .map(|class| (class.name, of_class(&machine, class)))
        .partition(|(_, properties)| !properties.is_empty());
    let without: Vec<_> = without.into_iter().map(|(name, _)| name).collect();
    assert_eq!(without, NOT_SIMULATED, "classes without an object");
    let beside = BESIDE_PROVIDERS.map(|(name, properties)| (name, properties.to_vec()));
    with.into_iter().chain(beside).collect()
}

fn of_class(machine: &Machine, class: &'static Class) -> Vec<&'static str> {
    if class.name == storage_setting::CLASS.name {
        return names(class, |property| {
            machine.setting().properties.contains_key(property)
        });
    }
    let providers: [&dyn Provider; 3] =
        [&*machine.os.storage, &*machine.os.smb, &*machine.os.iscsi];
    let objects = |provider: &&dyn Provider| !rows(*provider, class, &[]).unwrap().is_empty();
    match providers.into_iter().find(objects) {
        Some(provider) => names(class, |property| {
            rows(provider, class, &[property]).is_some()
        }),
        None => Vec::new(),
    }
}

fn names(class: &'static Class, has: impl Fn(&'static str) -> bool) -> Vec<&'static str> {
    let all = class.all_properties().map(|property| property.name);
    all.filter(|name| has(name)).collect()
}

/// Nothing, if the property is not simulated.
fn rows(provider: &dyn Provider, class: &Class, select: &[&'static str]) -> Option<Vec<Instance>> {
    match provider.query(&Query::all(class.name, select), Deadline::NEVER) {
        Ok(rows) => Some(rows),
        Err(error) => match &error.cause {
            Cause::Malformed(text) if text.ends_with("is not simulated") => None,
            _ => panic!("{error}"),
        },
    }
}
