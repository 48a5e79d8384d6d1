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
        for end in [&client, &server] {
            // Else the second of two frames waits for the other side's delayed acknowledgement, 40 ms.
            end.set_nodelay(true).unwrap();
        }
        let attack = Arc::new(Mutex::new(attack));
        let ends = [&client, &server].map(|end| end.try_clone().unwrap());
        let sides = [From::Client, From::Server].into_iter().zip(ends);
        for ((side, source), target) in sides.zip([server, client]) {
            let (attack, counted) = (Arc::clone(&attack), Arc::clone(&counted));
            thread::spawn(move || carry(side, source, target, &attack, &counted));
        }
    });
    (port, requests)
}

/// Decides about one message alone.
pub(crate) fn one(
    at: (From, usize),
    mut instead: impl FnMut(&[u8]) -> Instead + Send + 'static,
) -> Attack {
    Box::new(move |from, n, message| match (from, n) == at {
        true => instead(message),
        false => unchanged(message),
    })
}

pub(crate) fn unchanged(message: &[u8]) -> Instead {
    Instead::Frames(vec![message.to_vec()])
}

fn carry(
    side: From,
    source: TcpStream,
    target: TcpStream,
    attack: &Mutex<Attack>,
    requests: &Mutex<usize>,
) {
    let mut number = 0;
    let Ends(source, target) = &mut Ends(source, target);
    while let Some(message) = read_frame(source) {
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
                while read_frame(source).is_some() {}
                return;
            }
            Instead::End => return,
        }
    }
}

/// Both end with this, and so with an attack that panics: nobody waits for its deadline.
struct Ends(TcpStream, TcpStream);

impl Drop for Ends {
    fn drop(&mut self) {
        for end in [&self.0, &self.1] {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
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
