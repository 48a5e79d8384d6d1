//! The machine that the driver runs on, besides the operations on its storage.

use std::fs::File;
use std::io::{self, Read as _};

use program::events;
use wincsi::WinPath;
use wincsi::sim::files::FileTree;

/// No file of kubelet's that the driver reads is longer, in bytes.
const LONGEST: u64 = 64 << 10;

/// What the driver needs of its machine.
pub trait Machine: Send + Sync {
    /// The text of a small file that kubelet wrote.
    ///
    /// # Errors
    /// It is not there, cannot be read, or is no text.
    fn read(&self, file: &WinPath) -> io::Result<String>;

    /// Reports an event to the people who look after the machine.
    fn report(&self, event: &str);
}

/// The machine itself: its files, as this process sees them, and the event log where it has one.
pub struct Own;

impl Machine for Own {
    fn read(&self, file: &WinPath) -> io::Result<String> {
        text(File::open(file.to_verbatim())?)
    }

    fn report(&self, event: &str) {
        events::report(crate::EVENT_SOURCE, event);
    }
}

/// A simulated node, whose files lie in a folder. It has no event log.
pub struct Simulated(pub FileTree);

impl Machine for Simulated {
    fn read(&self, file: &WinPath) -> io::Result<String> {
        let place = self.0.host_path(file);
        text(File::open(place.map_err(io::Error::other)?)?)
    }

    fn report(&self, _event: &str) {}
}

fn text(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}
