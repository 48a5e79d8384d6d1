use std::fmt;
use std::str::FromStr;

/// The permissions of a directory: a discretionary access control list in the security descriptor
/// definition language, `D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)`.
///
/// Everything that can be checked without Windows is checked: the list's form, its flags, and each
/// entry's kind, flags, rights and account. Only Windows can check whether an account exists. The
/// accepted lists are narrower than the language: no owner, group or audit list, only entries that allow
/// or deny, no inherited ones, and neither of the two lists that are mistakes: the empty one, which locks
/// everybody out, and the absent one, which keeps nobody out.
///
/// Sources: <https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format>,
/// <https://learn.microsoft.com/windows/win32/secauthz/ace-strings>,
/// <https://learn.microsoft.com/windows/win32/secauthz/sid-strings>.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dacl(String);

impl Dacl {
    /// The list in the definition language, as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is inherited from the directory above (`P`).
    #[must_use]
    pub fn is_protected(&self) -> bool {
        let flags = self.0.split('(').next().unwrap_or_default();
        flags.trim_start_matches(PREFIX).contains('P')
    }
}

impl fmt::Display for Dacl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Dacl {
    type Err = DaclError;

    fn from_str(text: &str) -> Result<Self, DaclError> {
        let list = text.strip_prefix(PREFIX).ok_or(DaclError::NoDacl)?;
        let begin = list.find('(').unwrap_or(list.len());
        let (flags, mut rest) = list.split_at(begin);
        check_flags(flags)?;
        if rest.is_empty() {
            return Err(DaclError::Empty);
        }
        while !rest.is_empty() {
            let (entry, behind) = rest
                .strip_prefix('(')
                .and_then(|rest| rest.split_once(')'))
                .ok_or_else(|| DaclError::Trailing(rest.to_owned()))?;
            check_entry(entry)?;
            rest = behind;
        }
        Ok(Self(text.to_owned()))
    }
}

/// Why a text is no list for a directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DaclError {
    /// It does not begin with `D:`. An owner or a group before the list is not taken.
    #[error("an access control list begins with D:")]
    NoDacl,
    /// It has no entry, which would lock everybody out.
    #[error("an access control list without an entry locks everybody out")]
    Empty,
    /// The text declares the list absent, which would let everybody do everything.
    #[error("NO_ACCESS_CONTROL lets everybody do everything")]
    Absent,
    /// A flag of the list that is none of `P`, `AI` and `AR`.
    #[error("{0:?} are no flags of an access control list")]
    Flags(String),
    /// An entry that does not allow or deny somebody something.
    #[error("entry ({entry}): {reason}")]
    Entry {
        /// The text between the parentheses.
        entry: String,
        /// The defect of the entry.
        reason: EntryError,
    },
    /// Something that is no entry: an audit list, an unclosed parenthesis.
    #[error("{0:?} is no entry of an access control list")]
    Trailing(String),
}

/// A defect of an entry of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// It has not six fields.
    #[error("an entry has six fields with a semicolon between them")]
    Fields,
    /// Its kind is neither `A` nor `D`.
    #[error("its kind is neither A (allow) nor D (deny)")]
    Kind,
    /// Its flags are not made of `OI`, `CI`, `NP` and `IO`.
    #[error("its flags are not made of OI, CI, NP and IO")]
    Flags,
    /// Its rights are neither a number other than zero nor made of the names of rights.
    #[error("its rights are neither a number nor names of rights")]
    Rights,
    /// It names a kind of object, which files do not have.
    #[error("it names a kind of object, and files have none")]
    Object,
    /// Its account is neither `S-1-...` nor a well-known abbreviation.
    #[error("its account is neither S-1-... nor a well-known abbreviation")]
    Account,
}

const PREFIX: &str = "D:";

/// Of entries. Without `ID`: an inherited entry has no place on a list that is set.
const ENTRY_FLAGS: [&str; 4] = ["OI", "CI", "NP", "IO"];

/// Generic, standard, directory service and file rights.
const RIGHTS: [&str; 21] = [
    "GA", "GR", "GW", "GX", "RC", "SD", "WD", "WO", "CC", "DC", "LC", "SW", "RP", "WP", "DT", "LO",
    "CR", "FA", "FR", "FW", "FX",
];

/// Codes of accounts ([MS-DTYP] 2.5.1.1). Those of integrity levels mean no account and are left out.
const ACCOUNTS: [&str; 56] = [
    "AA", "AC", "AN", "AO", "AU", "BA", "BG", "BO", "BU", "CA", "CD", "CG", "CN", "CO", "CY", "DA",
    "DC", "DD", "DG", "DU", "EA", "ED", "ER", "ES", "HA", "IS", "IU", "LA", "LG", "LS", "LU", "MS",
    "MU", "NO", "NS", "NU", "OW", "PA", "PO", "PS", "PU", "RA", "RC", "RD", "RE", "RM", "RO", "RS",
    "RU", "SA", "SO", "SU", "SY", "UD", "WD", "WR",
];

fn check_flags(flags: &str) -> Result<(), DaclError> {
    if flags.contains("NO_ACCESS_CONTROL") {
        return Err(DaclError::Absent);
    }
    let mut rest = flags;
    while !rest.is_empty() {
        rest = ["P", "AI", "AR"]
            .iter()
            .find_map(|flag| rest.strip_prefix(flag))
            .ok_or_else(|| DaclError::Flags(flags.to_owned()))?;
    }
    Ok(())
}

fn check_entry(entry: &str) -> Result<(), DaclError> {
    fault(entry).map_or(Ok(()), |reason| {
        Err(DaclError::Entry {
            entry: entry.to_owned(),
            reason,
        })
    })
}

