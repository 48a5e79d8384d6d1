//! Mount options of volumes that are shares: of csi-driver-smb's PersistentVolumes, which Linux nodes mount as well.

mod table;

use std::collections::BTreeMap;

use program::metrics::{Exposition, Kind};

use self::table::names;
use super::RequestError;
use crate::kinds::share::ShareOptions;
use crate::record::Access;
use crate::unpoisoned::Unpoisoned;

pub use self::table::option_rows;

/// What the options of a volume ask for.
#[derive(Debug)]
pub struct MountOptions {
    pub mapping: ShareOptions,
    pub user: User,
    pub(crate) access: Access,
    pub(crate) seen: Vec<Seen>,
}

/// As whom a share is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    OfSecret,
    /// Without a user.
    Guest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its name in the table, or [`UNKNOWN`].
    pub(crate) name: &'static str,
    /// Its name for people. No value is kept: it may be a password.
    pub(crate) shown: String,
    pub(crate) class: Class,
    /// Whether the mapping is like it.
    is_of_mapping: bool,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// It has its meaning here.
    Honoured,
    /// It means nothing on Windows.
    Linux,
    /// Windows has it, and csi-proxy's pipes do not.
    Pipes,
    /// It asks for Kerberos as Linux has it.
    Kerberos,
    /// It is a credential, which belongs into a Secret.
    Credential,
    /// It is none that the table has.
    Unknown,
}

impl Class {
    fn label(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Linux => "linux",
            Self::Pipes => "pipes",
            Self::Kerberos => "kerberos",
            Self::Credential => "credential",
            Self::Unknown => "unknown",
        }
    }

    /// Why an option of this class is to be looked at; none if it is not.
    pub(crate) fn complaint(self) -> Option<&'static str> {
        match self {
            Self::Honoured | Self::Linux => None,
            Self::Pipes => Some("-host=proxy does not have it"),
            Self::Kerberos => Some("Windows chooses Kerberos or NTLM itself"),
            Self::Credential => Some("credentials belong into the Secret"),
            Self::Unknown => Some("unknown"),
        }
    }
}

/// The name of every option that the table does not have.
const UNKNOWN: &str = "unknown";

/// Stands for what may be a part of a password.
const NOT_SHOWN: &str = "(not shown)";

/// No option that is known has a longer name.
const LONGEST_NAME: usize = 32;

impl MountOptions {
    /// Reads options, several in a text with commas between them.
    ///
    /// # Errors
    /// [`RequestError::Port`].
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, RequestError> {
        let mut asked = Self {
            mapping: ShareOptions::default(),
            user: User::OfSecret,
            access: Access::ReadWrite,
            seen: Vec::new(),
        };
        for text in texts {
            asked.read_text(text)?;
        }
        Ok(asked)
    }

    /// The names of the options of which `is_one` holds, for people.
    pub(crate) fn shown(&self, is_one: impl Fn(Class) -> bool) -> Vec<String> {
        let seen = self.seen.iter().filter(|seen| is_one(seen.class));
        let named = seen.map(|seen| match seen.class.complaint() {
            Some(complaint) => format!("{} ({complaint})", seen.shown),
            None => seen.shown.clone(),
        });
        named.collect()
    }

    /// Of a host that maps each share alike.
    pub(crate) fn drop_those_of_mappings(&mut self) {
        for seen in self.seen.iter_mut().filter(|seen| seen.is_of_mapping) {
            seen.class = Class::Pipes;
        }
    }

    fn read_text(&mut self, text: &str) -> Result<(), RequestError> {
        // A password may have a comma in it: what follows one is no name to show.
        let mut after_credential = false;
        for option in text.split(',').map(str::trim) {
            if option.is_empty() {
                continue;
            }
            let seen = self.read_option(option, after_credential)?;
            after_credential |= seen.class == Class::Credential;
            self.seen.push(seen);
        }
        Ok(())
    }

