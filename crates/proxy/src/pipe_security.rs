//! What `-pipe-security` lets others do than call.

/// What may not be among the rights of whoever is only to call: the right to make an instance of the pipe
/// (0x4, which is the right to append to a file), what includes it, and what lets one take it (a new list,
/// a new owner).
///
/// <https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights>
const SERVING: u32 = 0x4 | GENERIC_ALL | GENERIC_WRITE | WRITE_DAC | WRITE_OWNER;

const GENERIC_ALL: u32 = 0x1000_0000;
const GENERIC_WRITE: u32 = 0x4000_0000;
const WRITE_DAC: u32 = 0x4_0000;
const WRITE_OWNER: u32 = 0x8_0000;

/// Rights without any of these, as SDDL abbreviates them.
///
/// <https://learn.microsoft.com/windows/win32/secauthz/ace-strings>
const CALLING: [&str; 16] = [
    "CC", "CR", "DC", "DT", "FR", "FX", "GR", "GX", "KR", "KX", "LO", "RC", "RP", "SD", "SW", "WP",
];

/// Entries that allow something, with and without a condition or an object.
const ALLOWING: [&str; 4] = ["A", "OA", "XA", "ZA"];

/// SYSTEM and Administrators.
const TRUSTED: [&str; 4] = ["BA", "S-1-5-18", "S-1-5-32-544", "SY"];

/// Who may serve the pipes beside SYSTEM and Administrators: make instances, and so receive what drivers
/// send, with their passwords. In the words of the SDDL, whose refusing entries are not counted; what it
/// says in another way than Windows writes it counts as serving.
pub(crate) fn others_who_serve(sddl: &str) -> Vec<String> {
    let text = sddl.to_ascii_uppercase();
    let Some(entries) = access_list(&text) else {
        return vec!["everybody".to_owned()];
    };
    let mut others: Vec<_> = entries.into_iter().filter_map(other_who_serves).collect();
    others.dedup();
    others
}

/// The rights' holder, if this entry lets somebody else serve.
fn other_who_serves(entry: &str) -> Option<String> {
    let mut fields = entry.split(';').map(str::trim);
    let (kind, rights) = (fields.next()?, fields.nth(1)?);
    let holder = fields.nth(2)?;
    let is_other = ALLOWING.contains(&kind) && !TRUSTED.contains(&holder);
    (is_other && let_serve(rights)).then(|| holder.to_owned())
}

fn let_serve(rights: &str) -> bool {
    let number = match rights.strip_prefix("0X") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => rights.parse().ok(),
    };
    match number {
        Some(mask) => mask & SERVING != 0,
        None => {
            let pairs = (0..rights.len()).step_by(2);
            let mut pairs = pairs.map(|at| rights.get(at..at + 2).unwrap_or_default());
            pairs.any(|right| !CALLING.contains(&right))
        }
    }
}

/// The entries of the list that says who may do what; `None` without one, when everybody may do all.
fn access_list(sddl: &str) -> Option<Vec<&str>> {
    let (mut section, mut before) = (None, ' ');
    let (mut depth, mut begin) = (0_usize, 0);
    let mut entries = None;
    for (at, character) in sddl.char_indices() {
        match character {
            ':' if depth == 0 => {
                section = Some(before);
                if before == 'D' && !sddl[at..].starts_with(":NO_ACCESS_CONTROL") {
                    entries.get_or_insert_with(Vec::new);
                }
            }
            '(' => {
                if depth == 0 {
                    begin = at + 1;
                }
                depth += 1;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && section == Some('D') {
                    entries
                        .iter_mut()
                        .for_each(|entries| entries.extend(sddl.get(begin..at)));
                }
            }
            _ => {}
        }
        before = character;
    }
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::others_who_serve;

    #[test]
    fn who_may_call_and_serve_is_told_from_who_may_only_call() {
        for (sddl, others) in [
            (transport::DEFAULT_SECURITY, ""),
            ("D:P(A;;GA;;;SY)(A;;GRGW;;;LS)", "LS"),
            ("D:P(A;;GA;;;SY)(A;;0x12019b;;;LS)", ""),
            ("D:P(A;;GA;;;SY)(A;;0x12019f;;;LS)", "LS"),
            ("D:P(A;;1180063;;;LS)", "LS"),
            ("D:P(A;;GR;;;LS)(A;;FRFW;;;S-1-5-19)", "S-1-5-19"),
            ("D:P(A;;FA;;;S-1-5-18)(A;;FA;;;S-1-5-32-544)", ""),
            ("O:SYG:LDD:AI(a;;ga;;;wd)(A;;LC;;;NS)", "WD NS"),
            ("D:P(A;;RCWD;;;LS)(A;;WO;;;NS)", "LS NS"),
            ("D:P(XA;;GW;;;LS;(@User.a == \"b\"))", "LS"),
            ("D:P(D;;GA;;;LS)", ""),
            ("D:P(A;;GA;;;SY)S:(AU;SA;GA;;;WD)", ""),
            ("D:P", ""),
            ("D:NO_ACCESS_CONTROL", "EVERYBODY"),
            ("O:SYG:SY", "EVERYBODY"),
        ] {
            let found = others_who_serve(sddl).join(" ").to_ascii_uppercase();
            assert_eq!(found, others, "{sddl}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[A-Z:;()0x\u{e4} -]{0,40}") {
            others_who_serve(&text);
            others_who_serve(&format!("D:(A;;{text};;;LS)"));
        }
    }
}
