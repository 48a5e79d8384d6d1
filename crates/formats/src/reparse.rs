//! Reparse points: mounted folders, junctions, symbolic links, and the many other tags.
//!
//! Layout: [MS-FSCC] 2.1.2,
//! <https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-fscc/b41f1cbf-10df-4a47-98d4-1c52a833d913>.
//!
//! Windows gives a mounted folder and a junction the same tag. They are told apart by equality of
//! the tag and by the substitute name: `\??\Volume{guid}\` and nothing more is a mounted folder.
//! csi-proxy tests the bits of the tag instead, so that symbolic links pass too.

use std::fmt;

use thiserror::Error;
use uuid::Uuid;

use crate::bytes::{guid, slice, u16_le, u32_le};

/// The most that a reparse point may hold: `MAXIMUM_REPARSE_DATA_BUFFER_SIZE`, 16 KiB.
pub const MAX_SIZE: usize = 16 * 1024;

/// Bytes before the data: tag, data length, reserved.
const HEADER: usize = 8;

/// A symbolic link's flag for a target that is relative to the link.
const SYMLINK_FLAG_RELATIVE: u32 = 1;

/// The tag of a reparse point.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Tag(pub u32);

impl Tag {
    /// Mounted folder or junction.
    pub const MOUNT_POINT: Self = Self(0xA000_0003);
    /// Symbolic link.
    pub const SYMLINK: Self = Self(0xA000_000C);
    /// File deduplicated by the server.
    pub const DEDUP: Self = Self(0x8000_0013);
    /// File compressed by the Windows Overlay Filter.
    pub const WOF: Self = Self(0x8000_0017);
    /// File of a Windows container's layer.
    pub const WCI: Self = Self(0x8000_0018);
    /// Alias of a packaged application.
    pub const APP_EXEC_LINK: Self = Self(0x8000_001B);
    /// Symbolic link made by the Windows Subsystem for Linux.
    pub const LX_SYMLINK: Self = Self(0xA000_001D);
    /// Unix domain socket.
    pub const AF_UNIX: Self = Self(0x8000_0023);
    /// File of a cloud provider such as OneDrive; bits 12 to 15 vary.
    pub const CLOUD: Self = Self(0x9000_001A);

    /// Tags without this bit belong to third parties, and a GUID stands before their data.
    fn is_microsoft(self) -> bool {
        self.0 & 0x8000_0000 != 0
    }

    fn name(self) -> Option<&'static str> {
        const CLOUD_VARIANTS: u32 = 0x0000_F000;
        Some(match self {
            Self::MOUNT_POINT => "mount point",
            Self::SYMLINK => "symbolic link",
            Self::DEDUP => "deduplicated file",
            Self::WOF => "compressed file (WOF)",
            Self::WCI => "container layer file",
            Self::APP_EXEC_LINK => "application alias",
            Self::LX_SYMLINK => "Linux symbolic link",
            Self::AF_UNIX => "Unix socket",
            Self(cloud) if cloud & !CLOUD_VARIANTS == Self::CLOUD.0 => "cloud file",
            _ => return None,
        })
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// The tag's plain name where it has one, and its number.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({:#010x})", self.0),
            None => write!(f, "reparse tag {:#010x}", self.0),
        }
    }
}

/// A reparse point's contents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reparse {
    /// A mounted folder or a junction; [`Names::target`] distinguishes them.
    MountPoint(Names),
    /// A symbolic link.
    Symlink {
        /// Where it leads.
        names: Names,
        /// From where.
        base: SymlinkBase,
    },
    /// Any other tag, its data as it stands.
    Other {
        /// The tag.
        tag: Tag,
        /// The owner, for a tag that is not Microsoft's.
        owner: Option<Uuid>,
        /// The data behind the header.
        data: Vec<u8>,
    },
}

/// From where a symbolic link's substitute name is to be followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SymlinkBase {
    /// From the root of the object namespace: the name begins with `\??\`.
    Absolute,
    /// From the folder that holds the link.
    Relative,
}

