//! Objects of the WMI providers, and calls of their methods.
//!
//! # A method without a `ReturnValue`
//! WMI may end a method without an error and leave its `ReturnValue` null ([`os::Returned`]). That is neither success nor
//! failure. `node` looks for the effect of the method for at most 30 seconds and fails where it sees none
//! (`ProviderError::Unseen`). A format shows by another serial number in NTFS's boot sector, which each format generates.
//! Where nothing shows the effect (a rescan, a CHAP secret, a portal's new discovery), the end of the call counts.
//! `nulls` of the tests `failures` has each method.

use std::fmt;

use os::schema::{
    Class, Method, Namespace, ReturnCode, codes, iscsi_session, iscsi_target, iscsi_target_portal,
};
use os::{
    Arguments, Cause, Deadline, Hresult, Instance, ObjectPath, Outcome, Provider, Returned,
    SystemText, Target, Value, Win32,
};
use zeroize::{Zeroize, Zeroizing};

use crate::Node;
use crate::poll::{self, VISIBLE_WITHIN};

/// A provider does not know an object, or does not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum ProviderError {
    /// No object answers to the query. The text is csi-proxy's.
    #[error("failed to query {object}. error: not found")]
    NotFound { object: String },
    /// The call itself failed.
    #[error(transparent)]
    Os(#[from] os::Error),
    /// A method answered with a code other than success.
    #[error("WMI {class}.{method} failed (target={object}): code={code}{detail}")]
    Refused {
        class: &'static str,
        method: &'static str,
        /// The object or class of the call.
        object: String,
        /// The return value.
        code: u32,
        /// The meaning of the code, or an empty text.
        detail: String,
        /// The provider's own text, in the node's language.
        #[source]
        system_text: Option<SystemText>,
    },
    /// A method ended without an error and without a code, and what it was to do is not seen.
    #[error(
        "WMI {class}.{method} (target={object}) returned no code, and what it does is not seen"
    )]
    Unseen {
        class: &'static str,
        method: &'static str,
        /// The object or class of the call.
        object: String,
    },
    /// Several objects answer where there must be one.
    #[error("failed to query {object}. error: not one but {}", .seen.join(", "))]
    Several { object: String, seen: Vec<String> },
}

impl ProviderError {
    pub(crate) fn not_found(object: &dyn fmt::Display) -> Self {
        Self::NotFound {
            object: object.to_string(),
        }
    }

    pub(crate) fn several(
        object: &dyn fmt::Display,
        seen: impl IntoIterator<Item = String>,
    ) -> Self {
        Self::Several {
            object: object.to_string(),
            seen: seen.into_iter().collect(),
        }
    }
}

/// The one object that a query found.
pub(crate) fn sole(
    object: &dyn fmt::Display,
    found: Vec<Instance>,
) -> Result<Instance, ProviderError> {
    let seen: Vec<_> = found.iter().map(|one| one.path.to_string()).collect();
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Err(ProviderError::not_found(object)),
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(ProviderError::several(object, seen)),
    }
}

/// The object or class of a method call.
pub(crate) struct WmiObject<'a> {
    provider: &'a dyn Provider,
    class: &'static Class,
    target: Target<'a>,
    /// How people call it.
    pub(crate) name: String,
}

impl<'a> WmiObject<'a> {
    /// A class, for its static methods.
    pub(crate) fn class(
        provider: &'a dyn Provider,
        class: &'static Class,
        name: impl ToString,
    ) -> Self {
        Self {
            provider,
            class,
            target: Target::Class(class.name),
            name: name.to_string(),
        }
    }

    /// An object of the class.
    pub(crate) fn instance(
        provider: &'a dyn Provider,
        class: &'static Class,
        path: &'a ObjectPath,
        name: impl ToString,
    ) -> Self {
        Self {
            target: Target::Instance(path),
            ..Self::class(provider, class, name)
        }
    }

    /// Runs a method that changes something and sees it to its end: without a deadline, because the
    /// locks of the caller must outlast it. One that returns no code is an error: who can look whether it did
    /// its work calls [`WmiObject::invoke_and_verify`].
    pub(crate) fn invoke(
        &self,
        method: &'static Method,
        arguments: &Arguments,
    ) -> Result<(), ProviderError> {
        match self.ask(method, arguments, &[])?.code {
            Returned::Code(_) => Ok(()),
            Returned::Null => Err(self.unseen(method)),
        }
    }

