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

/// What happens to a call between the client and the provider.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// It reaches the provider and takes effect, then the connection dies: a caller that polls for the end is
    /// told this code. A query has given its first object by then, if it has any.
    Cut(Hresult),
    /// It fails with this code and reaches no provider; the connection lives. A query or a method that
    /// was begun fails when its end is asked for.
    Fails(Hresult, ErrorInfo),
    /// Asked for its end, it says this many times that it has not come.
    Late(u32),
    /// The connection is found dead when the call is made, which reaches no provider.
    Unsent(Hresult),
}

/// What a call that failed leaves on the thread (`SetErrorInfo`).
#[derive(Debug, Clone, PartialEq)]
pub enum ErrorInfo {
    /// An object with a description.
    Description(String),
    /// Nothing.
    Nothing,
    /// An object of WMI's, which describes itself by its `Message`.
    Object(Box<Instance>),
}
