use os::{Cause, ReparseTag, VolumeId};

/// A path cannot be followed to where it leads.
///
/// The texts name what the client named (`path`) and no text of a link: a process that makes a link must not
/// be able to write what drivers look for in errors. A link behind another is in the field and in the
/// log alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum ResolveError {
    /// A link on the way leads out of the working folders, or to another machine.
    #[error("path: {path} is refused: {} leads out of the working directories", the_link(.path, .link))]
    Outside { path: String, link: String },
    /// A mounted folder on the way leads to a volume that is reachable from elsewhere, or that the
    /// mount manager does not know as mounted inside.
    #[error(
        "path: {path} is refused: volume {volume}, to which {} leads, is not mounted inside the working directories alone",
        named(.path, .link)
    )]
    ForeignVolume {
        path: String,
        /// The mounted folder, or what looks like one.
        link: String,
        volume: VolumeId,
    },
    /// A call that only looks was asked for, or led by a link to, another machine or a drive that the
    /// mount manager does not know.
    #[error("path: {path} is refused: {} on no drive or volume of this node", the_end(.path, .at))]
    NotLocal {
        path: String,
        /// The link, or the path itself.
        at: String,
    },
    /// A reparse point that is neither link nor mounted folder stands in the way.
    #[error(
        "path: {path} is refused: {} is a reparse point ({tag:?}) that is not followed",
        named(.path, .link)
    )]
    NotFollowed {
        path: String,
        link: String,
        tag: ReparseTag,
    },
    /// A working folder was missing at the start, and a link stands there now.
    #[error(
        "path: {path} is refused: {} is a link that was not there when the working directories were resolved, at the start: restart the server",
        named(.path, .link)
    )]
    LateLink { path: String, link: String },
    /// The links do not end.
    #[error("path: {path} is refused: it leads from link to link without an end")]
    TooManyLinks { path: String },
    /// Something on the way cannot be looked at.
    #[error("path: {path} cannot be followed beyond {}: {}", named(.path, .at), shown(.source))]
    Unreadable {
        path: String,
        at: String,
        source: os::Error,
    },
}

/// The name of an entry on the way, if it is a prefix of the requested path.
fn named<'a>(path: &str, at: &'a str) -> &'a str {
    match path.starts_with(at) {
        true => at,
        false => "something on the way",
    }
}

fn the_end(path: &str, at: &str) -> String {
    match path == at {
        true => "it is".to_owned(),
        false => format!("{} leads to something that is", the_link(path, at)),
    }
}

fn the_link(path: &str, link: &str) -> String {
    match path.starts_with(link) {
        true => format!("the link {link}"),
        false => "a link on the way".to_owned(),
    }
}

/// Drivers read the system's text for what is missing as "nothing is there", and a volume or link
/// that vanished is not that.
fn shown(source: &os::Error) -> String {
    match &source.cause {
        _ if source.is_not_found() => "it is gone".to_owned(),
        Cause::Malformed(_) => "it leads to no path".to_owned(),
        cause => cause.to_string(),
    }
}
