//! The log's lines, in a process without other log users: `tracing` caches for all threads whether a line has a
//! listener.

#![cfg(windows)]

#[path = "../native/provider_fixture.rs"]
mod provider_fixture;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use os::schema::wmi_error;
use os::{Hresult, Instance, ObjectPath, SystemText, Value};
use wincsi_os_windows_testkit::{ErrorInfo, On, Trouble};

use crate::provider_fixture::ProviderFixture;

#[test]
fn what_the_system_says_is_logged_and_stands_beside_the_error() {
    let fixture = ProviderFixture::new();
    let text = "Zugriff verweigert";
    let message = (wmi_error::MESSAGE.name.to_owned(), Value::text(text));
    let object = Instance {
        class: wmi_error::CLASS.name.to_owned(),
        path: ObjectPath(String::new()),
        properties: BTreeMap::from([message]),
    };
    for system_text in [
        ErrorInfo::Description(text.to_owned()),
        ErrorInfo::Object(Box::new(object)),
    ] {
        let trouble = Trouble::Fails(Hresult::WBEM_E_ACCESS_DENIED, system_text);
        fixture.wmi.inject(On::Method, trouble);
        let log = Log::default();
        let refreshed = log.of(|| fixture.refresh());
        let error = refreshed.expect_err("a failure");
        assert!(!error.to_string().contains(text), "{error}");
        assert_eq!(error.system_text, SystemText::new(text));
        assert!(log.text().contains(text), "{}", log.text());
    }
}

/// The log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn of<T>(&self, act: impl FnOnce() -> T) -> T {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(move || log.clone());
        tracing::subscriber::with_default(subscriber.finish(), act)
    }

    fn text(&self) -> String {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
