//! Rust names for protobuf names.
//!
//! prost takes each capital for the start of a word and would make `disk_i_ds` of `diskIDs`. Names of
//! messages and fields are not on the wire, so prost gets a copy of the descriptors in which the
//! acronyms are ordinary words. Names of services and RPCs are on the wire, in the path, and stay.

use prost_types::{DescriptorProto, FileDescriptorProto};

/// The contract's acronyms, and their words in Rust. Longer ones first.
const ACRONYMS: [(&str, &str); 4] = [
    ("LUNID", "LunId"),
    ("BIOS", "Bios"),
    ("IDs", "Ids"),
    ("ID", "Id"),
];

/// `GetVolumeIDFromMount` to `GetVolumeIdFromMount`.
pub(crate) fn type_name(name: &str) -> String {
    ACRONYMS
        .iter()
        .fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}

/// `diskIDs` to `disk_ids`.
pub(crate) fn field_name(name: &str) -> String {
    let mut snake = String::new();
    for letter in type_name(name).chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The same file with Rust's names for messages and fields.
pub(crate) fn rust_file(file: &FileDescriptorProto) -> FileDescriptorProto {
    let mut file = file.clone();
    file.message_type.iter_mut().for_each(rename_message);
    for method in file
        .service
        .iter_mut()
        .flat_map(|service| &mut service.method)
    {
        rename(&mut method.input_type, type_name);
        rename(&mut method.output_type, type_name);
    }
    file
}

fn rename_message(message: &mut DescriptorProto) {
    rename(&mut message.name, type_name);
    message.nested_type.iter_mut().for_each(rename_message);
    for field in &mut message.field {
        rename(&mut field.name, field_name);
        rename(&mut field.type_name, type_name);
    }
}

fn rename(name: &mut Option<String>, rule: fn(&str) -> String) {
    *name = name.as_deref().map(rule);
}

/// `GroupController` to `group_controller`.
pub(crate) fn module(name: &str) -> String {
    let mut module = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !module.is_empty() {
            module.push('_');
        }
        module.push(letter.to_ascii_lowercase());
    }
    module
}
