//! The meaning of codes of Windows and of its providers for a driver.
//!
//! The pages of the codes' names have their meanings: [`os::Win32`], [`os::Hresult`],
//! [`os::schema::codes`] and [`os::schema::iscsi_codes`]. A code is missing here if no driver would act on
//! it, or if it has several meanings.

use os::schema::{self, ReturnCode, codes, iscsi_codes, smb_global_mapping};
use os::{Hresult, Win32};

use super::Condition;
use crate::provider::{INITIATOR, returned_win32};

impl Condition {
    /// The Win32 codes that say something of the object that a call was about, or of the server that it is
    /// on.
    pub const WIN32: &'static [(Win32, Self)] = &[
        (Win32::ACCESS_DENIED, Self::AccessDenied),
        (Win32::ACCOUNT_DISABLED, Self::LogonFailure),
        (Win32::ACCOUNT_EXPIRED, Self::LogonFailure),
        (Win32::ACCOUNT_LOCKED_OUT, Self::LogonFailure),
        (Win32::ACCOUNT_RESTRICTION, Self::LogonFailure),
        (Win32::ALREADY_EXISTS, Self::AlreadyExists),
        (Win32::BAD_NETPATH, Self::ServerNotFound),
        (Win32::BAD_NET_NAME, Self::ServerNotFound),
        (Win32::BUSY, Self::InUse),
        (Win32::DEVICE_NOT_CONNECTED, Self::DeviceFailed),
        (Win32::DIR_NOT_EMPTY, Self::NotEmpty),
        (Win32::DISK_FULL, Self::NoRoom),
        (Win32::FILE_EXISTS, Self::AlreadyExists),
        (Win32::FILE_NOT_FOUND, Self::NotFound),
        (Win32::INVALID_LOGON_HOURS, Self::LogonFailure),
        (Win32::INVALID_PASSWORD, Self::LogonFailure),
        (Win32::INVALID_WORKSTATION, Self::LogonFailure),
        (Win32::IO_DEVICE, Self::DeviceFailed),
        (Win32::LOGON_FAILURE, Self::LogonFailure),
        // From a server that cannot encrypt, to a client that demands it
        // (kubernetes-csi/csi-driver-smb#655).
        (Win32::NETWORK_ACCESS_DENIED, Self::AccessDenied),
        (Win32::NOT_AUTHENTICATED, Self::LogonFailure),
        (Win32::NOT_CONNECTED, Self::NotMapped),
        (Win32::NOT_READY, Self::NotReady),
        (Win32::NO_SUCH_DEVICE, Self::DeviceFailed),
        (Win32::NO_SUCH_LOGON_SESSION, Self::LogonFailure),
        (Win32::NO_SUCH_SERVICE, Self::NotFound),
        (Win32::PASSWORD_EXPIRED, Self::LogonFailure),
        (Win32::PASSWORD_MUST_CHANGE, Self::LogonFailure),
        (Win32::PATH_NOT_FOUND, Self::NotFound),
        (Win32::SERVICE_NOT_ACTIVE, Self::ServiceStopped),
        (
            Win32::SESSION_CREDENTIAL_CONFLICT,
            Self::CredentialsConflict,
        ),
        (Win32::SHARING_VIOLATION, Self::InUse),
        (Win32::WRITE_PROTECT, Self::ReadOnly),
    ];

    /// The meaning of a Win32 code for the object of a call, or for its server.
    #[must_use]
    pub fn of_win32(code: Win32) -> Self {
        let mut known = Self::WIN32.iter();
        let known = known.find(|(known, _)| *known == code);
        known.map_or(Self::Other, |(_, condition)| *condition)
    }

    /// The same of COM's or WMI's code, in which Win32's may be, or the iSCSI initiator's.
    #[must_use]
    pub fn of_hresult(code: Hresult) -> Self {
        match code {
            Hresult::WBEM_E_ACCESS_DENIED => Self::AccessDenied,
            Hresult::WBEM_E_NOT_FOUND => Self::NotFound,
            Hresult::WBEM_E_TRANSPORT_FAILURE
            | Hresult::WBEM_E_SHUTTING_DOWN
            | Hresult::RPC_S_SERVER_UNAVAILABLE
            | Hresult::RPC_S_CALL_FAILED => Self::NotReady,
            _ => match code.win32() {
                Some(code) => Self::of_win32(code),
                None => find(ISCSI, code.0),
            },
        }
    }

    /// The same of what a method of a WMI class returned. SMB's return Win32's codes, those of iSCSI as
    /// well, beside the initiator's own.
    #[must_use]
    pub fn of_returned(class: &str, code: u32) -> Self {
        match schema::class(class) {
            Some(class) if *class == smb_global_mapping::CLASS => {
                Self::of_win32(returned_win32(code))
            }
            Some(class) if INITIATOR.contains(&class) => match find(ISCSI, code) {
                Self::Other => Self::of_win32(returned_win32(code)),
                known => known,
            },
            Some(_) => Self::of_storage(code),
            None => Self::Other,
        }
    }

    /// The same of what a method of a storage class returned.
    #[must_use]
    pub fn of_storage(code: u32) -> Self {
        find(STORAGE, code)
    }
}

