//! Reads the path of an object.
//!
//! Form: `\\server\namespace:Class`, `Class.Key="value",Key=1`, `Class=@`, see
//! <https://learn.microsoft.com/windows/win32/wmisdk/wmi-object-path-requirements>. In a quoted value a
//! backslash goes before a backslash and a quote.

/// The class or object of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// The namespace, when the path is a full one.
    pub namespace: Option<String>,
    pub class: String,
    /// The class itself, or one of its objects.
    pub which: Which,
}

/// The class itself, or an object of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    Class,
    /// The only object of a class without keys.
    Only,
    /// The object with these keys.
    Keyed(Vec<(String, Key)>),
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// It stood between quotes.
    Text(String),
    /// A number, or `TRUE`.
    Word(String),
}

/// Reads a path to its end; `None` when it is none.
#[must_use]
pub fn read(path: &str) -> Option<ObjectName> {
    let (namespace, relative) = split_namespace(path)?;
    let (class, behind) = identifier(relative)?;
    let which = match behind.chars().next() {
        None => Which::Class,
        Some('=') if behind == "=@" => Which::Only,
        Some('.') => Which::Keyed(keys(&behind[1..])?),
        Some(_) => return None,
    };
    Some(ObjectName {
        namespace: namespace.map(str::to_owned),
        class: class.to_owned(),
        which,
    })
}

fn split_namespace(path: &str) -> Option<(Option<&str>, &str)> {
    let Some(full) = path.strip_prefix(r"\\") else {
        return Some((None, path));
    };
    let (server, below) = full.split_once('\\')?;
    let (namespace, relative) = below.split_once(':')?;
    let is_name = |text: &str| {
        let mut letters = text.chars();
        !text.is_empty() && letters.all(|it| it.is_alphanumeric() || "_-.".contains(it))
    };
    let is_whole = is_name(server) && namespace.split('\\').all(is_name);
    is_whole.then_some((Some(namespace), relative))
}

fn keys(mut text: &str) -> Option<Vec<(String, Key)>> {
    let mut keys = Vec::new();
    loop {
        let (name, behind) = identifier(text)?;
        let (value, behind) = value(behind.strip_prefix('=')?)?;
        keys.push((name.to_owned(), value));
        if behind.is_empty() {
            return Some(keys);
        }
        text = behind.strip_prefix(',')?;
    }
}

fn value(text: &str) -> Option<(Key, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (value, behind) = unquoted(quoted, '"')?;
        return Some((Key::Text(value), behind));
    }
    let (word, behind) = text.split_at(text.find(',').unwrap_or(text.len()));
    let mut letters = word.chars();
    let is_word = !word.is_empty() && letters.all(|it| it.is_ascii_alphanumeric() || it == '-');
    is_word.then(|| (Key::Word(word.to_owned()), behind))
}

/// The text up to the closing quote, its escapes undone, and the rest behind the quote.
pub(crate) fn unquoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.chars();
    loop {
        match letters.next()? {
            '\0' => return None,
            '\\' => value.push(letters.next()?),
            letter if letter == quote => return Some((value, letters.as_str())),
            letter => value.push(letter),
        }
    }
}

/// The name at the start of a text, and the rest behind it.
pub(crate) fn identifier(text: &str) -> Option<(&str, &str)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let begins_well =
        text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    begins_well.then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::{Key, Which, read};

    #[test]
    fn a_full_path_has_a_namespace_and_keys() {
        let named = read(r#"\\HOST\Root\CimV2:Win32_Service.Name="a\"b\\c",Number=7"#).unwrap();
        assert_eq!(named.namespace.as_deref(), Some(r"Root\CimV2"));
        assert_eq!(named.class, "Win32_Service");
        let keys = vec![
            ("Name".to_owned(), Key::Text(r#"a"b\c"#.to_owned())),
            ("Number".to_owned(), Key::Word("7".to_owned())),
        ];
        assert_eq!(named.which, Which::Keyed(keys));
    }

    #[test]
    fn a_class_and_its_only_object_are_told_apart() {
        assert_eq!(read("MSFT_Disk").map(|it| it.which), Some(Which::Class));
        assert_eq!(read("MSFT_Disk=@").map(|it| it.which), Some(Which::Only));
    }

    #[test]
    fn what_is_no_path_is_not_read() {
        for path in [
            "",
            "MSFT_Disk.",
            "MSFT_Disk=",
            "MSFT_Disk=@x",
            "MSFT_Disk x",
            r#"MSFT_Disk.ObjectId="a"#,
            r#"MSFT_Disk.ObjectId="a"b"#,
            r#"MSFT_Disk.ObjectId="a","#,
            "MSFT_Disk.ObjectId=",
            r"\\HOST:MSFT_Disk",
            r"\\HOST\:MSFT_Disk",
            r"\\\Root:MSFT_Disk",
        ] {
            assert_eq!(read(path), None, "{path}");
        }
    }
}
