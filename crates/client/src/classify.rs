//! The meaning of csi-proxy's error texts: of 1.1 and 1.2, which call PowerShell, of 1.3, which
//! calls WMI, and of ours.

use formats::error_id::ErrorId;
use node::api::{Cause, Condition};
use os::schema::iscsi_target;
use os::{Hresult, Win32};

/// Endings that decide regardless of the text before them: that may contain a name that the caller
/// did not send, and so any words.
const ENDINGS: &[(&str, Condition)] = &[
    (
        "does not answer: a call from before has not ended",
        Condition::NotAnswering,
    ),
    (
        "leads to something that is not there",
        Condition::DanglingLink,
    ),
    ("exists and is not a directory", Condition::AlreadyExists),
    (" stays offline", Condition::Offline),
    (" stays read-only", Condition::ReadOnly),
    (
        "has no filesystem after it was formatted",
        Condition::NotReady,
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
    (
        "is no mounted folder but something else",
        Condition::NotAMountedFolder,
    ),
    ("The access path is not valid", Condition::NotAMountedFolder),
    (
        "The requested access path is already in use",
        Condition::TargetInUse,
    ),
    (
        " is mapped, but its server is away: ",
        Condition::ServerAway,
    ),
    (
        " is mapped already, as another user",
        Condition::CredentialsConflict,
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
    ("not one volume but none", Condition::NotFound),
    ("not one volume but", Condition::Ambiguous),
    ("not one disk but", Condition::Ambiguous),
    ("error: not one but", Condition::Ambiguous),
    (" has no partition ", Condition::NotFound),
    (": the kernel sees ", Condition::OutOfDate),
    (" and is on disk ", Condition::Changed),
    (
        " has no volume; volumes that could not be looked at: ",
        Condition::NotReady,
    ),
    ("timed out waiting for service ", Condition::NotReady),
];

/// PowerShell's refusal to grow a partition by less than it can.
const NOTHING_TO_GROW: &str = "The size of the extent is less than the minimum of 1MB";

/// The ending of what ran out of time on the node.
const UNFINISHED: &str = "did not end before its deadline";

/// The endings of what is refused because too many calls run, or wait for the same object.
const CROWDS: [&str; 2] = [" run already", " wait already"];

/// All that is looked for in texts beside the system's words, for tests.
pub fn words() -> impl Iterator<Item = &'static str> {
    let conditions = ENDINGS.iter().chain(PHRASES);
    let words = conditions.map(|(words, _)| *words);
    words.chain([NOTHING_TO_GROW, UNFINISHED]).chain(CROWDS)
}

/// The cause behind a failure's text.
///
/// `about` has the names that the caller sent. They are removed from the text before the search: a
/// folder may be called `because it does not exist`.
pub(crate) fn cause(text: String, about: &[String]) -> Cause {
    let bare = without(&text, about);
    let bare = bare.trim_end().trim_end_matches('.');
    if bare.ends_with(UNFINISHED) {
        return Cause::Deadline;
    }
    Cause::failed(condition(bare), text)
}

/// Whether a call was refused because others run or wait; any other such refusal means that it is
/// too large.
pub(crate) fn is_crowd(text: &str) -> bool {
    CROWDS.iter().any(|ending| text.ends_with(ending))
}

/// Whether csi-proxy 1.1 or 1.2 refused to grow a volume because it is as large as it was to be.
pub(crate) fn is_nothing_to_grow(cause: &Cause) -> bool {
    matches!(cause, Cause::Failed { text, .. } if text.contains(NOTHING_TO_GROW))
}

fn condition(text: &str) -> Condition {
    let ending = ENDINGS.iter().find(|(ending, _)| text.ends_with(ending));
    let phrase = || PHRASES.iter().find(|(phrase, _)| text.contains(phrase));
    if let Some(condition) = final_hresult(text) {
        return condition;
    }
    match ending.or_else(phrase) {
        Some((_, condition)) => *condition,
        None => of_code(text).unwrap_or_else(|| match text.ends_with("not found") {
            true => Condition::NotFound,
            false => Condition::Other,
        }),
    }
}

/// The ending of our texts when a COM call fails: `access denied (HRESULT 0x80041003)`, or `HRESULT
/// 0xEFFF0009: authentication failed`.
fn final_hresult(text: &str) -> Option<Condition> {
    let (_, code) = text.rsplit_once("HRESULT 0x")?;
    let (digits, rest) = code.split_at_checked(8)?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    let is_final = match rest.strip_prefix(": ") {
        Some(meaning) => iscsi_target::CONNECT.meaning(code) == Some(meaning),
        None => rest.is_empty() || rest == ")",
    };
    let condition = Condition::of_hresult(Hresult(code));
    (is_final && condition != Condition::Other).then_some(condition)
}

/// The first that the text tells of: the code that a method of WMI returned, one in an identifier of
/// PowerShell's, or the system's own words.
fn of_code(text: &str) -> Option<Condition> {
    returned(text)
        .or_else(|| identified(text))
        .or_else(|| condition_of_system_text(text))
}

/// The code with which a provider refused: `WMI MSFT_SmbGlobalMapping.Create failed (...): code=1326`.
fn returned(text: &str) -> Option<Condition> {
    let (_, refusal) = text.split_once("WMI ")?;
    let (class, _) = refusal.split_once('.')?;
    let (_, code) = refusal.rsplit_once("code=")?;
    Some(Condition::of_returned(class, leading_number(code)?))
}

/// The code in what PowerShell calls an error by: `FullyQualifiedErrorId : StorageWMI 41003,New-Partition`.
fn identified(text: &str) -> Option<Condition> {
    let (_, behind) = text.split_once("FullyQualifiedErrorId : ")?;
    let identifier = behind.split([',', '\r', '\n']).next()?;
    Some(match ErrorId::parse(identifier)? {
        ErrorId::Hresult(code) => Condition::of_hresult(Hresult(code)),
        ErrorId::Storage(code) => Condition::of_storage(code),
        ErrorId::Win32(code) => Condition::of_win32(Win32(code)),
    })
}

/// The system's own texts count anywhere in a text. csi-proxy 1.3 passes them on in the language of
/// the node; only English ones are recognised.
fn condition_of_system_text(text: &str) -> Option<Condition> {
    let has_text_of = |code: &Win32| {
        let words = code.text().map(|words| words.trim_end_matches('.'));
        words.is_some_and(|words| text.contains(words))
    };
    let mut known = Condition::WIN32.iter();
    let known = known.find(|(code, _)| has_text_of(code));
    known.map(|(_, condition)| *condition)
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Numbers stay: they are not names, and belong to the message.
fn without(text: &str, about: &[String]) -> String {
    let named = |one: &&String| !one.chars().all(|c| c.is_ascii_digit());
    about
        .iter()
        .filter(named)
        .fold(text.to_owned(), |text, one| text.replace(one.as_str(), "_"))
}

#[cfg(test)]
mod tests {
    use formats::fixtures::field_errors;
    use os::schema::{ReturnCode, codes, disk, iscsi_codes};

    use super::*;

    /// As csi-proxy 1.2 hands on what PowerShell prints. The text is left out: it decides where no code is known.
    #[test]
    fn each_identifier_of_the_field_is_the_condition_of_its_row() {
        for row in field_errors::all() {
            let identifier = row.identifier;
            let cmdlet = row.call.split([',', ' ']).next().unwrap_or_default();
            let text = format!(
                "{cmdlet} : No.\r\n + CategoryInfo : NotSpecified: (:) [{cmdlet}], CimException\r\n \
                 + FullyQualifiedErrorId : {identifier},{cmdlet}"
            );
            let found = format!("{:?}", condition(&text));
            assert_eq!(found, row.condition, "{row:?}");
        }
    }

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
        (
            "WMI MSFT_Disk.CreatePartition failed (target=disk 3): code=41003: the disk is offline",
            Condition::Offline,
        ),
        (
            "WMI MSFT_Disk.Initialize failed (target=&{0xc0}): code=40001",
            Condition::AccessDenied,
        ),
        (
            "WMI MSFT_iSCSITarget.Connect failed (target=&{0xc0}): code=4026466313",
            Condition::LogonFailure,
        ),
        (
            "IWbemServices.ExecMethod MSFT_iSCSITarget.Connect of iqn.x: HRESULT 0xEFFF0003: the connection failed",
            Condition::ServerNotFound,
        ),
        (
            "MSFT_Disk.Online x: the service behind the call is not reached (HRESULT 0x800706BA)",
            Condition::NotReady,
        ),
        (
            "New-Partition : It is offline.\r\n + FullyQualifiedErrorId : StorageWMI 41003,New-Partition",
            Condition::Offline,
        ),
        (
            "Connect-IscsiTarget : No.\r\n + FullyQualifiedErrorId : HRESULT 0xefff0009,Connect-IscsiTarget",
            Condition::LogonFailure,
        ),
        (
            "New-SmbGlobalMapping : No.\r\n + FullyQualifiedErrorId : Windows System Error 53,New-SmbGlobalMapping",
            Condition::ServerNotFound,
        ),
        (
            "partition 2 of disk 3 has no volume; volumes that could not be looked at: none",
            Condition::NotReady,
        ),
        (
            r"volume \\?\Volume{00000000-0000-0000-0000-000000000001}\ has no filesystem after it was formatted",
            Condition::NotReady,
        ),
        (
            "timed out waiting for service MSiSCSI to become running",
            Condition::NotReady,
        ),
        (
            "timed out waiting for service MSiSCSI to stop",
            Condition::NotReady,
        ),
        (
            r"\\files\share is mapped already, as another user, to whom its server denies this path: unmap it",
            Condition::CredentialsConflict,
        ),
        ("disk 3 stays offline", Condition::Offline),
        ("disk 3 stays read-only", Condition::ReadOnly),
        (
            "disk 3: the kernel sees Gpt, the storage provider Raw",
            Condition::OutOfDate,
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
    fn each_code_that_says_something_is_recognised_by_the_systems_words() {
        for (code, condition) in Condition::WIN32 {
            let text = format!("flush volume x: {code}");
            assert_eq!(of(&text, &[]), Some(*condition), "{text}");
        }
    }

    /// The words of one condition must not occur in another's.
    #[test]
    fn each_code_that_a_provider_returns_is_what_it_is_in_process() {
        let rows = [
            (disk::CLASS.name, codes::ALL),
            (iscsi_target::CLASS.name, iscsi_codes::ALL),
        ];
        for (class, rows) in rows {
            for ReturnCode { code, meaning } in rows {
                let text = format!("WMI {class}.X failed (target=x): code={code}: {meaning}");
                let expected = Condition::of_returned(class, *code);
                assert_eq!(of(&text, &[]), Some(expected), "{text}");
            }
        }
        for ReturnCode { code, meaning } in iscsi_codes::ALL {
            let text = format!("x: {}: {meaning}", Hresult(*code));
            let expected = Condition::of_hresult(Hresult(*code));
            assert_eq!(of(&text, &[]), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_growth_that_is_none_is_told_from_other_failures() {
        let of = |text: &str| is_nothing_to_grow(&cause(text.to_owned(), &[]));
        assert!(of(
            "Resize-Partition : The size of the extent is less than the minimum of 1MB."
        ));
        assert!(!of("Resize-Partition : Not enough available capacity"));
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
            r"path: C:\a cannot be followed beyond C:\: look at a path: does not answer: a call from before has not ended",
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
