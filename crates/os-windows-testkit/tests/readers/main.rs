//! Our client's texts, read by independent readers.

use automation::{associators, path_of, select};
use os::schema::{Property, disk, disk_to_partition, partition, smb_global_mapping};
use os::{ObjectPath, Predicate, Query, Value};
use proptest::proptest;
use wincsi_os_windows_testkit::object_path::{self, Key, Which};
use wincsi_os_windows_testkit::{Asked, resolve, wql};

/// The conditions of a query, written and read again.
fn reread(query: &Query<'_>) -> Vec<Predicate> {
    let selection = select(query).expect("a query");
    let statement = wql::read(&selection.text).expect(&selection.text);
    let asked = resolve(&statement, selection.class.namespace).expect("rows");
    let Asked::Objects {
        class,
        select,
        conditions,
    } = asked
    else {
        return Vec::new();
    };
    assert_eq!(class, selection.class);
    let is_selected = |row: &&Property| select.contains(row);
    assert!(selection.properties.iter().all(is_selected), "{select:?}");
    assert!(class.keys().all(|key| is_selected(&key)), "{select:?}");
    conditions
}

fn is_kept(query: &Query<'_>) {
    assert_eq!(reread(query), query.conditions);
}

proptest! {
    #[test]
    fn a_text_in_a_query_is_read_as_it_was_meant(text in "[^\0]*") {
        let serial = disk::SERIAL_NUMBER.name;
        is_kept(&Query::all(disk::CLASS.name, &[disk::SIZE.name]).with(serial, Value::text(&text)));
        is_kept(&Query::all(disk::CLASS.name, &[]).without(serial, Value::text(text)));
    }

    #[test]
    fn numbers_and_booleans_in_a_query_are_read_as_they_were_meant(
        number: u32,
        short: u16,
        long: u64,
        flag: bool,
    ) {
        is_kept(
            &Query::all(partition::CLASS.name, &[])
                .with(partition::DISK_NUMBER.name, Value::uint32(number))
                .without(partition::OFFSET.name, Value::uint64(long))
                .with(partition::IS_BOOT.name, Value::Bool(flag)),
        );
        is_kept(
            &Query::all(disk::CLASS.name, &[]).with(disk::BUS_TYPE.name, Value::uint16(short)),
        );
    }

    #[test]
    fn keys_in_a_path_are_read_as_they_were_meant(local in "[^\0]*", remote in "[^\0]*") {
        let keys = [
            (smb_global_mapping::LOCAL_PATH.name, Value::text(local)),
            (smb_global_mapping::REMOTE_PATH.name, Value::text(remote)),
        ];
        let path = path_of(&smb_global_mapping::CLASS, &keys).expect("two keys");
        let wanted = smb_global_mapping::CLASS.keys().map(|key| {
            let value = keys.iter().find(|(name, _)| *name == key.name).expect("it has both");
            let text = value.1.as_text().expect("a text").to_owned();
            (key.name.to_owned(), Key::Text(text))
        });
        let named = object_path::read(&path.0).expect(&path.0);
        assert_eq!(named.which, Which::Keyed(wanted.collect()));
    }

    #[test]
    fn a_path_in_a_query_is_read_to_its_end_and_no_further(key in "[^\0]*") {
        let keys = [(disk::OBJECT_ID.name, Value::text(key))];
        let of = path_of(&disk::CLASS, &keys).expect("a key");
        let tie = &disk_to_partition::CLASS;
        let query = associators(&of, tie.name, partition::CLASS.name).expect("tied").0;
        let statement = wql::read(&query.text).expect(&query.text);
        let asked = resolve(&statement, disk::CLASS.namespace);
        let result = &partition::CLASS;
        assert_eq!(asked, Ok(Asked::Associated { of, association: tie, result }));
    }
}

#[test]
fn nulls_in_a_query_are_read_as_they_were_meant() {
    let serial = disk::SERIAL_NUMBER.name;
    is_kept(&Query::all(disk::CLASS.name, &[]).with(serial, Value::Null));
    is_kept(&Query::all(disk::CLASS.name, &[]).without(serial, Value::Null));
}

#[test]
fn a_path_of_a_provider_is_one() {
    let path = ObjectPath(
        r#"\\NODE\Root\Microsoft\Windows\Storage:MSFT_Disk.ObjectId="{1}\\\\NODE\\x:\"{2}\"""#
            .to_owned(),
    );
    let named = object_path::read(&path.0).expect("a path");
    let key = Key::Text(r#"{1}\\NODE\x:"{2}""#.to_owned());
    assert_eq!(
        named.which,
        Which::Keyed(vec![("ObjectId".to_owned(), key)])
    );
}
