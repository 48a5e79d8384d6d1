//! Which share, or which folder below one, a volume is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use program::hidden;
use wincsi::smb::RemotePath;

use crate::kinds::share::record::below_server;
use crate::kubelet::value;
use crate::life::{LONGEST_NAME, utf16_length};

/// The templates of `subDir` and the keys that replace them, as csi-driver-smb has them.
const TEMPLATES: [(&str, &str); 3] = [
    ("${pvc.metadata.name}", "csi.storage.k8s.io/pvc/name"),
    (
        "${pvc.metadata.namespace}",
        "csi.storage.k8s.io/pvc/namespace",
    ),
    ("${pv.metadata.name}", "csi.storage.k8s.io/pv/name"),
];

/// What follows a server's name and is no share with folders: pipes and mailslots
/// (<https://learn.microsoft.com/windows/win32/ipc/pipe-names>,
/// <https://learn.microsoft.com/windows/win32/ipc/mailslot-names>), the share that carries both
/// (<https://learn.microsoft.com/openspecs/windows_protocols/ms-smb2/>, 2.2.10, `SMB2_SHARE_TYPE_PIPE`), and the root of
/// servers of WebDAV.
const NO_FOLDERS: [&str; 4] = ["ipc$", "pipe", "mailslot", "davwwwroot"];

/// The longest path of Windows, in UTF-16 units, but for what the verbatim form begins with.
const LONGEST_PATH: usize = 32_767 - r"\\?\UNC\".len();

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("it is of a share, and its attribute source is missing: //server/share")]
    Missing,
    #[error("{0} has a name that is . or ..")]
    Relative(Shown),
    /// Windows would read the path as another, or not at all.
    #[error(
        r"{0} is not the path of a share: it has to be //server/share or //server/share/folder, and a port is the mount option port=N"
    )]
    Path(Shown),
    /// A character of the server's name leads to something that is not SMB.
    #[error("{0} has a server's name with {1:?}, which no name of an SMB server has")]
    Server(Shown, char),
    #[error("{0} is not a share with folders: it is for pipes, mailslots or WebDAV")]
    NoFolder(Shown),
    #[error("{0} is longer than Windows takes")]
    Long(Shown),
    #[error("subDir has {template}, and the volume's context has no {key} to replace it")]
    Template {
        template: &'static str,
        key: &'static str,
    },
}

/// A source as people see it: not at all if somebody may have written a password into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(String);

/// The share, or the folder below it, that the context names.
///
/// # Errors
/// It names none, or what is refused.
pub fn remote(context: &BTreeMap<String, String>) -> Result<RemotePath, SourceError> {
    let source = value(context, "source").ok_or(SourceError::Missing)?;
    let text = format!("{source}/{}", folder(context)?);
    let shown = || Shown::of(&text);
    let has_name = |is_so: fn(&str) -> bool| text.split(['\\', '/']).any(is_so);
    if has_name(|name| [".", ".."].contains(&name)) {
        return Err(SourceError::Relative(shown()));
    }
    // Servers have names of the same length at most (RFC 1035, 2.3.4).
    if utf16_length(&text) > LONGEST_PATH || has_name(|name| utf16_length(name) > LONGEST_NAME) {
        return Err(SourceError::Long(shown()));
    }
    let remote = RemotePath::parse(&text).map_err(|_| SourceError::Path(shown()))?;
    let (server, share) = (remote.server(), remote.share());
    let share_name = share.rsplit('\\').next().unwrap_or_default();
    hidden::hide(&text);
    match server.chars().find(is_strange) {
        Some(strange) => Err(SourceError::Server(shown(), strange)),
        None if !server.contains(char::is_alphanumeric) => Err(SourceError::Path(shown())),
        None if NO_FOLDERS.contains(&share_name) => Err(SourceError::NoFolder(shown())),
        None => Ok(remote),
    }
}

/// `server@SSL` and `server@8080` are for WebDAV, and a character that resolvers turn into a separator or a dot makes
/// another name of it.
fn is_strange(of_server: &char) -> bool {
    !of_server.is_alphanumeric() && !"-._".contains(*of_server)
}

