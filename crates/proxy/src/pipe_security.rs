//! The rights beyond calling that `-pipe-security` gives to others.

use crate::sddl::{ADMINISTRATORS, Descriptor, GENERIC_ALL, GENERIC_WRITE, WRITE_DAC, WRITE_OWNER};

/// Rights that allow serving the pipe: `FILE_CREATE_PIPE_INSTANCE` (0x4, for a file the right to append), the generic
/// rights that include it, and `WRITE_DAC` and `WRITE_OWNER`, as an account can grant it to itself by them.
///
/// <https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights>
///
/// Clients request GENERIC_WRITE. ReactOS's npfs leaves 0x4 out of a client's request, so 0x12019b should admit them.
/// This is read in its source and has not been tried on Windows.
const SERVING: u32 = 0x4 | GENERIC_ALL | GENERIC_WRITE | WRITE_DAC | WRITE_OWNER;

/// The accounts beside SYSTEM and Administrators that may serve the pipes: make instances, and so receive drivers'
/// requests, with their passwords. In the SDDL's own words. Denying entries are not counted, and an entry in another
/// form than Windows writes counts as serving.
pub(crate) fn others_who_serve(sddl: &str) -> Vec<String> {
    let Some(allowed) = Descriptor::parse(sddl).allowed else {
        return vec!["everybody".to_owned()];
    };
    let others = allowed.into_iter().filter(|entry| {
        entry.rights & SERVING != 0 && !ADMINISTRATORS.contains(&entry.holder.as_str())
    });
    let mut others: Vec<_> = others.map(|entry| entry.holder).collect();
    others.dedup();
    others
}

#[cfg(test)]
mod tests {
    use super::others_who_serve;

    /// Guards: P1
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
}
