use std::num::NonZeroU16;

use program::hidden;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wincsi::smb::{Credentials, MappingOptions, RemotePath};

use crate::record::{Content, Record};

/// What a record has of a share, or of a folder below one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// What the staging link leads to, and how much of that is mapped.
    #[serde(flatten, serialize_with = "write", deserialize_with = "read")]
    pub remote: RemotePath,
    /// The server as the volume names it, in lower case: Windows logs on to it as one user at a time.
    pub server: String,
    /// As whom the share is mapped; `None` is without a user.
    pub user: Option<String>,
    /// What the mapping is to be like.
    pub options: ShareOptions,
    /// Whether another driver staged the volume before, by a mapping that it leaves to this one.
    pub taken_over: bool,
}

impl Content for Share {
    const KIND: &'static str = "share";
}

/// What the mapping of a share is to be like; `None` leaves it to the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareOptions {
    pub privacy: Option<bool>,
    pub integrity: Option<bool>,
    /// Whether writes go past every cache to the server.
    pub write_through: Option<bool>,
    /// Whether what goes over the network is compressed.
    pub compression: Option<bool>,
    /// Another TCP port than 445.
    pub tcp_port: Option<NonZeroU16>,
}

impl ShareOptions {
    /// As the node takes them. The mapping ends with this boot: Windows keeps no password for the next one, and a mapping
    /// that it brings back without one refuses all others of the server (kubernetes-csi/csi-driver-smb issue 219).
    pub fn of_mapping(&self) -> MappingOptions {
        let mut options = MappingOptions::default().with_persistent(false);
        options.privacy = self.privacy;
        options.integrity = self.integrity;
        options.write_through = self.write_through;
        options.compression = self.compression;
        options.tcp_port = self.tcp_port;
        options
    }
}

/// What a volume that is a share is to be like.
pub struct RequestedShare {
    /// The share, or the folder below it.
    pub remote: RemotePath,
    /// The server as the volume names it, in lower case.
    pub server: String,
    /// As whom; `None` is without a user.
    pub credentials: Option<Credentials>,
    pub options: ShareOptions,
}

impl RequestedShare {
    /// What a staged volume has otherwise. Another address of the server and another user are no other volume: names are
    /// resolved anew, and secrets change.
    pub(super) fn differs(&self, record: &Record<Share>) -> Option<&'static str> {
        let share = &record.content;
        let below = |remote| below_server(remote).to_lowercase();
        match () {
            () if share.options != self.options => Some("mount options"),
            () if share.server != self.server || below(&share.remote) != below(&self.remote) => {
                Some("source")
            }
            () => None,
        }
    }

    pub(super) fn user(&self) -> Option<String> {
        let credentials = self.credentials.as_ref();
        credentials.map(|credentials| credentials.username().to_owned())
    }

    /// As a staged volume is.
    pub(super) fn again(share: &Share, credentials: Option<Credentials>) -> Self {
        Self {
            remote: share.remote.clone(),
            server: share.server.clone(),
            credentials,
            options: share.options.clone(),
        }
    }
}

/// Share and folders of a path, without its server.
pub(super) fn below_server(remote: &RemotePath) -> String {
    let text = remote.to_string();
    let (_, below) = text.trim_matches('\\').split_once('\\').unwrap_or_default();
    below.to_owned()
}

/// A path, and what is mapped of it.
#[derive(Serialize, Deserialize)]
struct Remote {
    remote: String,
    mapped: String,
}

fn write<S: Serializer>(path: &RemotePath, to: S) -> Result<S::Ok, S::Error> {
    let (remote, mapped) = (path.to_string(), path.share());
    Remote { remote, mapped }.serialize(to)
}

fn read<'de, D: Deserializer<'de>>(from: D) -> Result<RemotePath, D::Error> {
    let Remote { remote, mapped } = Remote::deserialize(from)?;
    hidden::hide(&remote);
    let parse = |text: &str| {
        RemotePath::parse(text)
            .map_err(|reason| D::Error::custom(format_args!("{text:?}: {reason}")))
    };
    let through = parse(&remote)?.through(&parse(&mapped)?);
    through.ok_or_else(|| D::Error::custom(format_args!("{mapped:?} does not lead to {remote:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Form, Lifetime, VolumeHandle};

    fn record() -> Record<Share> {
        let share = Share {
            remote: RemotePath::parse("//Files/Data$/ordner/ä").unwrap(),
            server: String::from("files"),
            user: Some(String::from(r"DOMAIN\user")),
            options: ShareOptions {
                privacy: Some(true),
                ..ShareOptions::default()
            },
            taken_over: false,
        };
        let (volume, staging) = (VolumeHandle::parse("v").unwrap(), r"C:\staging");
        let mut record = Record::new(volume, staging.parse().unwrap(), share);
        record.lifetime = Lifetime::Inline;
        record
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut by_folder = record();
        by_folder.content.remote = by_folder.content.remote.clone().folder_itself();
        by_folder.content.taken_over = true;
        for record in [record(), by_folder] {
            let content = record.content.clone();
            let text = record.into_any().unwrap().to_text().unwrap();
            let found = Record::from_text(&text, &[Form::of::<Share>()]).unwrap();
            assert_eq!(found.of::<Share>().unwrap().content, content);
        }
    }

    /// Unstage has no other source of them, once the link has gone.
    #[test]
    fn names_with_an_at_are_hidden_by_a_record() {
        let mut record = record();
        record.content.remote = RemotePath::parse("//files/by@record").unwrap();
        let text = record.into_any().unwrap().to_text().unwrap();
        assert!(hidden::shown(&text).contains("by@record"));
        let found = Record::from_text(&text, &[Form::of::<Share>()]).unwrap();
        found.of::<Share>().unwrap();
        assert!(!hidden::shown(&text).contains("by@record"));
    }

    #[test]
    fn what_a_later_version_has_of_options_stays() {
        let text = record().into_any().unwrap().to_text().unwrap();
        let text = text.replace(r#""options":{"#, r#""options":{"later":{"of":"it"},"#);
        let found = Record::from_text(&text, &[Form::of::<Share>()]).unwrap();
        let mut found = found.of::<Share>().unwrap();
        assert_eq!(found.content, record().content);
        found.content.options.privacy = None;
        let written = found.into_any().unwrap().to_text().unwrap();
        assert!(written.contains(r#""later":{"of":"it"}"#), "{written}");
        assert!(written.contains(r#""privacy":null"#), "{written}");
    }
}
