//! What the texts of csi-proxy's failures mean: of 1.1 and 1.2, which spoke through PowerShell, of
//! 1.3, which speaks through WMI, and of ours.

use node::api::Cause;
use node::api::Condition;
use os::Win32;

/// Endings that decide whatever stands before them: the rest may name something that the caller did
/// not send, and so may say anything.
const ENDINGS: &[(&str, Condition)] = &[
    (
        "leads to something that is not there",
        Condition::DanglingLink,
    ),
    ("exists and is not a directory", Condition::AlreadyExists),
    ("not found (HRESULT 0x80041002)", Condition::NotFound),
    (
        "access denied (HRESULT 0x80041003)",
        Condition::AccessDenied,
    ),
];

/// Of several that occur, the first decides.
const PHRASES: &[(&str, Condition)] = &[
    (" is refused: ", Condition::PathRefused),
    (" cannot be followed beyond ", Condition::OutOfReach),
    (" cannot be reached: ", Condition::OutOfReach),
    ("because it does not exist", Condition::NotFound),
    (
        ".Target, output: , error: <nil>",
        Condition::NotAMountedFolder,
    ),
    ("not a mounted folder", Condition::NotAMountedFolder),
    ("The access path is not valid", Condition::NotAMountedFolder),
    (
        "The requested access path is already in use",
        Condition::TargetInUse,
    ),
    (" is mounted at", Condition::TargetInUse),
    (" is mounted there", Condition::TargetInUse),
    (
        "No MSFT_SmbGlobalMapping objects found",
        Condition::NotMapped,
    ),
    ("ResourceExists", Condition::AlreadyExists),
    (
        "The target has already been logged in via an iSCSI session",
        Condition::AlreadyConnected,
    ),
    (
        "The size of the extent is less than the minimum of 1MB",
        Condition::NothingToGrow,
    ),
    ("ObjectNotFound", Condition::NotFound),
    (
        "is not within the working directories",
        Condition::PathRefused,
    ),
    (
        "is a working directory and is not removed",
        Condition::PathRefused,
    ),
    ("not an absolute Windows path", Condition::PathRefused),
    ("path contains invalid characters", Condition::PathRefused),
    (
        "invalid character \\ at beginning of path",
        Condition::PathRefused,
    ),
    ("exceeds maximum characters", Condition::PathRefused),
    (" is not overwritten: ", Condition::NotBlank),
    (" is not changed: it ", Condition::Guarded),
    (" cannot grow to ", Condition::NoRoom),
    (
        "does not answer: a call from before has not ended",
        Condition::NotAnswering,
    ),
    ("not one volume but none", Condition::NotFound),
    ("not one volume but", Condition::Ambiguous),
    ("not one disk but", Condition::Ambiguous),
    ("error: not one but", Condition::Ambiguous),
    (" has no partition ", Condition::NotFound),
];

/// The system's own texts, which stand for themselves wherever they occur. csi-proxy 1.3 hands them on
/// in the language of the node; in others than English they are not recognised.
const SYSTEM: &[Win32] = &[
    Win32::DIR_NOT_EMPTY,
    Win32::ACCESS_DENIED,
    Win32::ALREADY_EXISTS,
    Win32::FILE_EXISTS,
    Win32::FILE_NOT_FOUND,
    Win32::PATH_NOT_FOUND,
    Win32::NO_SUCH_SERVICE,
    Win32::BAD_NETPATH,
    Win32::BAD_NET_NAME,
    Win32::INVALID_PASSWORD,
    Win32::LOGON_FAILURE,
    Win32::NO_SUCH_LOGON_SESSION,
    Win32::SESSION_CREDENTIAL_CONFLICT,
];

/// The cause that a failure's text stands for.
///
/// `about` is what the caller sent. It is left out of the text before anything is looked for in it: a
/// folder may be called `because it does not exist`.
pub(crate) fn cause(text: String, about: &[String]) -> Cause {
    let bare = without(&text, about);
    let bare = bare.trim_end().trim_end_matches('.');
    if bare.ends_with("did not end before its deadline") {
        return Cause::Deadline;
    }
    Cause::failed(condition(bare), text)
}

fn condition(text: &str) -> Condition {
    let ending = ENDINGS.iter().find(|(ending, _)| text.ends_with(ending));
    let phrase = || PHRASES.iter().find(|(phrase, _)| text.contains(phrase));
    match ending.or_else(phrase) {
        Some((_, condition)) => *condition,
        None if text.ends_with("not found") => Condition::NotFound,
        None => system_code(text).map_or(Condition::Other, Condition::of_win32),
    }
}

/// The code whose text the system's is, or with which the SMB provider refused.
fn system_code(text: &str) -> Option<Win32> {
    let says = |code: &&Win32| {
        let words = code.text().map(|words| words.trim_end_matches('.'));
        words.is_some_and(|words| text.contains(words))
    };
    SYSTEM.iter().find(says).copied().or_else(|| smb_code(text))
}

/// The code with which the SMB provider refused: `WMI MSFT_SmbGlobalMapping.Create failed (...):
/// code=1326`.
fn smb_code(text: &str) -> Option<Win32> {
    let (_, refusal) = text.split_once("WMI MSFT_SmbGlobalMapping.")?;
    let (_, code) = refusal.rsplit_once("code=")?;
    let digits = code.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().map(Win32)
}

