//! A relay before a server, which counts and ends connections.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Clone, Default)]
pub(crate) struct Relay(Arc<Mutex<Vec<TcpStream>>>);

impl Relay {
    /// A relay to a port of this machine, and its own port.
    pub(crate) fn to(port: u16) -> (Self, u16) {
        let relay = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let connections = relay.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                connections
                    .0
                    .lock()
                    .unwrap()
                    .push(client.try_clone().unwrap());
                let ends = [(&client, &server), (&server, &client)];
                for (from, to) in ends.map(|(from, to)| (from.try_clone(), to.try_clone())) {
                    let (mut from, mut to) = (from.unwrap(), to.unwrap());
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        (relay, own)
    }

    pub(crate) fn connections(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Ends those that there are.
    pub(crate) fn cut(&self) {
        for connection in self.0.lock().unwrap().iter() {
            connection.shutdown(Shutdown::Both).unwrap();
        }
    }
}