fn find(table: &[(ReturnCode, Condition)], code: u32) -> Condition {
    let mut known = table.iter();
    let known = known.find(|(known, _)| known.code == code);
    known.map_or(Condition::Other, |(_, condition)| *condition)
}

const STORAGE: &[(ReturnCode, Condition)] = &[
    (codes::TIMEOUT, Condition::NotReady),
    (codes::IN_USE, Condition::InUse),
    (codes::NOT_ENOUGH_SPACE, Condition::NoRoom),
    (codes::ACCESS_DENIED, Condition::AccessDenied),
    (codes::NOT_ENOUGH_RESOURCES, Condition::NotReady),
    (codes::CACHE_OUT_OF_DATE, Condition::OutOfDate),
    (codes::UNEXPECTED_IO_ERROR, Condition::DeviceFailed),
    (codes::CLUSTER_MAINTENANCE_FORMAT, Condition::Guarded),
    // Nobody is refused so by a provider that sees what we have just seen of the disk.
    (codes::DISK_NOT_INITIALIZED, Condition::OutOfDate),
    (codes::DISK_ALREADY_INITIALIZED, Condition::OutOfDate),
    (codes::DISK_READ_ONLY, Condition::ReadOnly),
    (codes::DISK_OFFLINE, Condition::Offline),
    (codes::OEM_PARTITIONS_PRESENT, Condition::NotBlank),
    (codes::DATA_PARTITIONS_PRESENT, Condition::NotBlank),
    (codes::CRITICAL_DISK, Condition::Guarded),
    (codes::TOO_SMALL_FOR_GPT, Condition::NoRoom),
    (codes::NO_MEDIA, Condition::NotReady),
    (codes::CLUSTER_MAINTENANCE, Condition::Guarded),
    (codes::CLUSTERED, Condition::Guarded),
    (codes::ACCESS_PATH_IN_USE, Condition::TargetInUse),
    (codes::CRITICAL_PARTITION, Condition::Guarded),
    (codes::DRIVE_READ_ONLY, Condition::ReadOnly),
];

