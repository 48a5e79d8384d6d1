//! Security descriptors in their self-relative form ([MS-DTYP] 2.4.6).

/// An entry's rights to a file for its account (winnt.h): `FILE_ALL_ACCESS`, and `FILE_GENERIC_READ` with
/// `FILE_GENERIC_EXECUTE`.
pub(super) const FILE: Rights = Rights {
    all: 0x001f_01ff,
    read: 0x0012_00a9,
};

/// As [`FILE`], for a key of the registry: `KEY_ALL_ACCESS` and `KEY_READ`.
pub(super) const KEY: Rights = Rights {
    all: 0x000f_003f,
    read: 0x0002_0019,
};

/// The rights of the two kinds of accounts.
#[derive(Clone, Copy)]
pub(super) struct Rights {
    all: u32,
    read: u32,
}

/// Owned by Administrators; they and SYSTEM may do all, Users may read and execute. For files that is
/// `O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)`.
pub(super) fn of_administrators(rights: Rights) -> Vec<u8> {
    let entries = [
        entry(rights.all, ADMINISTRATORS),
        entry(rights.all, SYSTEM),
        entry(rights.read, USERS),
    ];
    let (owner, group) = (sid(ADMINISTRATORS), sid(SYSTEM));
    let owner_at = 20;
    let group_at = owner_at + length(&owner);
    let list_at = group_at + length(&group);
    // Revision 1; self-relative, with a DACL; no SACL.
    let mut bytes = vec![1, 0];
    bytes.extend(0x8004_u16.to_le_bytes());
    for offset in [owner_at, group_at, 0, list_at] {
        bytes.extend(u32::from(offset).to_le_bytes());
    }
    bytes.extend(owner);
    bytes.extend(group);
    bytes.extend(list(&entries));
    bytes
}

/// An account by its numbers after `S-1-5-`.
type Account = &'static [u32];

const SYSTEM: Account = &[18];
const ADMINISTRATORS: Account = &[32, 544];
const USERS: Account = &[32, 545];

fn sid(account: Account) -> Vec<u8> {
    let parts = account.iter().flat_map(|part| part.to_le_bytes());
    let count = u8::try_from(account.len()).unwrap_or(u8::MAX);
    [1, count, 0, 0, 0, 0, 0, 5]
        .into_iter()
        .chain(parts)
        .collect()
}

/// An allowing entry (type 0), without flags.
fn entry(mask: u32, account: Account) -> Vec<u8> {
    let sid = sid(account);
    let mut bytes = vec![0, 0];
    bytes.extend((8 + length(&sid)).to_le_bytes());
    bytes.extend(mask.to_le_bytes());
    bytes.extend(sid);
    bytes
}

/// An access control list of revision 2.
fn list(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX);
    let mut bytes = vec![2, 0];
    bytes.extend((8 + length(&body)).to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(body);
    bytes
}

/// The three accounts keep every part far below the limit.
fn length(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_of_files_is_this_to_the_byte() {
        let expected = [
            "01000480 14000000 24000000 00000000 30000000",
            "0102000000000005 20000000 20020000",
            "0101000000000005 12000000",
            "0200 4c00 0300 0000",
            "0000 1800 ff011f00 0102000000000005 20000000 20020000",
            "0000 1400 ff011f00 0101000000000005 12000000",
            "0000 1800 a9001200 0102000000000005 20000000 21020000",
        ];
        let bytes = of_administrators(FILE);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected.concat().replace(' ', ""));
    }
}
