//! Object ids that real machines answered go into paths and come out of them.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use formats::fixtures::field;
use os::Value;
use os::schema::{disk, partition, volume};
use wincsi_automation::{class_of, path_of};

#[test]
fn a_path_of_each_recorded_object_id_names_its_class() {
    let mut ids = 0;
    for class in [&disk::CLASS, &partition::CLASS, &volume::CLASS] {
        for (record, object) in field::objects(class.name) {
            let Some(id) = object.text("ObjectId") else {
                continue;
            };
            let path = path_of(class, &[("ObjectId", Value::text(id))]).unwrap();
            let named = class_of(&path).map(|class| class.name);
            assert_eq!(named.ok(), Some(class.name), "{} {path}", record.name);
            // As it stands in the answer it would end the text of the path at its first quotation mark.
            let unescaped = os::ObjectPath(format!("{}.ObjectId=\"{id}\"", class.name));
            assert!(class_of(&unescaped).is_err(), "{unescaped}");
            ids += 1;
        }
    }
    assert_eq!(ids, 8);
}