/// The two names of a mount point or symbolic link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Names {
    /// The name that the system follows.
    pub substitute: String,
    /// The name that people see; may be empty.
    pub print: String,
}

/// The target of a mount point.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// The root of a volume, so it is a mounted folder: the GUID of its name `Volume{guid}`.
    Volume(Uuid),
    /// Any other path, so it is a junction: the substitute name, `\??\` included.
    Junction(String),
}

impl Names {
    /// The names of a mounted folder for the volume `\\?\Volume{guid}\`, as
    /// `SetVolumeMountPointW` writes them.
    pub fn volume(guid: Uuid) -> Self {
        Self {
            substitute: format!(r"\??\Volume{{{guid}}}\"),
            print: String::new(),
        }
    }

    /// Mounted folder or junction? Only a substitute name that is exactly `\??\Volume{guid}\`
    /// makes a mounted folder; a path on that volume makes a junction.
    pub fn target(&self) -> Target {
        volume_guid(&self.substitute)
            .map_or_else(|| Target::Junction(self.substitute.clone()), Target::Volume)
    }
}

impl Reparse {
    /// Reads a `REPARSE_DATA_BUFFER`, or a `REPARSE_GUID_DATA_BUFFER` for a tag of a third party,
    /// as `FSCTL_GET_REPARSE_POINT` returns it.
    ///
    /// # Errors
    /// A length or offset leaves the buffer or cuts a character; a name is not valid UTF-16 or
    /// holds a NUL.
    pub fn parse(buffer: &[u8]) -> Result<Self, ReparseError> {
        let short = ReparseError::Header { len: buffer.len() };
        let tag = Tag(u32_le(buffer, 0).ok_or_else(|| short.clone())?);
        let claimed = u16_le(buffer, 4).ok_or(short)?;
        let owner_len = if tag.is_microsoft() { 0 } else { 16 };
        let data = slice(buffer, HEADER + owner_len, claimed.into()).ok_or(ReparseError::Data {
            tag,
            claimed,
            len: buffer.len(),
        })?;
        match tag {
            Tag::MOUNT_POINT => Ok(Self::MountPoint(names(tag, data, 8)?)),
            Tag::SYMLINK => Ok(Self::Symlink {
                base: base(data)?,
                names: names(tag, data, 12)?,
            }),
            _ => Ok(Self::Other {
                tag,
                owner: if tag.is_microsoft() {
                    None
                } else {
                    guid(buffer, HEADER)
                },
                data: data.to_vec(),
            }),
        }
    }

    /// The bytes that `FSCTL_SET_REPARSE_POINT` takes.
    ///
    /// # Errors
    /// The whole is longer than [`MAX_SIZE`], a name holds a NUL, or a tag and its owner do not
    /// match.
    pub fn encode(&self) -> Result<Vec<u8>, ReparseError> {
        let (owner, data) = match self {
            Self::MountPoint(names) => (None, encode_names(Tag::MOUNT_POINT, names, None)?),
            Self::Symlink { names, base } => {
                (None, encode_names(Tag::SYMLINK, names, Some(*base))?)
            }
            Self::Other { tag, owner, data } if tag.is_microsoft() == owner.is_none() => {
                (*owner, data.clone())
            }
            Self::Other { tag, .. } => return Err(ReparseError::Owner { tag: *tag }),
        };
        let mut buffer = self.tag().0.to_le_bytes().to_vec();
        let len = u16::try_from(data.len())
            .ok()
            .filter(|_| data.len() <= MAX_SIZE);
        buffer.extend(
            len.ok_or(ReparseError::TooLong { len: data.len() })?
                .to_le_bytes(),
        );
        buffer.extend([0; 2]);
        buffer.extend(owner.iter().flat_map(Uuid::to_bytes_le));
        buffer.extend(data);
        if buffer.len() > MAX_SIZE {
            return Err(ReparseError::TooLong { len: buffer.len() });
        }
        Ok(buffer)
    }