    fn read_option(&mut self, option: &str, after_credential: bool) -> Result<Seen, RequestError> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (option, None),
        };
        let before = self.mapping.clone();
        let (name, shown, class) = match names().find(|one| one.eq_ignore_ascii_case(name)) {
            Some(known) => (known, known, self.read_known(known, value)?),
            None if after_credential || !is_plain(name) => (UNKNOWN, NOT_SHOWN, Class::Unknown),
            None => (UNKNOWN, name, Class::Unknown),
        };
        Ok(Seen {
            name,
            shown: match (class, value) {
                // One of three words.
                (Class::Kerberos, Some(value)) => format!("{shown}={value}"),
                _ => shown.to_owned(),
            },
            class,
            is_of_mapping: self.mapping != before,
        })
    }
}

/// Whether a text may be a name, and no part of a password.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    name.len() <= LONGEST_NAME && name.bytes().all(is_plain)
}

#[derive(Debug, Default)]
pub(crate) struct OptionCounts(Unpoisoned<BTreeMap<(&'static str, Class), u64>>);

impl OptionCounts {
    pub(crate) fn count(&self, seen: &[Seen]) {
        let mut counts = self.0.lock();
        for one in seen {
            *counts.entry((one.name, one.class)).or_default() += 1;
        }
    }

    pub(crate) fn render(&self, page: &mut Exposition) {
        let name = "wincsi_smb_mount_options_total";
        let help =
            "Mount options of calls that stage a share, by name and by what becomes of them.";
        page.family(name, help, Kind::Counter);
        let counts = self.0.lock();
        for ((option, class), count) in counts.iter() {
            let labels = [("option", *option), ("class", class.label())];
            page.sample(name, &labels, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::table::{FORMS, of_credentials, of_linux, of_windows};
    use super::*;

    fn read(texts: &[&str]) -> MountOptions {
        MountOptions::read(texts.iter().copied()).unwrap()
    }

    fn classes(text: &str) -> Vec<(&'static str, Class)> {
        let seen = read(&[text]).seen.into_iter();
        seen.map(|seen| (seen.name, seen.class)).collect()
    }

    #[test]
    fn what_means_something_on_windows_becomes_an_option_of_the_mapping() {
        type Is = fn(&MountOptions) -> bool;
        let cases: [(&str, Is); 12] = [
            ("seal", |it| it.mapping.privacy == Some(true)),
            ("SEAL", |it| it.mapping.privacy == Some(true)),
            ("sign", |it| it.mapping.integrity == Some(true)),
            ("sec=ntlmsspi", |it| it.mapping.integrity == Some(true)),
            ("cache=none", |it| it.mapping.write_through == Some(true)),
            ("directio", |it| it.mapping.write_through == Some(true)),
            ("compress", |it| it.mapping.compression == Some(true)),
            ("port=4450", |it| it.mapping.tcp_port.unwrap().get() == 4450),
            ("guest", |it| it.user == User::Guest),
            ("sec=none", |it| it.user == User::Guest),
            ("ro", |it| it.access == Access::ReadOnly),
            ("vers=3.1.1, seal ,", |it| it.mapping.privacy == Some(true)),
        ];
        for (text, is) in cases {
            assert!(is(&read(&[text])), "{text}");
        }
    }

    #[test]
    fn what_means_nothing_on_windows_leaves_the_mapping_as_it_is() {
        let carried = [
            "dir_mode=0777",
            "vers=3.0,uid=0,cache=strict",
            "port=445",
            "sec=krb5,rw",
            "x=y",
        ];
        let read = read(&carried);
        assert_eq!(read.mapping, ShareOptions::default());
        assert_eq!(
            (read.user, read.access),
            (User::OfSecret, Access::ReadWrite)
        );
        assert_eq!(read.seen.len(), 8);
    }

    #[test]
    fn each_option_has_its_class() {
        let expected = [
            ("seal", Class::Honoured),
            ("vers", Class::Linux),
            ("cache", Class::Linux),
            ("cache", Class::Unknown),
            ("sec", Class::Kerberos),
            ("sec", Class::Linux),
            ("user", Class::Linux),
            ("unknown", Class::Unknown),
        ];
        let text = "seal,VERS=3.0,cache=loose,cache=x,sec=krb5i,sec=ntlmssp,user,bogus=1";
        assert_eq!(classes(text), expected);
        for credential in [
            "username",
            "user",
            "PASSWORD",
            "pass",
            "domain",
            "credentials",
            "cred",
        ] {
            let text = format!("{credential}=x");
            assert_eq!(read(&[&text]).seen[0].class, Class::Credential, "{text}");
        }
    }

    /// Guards: P21
    #[test]
    fn no_value_and_no_part_of_a_password_is_shown() {
        for text in [
            "password=correct,horse",
            "pass=correct,horse=1,seal",
            "pass=correct,ro,horse",
            "bogus=horse",
            "vers=horse",
            "correct horse",
            "port=445,user=correct,horse",
            "correcthorsecorrecthorsecorrecthorse",
            "correct\u{1b}[31mhorse",
        ] {
            let read = read(&[text]);
            let shown = format!("{read:?} {:?}", read.shown(|_| true));
            assert!(
                !shown.contains("horse") && !shown.contains("correct"),
                "{shown}"
            );
        }
        let error = MountOptions::read(["port=horse"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the mount option port has to be a number from 1 to 65535"
        );
    }

    #[test]
    fn what_is_ignored_is_shown_with_its_reason() {
        let read = read(&["vers=3.0", "sec=krb5", "bogus", "password=x,y"]);
        let shown = read.shown(|class| class.complaint().is_some());
        let expected = [
            "sec=krb5 (Windows chooses Kerberos or NTLM itself)",
            "bogus (unknown)",
            "password (credentials belong into the Secret)",
            "(not shown) (unknown)",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_port_that_is_none_is_refused() {
        for text in ["port", "port=", "port=0", "port=65536", "port=smb"] {
            assert!(MountOptions::read([text]).is_err(), "{text}");
        }
    }

    #[test]
    fn the_table_has_each_name_once_and_its_forms_are_honoured() {
        assert!(of_windows().is_sorted() && of_credentials().is_sorted() && of_linux().is_sorted());
        let mut names: Vec<_> = names().collect();
        // Of the forms of one option each has its name.
        names.dedup();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| name.len() <= LONGEST_NAME));
        for (form, _) in FORMS {
            let (text, name) = (form.replace("=N", "=4450"), form.split('=').next().unwrap());
            assert_eq!(classes(&text), [(name, Class::Honoured)], "{text}");
        }
    }

    /// Guards: P21
    #[test]
    fn options_are_counted_by_names_of_the_table_alone() {
        let counts = OptionCounts::default();
        for text in ["vers=3.0,bogus", "vers=2.1,mine,sec=krb5"] {
            counts.count(&read(&[text]).seen);
        }
        let mut page = Exposition::default();
        counts.render(&mut page);
        let page = page.into_text();
        for (option, class, count) in [
            ("vers", "linux", 2),
            ("unknown", "unknown", 2),
            ("sec", "kerberos", 1),
        ] {
            let labels = format!("option=\"{option}\",class=\"{class}\"");
            let line = format!("wincsi_smb_mount_options_total{{{labels}}} {count}\n");
            assert!(page.contains(&line), "{line} in {page}");
        }
        assert!(!page.contains("bogus") && !page.contains("mine"), "{page}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_counted_by_a_name_of_the_table(text in any::<String>()) {
            if let Ok(read) = MountOptions::read([text.as_str()]) {
                for seen in read.seen {
                    let is_known = names().any(|name| name == seen.name) || seen.name == UNKNOWN;
                    prop_assert!(is_known);
                }
            }
        }
    }
}
