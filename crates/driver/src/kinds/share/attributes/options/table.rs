//! The table of mount options: what each means on Windows.
//!
//! Names: mount.cifs(8) (<https://man7.org/linux/man-pages/man8/mount.cifs.8.html>), those that Linux's client has besides,
//! and the options of each filesystem in mount(8).

use std::num::NonZeroU16;

use super::{Class, MountOptions, User};
use crate::kinds::share::attributes::RequestError;
use crate::record::Access;

const DEFAULT_PORT: u16 = 445;

/// The forms of options that mean something here, and what.
pub(super) const FORMS: &[(&str, &str)] = &[
    ("cache=none", "writes go past all caches to the server"),
    ("compress", "what goes over the network is compressed"),
    ("directio", "as `cache=none`"),
    ("forcedirectio", "as `cache=none`"),
    (
        "guest",
        "no user: the share is mapped without a credential, whatever the Secret has",
    ),
    (
        "port=N",
        "another TCP port than 445; of Windows's builds only the newest know it, others refuse it by name",
    ),
    (
        "ro",
        "pods should only read: [nothing enforces it](#read-only)",
    ),
    ("rw", "the default"),
    ("seal", "the mapping has to be encrypted"),
    ("sec=ntlmsspi", "as `sign`"),
    ("sec=ntlmv2i", "as `sign`"),
    ("sec=none", "as `guest`"),
    ("sign", "what goes over the network is signed"),
];

/// Of mount(8), each user may mount it; with a value it is a credential.
const USER: &str = "user";

const OF_CREDENTIALS: &str =
    "cred credentials dom domain pass pass2 password password2 username workgroup";

const OF_LINUX: &str = "\
_netdev acdirmax acl acregmax actimeo addr atime auto backupgid backupuid bsize cifsacl \
closetimeo context cruid defaults defcontext dev dfs dir_mode dirsync domainauto dynperm \
echo_interval esize exec file_mode forcegid forcemand forcemandatorylock forceuid fsc \
fscontext gid group handlecache handletimeout hard idsfromsid ignorecase intr iocharset ip \
lease locallease lock mand mapchars mapposix max_cached_dirs max_channels max_credits \
mfsymlinks min_enc_offload modefromsid multichannel multiuser netbiosname noacl noatime noauto \
noautotune noblocksend nobrl nocase nocompress nodelete nodev nodfs nodiratime nodynperm \
noexec nofail noforcegid noforceuid nohandlecache nointr nolease nolock nomand nomapchars \
nomapposix nomultichannel noperm nopersistenthandles noposix noposixpaths noresilienthandles \
noserverino nosetuids nosharesock nosparse nostrictsync nosuid nounix nouser_xattr noxattr \
perm persistenthandles posix posixpaths prefixpath rasize rdma relatime reparse \
resilienthandles retrans rootcontext rsize rwpidforward serverino servern setuids sfu \
sharesock signloosely snapshot soft source strictatime strictcache strictsync suid symlink \
symlinkroot sync tcpnodelay uid unc unix upcall_target user_xattr ver vers witness wsize";

/// The options that mean something here, each as often as it has forms.
pub(super) fn of_windows() -> impl Iterator<Item = &'static str> {
    FORMS.iter().filter_map(|(form, _)| form.split('=').next())
}

pub(super) fn of_credentials() -> impl Iterator<Item = &'static str> {
    OF_CREDENTIALS.split_whitespace()
}

/// The options that mean nothing on Windows.
pub(super) fn of_linux() -> impl Iterator<Item = &'static str> {
    OF_LINUX.split_whitespace()
}

/// The names of all options that are known.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let of_windows = of_windows().chain([USER]);
    of_windows.chain(of_credentials()).chain(of_linux())
}

impl MountOptions {
    /// Reads an option of a known name; what becomes of it.
    pub(super) fn read_known(
        &mut self,
        name: &str,
        value: Option<&str>,
    ) -> Result<Class, RequestError> {
        match (name, value) {
            ("cache", Some("none")) | ("directio" | "forcedirectio", _) => {
                self.mapping.write_through = Some(true);
            }
            ("compress", _) => self.mapping.compression = Some(true),
            ("guest", _) | ("sec", Some("none")) => self.user = User::Guest,
            ("port", _) => self.mapping.tcp_port = port(value)?,
            ("ro", _) => self.access = Access::ReadOnly,
            ("rw", _) => {}
            ("seal", _) => self.mapping.privacy = Some(true),
            ("sec", Some("ntlmsspi" | "ntlmv2i")) | ("sign", _) => {
                self.mapping.integrity = Some(true);
            }
            ("sec", Some("krb5" | "krb5i" | "krb5p")) => return Ok(Class::Kerberos),
            ("cache", Some("strict" | "loose" | "ro" | "singleclient"))
            | ("sec", Some("ntlm" | "ntlmi" | "ntlmv2" | "ntlmssp"))
            | (USER, None) => return Ok(Class::Linux),
            ("cache" | "sec", _) => return Ok(Class::Unknown),
            (USER, Some(_)) => return Ok(Class::Credential),
            _ if of_credentials().any(|one| one == name) => return Ok(Class::Credential),
            _ => return Ok(Class::Linux),
        }
        Ok(Class::Honoured)
    }
}

/// Builds that know no other port know no parameter for it, so that the usual one is none.
fn port(value: Option<&str>) -> Result<Option<NonZeroU16>, RequestError> {
    let port = value.and_then(|text| text.parse().ok());
    let port: NonZeroU16 = port.ok_or(RequestError::Port)?;
    Ok(Some(port).filter(|port| port.get() != DEFAULT_PORT))
}

/// The table as rows of Markdown, for docs/smb.md.
#[doc(hidden)]
pub fn option_rows() -> String {
    let forms = FORMS.iter();
    let of_windows = forms.map(|(form, meaning)| format!("| `{form}` | {meaning} |\n"));
    let of_linux = format!("{OF_OTHERS}: {} names", of_linux().count());
    let others = [
        ("`sec=krb5`, `sec=krb5i`, `sec=krb5p`", KERBEROS),
        (&listed(of_credentials()), CREDENTIALS),
        (&of_linux, LINUX),
        ("any other", OTHERS),
    ];
    let others = others.map(|(names, meaning)| format!("| {names} | {meaning} |\n"));
    of_windows.chain(others).collect()
}

const OF_OTHERS: &str = "`cache` and `sec` with their other values of Linux; what else mount.cifs(8), Linux's client or mount(8) know, as `vers`, `uid`, `dir_mode`, `nobrl`";
const KERBEROS: &str = "ignored with a warning: Windows chooses Kerberos or NTLM itself, and the user is that of the Secret";
const CREDENTIALS: &str =
    "ignored with a warning: credentials belong into the Secret. The value is in no log";
const LINUX: &str = "nothing on Windows: accepted, with one line in the log";
const OTHERS: &str = "ignored with a warning";

fn listed(names: impl Iterator<Item = &'static str>) -> String {
    let quoted: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
