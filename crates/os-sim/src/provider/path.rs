//! Object paths: `\\NODE\root\microsoft\windows\storage:MSFT_Disk.ObjectId="..."`.
//!
//! Inside a quoted key `\` and `"` are escaped by `\`. Source:
//! <https://learn.microsoft.com/windows/win32/wmisdk/wmi-object-path-requirements>.

use std::collections::BTreeMap;

use os::schema::Class;
use os::{Cause, Hresult, ObjectPath};

use super::{Done, schema};

/// The keys of an object by their names in lower case.
pub(super) type Keys = BTreeMap<String, String>;

/// The path of the object with these keys.
pub(super) fn format(node: &str, class: &Class, keys: &[(&str, String)]) -> ObjectPath {
    let namespace = class.namespace.path();
    let mut path = format!(r"\\{node}\{namespace}:{}", class.name);
    for (index, (name, value)) in keys.iter().enumerate() {
        path.push(if index == 0 { '.' } else { ',' });
        path.push_str(name);
        path.push_str("=\"");
        path.push_str(&value.replace('\\', r"\\").replace('"', "\\\""));
        path.push('"');
    }
    ObjectPath(path)
}

/// The class and the keys that a path names.
pub(super) fn parse(path: &ObjectPath) -> Done<(&'static Class, Keys)> {
    let relative = relative(path);
    let class = schema::class(class_name(path))?;
    let refused = || Cause::from(Hresult::WBEM_E_INVALID_PARAMETER);
    let (_, mut rest) = relative.split_once('.').ok_or_else(refused)?;
    let mut keys = Keys::new();
    loop {
        let (name, quoted) = rest.split_once("=\"").ok_or_else(refused)?;
        let (value, behind) = unquoted(quoted).ok_or_else(refused)?;
        keys.insert(name.to_lowercase(), value);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Ok((class, keys)),
            None => return Err(refused()),
        }
    }
}

/// The class that a path names; its text up to there when it is no path.
pub(super) fn class_name(path: &ObjectPath) -> &str {
    let relative = relative(path);
    relative
        .split_once('.')
        .map_or(relative, |(class, _)| class)
}

fn relative(path: &ObjectPath) -> &str {
    if !path.0.starts_with(r"\\") {
        return &path.0;
    }
    path.0.split_once(':').map_or(&path.0, |(_, rest)| rest)
}

/// The text up to the closing quote, and what is behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use os::ObjectPath;
    use os::schema::{disk, smb_global_mapping};

    use super::{format, parse};

    #[test]
    fn a_path_leads_back_to_the_keys_that_it_was_made_of() {
        let key = r#"{1}\\NODE\root/x\WSP_Disk.ObjectId="{a}:DI:\\?\scsi#disk""#;
        let path = format("NODE", &disk::CLASS, &[("ObjectId", key.to_owned())]);
        let (class, keys) = parse(&path).unwrap();
        assert_eq!(class.name, "MSFT_Disk");
        assert_eq!(keys["objectid"], key);
    }

    #[test]
    fn several_keys_are_told_apart() {
        let path = format(
            "NODE",
            &smb_global_mapping::CLASS,
            &[
                ("LocalPath", String::new()),
                ("RemotePath", r"\\a,b\c".to_owned()),
            ],
        );
        let (_, keys) = parse(&path).unwrap();
        assert_eq!(keys["localpath"], "");
        assert_eq!(keys["remotepath"], r"\\a,b\c");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            "",
            "MSFT_Disk",
            "MSFT_Disk.ObjectId=\"a",
            "MSFT_Nothing.A=\"1\"",
            r"\\NODE",
        ] {
            assert!(parse(&ObjectPath(text.to_owned())).is_err(), "{text}");
        }
    }
}
