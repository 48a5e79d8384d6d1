//! The server's status, by its numbers in MS-ERREF 2.3.1.

use crate::error::Failure;

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const PENDING: u32 = 0x0000_0103;
pub(crate) const NO_MORE_FILES: u32 = 0x8000_0006;
pub(crate) const INVALID_PARAMETER: u32 = 0xC000_000D;
pub(crate) const NO_SUCH_FILE: u32 = 0xC000_000F;
pub(crate) const END_OF_FILE: u32 = 0xC000_0011;
pub(crate) const MORE_PROCESSING_REQUIRED: u32 = 0xC000_0016;
pub(crate) const INVALID_VIEW_SIZE: u32 = 0xC000_001F;
pub(crate) const NOT_SUPPORTED: u32 = 0xC000_00BB;

/// What a status other than success means to a caller.
pub(crate) fn failure(status: u32) -> Failure {
    match status {
        // NO_SUCH_FILE, OBJECT_NAME_NOT_FOUND, OBJECT_PATH_NOT_FOUND
        0xC000_000F | 0xC000_0034 | 0xC000_003A => Failure::NotFound,
        0xC000_0035 => Failure::Exists,     // OBJECT_NAME_COLLISION
        0xC000_0103 => Failure::NotAFolder, // NOT_A_DIRECTORY
        0xC000_00BA => Failure::IsAFolder,  // FILE_IS_A_DIRECTORY
        0xC000_0101 => Failure::NotEmpty,   // DIRECTORY_NOT_EMPTY
        0xC000_0043 => Failure::InUse,      // SHARING_VIOLATION
        0xC000_0056 => Failure::DeletePending, // DELETE_PENDING
        // ACCESS_DENIED, NETWORK_ACCESS_DENIED, CANNOT_DELETE
        0xC000_0022 | 0xC000_00CA | 0xC000_0121 => Failure::Denied,
        0xC000_0044 | 0xC000_007F => Failure::Full, // QUOTA_EXCEEDED, DISK_FULL
        0xC000_00CC => Failure::NoSuchShare,        // BAD_NETWORK_NAME
        // NETWORK_NAME_DELETED, USER_SESSION_DELETED, NETWORK_SESSION_EXPIRED
        0xC000_00C9 | 0xC000_0203 | 0xC000_035C => Failure::Lost(format!(
            "the server ended the session, status 0x{status:08X}"
        )),
        0x8000_002D => Failure::Link, // STOPPED_ON_SYMLINK
        // NO_SUCH_USER, WRONG_PASSWORD, LOGON_FAILURE to ACCOUNT_DISABLED
        0xC000_0064 | 0xC000_006A | 0xC000_006D..=0xC000_0072 => Failure::LogonRefused(status),
        // LOGON_TYPE_NOT_GRANTED, ACCOUNT_EXPIRED, PASSWORD_MUST_CHANGE, ACCOUNT_LOCKED_OUT
        0xC000_015B | 0xC000_0193 | 0xC000_0224 | 0xC000_0234 => Failure::LogonRefused(status),
        _ => Failure::Status(status),
    }
}
