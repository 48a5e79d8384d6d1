//! All properties of objects that no experiment changes.

use std::fmt::Display;

use formats::smbios::System;
use os::schema::{
    Class, iscsi_connection, iscsi_session, iscsi_target, iscsi_target_portal, storage_setting,
    volume,
};
use os::{Arguments, Instance, Provider, Query, Target, Value};

use super::disks::hex;
use super::{Sight, Sights, deadline};
use crate::NodeFixture;
use crate::cases::Initiator;

const OF_THE_INITIATOR: [&Class; 4] = [
    &iscsi_target_portal::CLASS,
    &iscsi_target::CLASS,
    &iscsi_session::CLASS,
    &iscsi_connection::CLASS,
];

/// One observation for each class. Missing objects, such as a target, are not set up for it.
pub(super) fn all_properties(fixture: &dyn NodeFixture) -> Sights {
    let os = fixture.os();
    let mut sights = vec![
        objects(fixture, &*os.storage, &volume::CLASS),
        setting(fixture),
        firmware(fixture),
    ];
    match Initiator::started(fixture) {
        Ok(_running) => {
            sights.extend(OF_THE_INITIATOR.map(|class| objects(fixture, &*os.iscsi, class)))
        }
        Err(failure) => sights.push(Sight::not_possible(failure)),
    }
    Ok(sights)
}

fn objects(fixture: &dyn NodeFixture, provider: &dyn Provider, class: &'static Class) -> Sight {
    let select: Vec<_> = class.all_properties().map(|row| row.name).collect();
    let query = Query::all(class.name, &select);
    match provider.query(&query, deadline(fixture)) {
        Ok(rows) => sight_of(class, &rows),
        Err(error) => failed(class, error),
    }
}

/// The class has no instance: its method hands one out.
fn setting(fixture: &dyn NodeFixture) -> Sight {
    let (class, method) = (&storage_setting::CLASS, &storage_setting::GET);
    let (target, none) = (Target::Class(class.name), Arguments::none());
    let storage = &fixture.os().storage;
    match storage.invoke(target, method.name, &none, deadline(fixture)) {
        Ok(outcome) => match outcome.out.get(storage_setting::get::STORAGE_SETTING.name) {
            Some(Value::Object(setting)) => sight_of(class, std::slice::from_ref(setting)),
            _ => failed(class, format_args!("returned {}", outcome.code)),
        },
        Err(error) => failed(class, error),
    }
}

fn firmware(fixture: &dyn NodeFixture) -> Sight {
    match fixture.os().firmware.smbios() {
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

fn sight_of(class: &'static Class, rows: &[Instance]) -> Sight {
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
