//! Security descriptors as text.
//!
//! <https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format>

/// A descriptor, reduced to owners and rights. An entry in another form than Windows writes counts as more than it may
/// be, never as less.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// The owner, if one is named: `BA`, or a SID.
    pub(crate) owner: Option<String>,
    /// The allowing entries of the access control list; `None` without a list: everybody may do everything.
    pub(crate) allowed: Option<Vec<Allowed>>,
}

/// An allowing entry of an access control list, with or without a condition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// The holder of the rights: `BA`, or a SID.
    pub(crate) holder: String,
    /// The access mask; all ones where it cannot be read.
    pub(crate) rights: u32,
    /// Whether it applies to children only, and not to the object itself.
    pub(crate) is_inherited_only: bool,
}

pub(crate) const GENERIC_ALL: u32 = 0x1000_0000;
pub(crate) const GENERIC_WRITE: u32 = 0x4000_0000;
pub(crate) const WRITE_DAC: u32 = 0x4_0000;
pub(crate) const WRITE_OWNER: u32 = 0x8_0000;

/// LocalSystem and Administrators.
pub(crate) const ADMINISTRATORS: [&str; 4] = ["BA", "S-1-5-18", "S-1-5-32-544", "SY"];

/// Allowing entries, with and without a condition or an object.
const ALLOWING: [&str; 4] = ["A", "OA", "XA", "ZA"];

/// The abbreviations of rights.
///
/// <https://learn.microsoft.com/windows/win32/secauthz/ace-strings>
const RIGHTS: [(&str, u32); 25] = [
    ("GA", GENERIC_ALL),
    ("GX", 0x2000_0000),
    ("GW", GENERIC_WRITE),
    ("GR", 0x8000_0000),
    ("SD", 0x1_0000),
    ("RC", 0x2_0000),
    ("WD", WRITE_DAC),
    ("WO", WRITE_OWNER),
    ("CC", 0x1),
    ("DC", 0x2),
    ("LC", 0x4),
    ("SW", 0x8),
    ("RP", 0x10),
    ("WP", 0x20),
    ("DT", 0x40),
    ("LO", 0x80),
    ("CR", 0x100),
    ("FA", 0x1F_01FF),
    ("FR", 0x12_0089),
    ("FW", 0x12_0116),
    ("FX", 0x12_00A0),
    ("KA", 0xF_003F),
    ("KR", 0x2_0019),
    ("KW", 0x2_0006),
    ("KX", 0x2_0019),
];

impl Descriptor {
    pub(crate) fn parse(sddl: &str) -> Self {
        let text = sddl.to_ascii_uppercase();
        let mut found = Self {
            owner: None,
            allowed: None,
        };
        for (letter, section) in sections(&text) {
            match letter {
                'O' => found.owner = Some(section.trim().to_owned()),
                'D' if !section.starts_with("NO_ACCESS_CONTROL") => {
                    let allowed = entries(section).into_iter().filter_map(Allowed::parse);
                    found.allowed.get_or_insert_with(Vec::new).extend(allowed);
                }
                _ => {}
            }
        }
        found
    }
}

impl Allowed {
    /// `None` for a denying or auditing entry.
    fn parse(entry: &str) -> Option<Self> {
        let mut fields = entry.split(';').map(str::trim);
        let (kind, flags, rights) = (fields.next()?, fields.next()?, fields.next()?);
        let holder = fields.nth(2)?;
        ALLOWING.contains(&kind).then(|| Self {
            holder: holder.to_owned(),
            rights: mask(rights),
            is_inherited_only: pairs(flags).any(|flag| flag == "IO"),
        })
    }
}

fn mask(rights: &str) -> u32 {
    let number = match rights.strip_prefix("0X") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => rights.parse().ok(),
    };
    number.unwrap_or_else(|| {
        let bits = pairs(rights).map(|pair| {
            let known = RIGHTS.iter().find(|(name, _)| *name == pair);
            known.map_or(u32::MAX, |(_, bits)| *bits)
        });
        bits.fold(0, |all, bits| all | bits)
    })
}

/// The two-letter pieces of flags and rights; a single last letter is one too.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    let starts = (0..text.len()).step_by(2);
    starts.map(|at| text.get(at..text.len().min(at + 2)).unwrap_or("?"))
}

/// The descriptor's parts by their letters: each before a colon outside of entries.
fn sections(sddl: &str) -> Vec<(char, &str)> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let (mut before, mut depth) = (' ', 0_usize);
    for (at, character) in sddl.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                let end = at.saturating_sub(before.len_utf8());
                found.extend(open.map(|(letter, begin)| (letter, part(sddl, begin, end))));
                open = Some((before, at + 1));
            }
            _ => {}
        }
        before = character;
    }
    found.extend(open.map(|(letter, begin)| (letter, part(sddl, begin, sddl.len()))));
    found
}

/// The entries of a list, without their brackets.
fn entries(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut depth) = (0, 0_usize);
    for (at, character) in list.char_indices() {
        match character {
            '(' => {
                if depth == 0 {
                    begin = at + 1;
                }
                depth += 1;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    found.push(part(list, begin, at));
                }
            }
            _ => {}
        }
    }
    found
}

fn part(text: &str, begin: usize, end: usize) -> &str {
    text.get(begin..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Allowed, Descriptor};

    fn allowed(holder: &str, rights: u32) -> Allowed {
        Allowed {
            holder: holder.to_owned(),
            rights,
            is_inherited_only: false,
        }
    }

    #[test]
    fn owner_and_entries_are_read_and_what_refuses_is_not() {
        let found = Descriptor::parse(
            r#"O:S-1-5-18G:SYD:PAI(A;OICIIO;GA;;;CO)(a;;0x1301bf;;;ba)(D;;GA;;;WD)(XA;;DCLC;;;LS;(@User.a:b == "c"))S:(AU;SA;FA;;;WD)"#,
        );
        let inherited = Allowed {
            is_inherited_only: true,
            ..allowed("CO", 0x1000_0000)
        };
        assert_eq!(found.owner.as_deref(), Some("S-1-5-18"));
        assert_eq!(
            found.allowed.unwrap_or_default(),
            [inherited, allowed("BA", 0x13_01BF), allowed("LS", 0x6)]
        );
    }

    #[test]
    fn no_list_is_told_from_an_empty_one() {
        let lists = ["O:SYG:SY", "D:NO_ACCESS_CONTROL", "D:P"];
        let lists = lists.map(|sddl| Descriptor::parse(sddl).allowed);
        assert_eq!(lists, [None, None, Some(Vec::new())]);
    }

    #[test]
    fn rights_that_cannot_be_read_are_all_rights() {
        for rights in ["ZZ", "GRX", "0xg", "-1", "G\u{e4}"] {
            let found = Descriptor::parse(&format!("D:(A;;{rights};;;LS)"));
            assert_eq!(
                found.allowed,
                Some(vec![allowed("LS", u32::MAX)]),
                "{rights}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[A-Z:;()0x\u{e4} -]{0,40}") {
            Descriptor::parse(&text);
            Descriptor::parse(&format!("D:(A;;{text};;;LS)"));
        }
    }
}
