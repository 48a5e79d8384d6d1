//! All that objects say which no experiment changes.

use std::fmt::Display;

use formats::smbios::System;
use os::schema::{
    Class, iscsi_connection, iscsi_session, iscsi_target, iscsi_target_portal, storage_setting,
    volume,
};
use os::{Arguments, Instance, Provider, Query, Target, Value};

use super::disks::hex;
use super::{Sight, Sights, deadline};
use crate::Stand;
use crate::cases::Initiator;

const OF_THE_INITIATOR: [&Class; 4] = [
    &iscsi_target_portal::CLASS,
    &iscsi_target::CLASS,
    &iscsi_session::CLASS,
    &iscsi_connection::CLASS,
];

/// One observation for each class. What nobody has set up here, a target say, is not set up for it.
pub(super) fn all_properties(stand: &dyn Stand) -> Sights {
    let os = stand.node().os();
    let mut sights = vec![
        objects(stand, &*os.storage, &volume::CLASS),
        setting(stand),
        firmware(stand),
    ];
    match Initiator::started(stand) {
        Ok(_running) => {
            sights.extend(OF_THE_INITIATOR.map(|class| objects(stand, &*os.iscsi, class)))
        }
        Err(failure) => sights.push(Sight::not_possible(failure)),
    }
    Ok(sights)
}

fn objects(stand: &dyn Stand, provider: &dyn Provider, class: &'static Class) -> Sight {
    let select: Vec<_> = class.all_properties().map(|row| row.name).collect();
    let query = Query::all(class.name, &select);
    match provider.query(&query, deadline(stand)) {
        Ok(rows) => told(class, &rows),
        Err(error) => failed(class, error),
    }
}

/// The class has no instance: its method hands one out.
fn setting(stand: &dyn Stand) -> Sight {
    let (class, method) = (&storage_setting::CLASS, &storage_setting::GET);
    let (target, none) = (Target::Class(class.name), Arguments::none());
    let storage = &stand.node().os().storage;
    match storage.invoke(target, method.name, &none, deadline(stand)) {
        Ok(outcome) => match outcome.out.get(storage_setting::get::STORAGE_SETTING.name) {
            Some(Value::Object(setting)) => told(class, std::slice::from_ref(setting)),
            _ => failed(class, format_args!("returned {}", outcome.code)),
        },
        Err(error) => failed(class, error),
    }
}

fn firmware(stand: &dyn Stand) -> Sight {
    match stand.node().os().firmware.smbios() {
        Ok(table) => {
            let system = System::parse(&table);
            let has_serial = system.as_ref().is_ok_and(|it| it.serial.is_some());
            Sight::of(
                has_serial,
                format!("firmware: {system:?} of {}", hex(&table)),
            )
        }
        Err(error) => Sight::of(false, format!("firmware: {error}")),
    }
}

fn told(class: &'static Class, rows: &[Instance]) -> Sight {
    if rows.is_empty() {
        return Sight::not_possible(format!("there is no {}", class.name));
    }
    let mut names = class.all_properties().map(|row| row.name);
    let is_whole = names.all(|name| rows.iter().all(|row| row.properties.contains_key(name)));
    let all: Vec<_> = rows.iter().map(|row| &row.properties).collect();
    Sight::of(is_whole, format!("{}: {all:?}", class.name))
}

fn failed(class: &Class, why: impl Display) -> Sight {
    Sight::of(false, format!("{}: {why}", class.name))
}