fn fault(entry: &str) -> Option<EntryError> {
    let fields: Vec<_> = entry.split(';').collect();
    let [kind, flags, rights, object, inherited, account] = fields.as_slice() else {
        return Some(EntryError::Fields);
    };
    let checks = [
        (matches!(*kind, "A" | "D"), EntryError::Kind),
        (is_made_of(flags, &ENTRY_FLAGS), EntryError::Flags),
        (are_rights(rights), EntryError::Rights),
        (
            object.is_empty() && inherited.is_empty(),
            EntryError::Object,
        ),
        (is_account(account), EntryError::Account),
    ];
    checks
        .into_iter()
        .find_map(|(holds, fault)| (!holds).then_some(fault))
}

/// Whether a text is nothing but these names of two letters.
fn is_made_of(text: &str, names: &[&str]) -> bool {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .into_iter()
        .all(|pair| names.iter().any(|name| name.as_bytes() == pair))
}

fn are_rights(text: &str) -> bool {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match number {
        Ok(rights) => rights != 0,
        Err(_) => !text.is_empty() && is_made_of(text, &RIGHTS),
    }
}

/// `S-1-`, an authority of 48 bits, and up to fifteen numbers of 32 bits. A long authority is written
/// in hexadecimal digits ([MS-DTYP] 2.4.2.1).
fn is_account(text: &str) -> bool {
    let Some(numbers) = text.strip_prefix("S-1-") else {
        return ACCOUNTS.contains(&text);
    };
    let mut numbers = numbers.split('-');
    let authority = numbers.next().unwrap_or_default();
    let authority = match authority.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => authority.parse(),
    };
    let parts: Vec<_> = numbers.map(str::parse::<u32>).collect();
    authority.is_ok_and(|authority| authority >> 48 == 0)
        && (1..=15).contains(&parts.len())
        && parts.iter().all(Result::is_ok)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Dacl, DaclError> {
        text.parse()
    }

    fn entry(text: &str) -> EntryError {
        match parse(&format!("D:(A;OICI;FA;;;SY)({text})")) {
            Err(DaclError::Entry { entry, reason }) if entry == text => reason,
            other => unreachable!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lists_that_operators_write_are_taken_as_they_are() {
        for text in [
            "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)",
            "D:PAI(D;;GW;;;AN)(A;OICIIO;GA;;;CO)",
            "D:(A;;FRFX;;;S-1-5-93-2-1)",
            "D:AR(A;CI;1;;;S-1-0x0000000000AB-7)",
        ] {
            let dacl = parse(text).unwrap();
            assert_eq!(dacl.as_str(), text);
            assert_eq!(dacl.is_protected(), text.starts_with("D:P"));
        }
    }

    #[test]
    fn what_is_not_the_list_of_a_directory_is_refused_by_what_it_is() {
        assert_eq!(parse(""), Err(DaclError::NoDacl));
        assert_eq!(parse("O:BAD:(A;;FA;;;SY)"), Err(DaclError::NoDacl));
        assert_eq!(parse("d:(A;;FA;;;SY)"), Err(DaclError::NoDacl));
        assert_eq!(parse("D:"), Err(DaclError::Empty));
        assert_eq!(parse("D:P"), Err(DaclError::Empty));
        assert_eq!(parse("D:NO_ACCESS_CONTROL"), Err(DaclError::Absent));
        assert_eq!(
            parse("D:X(A;;FA;;;SY)"),
            Err(DaclError::Flags("X".to_owned()))
        );
        for trailing in ["S:(AU;SA;FA;;;WD)", "(A;;FA;;;SY", " "] {
            let text = format!("D:(A;;FA;;;SY){trailing}");
            assert_eq!(parse(&text), Err(DaclError::Trailing(trailing.to_owned())));
        }
    }

    #[test]
    fn an_entry_is_refused_by_its_first_wrong_field() {
        assert_eq!(entry("A;;FA;;SY"), EntryError::Fields);
        assert_eq!(entry("XA;;FA;;;SY;x"), EntryError::Fields);
        assert_eq!(entry("OA;;FA;;;SY"), EntryError::Kind);
        assert_eq!(entry("A;ID;FA;;;SY"), EntryError::Flags);
        assert_eq!(entry("A;OIC;FA;;;SY"), EntryError::Flags);
        assert_eq!(entry("A;;;;;SY"), EntryError::Rights);
        assert_eq!(entry("A;;0x0;;;SY"), EntryError::Rights);
        assert_eq!(entry("A;;FZ;;;SY"), EntryError::Rights);
        assert_eq!(entry("A;;FA;x;;SY"), EntryError::Object);
        assert_eq!(entry("A;;FA;;;Users"), EntryError::Account);
        assert_eq!(entry("A;;FA;;;S-1-5"), EntryError::Account);
        assert_eq!(entry("A;;FA;;;S-1-5-4294967296"), EntryError::Account);
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_what_parses_has_balanced_entries_of_six_fields(
            text in "(D:)?P?(A[IR])?(\\([AD];(OI)?(CI)?;(FA|0x1|GX|é)?;;;(SY|S-1-5-1|é)\\)?){0,3}"
        ) {
            if let Ok(dacl) = text.parse::<Dacl>() {
                prop_assert_eq!(dacl.as_str(), text.as_str());
                let entries = text.matches('(').count();
                prop_assert!(entries > 0);
                prop_assert_eq!(entries, text.matches(')').count());
                prop_assert_eq!(entries * 5, text.matches(';').count());
            }
        }
    }
}
