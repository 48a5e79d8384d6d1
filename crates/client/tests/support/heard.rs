//! Records of the requests to a proxy, and scripts that keep them.

use std::sync::{Arc, Mutex};

/// The requests to a proxy, in words that are the same for all versions.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Answers an RPC of a version and records the request. The answer sees the request.
macro_rules! script {
    ($heard:expr, $group:ident $version:ident; $(
        $rpc:ident |$request:ident| $note:expr => $response:ident $body:tt
    )+) => {
        $crate::support::Script::of(&wire::$group::$version::GROUP)$(
            .on::<wire::$group::$version::rpc::$rpc>({
                let heard: $crate::support::heard::Heard = $heard.clone();
                move |$request| {
                    heard.note($note);
                    Ok(wire::$group::$version::$response $body)
                }
            })
        )+
    };
}

pub(crate) use script;
