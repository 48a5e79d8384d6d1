//! The meaning of codes of Windows and of its providers for a driver.
//!
//! The pages of the codes' names have their meanings: [`os::Win32`], [`os::Hresult`],
//! [`os::schema::codes`] and [`os::schema::iscsi_codes`]. A code is missing here if no driver would act on
//! it, or if it has several meanings.

use os::schema::{self, ReturnCode, codes, iscsi_codes, smb_global_mapping};
use os::{Hresult, Win32};

use super::Condition;
use super::Condition::*;
use crate::provider::{INITIATOR, returned_win32};

impl Condition {
    /// The Win32 codes that say something of the object that a call was about, or of the server that it is
    /// on.
    pub const WIN32: &'static [(Win32, Self)] = &[
        (Win32::ACCESS_DENIED, AccessDenied),
        (Win32::ACCOUNT_DISABLED, LogonFailure),
        (Win32::ACCOUNT_EXPIRED, LogonFailure),
        (Win32::ACCOUNT_LOCKED_OUT, LogonFailure),
        (Win32::ACCOUNT_RESTRICTION, LogonFailure),
        (Win32::ALREADY_EXISTS, AlreadyExists),
        (Win32::BAD_NETPATH, ServerNotFound),
        (Win32::BAD_NET_NAME, ServerNotFound),
        (Win32::BUSY, InUse),
        (Win32::DEVICE_NOT_CONNECTED, DeviceFailed),
        (Win32::DIR_NOT_EMPTY, NotEmpty),
        (Win32::DISK_FULL, NoRoom),
        (Win32::FILE_EXISTS, AlreadyExists),
        (Win32::FILE_NOT_FOUND, NotFound),
        (Win32::INVALID_LOGON_HOURS, LogonFailure),
        (Win32::INVALID_PASSWORD, LogonFailure),
        (Win32::INVALID_WORKSTATION, LogonFailure),
        (Win32::IO_DEVICE, DeviceFailed),
        (Win32::LOGON_FAILURE, LogonFailure),
        // From a server that cannot encrypt, to a client that demands it
        // (kubernetes-csi/csi-driver-smb#655).
        (Win32::NETWORK_ACCESS_DENIED, AccessDenied),
        (Win32::NOT_AUTHENTICATED, LogonFailure),
        (Win32::NOT_CONNECTED, NotMapped),
        (Win32::NOT_READY, NotReady),
        (Win32::NO_SUCH_DEVICE, DeviceFailed),
        (Win32::NO_SUCH_LOGON_SESSION, LogonFailure),
        (Win32::NO_SUCH_SERVICE, NotFound),
        (Win32::PASSWORD_EXPIRED, LogonFailure),
        (Win32::PASSWORD_MUST_CHANGE, LogonFailure),
        (Win32::PATH_NOT_FOUND, NotFound),
        (Win32::SERVICE_NOT_ACTIVE, ServiceStopped),
        (Win32::SESSION_CREDENTIAL_CONFLICT, CredentialsConflict),
        (Win32::SHARING_VIOLATION, InUse),
        (Win32::WRITE_PROTECT, ReadOnly),
    ];

    /// The meaning of a Win32 code for the object of a call, or for its server.
    #[must_use]
    pub fn of_win32(code: Win32) -> Self {
        find(Self::WIN32, |known| *known == code)
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
                None => of_return_code(ISCSI, code.0),
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
            Some(class) if INITIATOR.contains(&class) => match of_return_code(ISCSI, code) {
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
        of_return_code(STORAGE, code)
    }
}

fn of_return_code(table: &[(ReturnCode, Condition)], code: u32) -> Condition {
    find(table, |known| known.code == code)
}

fn find<C>(table: &[(C, Condition)], is_it: impl Fn(&C) -> bool) -> Condition {
    let known = table.iter().find(|(code, _)| is_it(code));
    known.map_or(Other, |(_, condition)| *condition)
}

const STORAGE: &[(ReturnCode, Condition)] = &[
    (codes::TIMEOUT, NotReady),
    (codes::IN_USE, InUse),
    (codes::OBJECT_NOT_FOUND, NotFound),
    (codes::NOT_ENOUGH_SPACE, NoRoom),
    (codes::ACCESS_DENIED, AccessDenied),
    (codes::NOT_ENOUGH_RESOURCES, NotReady),
    (codes::CACHE_OUT_OF_DATE, OutOfDate),
    (codes::UNEXPECTED_IO_ERROR, DeviceFailed),
    (codes::CLUSTER_MAINTENANCE_FORMAT, Guarded),
    // Nobody is refused so by a provider that sees what we have just seen of the disk.
    (codes::DISK_NOT_INITIALIZED, OutOfDate),
    (codes::DISK_ALREADY_INITIALIZED, OutOfDate),
    (codes::DISK_READ_ONLY, ReadOnly),
    (codes::DISK_OFFLINE, Offline),
    (codes::OEM_PARTITIONS_PRESENT, NotBlank),
    (codes::DATA_PARTITIONS_PRESENT, NotBlank),
    (codes::CRITICAL_DISK, Guarded),
    (codes::TOO_SMALL_FOR_GPT, NoRoom),
    (codes::NO_MEDIA, NotReady),
    (codes::CLUSTER_MAINTENANCE, Guarded),
    (codes::CLUSTERED, Guarded),
    (codes::ACCESS_PATH_IN_USE, TargetInUse),
    (codes::CRITICAL_PARTITION, Guarded),
    (codes::DRIVE_READ_ONLY, ReadOnly),
];

