//! A man in the middle, who changes messages between a client and a server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Client,
    Server,
}

/// What is sent in a message's place.
pub(crate) enum Instead {
    /// These frames, each with its length before it.
    Frames(Vec<Vec<u8>>),
    /// These bytes, and nothing ever after.
    BytesThenSilence(Vec<u8>),
    /// Nothing, and the connection ends.
    End,
}

/// Decides about the n-th message of a side.
pub(crate) type Attack = Box<dyn FnMut(From, usize, &[u8]) -> Instead + Send>;

/// Takes one connection, and returns its port and how many messages the client sent.
pub(crate) fn between(server: u16, attack: Attack) -> (u16, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&requests);
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let attack = Arc::new(Mutex::new(attack));
        let pairs = [
            (
                From::Client,
                client.try_clone().unwrap(),
                server.try_clone().unwrap(),
            ),
            (From::Server, server, client),
        ];
        for (side, source, target) in pairs {
            let (attack, counted) = (Arc::clone(&attack), Arc::clone(&counted));
            thread::spawn(move || carry(side, source, target, &attack, &counted));
        }
    });
    (port, requests)
}

pub(crate) fn unchanged(message: &[u8]) -> Instead {
    Instead::Frames(vec![message.to_vec()])
}

fn carry(
    side: From,
    mut source: TcpStream,
    mut target: TcpStream,
    attack: &Mutex<Attack>,
    requests: &Mutex<usize>,
) {
    let mut number = 0;
    while let Some(message) = read_frame(&mut source) {
        if side == From::Client {
            *requests.lock().unwrap() += 1;
        }
        let instead = (attack.lock().unwrap())(side, number, &message);
        number += 1;
        match instead {
            Instead::Frames(frames) => {
                for frame in frames {
                    let _ = target.write_all(&framed(&frame));
                }
            }
            Instead::BytesThenSilence(bytes) => {
                let _ = target.write_all(&bytes);
                // Until the other side gives up.
                while read_frame(&mut source).is_some() {}
                return;
            }
            Instead::End => break,
        }
    }
    let _ = target.shutdown(Shutdown::Both);
    let _ = source.shutdown(Shutdown::Both);
}

pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap();
    [len.to_be_bytes().as_slice(), message].concat()
}

fn read_frame(source: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    source.read_exact(&mut length).ok()?;
    let mut message = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()?];
    source.read_exact(&mut message).ok()?;
    Some(message)
}
