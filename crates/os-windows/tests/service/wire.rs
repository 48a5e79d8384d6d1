//! The messages of a case and its service: lines over a loopback connection, so each knows the
//! other's state without waiting for time to pass.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Bounds every wait: only a failed test reaches it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// One end of the connection.
pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    pub(crate) fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn say(&mut self, word: &str) -> io::Result<()> {
        self.0.get_mut().write_all(format!("{word}\n").as_bytes())
    }

    /// The next word. If the other end is gone, it fails: a waiter must not hang.
    pub(crate) fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
