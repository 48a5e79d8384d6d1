use std::fmt;

use super::IscsiError;

/// `MAX_ISCSI_NAME_LEN` of `iscsidsc.h`, as RFC 7143, 4.2.7.1.
const LONGEST: usize = 223;

/// The name of an iSCSI target: `iqn.`, `eui.` or `naa.`.
///
/// It is kept in lower case: RFC 3722 folds the case of names before they are compared, so two that
/// differ in nothing else are one. What a target itself spells otherwise is found all the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetName(String);

impl TargetName {
    /// Reads a name as clients send it.
    ///
    /// RFC 3722 is kept to where a name can do harm or cannot be: blanks, control and other characters
    /// outside letters, digits, `-`, `.` and `:`. `_` is let through, because servers of the field have
    /// it, and so is a naming authority without the date that RFC 7143 asks for.
    ///
    /// # Errors
    /// It is of no known form, has a character that no name has, or is too long.
    pub fn parse(text: &str) -> Result<Self, IscsiError> {
        let invalid = |reason| IscsiError::Name {
            name: text.to_owned(),
            reason,
        };
        let folded = text.to_lowercase();
        // Some letters are longer in lower case.
        if text.len().max(folded.len()) > LONGEST {
            return Err(invalid("it is longer than 223 bytes"));
        }
        // A letter may be a letter and a mark in lower case.
        if !text.chars().chain(folded.chars()).all(is_allowed) {
            return Err(invalid("it has a character that no iSCSI name has"));
        }
        match folded.split_once('.') {
            Some(("iqn", rest)) if !rest.is_empty() => Ok(Self(folded)),
            Some(("eui", rest)) if is_hexadecimal(rest, &[16]) => Ok(Self(folded)),
            Some(("naa", rest)) if is_hexadecimal(rest, &[16, 32]) => Ok(Self(folded)),
            _ => Err(invalid("it is neither an iqn. nor an eui. nor a naa. name")),
        }
    }

    /// Whether somebody's spelling means this target.
    pub(super) fn is(&self, other: &str) -> bool {
        other.to_lowercase() == self.0
    }
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric() || "-.:_".contains(character)
}

fn is_hexadecimal(text: &str, lengths: &[usize]) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards: P48
    #[test]
    fn names_are_one_whatever_their_case() {
        let name = TargetName::parse("IQN.2005-10.org.FreeNAS.ctl:Data_1").unwrap();
        assert_eq!(name.to_string(), "iqn.2005-10.org.freenas.ctl:data_1");
        assert!(name.is("iqn.2005-10.ORG.freenas.ctl:data_1"));
        assert!(!name.is("iqn.2005-10.org.freenas.ctl:data_2"));
    }

    #[test]
    fn the_three_forms_are_read() {
        for text in [
            "iqn.2026-01.com.example:data",
            "iqn.test",
            "eui.02004567A425678D",
            "naa.52004567BA64678D",
            "naa.62004567BA64678D0123456789ABCDEF",
        ] {
            assert!(TargetName::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "data",
            "iqn",
            "iqn.",
            "eui.0200",
            "eui.02004567A425678G",
            "naa.1",
            "iqn.2026-01.com.example:a b",
            "iqn.2026-01.com.example:a'b",
            "iqn.2026-01.com.example:a\0",
            "iqn.2026-01.com.example:a\n",
            r"iqn.2026-01.com.example:a\b",
            "iqn.2026-01.com.example:\u{130}",
            " iqn.2026-01.com.example:a",
        ] {
            assert!(
                matches!(TargetName::parse(text), Err(IscsiError::Name { .. })),
                "{text:?}"
            );
        }
        let long = format!("iqn.{}", "a".repeat(219));
        assert!(TargetName::parse(&long).is_ok());
        assert!(TargetName::parse(&format!("{long}a")).is_err());
        // Two bytes, and three in lower case: the name as it is kept has to be one too.
        let grows = format!("iqn.{}", "\u{23a}".repeat(100));
        assert!(TargetName::parse(&grows).is_err());
    }
}