/// The same, at this address of its server.
pub(super) fn at(given: &RemotePath, address: IpAddr) -> Result<RemotePath, SourceError> {
    let at = format!("//{address}/{}", below_server(given));
    RemotePath::parse(&at).map_err(|_| SourceError::Path(Shown::of(&at)))
}

/// The folder below the source, with what stands in place of its templates; empty if there is none.
///
/// # Errors
/// [`SourceError::Template`].
pub fn folder(context: &BTreeMap<String, String>) -> Result<String, SourceError> {
    let mut folder = value(context, "subDir").unwrap_or_default().to_owned();
    for (template, key) in TEMPLATES {
        if folder.contains(template) {
            let missing = SourceError::Template { template, key };
            folder = folder.replace(template, value(context, key).ok_or(missing)?);
        }
    }
    Ok(folder)
}

impl Shown {
    /// `//user:password@server/share` is no source, and people write it.
    fn of(text: &str) -> Self {
        const LONGEST: usize = 260;
        Self(match text.contains('@') {
            true => String::from("the source (not shown: it has an @)"),
            false => {
                let shown: String = text.chars().take(LONGEST).collect();
                format!("the source {shown:?}")
            }
        })
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn context(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn read(source: &str) -> Result<RemotePath, SourceError> {
        remote(&context(&[("source", source)]))
    }

    fn path(source: &str) -> String {
        let text = read(source).unwrap().to_string();
        text.trim_end_matches('\\').to_owned()
    }

    #[test]
    fn names_with_an_at_are_hidden() {
        let context = context(&[("source", "//files/un@share"), ("subDir", "a/un@dir")]);
        remote(&context).unwrap();
        let shown = hidden::shown("un@share/un@dir");
        assert!(!shown.contains("un@"), "{shown}");
    }

    #[test]
    fn a_source_is_a_share_or_a_folder_below_it_whatever_separates_its_names() {
        for (source, expected) in [
            ("//files/data", r"\\files\data"),
            (r"\\files\data\", r"\\files\data"),
            ("//files/data///", r"\\files\data"),
            (r"//files\data/a\b/", r"\\files\data\a\b"),
            ("//files/data$", r"\\files\data$"),
            (" //files/My Share/a b ", r"\\files\My Share\a b"),
            (
                "//files/Jahresabschl\u{fc}sse/\u{65e5}\u{672c}",
                "\\\\files\\Jahresabschl\u{fc}sse\\\u{65e5}\u{672c}",
            ),
            ("//fe80::1%3/data", r"\\fe80--1s3.ipv6-literal.net\data"),
            (
                "//[2001:db8::1]/data",
                r"\\2001-db8--1.ipv6-literal.net\data",
            ),
            ("//10.0.0.1/data", r"\\10.0.0.1\data"),
            // A letter for Windows, and no separator: nothing turns it into one.
            (
                "//files/data/a\u{2215}..\u{ff3c}b",
                "\\\\files\\data\\a\u{2215}..\u{ff3c}b",
            ),
        ] {
            assert_eq!(path(source), expected, "{source}");
        }
    }

    const ELSEWHERE: &[&str] = &[
        "//files/data/../other",
        r"\\files\data\..\other",
        r"//files/data/a\../b",
        "//../data",
        "//files/..",
        "//files/data/.",
        r"\\?\UNC\files\data",
        "//?/UNC/files/data",
        r"\\.\PhysicalDrive0",
        r"\\.\pipe\x",
        r"\??\C:\data",
        r"\\?\GLOBALROOT\Device\HarddiskVolume1\data",
        r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\data",
        r"C:\data",
        "C:/data/a",
        "//files",
        "//files/",
        "/",
        r"\\",
        "smb://files/data",
        "https://files/data",
        "//files@SSL/data",
        "//files@8080/data",
        "//files@SSL@8443/DavWWWRoot/data",
        "//user:correct@files/data",
        "//files:445/data",
        "//files/IPC$",
        "//files/pipe/spoolss",
        r"\\files\PIPE\x",
        "//files/mailslot/x",
        "//files/DavWWWRoot/data",
        "//files/NUL",
        "//files/data/con.txt",
        "//files/data/COM\u{b9}",
        "//files/data/a\0b",
        "//files/data/a\nb",
        "//files/data/a:stream",
        "//files/data/a*",
        "//files/data/dot./x",
        "//files/data/space /x",
        "//fi\u{2215}les/data",
        "//fi\u{ff0f}les/data",
        "//fi\u{3002}les/data",
        "//fi les/data",
        "//.../data",
    ];

    /// Guards: P81
    #[test]
    fn a_source_that_leads_elsewhere_is_refused() {
        for source in ELSEWHERE {
            assert!(read(source).is_err(), "{source:?} is {:?}", read(source));
        }
        let long_name = format!("//files/data/{}", "a".repeat(256));
        let long_path = format!("//files/data{}", "/abcdefghi".repeat(3_300));
        for source in [long_name, long_path] {
            assert!(matches!(read(&source), Err(SourceError::Long(_))));
        }
        assert_eq!(
            remote(&context(&[("source", " ")])),
            Err(SourceError::Missing)
        );
    }

    #[test]
    fn a_refusal_shows_the_source_unless_somebody_may_have_put_a_password_there() {
        let error = read("//files/data/../other").unwrap_err().to_string();
        assert!(error.contains("\"//files/data/../other/\""), "{error}");
        let error = read("//pods:correct horse@files/data").unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("horse"), "{shown}");
    }

    #[test]
    fn a_refusal_of_a_long_source_is_short() {
        let folders = "/folder".repeat(4_000);
        let error = read(&format!("//files/data/..{folders}")).unwrap_err();
        let length = error.to_string().len();
        assert!(length < 400, "{length}");
    }

    #[test]
    fn the_folder_comes_from_the_claim_and_the_volume_where_it_names_them() {
        let pairs = [
            ("source", "//files/data/"),
            (
                "SubDir",
                "${pvc.metadata.namespace}/${pvc.metadata.name}-${pv.metadata.name}",
            ),
            ("csi.storage.k8s.io/pvc/name", "claim"),
            ("csi.storage.k8s.io/pvc/namespace", "space"),
            ("csi.storage.k8s.io/pv/name", "pv-1"),
        ];
        let text = remote(&context(&pairs)).unwrap().to_string();
        assert_eq!(text, r"\\files\data\space\claim-pv-1");
        let error = remote(&context(&pairs[..4])).unwrap_err().to_string();
        assert!(error.contains("csi.storage.k8s.io/pv/name"), "{error}");
    }

    /// Guards: P81
    #[test]
    fn a_template_leads_no_further_than_the_folder_itself() {
        for name in ["..", "a/../../other", r"..\other"] {
            let pairs = [
                ("source", "//files/data"),
                ("subDir", "${pvc.metadata.name}"),
                ("csi.storage.k8s.io/pvc/name", name),
            ];
            assert!(remote(&context(&pairs)).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_is_on_the_share_and_has_the_names_that_were_given(
            source in r"(//|\\\\)[a-zA-Z0-9.\-]{1,8}[/\\][^/\\]{1,8}",
            folder in r"([^/\\]{0,6}[/\\]){0,3}[^/\\]{0,6}",
        ) {
            let pairs = [("source", source.as_str()), ("subDir", folder.as_str())];
            if let Ok(remote) = remote(&context(&pairs)) {
                let given = format!("{}/{}", source.trim(), folder.trim());
                let given: Vec<_> = given.split(['/', '\\']).filter(|it| !it.is_empty()).collect();
                let text = remote.to_string();
                let taken: Vec<_> = text.split('\\').filter(|it| !it.is_empty()).collect();
                prop_assert_eq!(&taken, &given);
                prop_assert!(!taken.contains(&"..") && !text.contains(char::is_control));
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(source in any::<String>(), folder in any::<String>()) {
            let pairs = [("source", source.as_str()), ("subDir", folder.as_str())];
            let _ = remote(&context(&pairs));
        }
    }
}
