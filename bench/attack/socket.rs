//! A connection on Linux.

use std::io;
use std::os::unix::net::UnixStream as Socket;

pub type Stream = Socket;

pub fn open(path: &str) -> io::Result<Stream> {
    Stream::connect(path)
}