    /// The tag.
    pub fn tag(&self) -> Tag {
        match self {
            Self::MountPoint(_) => Tag::MOUNT_POINT,
            Self::Symlink { .. } => Tag::SYMLINK,
            Self::Other { tag, .. } => *tag,
        }
    }
}

fn volume_guid(substitute: &str) -> Option<Uuid> {
    let braced = substitute.strip_prefix(r"\??\Volume{")?;
    let text = braced.strip_suffix(r"}\")?;
    // `Uuid` reads shorter and decorated spellings too; Windows writes this one.
    if text.len() == 36 {
        Uuid::try_parse(text).ok()
    } else {
        None
    }
}

fn base(data: &[u8]) -> Result<SymlinkBase, ReparseError> {
    let flags = u32_le(data, 8).ok_or(ReparseError::Names { tag: Tag::SYMLINK })?;
    if flags & SYMLINK_FLAG_RELATIVE == 0 {
        Ok(SymlinkBase::Absolute)
    } else {
        Ok(SymlinkBase::Relative)
    }
}

fn names(tag: Tag, data: &[u8], path: usize) -> Result<Names, ReparseError> {
    let text = |offset_at, len_at| {
        let offset = u16_le(data, offset_at)?;
        let bytes = slice(
            data,
            path + usize::from(offset),
            u16_le(data, len_at)?.into(),
        )?;
        Some(bytes).filter(|bytes| bytes.len().is_multiple_of(2))
    };
    let substitute = text(0, 2).ok_or(ReparseError::Names { tag })?;
    let print = text(4, 6).ok_or(ReparseError::Names { tag })?;
    Ok(Names {
        substitute: decode(tag, substitute)?,
        print: decode(tag, print)?,
    })
}

fn decode(tag: Tag, bytes: &[u8]) -> Result<String, ReparseError> {
    let (pairs, _) = bytes.as_chunks();
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    let text = char::decode_utf16(units)
        .collect::<Result<String, _>>()
        .map_err(|_| ReparseError::Text { tag })?;
    if text.contains('\0') {
        Err(ReparseError::Text { tag })
    } else {
        Ok(text)
    }
}

fn encode_names(
    tag: Tag,
    names: &Names,
    base: Option<SymlinkBase>,
) -> Result<Vec<u8>, ReparseError> {
    if names.substitute.contains('\0') || names.print.contains('\0') {
        return Err(ReparseError::Text { tag });
    }
    let substitute = utf16(&names.substitute);
    let print = utf16(&names.print);
    let total = substitute.len() + print.len() + 4;
    let field = |len: usize| u16::try_from(len).map_err(|_| ReparseError::TooLong { len: total });
    let (substitute_len, print_len) = (field(substitute.len())?, field(print.len())?);
    let Some(base) = base else {
        // Both names of a mount point end in a NUL that their lengths leave out.
        let fields = [0, substitute_len, field(substitute.len() + 2)?, print_len];
        let parts = [substitute, vec![0; 2], print, vec![0; 2]];
        return Ok([fields.map(u16::to_le_bytes).concat(), parts.concat()].concat());
    };
    let flags: u32 = match base {
        SymlinkBase::Absolute => 0,
        SymlinkBase::Relative => SYMLINK_FLAG_RELATIVE,
    };
    // As `mklink` leaves it (<https://github.com/winfsp/winfsp/issues/454>).
    let fields = [print_len, substitute_len, 0, print_len].map(u16::to_le_bytes);
    let flags = flags.to_le_bytes().to_vec();
    Ok([fields.concat(), flags, print, substitute].concat())
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Why bytes are no reparse point, or contents do not fit in one.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum ReparseError {
    /// The data ends behind the buffer.
    #[error("{tag} claims {claimed} bytes of data in a buffer of {len}")]
    Data {
        /// The tag.
        tag: Tag,
        /// Bytes of data that the header claims.
        claimed: u16,
        /// Length of the buffer.
        len: usize,
    },
    /// The buffer is shorter than a header.
    #[error("{len} bytes are no reparse point")]
    Header {
        /// Length of the buffer.
        len: usize,
    },
    /// A name leaves the data, or has an odd number of bytes.
    #[error("the names of a {tag} leave its data")]
    Names {
        /// The tag.
        tag: Tag,
    },
    /// A third party's tag has no owner, or Microsoft's has one.
    #[error("{tag} and its owner do not match")]
    Owner {
        /// The tag.
        tag: Tag,
    },
    /// A name is not valid UTF-16, or holds a NUL.
    #[error("a name of a {tag} is no text")]
    Text {
        /// The tag.
        tag: Tag,
    },
    /// More than 16 KiB.
    #[error("{len} bytes are too many for a reparse point")]
    TooLong {
        /// Bytes that it would take.
        len: usize,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::uuid;

    use super::*;

    const GUID: Uuid = uuid!("1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963");

    fn mount_point(substitute: &str) -> Names {
        Names {
            substitute: substitute.to_owned(),
            print: String::new(),
        }
    }

    fn mount_point_bytes(path: &[u8], substitute_len: u8) -> Vec<u8> {
        let len = u8::try_from(8 + path.len()).unwrap();
        let header = [
            3,
            0,
            0,
            0xA0,
            len,
            0,
            0,
            0,
            0,
            0,
            substitute_len,
            0,
            0,
            0,
            0,
            0,
        ];
        [&header, path].concat()
    }

    #[test]
    fn a_mounted_folder_as_windows_writes_it() {
        let names = Names::volume(GUID);
        assert_eq!(
            names.substitute,
            r"\??\Volume{1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963}\"
        );
        let bytes = Reparse::MountPoint(names.clone()).encode().unwrap();
        // 49 characters, then an empty print name behind the first NUL.
        assert_eq!(
            bytes[..16],
            [3, 0, 0, 0xA0, 110, 0, 0, 0, 0, 0, 98, 0, 100, 0, 0, 0]
        );
        assert_eq!(bytes.len(), 118);
        assert_eq!(
            Reparse::parse(&bytes),
            Ok(Reparse::MountPoint(names.clone()))
        );
        assert_eq!(names.target(), Target::Volume(GUID));
    }

    #[test]
    fn every_other_name_is_a_junction() {
        for name in [
            r"\??\C:\var\lib\kubelet",
            r"\??\Volume{1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963}",
            r"\??\Volume{1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963}\folder",
            r"\??\Volume{1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963}\folder}\",
            r"\??\Volume{1f8dd2f20a4c11eeb36a806e6f6e6963}\",
            r"\\?\Volume{1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963}\",
            r"Volume{1f8dd2f2-0a4c-11ee-b36a-806e6f6e6963}\",
            "",
        ] {
            assert_eq!(
                mount_point(name).target(),
                Target::Junction(name.to_owned())
            );
        }
    }

    #[test]
    fn the_volume_name_may_be_in_capitals() {
        let name = r"\??\Volume{1F8DD2F2-0A4C-11EE-B36A-806E6F6E6963}\";
        assert_eq!(mount_point(name).target(), Target::Volume(GUID));
    }

    #[test]
    fn a_relative_symbolic_link() {
        let link = Reparse::Symlink {
            names: Names {
                substitute: r"..\data".to_owned(),
                print: r"..\data".to_owned(),
            },
            base: SymlinkBase::Relative,
        };
        let bytes = link.encode().unwrap();
        assert_eq!(bytes[16..20], [1, 0, 0, 0]);
        assert_eq!(Reparse::parse(&bytes), Ok(link));
    }

    #[test]
    fn other_tags_keep_their_data() {
        let socket = [0x23, 0, 0, 0x80, 0, 0, 0, 0];
        assert_eq!(
            Reparse::parse(&socket),
            Ok(Reparse::Other {
                tag: Tag::AF_UNIX,
                owner: None,
                data: Vec::new()
            })
        );
        let third_party = [&[1, 0, 0, 0, 2, 0, 0, 0][..], &GUID.to_bytes_le(), &[7, 8]].concat();
        let parsed = Reparse::parse(&third_party).unwrap();
        let expected = Reparse::Other {
            tag: Tag(1),
            owner: Some(GUID),
            data: vec![7, 8],
        };
        assert_eq!(parsed, expected);
        assert_eq!(parsed.encode().unwrap(), third_party);
    }

    #[test]
    fn tags_have_plain_names() {
        assert_eq!(Tag::AF_UNIX.to_string(), "Unix socket (0x80000023)");
        assert_eq!(Tag(0x9000_601A).to_string(), "cloud file (0x9000601a)");
        assert_eq!(Tag(0x8000_FFFF).to_string(), "reparse tag 0x8000ffff");
    }

    #[test]
    fn names_that_are_no_text_are_errors() {
        let text = ReparseError::Text {
            tag: Tag::MOUNT_POINT,
        };
        let lone = mount_point_bytes(&[0x00, 0xD8], 2);
        assert_eq!(Reparse::parse(&lone), Err(text.clone()));
        let nul = mount_point_bytes(&[b'a', 0, 0, 0], 4);
        assert_eq!(Reparse::parse(&nul), Err(text.clone()));
        assert_eq!(Reparse::MountPoint(mount_point("a\0b")).encode(), Err(text));
    }

    #[test]
    fn names_that_leave_the_data_are_errors() {
        let names = ReparseError::Names {
            tag: Tag::MOUNT_POINT,
        };
        assert_eq!(
            Reparse::parse(&mount_point_bytes(b"a\0", 4)),
            Err(names.clone())
        );
        assert_eq!(Reparse::parse(&mount_point_bytes(b"a\0", 1)), Err(names));
        let short = [3, 0, 0, 0xA0, 9, 0, 0, 0, 0];
        assert!(matches!(
            Reparse::parse(&short),
            Err(ReparseError::Data { claimed: 9, .. })
        ));
        assert_eq!(
            Reparse::parse(&[3, 0, 0, 0xA0, 0]),
            Err(ReparseError::Header { len: 5 })
        );
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let long = Reparse::MountPoint(mount_point(&"x".repeat(8200)));
        assert!(matches!(long.encode(), Err(ReparseError::TooLong { .. })));
        let longer = Reparse::MountPoint(mount_point(&"x".repeat(40_000)));
        assert!(matches!(longer.encode(), Err(ReparseError::TooLong { .. })));
        let owned = Reparse::Other {
            tag: Tag::WOF,
            owner: Some(GUID),
            data: Vec::new(),
        };
        assert_eq!(owned.encode(), Err(ReparseError::Owner { tag: Tag::WOF }));
    }

    fn names() -> impl Strategy<Value = Names> {
        ("[^\0]{0,60}", "[^\0]{0,60}").prop_map(|(substitute, print)| Names { substitute, print })
    }

    fn reparse() -> impl Strategy<Value = Reparse> {
        let base = prop_oneof![Just(SymlinkBase::Absolute), Just(SymlinkBase::Relative)];
        let data = prop::collection::vec(any::<u8>(), 0..100);
        prop_oneof![
            names().prop_map(Reparse::MountPoint),
            (names(), base).prop_map(|(names, base)| Reparse::Symlink { names, base }),
            (0x20_u32..0xFFFF, data).prop_map(|(low, data)| Reparse::Other {
                tag: Tag(0x8000_0000 | low),
                owner: None,
                data,
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(reparse in reparse()) {
            prop_assert_eq!(Reparse::parse(&reparse.encode().unwrap()), Ok(reparse));
        }

        #[test]
        fn no_bytes_panic(
            tag in prop_oneof![any::<u32>(), Just(Tag::MOUNT_POINT.0), Just(Tag::SYMLINK.0)],
            rest in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let _ = Reparse::parse(&[&tag.to_le_bytes(), rest.as_slice()].concat());
        }

        #[test]
        fn only_the_exact_name_is_a_volume(bytes: [u8; 16], tail in "[a-z\\\\}]{1,8}") {
            let guid = Uuid::from_bytes(bytes);
            let exact = Names::volume(guid);
            prop_assert_eq!(exact.target(), Target::Volume(guid));
            let longer = mount_point(&format!("{}{tail}", exact.substitute));
            prop_assert_eq!(longer.target(), Target::Junction(longer.substitute));
        }
    }
}
