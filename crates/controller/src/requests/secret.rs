use std::collections::BTreeMap;

use driver::kinds::share::attributes::MountOptions;
use driver::kubelet::value;
use smb::Credentials;
use zeroize::Zeroizing;

use super::RequestError;

/// SMB's port where no option has another.
const USUAL_PORT: u16 = 445;

/// A Secret: a user, and the mount options of what has none of its own.
pub struct Secret {
    pub credentials: Credentials,
    options: MountOptions,
}

impl Secret {
    /// The Secret of a request, if it has one.
    pub fn read(secrets: &BTreeMap<String, String>) -> Result<Option<Self>, RequestError> {
        if secrets.is_empty() {
            return Ok(None);
        }
        let user = plain(secrets, "username")?.ok_or(RequestError::NoUser)?;
        let password = plain(secrets, "password")?.unwrap_or_default();
        let password = Zeroizing::new(password.to_owned());
        let credentials = Credentials::new(user, plain(secrets, "domain")?, password)?;
        let options = options("the Secret", value(secrets, "mountOptions"))?;
        Ok(Some(Self {
            credentials,
            options,
        }))
    }

    pub fn port(&self) -> u16 {
        port(&self.options)
    }

    pub fn demands_privacy(&self) -> bool {
        demands_privacy(&self.options)
    }

    /// Refuses options of a class that its delete would lack: another port, and encryption that nothing else demands.
    pub(crate) fn check(&self, class: &MountOptions, is_private: bool) -> Result<(), RequestError> {
        if port(class) != self.port() {
            return Err(RequestError::Ports(port(class), self.port()));
        }
        match demands_privacy(class) && !self.demands_privacy() && !is_private {
            true => Err(RequestError::Seal),
            false => Ok(()),
        }
    }
}

/// Mount options, of the class or of the Secret.
pub(crate) fn options<'a>(
    place: &'static str,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<MountOptions, RequestError> {
    let read = MountOptions::read(texts);
    read.map_err(|reason| RequestError::MountOptions { place, reason })
}

pub(crate) fn demands_privacy(options: &MountOptions) -> bool {
    options.mapping.privacy == Some(true)
}

fn port(options: &MountOptions) -> u16 {
    options.mapping.tcp_port.map_or(USUAL_PORT, Into::into)
}

/// A value without control characters, which no logon has.
fn plain<'a>(
    secrets: &'a BTreeMap<String, String>,
    key: &'static str,
) -> Result<Option<&'a str>, RequestError> {
    match value(secrets, key) {
        Some(text) if text.contains(char::is_control) => Err(RequestError::Control(key)),
        value => Ok(value),
    }
}
