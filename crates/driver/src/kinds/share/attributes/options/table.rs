//! The table of mount options: what each means on Windows.
//!
//! Names: mount.cifs(8) (<https://man7.org/linux/man-pages/man8/mount.cifs.8.html>), those that Linux's client has besides,
//! and the options of each filesystem in mount(8).

use std::num::NonZeroU16;

use super::{Class, MountOptions, User};
use crate::record::Access;

const DEFAULT_PORT: u16 = 445;

pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The forms that mean something, and what.
    pub(crate) forms: &'static [(&'static str, &'static str)],
    /// None of an option that holds a credential.
    pub(crate) read: Option<Read>,
}

type Read = fn(&mut MountOptions, Option<&str>) -> Result<Class, &'static str>;

const fn windows(
    name: &'static str,
    forms: &'static [(&'static str, &'static str)],
    read: Read,
) -> Row {
    let read = Some(read);
    Row { name, forms, read }
}

const fn credential(name: &'static str) -> Row {
    let (forms, read) = (&[], None);
    Row { name, forms, read }
}

/// The options that mean something here, and those that hold credentials. [`OF_LINUX`] has the others.
pub(crate) const TABLE: &[Row] = &[
    windows(
        "cache",
        &[("cache=none", "writes go past all caches to the server")],
        |asked, value| match value {
            Some("none") => write_through(asked),
            Some("strict" | "loose" | "ro" | "singleclient") => Ok(Class::Linux),
            _ => Ok(Class::Unknown),
        },
    ),
    windows(
        "compress",
        &[("compress", "what goes over the network is compressed")],
        |asked, _| {
            asked.mapping.compression = Some(true);
            Ok(Class::Honoured)
        },
    ),
    credential("cred"),
    credential("credentials"),
    windows(
        "directio",
        &[("directio", "as `cache=none`")],
        |asked, _| write_through(asked),
    ),
    credential("dom"),
    credential("domain"),
    windows(
        "forcedirectio",
        &[("forcedirectio", "as `cache=none`")],
        |asked, _| write_through(asked),
    ),
    windows(
        "guest",
        &[(
            "guest",
            "no user: the share is mapped without a credential, whatever the Secret has",
        )],
        |asked, _| guest(asked),
    ),
    credential("pass"),
    credential("pass2"),
    credential("password"),
    credential("password2"),
    windows(
        "port",
        &[(
            "port=N",
            "another TCP port than 445; of Windows's builds only the newest know it, others refuse it by name",
        )],
        port,
    ),
    windows(
        "ro",
        &[(
            "ro",
            "pods should only read: [nothing enforces it](#read-only)",
        )],
        |asked, _| {
            asked.access = Access::ReadOnly;
            Ok(Class::Honoured)
        },
    ),
    windows("rw", &[("rw", "the default")], |_, _| Ok(Class::Honoured)),
    windows(
        "seal",
        &[("seal", "the mapping has to be encrypted")],
        |asked, _| {
            asked.mapping.privacy = Some(true);
            Ok(Class::Honoured)
        },
    ),
    windows(
        "sec",
        &[
            ("sec=ntlmsspi", "as `sign`"),
            ("sec=ntlmv2i", "as `sign`"),
            ("sec=none", "as `guest`"),
        ],
        security,
    ),
    windows(
        "sign",
        &[("sign", "what goes over the network is signed")],
        |asked, _| sign(asked),
    ),
    windows("user", &[], |_, value| {
        Ok(match value {
            Some(_) => Class::Credential,
            // Of mount(8): each user may mount it.
            None => Class::Linux,
        })
    }),
    credential("username"),
    credential("workgroup"),
];

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

/// The options that mean nothing on Windows.
pub(crate) fn of_linux() -> impl Iterator<Item = &'static str> {
    OF_LINUX.split_whitespace()
}

fn write_through(asked: &mut MountOptions) -> Result<Class, &'static str> {
    asked.mapping.write_through = Some(true);
    Ok(Class::Honoured)
}

fn guest(asked: &mut MountOptions) -> Result<Class, &'static str> {
    asked.user = User::Guest;
    Ok(Class::Honoured)
}

fn sign(asked: &mut MountOptions) -> Result<Class, &'static str> {
    asked.mapping.integrity = Some(true);
    Ok(Class::Honoured)
}

fn port(asked: &mut MountOptions, value: Option<&str>) -> Result<Class, &'static str> {
    let port = value.and_then(|text| text.parse::<NonZeroU16>().ok());
    let port = port.ok_or("has to be a number from 1 to 65535")?;
    // Builds that know no other port know no parameter for it.
    asked.mapping.tcp_port = (port.get() != DEFAULT_PORT).then_some(port);
    Ok(Class::Honoured)
}

fn security(asked: &mut MountOptions, value: Option<&str>) -> Result<Class, &'static str> {
    match value {
        Some("ntlmsspi" | "ntlmv2i") => sign(asked),
        Some("none") => guest(asked),
        Some("krb5" | "krb5i" | "krb5p") => Ok(Class::Kerberos),
        Some("ntlm" | "ntlmi" | "ntlmv2" | "ntlmssp") => Ok(Class::Linux),
        _ => Ok(Class::Unknown),
    }
}

/// The table as rows of Markdown, for docs/smb.md.
#[doc(hidden)]
pub fn option_rows() -> String {
    let of_windows = TABLE.iter().flat_map(|row| row.forms);
    let of_windows = of_windows.map(|(form, meaning)| format!("| `{form}` | {meaning} |\n"));
    let credentials = TABLE.iter().filter(|row| row.read.is_none());
    let credentials = credentials.map(|row| row.name);
    let others = [
        ("`sec=krb5`, `sec=krb5i`, `sec=krb5p`", KERBEROS),
        (&listed(credentials), CREDENTIALS),
        (&of_linux_listed(), LINUX),
        ("any other", OTHERS),
    ];
    let others = others.map(|(names, meaning)| format!("| {names} | {meaning} |\n"));
    of_windows.chain(others).collect()
}

const KERBEROS: &str = "ignored with a warning: Windows chooses Kerberos or NTLM itself, and the user is that of the Secret";
const CREDENTIALS: &str =
    "ignored with a warning: credentials belong into the Secret. The value is in no log";
const LINUX: &str = "nothing on Windows: accepted, with one line in the log";
const OTHERS: &str = "ignored with a warning";

fn of_linux_listed() -> String {
    format!(
        "`cache` and `sec` with their other values of Linux, {}",
        listed(of_linux())
    )
}

fn listed(names: impl Iterator<Item = &'static str>) -> String {
    let quoted: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