const ISCSI: &[(ReturnCode, Condition)] = &[
    (iscsi_codes::CONNECTION_FAILED, ServerNotFound),
    (iscsi_codes::AUTHENTICATION_FAILURE, LogonFailure),
    (iscsi_codes::AUTHORIZATION_FAILURE, AccessDenied),
    (iscsi_codes::NOT_FOUND, NotFound),
    (iscsi_codes::TARGET_REMOVED, NotFound),
    (iscsi_codes::SERVICE_UNAVAILABLE, NotReady),
    (iscsi_codes::OUT_OF_RESOURCES, NotReady),
    (iscsi_codes::CONNECTION_ALREADY_EXISTS, AlreadyConnected),
    (iscsi_codes::SESSION_ALREADY_EXISTS, AlreadyConnected),
    (iscsi_codes::INVALID_SESSION_ID, NotFound),
    (iscsi_codes::SCSI_REQUEST_FAILED, DeviceFailed),
    (iscsi_codes::SESSION_BUSY, InUse),
    (iscsi_codes::SEND_FAILED, ServerNotFound),
    (iscsi_codes::TRANSPORT_ERROR, ServerNotFound),
    (iscsi_codes::TARGET_AUTH_INFO_UNAVAILABLE, LogonFailure),
    (iscsi_codes::TARGET_NOT_FOUND, NotFound),
    (iscsi_codes::TARGET_PORTAL_ALREADY_EXISTS, AlreadyExists),
    (iscsi_codes::TARGET_OUT_OF_RESOURCES, NotReady),
    (iscsi_codes::SERVICE_DID_NOT_RESPOND, NotReady),
    (iscsi_codes::NO_PORTAL_SPECIFIED, NotFound),
    (iscsi_codes::SERVICE_NOT_RUNNING, ServiceStopped),
    (iscsi_codes::TARGET_ALREADY_LOGGED_IN, AlreadyConnected),
    (iscsi_codes::DEVICE_BUSY_ON_SESSION, InUse),
    (iscsi_codes::PORTAL_NOT_FOUND, NotFound),
    (iscsi_codes::SHORT_CHAP_SECRET, LogonFailure),
    (iscsi_codes::INVALID_CHAP_SECRET, LogonFailure),
    (iscsi_codes::INVALID_TARGET_CHAP_SECRET, LogonFailure),
    (iscsi_codes::INVALID_INITIATOR_CHAP_SECRET, LogonFailure),
    (iscsi_codes::INVALID_CHAP_USER_NAME, LogonFailure),
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
            assert!(table.iter().all(|(_, is)| **is != Other));
        }
    }

    /// A storage method returns 5 for a wrong parameter, and an SMB method for denied access.
    #[test]
    fn a_number_means_what_its_class_means_by_it() {
        let of = |class: &Class, code| Condition::of_returned(class.name, code);
        assert_eq!(of(&disk::CLASS, 5), Other);
        assert_eq!(of(&partition::CLASS, 6), InUse);
        assert_eq!(of(&disk::CLASS, 8), NotFound);
        // Too little memory, and no mapping that is gone.
        assert_eq!(of(&smb_global_mapping::CLASS, 8), Other);
        assert_eq!(of(&iscsi_target::CLASS, 8), Other);
        assert_eq!(of(&smb_global_mapping::CLASS, 5), AccessDenied);
        assert_eq!(of(&smb_global_mapping::CLASS, 0x8007_0005), AccessDenied);
        assert_eq!(of(&iscsi_target::CLASS, 5), AccessDenied);
        assert_eq!(of(&iscsi_target::CLASS, 0xEFFF_0009), LogonFailure);
        assert_eq!(of(&disk::CLASS, 0xEFFF_0009), Other);
        assert_eq!(Condition::of_returned("MSFT_Other", 6), Other);
    }

    #[test]
    fn an_hresult_means_what_is_in_it() {
        let of = |code| Condition::of_hresult(Hresult(code));
        assert_eq!(of(0x8007_0020), InUse);
        assert_eq!(of(0xEFFF_003E), ServiceStopped);
        assert_eq!(of(Hresult::WBEM_E_NOT_FOUND.0), NotFound);
        assert_eq!(of(Hresult::RPC_S_SERVER_UNAVAILABLE.0), NotReady);
        assert_eq!(of(Hresult::WBEM_E_FAILED.0), Other);
    }
}