/// Numbers stay: they name nothing, and are part of what is said.
fn without(text: &str, about: &[String]) -> String {
    let named = |one: &&String| !one.chars().all(|c| c.is_ascii_digit());
    about
        .iter()
        .filter(named)
        .fold(text.to_owned(), |text, one| text.replace(one.as_str(), "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: &[(&str, Condition)] = &[
        (
            "error getting volume from mount. cmd: (Get-Item -Path $Env:mountpath).Target, output: , error: <nil>",
            Condition::NotAMountedFolder,
        ),
        ("not a mounted folder", Condition::NotAMountedFolder),
        (
            r"Get-Item : Cannot find path 'C:\a' because it does not exist.",
            Condition::NotFound,
        ),
        (
            "CreateFile C:\\a: The system cannot find the file specified.",
            Condition::NotFound,
        ),
        (
            "Add-PartitionAccessPath : The requested access path is already in use.",
            Condition::TargetInUse,
        ),
        (
            "Remove-PartitionAccessPath : The access path is not valid.",
            Condition::NotAMountedFolder,
        ),
        (
            "CategoryInfo : ResourceExists: (C:\\a:String) [New-Item], IOException",
            Condition::AlreadyExists,
        ),
        (
            "Remove-SmbGlobalMapping : No MSFT_SmbGlobalMapping objects found with property",
            Condition::NotMapped,
        ),
        (
            "Connect-IscsiTarget : The target has already been logged in via an iSCSI session.",
            Condition::AlreadyConnected,
        ),
        (
            "CategoryInfo : ObjectNotFound: (MSFT_iSCSITarget)",
            Condition::NotFound,
        ),
        (
            "Resize-Partition : The size of the extent is less than the minimum of 1MB.",
            Condition::NothingToGrow,
        ),
        (
            "failed to query disk 9. error: not found",
            Condition::NotFound,
        ),
        (
            "could not find disk with Page83 ID x: not found",
            Condition::NotFound,
        ),
        ("not an absolute Windows path: a", Condition::PathRefused),
        (
            "WMI MSFT_SmbGlobalMapping.Create failed (target=&{0xc0}): code=1326",
            Condition::LogonFailure,
        ),
        (
            "WMI MSFT_SmbGlobalMapping.Create failed (target=x): code=1219 (SESSION_CREDENTIAL_CONFLICT)",
            Condition::CredentialsConflict,
        ),
        (
            "WMI MSFT_SmbGlobalMapping.Create failed (target=x): code=53",
            Condition::ServerNotFound,
        ),
        (
            "MSFT_Disk.Online x: not found (HRESULT 0x80041002)",
            Condition::NotFound,
        ),
        (
            "ExecQuery x: access denied (HRESULT 0x80041003)",
            Condition::AccessDenied,
        ),
        (
            "WMI MSFT_Disk.Online failed (target=x): code=53",
            Condition::Other,
        ),
    ];

    fn of(text: &str, about: &[&str]) -> Option<Condition> {
        let about: Vec<_> = about.iter().map(|one| (*one).to_owned()).collect();
        match cause(text.to_owned(), &about) {
            Cause::Failed { condition, .. } => Some(condition),
            _ => None,
        }
    }

    #[test]
    fn texts_of_csi_proxy_are_recognised_in_every_wording() {
        for (text, condition) in TEXTS {
            assert_eq!(of(text, &[]), Some(*condition), "{text}");
        }
    }

    #[test]
    fn a_name_that_sounds_like_an_error_is_none() {
        let path = r"C:\var\lib\kubelet\because it does not exist\not found";
        let text = format!("remove {path}: Access is denied.");
        assert_eq!(of(&text, &[path]), Some(Condition::AccessDenied));
        let link = r"C:\a\is refused: x";
        let text = format!("{link} leads to something that is not there");
        assert_eq!(of(&text, &[link]), Some(Condition::DanglingLink));
    }

    #[test]
    fn a_number_that_was_sent_is_not_taken_out_of_a_code() {
        let text = "WMI MSFT_SmbGlobalMapping.Create failed (target=x): code=1219";
        assert_eq!(of(text, &["12"]), Some(Condition::CredentialsConflict));
    }

    #[test]
    fn what_ran_out_of_time_on_the_node_is_a_deadline() {
        assert_eq!(
            of("format volume x: did not end before its deadline", &[]),
            None
        );
    }

    #[test]
    fn what_does_not_answer_is_told_from_what_does_not_exist() {
        for text in [
            "look at volume x: does not answer: a call from before has not ended",
            "failed to query disk 3. error: look at disk 3: does not answer: a call from before has not ended",
        ] {
            assert_eq!(of(text, &[]), Some(Condition::NotAnswering), "{text}");
        }
    }

    #[test]
    fn other_troubles_are_not_taken_for_nothing_mounted() {
        for text in [
            r"C:\a cannot be reached: The system cannot find the path specified.",
            r"C:\a leads from link to link without an end",
            "The device is not ready.",
        ] {
            let found = of(text, &[]);
            assert!(
                !matches!(
                    found,
                    Some(Condition::NotFound | Condition::NotAMountedFolder) | None
                ),
                "{text}: {found:?}"
            );
        }
    }
}
