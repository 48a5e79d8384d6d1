//! Accounts that may change a service's program.
//!
//! The service runs its file as LocalSystem, and the system searches the file's folder for libraries. So an account
//! that may write to the file, make files or folders beside it (a library, or `csi-proxy.exe.local`, the folder to
//! which libraries are [redirected](https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-redirection)),
//! or replace a folder on the path, becomes LocalSystem.

use crate::sddl::{ADMINISTRATORS, Descriptor, GENERIC_ALL, GENERIC_WRITE, WRITE_DAC, WRITE_OWNER};

/// The object of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// The program, or its folder.
    Install,
    /// A folder above.
    Above,
}

/// Rights of files and folders
/// (<https://learn.microsoft.com/windows/win32/fileio/file-access-rights-constants>).
const WRITE_OR_ADD_FILE: u32 = 0x2;
const APPEND_OR_ADD_FOLDER: u32 = 0x4;
const DELETE_CHILD: u32 = 0x40;
const DELETE: u32 = 0x1_0000;

impl Level {
    /// The rights forbidden to others.
    fn changing(self) -> u32 {
        let replacing = DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL;
        match self {
            Self::Install => replacing | WRITE_OR_ADD_FILE | APPEND_OR_ADD_FOLDER | GENERIC_WRITE,
            Self::Above => replacing,
        }
    }
}

/// NT SERVICE\TrustedInstaller, the owner of Windows's own folders
/// (<https://learn.microsoft.com/archive/blogs/cjacks/what-is-the-trustedinstaller-entity-you-see-in-windows-vista>).
const TRUSTED_INSTALLER: &str = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";

/// SIDs for the owner, who is judged as such: CREATOR OWNER, no account's SID, and OWNER RIGHTS.
const FOR_THE_OWNER: [&str; 4] = ["CO", "OW", "S-1-3-0", "S-1-3-4"];

/// Well-known accounts' names.
const NAMES: [(&str, &str); 7] = [
    ("AU", "Authenticated Users"),
    ("BG", "Guests"),
    ("BU", "Users"),
    ("IU", "INTERACTIVE"),
    ("PU", "Power Users"),
    ("SU", "SERVICE"),
    ("WD", "Everyone"),
];

/// The accounts beside SYSTEM, Administrators and TrustedInstaller that may change a place, by its descriptor: its
/// owner, who can take any right, and holders of rights. Denying entries are not counted.
pub(super) fn others_who_may_change(place: Level, sddl: &str) -> Vec<String> {
    let descriptor = Descriptor::parse(sddl);
    let Some(allowed) = descriptor.allowed else {
        return vec![name("WD")];
    };
    let changing = allowed.into_iter().filter(|entry| {
        let is_owners = FOR_THE_OWNER.contains(&entry.holder.as_str());
        !entry.is_inherited_only && !is_owners && entry.rights & place.changing() != 0
    });
    let owner = descriptor.owner.into_iter();
    let holders = owner.chain(changing.map(|entry| entry.holder));
    let mut others: Vec<_> = holders
        .filter(|holder| !is_trusted(holder))
        .map(|holder| name(&holder))
        .collect();
    others.sort_unstable();
    others.dedup();
    others
}

fn is_trusted(holder: &str) -> bool {
    ADMINISTRATORS.contains(&holder) || holder == TRUSTED_INSTALLER
}

fn name(holder: &str) -> String {
    let known = NAMES.iter().find(|(short, _)| *short == holder);
    known.map_or(holder, |(_, name)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Level, others_who_may_change};

    /// As Windows has them: Program Files and a folder in it, C:\ of a server and of a client, and a folder right
    /// below each.
    const PROGRAM_FILES: &str = "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464D:PAI(A;;FA;;;S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464)(A;CIIO;GA;;;S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)(A;;0x1200a9;;;AC)";
    const IN_PROGRAM_FILES: &str =
        "O:BAD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1200a9;;;BU)(A;OICIIOID;GA;;;CO)";
    const ROOT_OF_A_SERVER: &str = "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)(A;OICIIO;GA;;;CO)";
    const ROOT_OF_A_CLIENT: &str = "O:SYD:PAI(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";
    const K_OF_A_SERVER: &str = "O:BAD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1200a9;;;BU)(A;CIID;LC;;;BU)(A;CIID;DC;;;BU)(A;OICIIOID;GA;;;CO)";
    const K_OF_A_CLIENT: &str = "O:BAD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)(A;OICIIOID;SDGXGWGR;;;AU)";

    /// Guards: P11
    #[test]
    fn who_may_change_what_a_service_runs_is_told_from_who_may_look() {
        for (place, sddl, others) in [
            (Level::Install, IN_PROGRAM_FILES, ""),
            (Level::Install, PROGRAM_FILES, ""),
            (Level::Install, K_OF_A_SERVER, "Users"),
            (Level::Install, K_OF_A_CLIENT, "Authenticated Users"),
            (Level::Install, "O:BAD:(A;;FA;;;BA)(A;;FW;;;WD)", "Everyone"),
            (Level::Install, "O:BAD:(A;;WD;;;LS)(A;;WO;;;NS)", "LS NS"),
            (Level::Install, "O:BAD:(A;;SD;;;LS)(A;;DT;;;NS)", "LS NS"),
            (Level::Install, "O:BAD:(A;;FA;;;BA)(D;;FA;;;BU)", ""),
            (Level::Install, "O:BAD:(A;;FA;;;OW)(A;;FRFX;;;WD)", ""),
            (
                Level::Install,
                "O:S-1-5-21-1-2-3-1001D:(A;;FA;;;BA)",
                "S-1-5-21-1-2-3-1001",
            ),
            (Level::Install, "O:BAD:NO_ACCESS_CONTROL", "Everyone"),
            (Level::Install, "O:BA", "Everyone"),
            (Level::Above, PROGRAM_FILES, ""),
            (Level::Above, ROOT_OF_A_SERVER, ""),
            (Level::Above, ROOT_OF_A_CLIENT, ""),
            (Level::Above, K_OF_A_SERVER, ""),
            (Level::Above, K_OF_A_CLIENT, "Authenticated Users"),
            (Level::Above, "O:BAD:(A;;FA;;;BA)(A;;DT;;;BU)", "Users"),
            (Level::Above, "O:LSD:(A;;FA;;;BA)", "LS"),
        ] {
            let found = others_who_may_change(place, sddl).join(" ");
            assert_eq!(found, others, "{place:?} {sddl}");
        }
    }
}