const ISCSI: &[(ReturnCode, Condition)] = &[
    (iscsi_codes::CONNECTION_FAILED, Condition::ServerNotFound),
    (iscsi_codes::AUTHENTICATION_FAILURE, Condition::LogonFailure),
    (iscsi_codes::AUTHORIZATION_FAILURE, Condition::AccessDenied),
    (iscsi_codes::NOT_FOUND, Condition::NotFound),
    (iscsi_codes::TARGET_REMOVED, Condition::NotFound),
    (iscsi_codes::SERVICE_UNAVAILABLE, Condition::NotReady),
    (iscsi_codes::OUT_OF_RESOURCES, Condition::NotReady),
    (
        iscsi_codes::CONNECTION_ALREADY_EXISTS,
        Condition::AlreadyConnected,
    ),
    (
        iscsi_codes::SESSION_ALREADY_EXISTS,
        Condition::AlreadyConnected,
    ),
    (iscsi_codes::INVALID_SESSION_ID, Condition::NotFound),
    (iscsi_codes::SCSI_REQUEST_FAILED, Condition::DeviceFailed),
    (iscsi_codes::SESSION_BUSY, Condition::InUse),
    (iscsi_codes::SEND_FAILED, Condition::ServerNotFound),
    (iscsi_codes::TRANSPORT_ERROR, Condition::ServerNotFound),
    (
        iscsi_codes::TARGET_AUTH_INFO_UNAVAILABLE,
        Condition::LogonFailure,
    ),
    (iscsi_codes::TARGET_NOT_FOUND, Condition::NotFound),
    (
        iscsi_codes::TARGET_PORTAL_ALREADY_EXISTS,
        Condition::AlreadyExists,
    ),
    (iscsi_codes::TARGET_OUT_OF_RESOURCES, Condition::NotReady),
    (iscsi_codes::SERVICE_DID_NOT_RESPOND, Condition::NotReady),
    (iscsi_codes::NO_PORTAL_SPECIFIED, Condition::NotFound),
    (iscsi_codes::SERVICE_NOT_RUNNING, Condition::ServiceStopped),
    (
        iscsi_codes::TARGET_ALREADY_LOGGED_IN,
        Condition::AlreadyConnected,
    ),
    (iscsi_codes::DEVICE_BUSY_ON_SESSION, Condition::InUse),
    (iscsi_codes::PORTAL_NOT_FOUND, Condition::NotFound),
    (iscsi_codes::SHORT_CHAP_SECRET, Condition::LogonFailure),
    (iscsi_codes::INVALID_CHAP_SECRET, Condition::LogonFailure),
    (
        iscsi_codes::INVALID_TARGET_CHAP_SECRET,
        Condition::LogonFailure,
    ),
    (
        iscsi_codes::INVALID_INITIATOR_CHAP_SECRET,
        Condition::LogonFailure,
    ),
    (iscsi_codes::INVALID_CHAP_USER_NAME, Condition::LogonFailure),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use os::schema::{Class, disk, iscsi_target, partition};

    use super::*;

    #[test]
    fn a_code_has_one_condition_and_none_is_listed_for_nothing() {
        let win32 = Condition::WIN32.iter().map(|(code, is)| (code.0, is));
        let rows = |table: &'static [(ReturnCode, Condition)]| {
            table.iter().map(|(row, is)| (row.code, is))
        };
        let tables = [
            win32.collect::<Vec<_>>(),
            rows(STORAGE).collect(),
            rows(ISCSI).collect(),
        ];
        for table in tables {
            let distinct: HashSet<_> = table.iter().map(|(code, _)| code).collect();
            assert_eq!(distinct.len(), table.len());
            assert!(table.iter().all(|(_, is)| **is != Condition::Other));
        }
    }

    /// A storage method returns 5 for a wrong parameter, and an SMB method for denied access.
    #[test]
    fn a_number_means_what_its_class_means_by_it() {
        let of = |class: &Class, code| Condition::of_returned(class.name, code);
        assert_eq!(of(&disk::CLASS, 5), Condition::Other);
        assert_eq!(of(&partition::CLASS, 6), Condition::InUse);
        assert_eq!(of(&smb_global_mapping::CLASS, 5), Condition::AccessDenied);
        assert_eq!(
            of(&smb_global_mapping::CLASS, 0x8007_0005),
            Condition::AccessDenied
        );
        assert_eq!(of(&iscsi_target::CLASS, 5), Condition::AccessDenied);
        assert_eq!(
            of(&iscsi_target::CLASS, 0xEFFF_0009),
            Condition::LogonFailure
        );
        assert_eq!(of(&disk::CLASS, 0xEFFF_0009), Condition::Other);
        assert_eq!(Condition::of_returned("MSFT_Other", 6), Condition::Other);
    }

    #[test]
    fn an_hresult_means_what_is_in_it() {
        let of = |code| Condition::of_hresult(Hresult(code));
        assert_eq!(of(0x8007_0020), Condition::InUse);
        assert_eq!(of(0xEFFF_003E), Condition::ServiceStopped);
        assert_eq!(of(Hresult::WBEM_E_NOT_FOUND.0), Condition::NotFound);
        assert_eq!(of(Hresult::RPC_S_SERVER_UNAVAILABLE.0), Condition::NotReady);
        assert_eq!(of(Hresult::WBEM_E_FAILED.0), Condition::Other);
    }
}