    /// The same, but if no return code arrives, `seen` decides whether the method did its work. It is polled until
    /// it returns true, for at most [`VISIBLE_WITHIN`].
    pub(crate) fn invoke_and_verify<E: From<ProviderError>>(
        &self,
        (method, arguments): (&'static Method, &Arguments),
        (node, deadline): (&Node, Deadline),
        seen: impl FnMut() -> Result<bool, E>,
    ) -> Result<(), E> {
        let outcome = self.ask(method, arguments, &[])?;
        self.see(method, &outcome, (node, deadline), seen)
    }

    /// The rest of [`WmiObject::invoke_and_verify`] after [`WmiObject::outcome`].
    pub(crate) fn see<E: From<ProviderError>>(
        &self,
        method: &'static Method,
        outcome: &Outcome,
        (node, deadline): (&Node, Deadline),
        mut seen: impl FnMut() -> Result<bool, E>,
    ) -> Result<(), E> {
        if outcome.code != Returned::Null {
            return Ok(());
        }
        tracing::warn!(
            class = self.class.name,
            method = method.name,
            object = self.name,
            "a method returned no code, so that its work is looked for"
        );
        let clock = &*node.os().clock;
        let is_seen = poll::until(clock, deadline, VISIBLE_WITHIN, || {
            Ok::<_, E>(seen()?.then_some(()))
        })?;
        is_seen.ok_or_else(|| self.unseen(method).into())
    }

    /// The same, where what comes next shows whether the method did its work, or nothing ever does. Then the call's
    /// end without an error is all that there is.
    pub(crate) fn invoke_unverified(
        &self,
        method: &'static Method,
        arguments: &Arguments,
        tolerated: &[ReturnCode],
    ) -> Result<(), ProviderError> {
        let outcome = self.ask(method, arguments, tolerated)?;
        if outcome.code == Returned::Null {
            tracing::warn!(
                class = self.class.name,
                method = method.name,
                object = self.name,
                "a method returned no code"
            );
        }
        Ok(())
    }

    /// The same, with what the method answers; without a code, too.
    pub(crate) fn outcome(
        &self,
        method: &'static Method,
        arguments: &Arguments,
    ) -> Result<Outcome, ProviderError> {
        self.ask(method, arguments, &[])
    }

    fn ask(
        &self,
        method: &'static Method,
        arguments: &Arguments,
        tolerated: &[ReturnCode],
    ) -> Result<Outcome, ProviderError> {
        let outcome = self
            .provider
            .invoke(self.target, method.name, arguments, Deadline::NEVER);
        let outcome = outcome.or_else(|error| self.failed_with_a_code(method, error))?;
        let accepted = |code: &ReturnCode| outcome.code == code.code;
        match outcome.code {
            Returned::Null => Ok(outcome),
            _ if accepted(&codes::SUCCESS) || tolerated.iter().any(accepted) => Ok(outcome),
            Returned::Code(code) => Err(ProviderError::Refused {
                class: self.class.name,
                method: method.name,
                object: self.name.clone(),
                code,
                detail: detail(self.class, method, code),
                system_text: outcome.extended.as_deref().and_then(SystemText::new),
            }),
        }
    }

    /// A storage method may fail with what it would return otherwise.
    fn failed_with_a_code(
        &self,
        method: &Method,
        error: os::Error,
    ) -> Result<Outcome, ProviderError> {
        match error.cause {
            Cause::Storage(code) => Ok(Outcome {
                extended: error.system_text.map(|system_text| system_text.to_string()),
                ..Outcome::of(code)
            }),
            _ => Err(self.named(method, error).into()),
        }
    }

    fn unseen(&self, method: &Method) -> ProviderError {
        ProviderError::Unseen {
            class: self.class.name,
            method: method.name,
            object: self.name.clone(),
        }
    }

    /// The same error of the object as people call it: WMI's path of it is a line long and says it less
    /// well.
    fn named(&self, method: &Method, error: os::Error) -> os::Error {
        os::Error {
            operation: "IWbemServices.ExecMethod",
            object: format!("{}.{} of {}", self.class.name, method.name, self.name),
            ..error
        }
    }
}

/// Arguments with secrets among them, whose texts are wiped when this is dropped.
pub(crate) struct SecretArguments(Arguments);

os::assert_no_debug!(SecretArguments);

impl SecretArguments {
    pub(crate) fn new(arguments: Arguments) -> Self {
        Self(arguments)
    }

    /// Sets one argument, without a copy of its text.
    pub(crate) fn with(mut self, name: &'static str, mut secret: Zeroizing<String>) -> Self {
        let text = std::mem::take(&mut *secret);
        self.0.0.insert(name, Value::Text(text));
        self
    }

    pub(crate) fn expose(&self) -> &Arguments {
        &self.0
    }
}

impl Drop for SecretArguments {
    fn drop(&mut self) {
        for value in self.0.0.values_mut() {
            if let Value::Text(text) = value {
                text.zeroize();
            }
        }
    }
}

/// A provider's own words are not in it: they are in the node's language, and drivers match on texts.
fn detail(class: &Class, method: &Method, code: u32) -> String {
    let of_win32 = || {
        let text = returned_win32(code).text();
        text.filter(|_| returns_win32(class))
    };
    let meaning = method.meaning(code).or_else(of_win32);
    meaning.map_or_else(String::new, |meaning| format!(": {meaning}"))
}

/// Of no method of SMB's are codes documented; what fails, fails with a Win32 error. The initiator's fail with
/// codes of their own or Win32's.
fn returns_win32(class: &Class) -> bool {
    class.namespace == Namespace::Smb || INITIATOR.contains(&class)
}

/// The classes of the iSCSI initiator that have methods.
pub(crate) const INITIATOR: [&Class; 3] = [
    &iscsi_session::CLASS,
    &iscsi_target::CLASS,
    &iscsi_target_portal::CLASS,
];

/// A Win32 error that a method returned, as such or in an HRESULT.
pub(crate) fn returned_win32(code: u32) -> Win32 {
    Hresult(code).win32().unwrap_or(Win32(code))
}
