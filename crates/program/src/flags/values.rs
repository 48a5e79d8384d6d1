//! Values that flags of several programs have.

use std::time::Duration;

use transport::Endpoint;

use super::optional;
use crate::http::{BarePort, BindAddress};

/// An endpoint; none if the text is empty.
///
/// # Errors
/// The form that the text should have had.
pub fn endpoint(text: &str) -> Result<Option<Endpoint>, &'static str> {
    let endpoint = optional(text).map(str::parse).transpose();
    endpoint.map_err(|_| "it must be unix:PATH or tcp://127.0.0.1:PORT")
}

/// Whole seconds.
///
/// # Errors
/// The form that the text should have had.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().map_err(|_| "it must be a number of seconds")?;
    Ok(Duration::from_secs(seconds))
}

/// A driver's name, which becomes a file's.
///
/// # Errors
/// The form that the text should have had.
pub fn driver_name(text: &str) -> Result<String, &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    match !text.is_empty() && text.len() <= 63 && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("it must have 1 to 63 letters, digits, dots and hyphens"),
    }
}

/// Where pages are served; none if the text is empty.
///
/// # Errors
/// The form that the text should have had.
pub fn address(text: &str) -> Result<Option<BindAddress>, &'static str> {
    let parse = |text| BindAddress::parse(text, BarePort::Loopback);
    optional(text).map(parse).transpose()
}
