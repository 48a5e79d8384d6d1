use os::{Hresult, Instance};

/// The calls to which a [`Trouble`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// `GetObject` of a class.
    Definition,
    /// `ExecMethod`.
    Method,
    /// `ExecQuery`.
    Query,
}

/// A trouble of a call between the client and the provider.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// It reaches the provider and takes effect, then the connection dies: a caller polling for the end gets this code.
    /// A query has given its first object by then, if it has any.
    Cut(Hresult),
    /// It fails with this code and reaches no provider; the connection lives. A begun query or method fails when polled
    /// for its end.
    Fails(Hresult, ErrorInfo),
    /// It answers this many polls as still running.
    Late(u32),
    /// The connection is found dead at the call, so it reaches no provider.
    Unsent(Hresult),
}

/// A failed call's error object on the thread (`SetErrorInfo`).
#[derive(Debug, Clone, PartialEq)]
pub enum ErrorInfo {
    /// An object with a description.
    Description(String),
    Nothing,
    /// A WMI object, described by its `Message`.
    Object(Box<Instance>),
}
