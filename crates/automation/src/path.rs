use os::schema::{self, Class};
use os::{ObjectPath, Value};

use crate::SchemaMismatch;

/// The class of the one instance that a path names.
///
/// Paths come from a provider's own answers, yet they go into query text, between braces; so the path
/// is read to its end, and one that does not end where its last key does is refused. Form:
/// <https://learn.microsoft.com/windows/win32/wmisdk/wmi-object-path-requirements>.
///
/// # Errors
/// It is no path of an instance, or of a class that [`os::schema`] does not have.
pub fn class_of(path: &ObjectPath) -> Result<&'static Class, SchemaMismatch> {
    let refused = || SchemaMismatch::Path(path.0.clone());
    let relative = relative(&path.0).ok_or_else(refused)?;
    let (class, keys) = split_class(relative).ok_or_else(refused)?;
    if !is_identifier(class) || !are_keys(keys) {
        return Err(refused());
    }
    schema::class(class).ok_or_else(|| SchemaMismatch::class(class))
}

/// The path of the instance with these keys, within its namespace; `None` unless each key of the class is
/// there, as a text or a number.
///
/// A provider's own path is to be preferred: this is for an answer that came without one.
#[must_use]
pub fn path_of(class: &'static Class, keys: &[(&str, Value)]) -> Option<ObjectPath> {
    let mut path = format!("{}.", class.name);
    for (index, key) in class.keys().enumerate() {
        let (_, value) = keys.iter().find(|(name, _)| *name == key.name)?;
        if index > 0 {
            path.push(',');
        }
        path.push_str(key.name);
        path.push('=');
        path.push_str(&key_text(value)?);
    }
    (!path.ends_with('.')).then_some(ObjectPath(path))
}

fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if !text.contains('\0') => {
            let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
            Some(format!("\"{escaped}\""))
        }
        Value::I4(number) => Some(number.cast_unsigned().to_string()),
        Value::Ui1(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The part after `\\SERVER\namespace:`, if the path begins so.
fn relative(path: &str) -> Option<&str> {
    if !path.starts_with(r"\\") {
        return Some(path);
    }
    let (before, relative) = path.split_once(':')?;
    (!before.contains(['"', '\'', '{', '}'])).then_some(relative)
}

/// The class, and its keys; `@` stands for the one instance of a class without keys.
fn split_class(relative: &str) -> Option<(&str, &str)> {
    match relative.strip_suffix("=@") {
        Some(class) => Some((class, "")),
        None => relative
            .split_once('.')
            .filter(|(_, keys)| !keys.is_empty()),
    }
}

fn are_keys(mut keys: &str) -> bool {
    while !keys.is_empty() {
        let Some((name, value)) = keys.split_once('=') else {
            return false;
        };
        let Some(behind) = behind_value(value).filter(|_| is_identifier(name)) else {
            return false;
        };
        keys = match behind.strip_prefix(',') {
            Some(next) if !next.is_empty() => next,
            None if behind.is_empty() => return true,
            _ => return false,
        };
    }
    true
}

/// The part after a key's value: a quoted text, or a bare word (a number, `TRUE`).
fn behind_value(value: &str) -> Option<&str> {
    if let Some(quoted) = value.strip_prefix('"') {
        return behind_quoted(quoted);
    }
    let end = value.find(',').unwrap_or(value.len());
    let (word, behind) = value.split_at(end);
    is_word(word).then_some(behind)
}

fn behind_quoted(quoted: &str) -> Option<&str> {
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\0' => return None,
            '"' => return quoted.get(at + 1..),
            '\\' => drop(characters.next()?),
            _ => {}
        }
    }
    None
}

fn is_word(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
    !text.is_empty() && text.chars().all(is_part)
}

fn is_identifier(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !text.is_empty() && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use os::schema::disk;
    use os::{ObjectPath, Value};
    use proptest::proptest;

    use super::{class_of, path_of};

    fn class(path: &str) -> Option<&'static str> {
        class_of(&ObjectPath(path.to_owned()))
            .ok()
            .map(|class| class.name)
    }

    #[test]
    fn a_path_names_its_class() {
        let disk = Some(disk::CLASS.name);
        for path in [
            r#"MSFT_Disk.ObjectId="{1}\\\\HOST\\x:\"{2}\"""#,
            r#"\\HOST\ROOT\Microsoft\Windows\Storage:MSFT_Disk.ObjectId="a",Number=1"#,
            r#"msft_disk.Number=1,Flag=TRUE"#,
            "MSFT_Disk=@",
        ] {
            assert_eq!(class(path), disk, "{path}");
        }
    }

    #[test]
    fn what_would_leave_the_braces_of_a_query_is_no_path() {
        for path in [
            "",
            "MSFT_Disk",
            "MSFT_Disk.",
            "MSFT_Disk.ObjectId",
            r#"MSFT_Disk.ObjectId="a"#,
            r#"MSFT_Disk.ObjectId="a\""#,
            r#"MSFT_Disk.ObjectId="a"} WHERE ClassDefsOnly"#,
            r#"MSFT_Disk.ObjectId="a","#,
            r"MSFT_Disk.Number=1} WHERE x",
            "MSFT_Disk.Number=1 ",
            r#"\\HOST\x} WHERE {:MSFT_Disk.ObjectId="a""#,
            r#"MSFT_Elsewhere.Key="a""#,
            "MSFT_Disk.ObjectId=\"a\0b\"",
        ] {
            assert_eq!(class(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_needs_each_key() {
        assert_eq!(path_of(&disk::CLASS, &[]), None);
        let null = [(disk::OBJECT_ID.name, Value::Null)];
        assert_eq!(path_of(&disk::CLASS, &null), None);
        let nul = [(disk::OBJECT_ID.name, Value::text("a\0"))];
        assert_eq!(path_of(&disk::CLASS, &nul), None);
    }

    proptest! {
        #[test]
        fn a_path_made_of_keys_is_one(key in "[^\0]*") {
            let keys = [(disk::OBJECT_ID.name, Value::Text(key))];
            let path = path_of(&disk::CLASS, &keys).expect("a key");
            assert_eq!(class(&path.0), Some(disk::CLASS.name));
        }

        #[test]
        fn any_key_is_contained_when_it_is_escaped(key in "[^\0]*") {
            let key = key.replace('\\', r"\\").replace('"', "\\\"");
            assert_eq!(class(&format!("MSFT_Disk.ObjectId=\"{key}\"")), Some("MSFT_Disk"));
            let longer = format!("MSFT_Disk.ObjectId=\"{key}\"}}");
            assert_eq!(class(&longer), None);
        }
    }
}
