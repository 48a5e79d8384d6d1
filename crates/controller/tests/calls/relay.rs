//! A relay before a server, which counts connections, ends them, or makes them silent.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

#[derive(Clone, Default)]
pub(crate) struct Relay {
    connections: Arc<Mutex<Vec<Arc<TcpStream>>>>,
    /// So many of the first are silent.
    silent: Arc<(Mutex<usize>, Condvar)>,
}

impl Relay {
    /// A relay to a port of this machine, and its own port.
    pub(crate) fn to(port: u16) -> (Self, u16) {
        let relay = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let all = relay.clone();
        thread::spawn(move || {
            for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let (client, server) = (Arc::new(client), Arc::new(server));
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (relay, from, to) = (all.clone(), from.clone(), to.clone());
                    thread::spawn(move || {
                        let _ = relay.carry(number, &from, &to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                let mut connections = all.connections.lock().unwrap();
                connections.push(client);
            }
        });
        (relay, own)
    }

    fn carry(&self, number: usize, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
        let mut bytes = [0; 4_096];
        loop {
            let len = from.read(&mut bytes)?;
            let (silent, changed) = &*self.silent;
            let silent = silent.lock().unwrap();
            drop(
                changed
                    .wait_while(silent, |silent| number < *silent)
                    .unwrap(),
            );
            if len == 0 {
                return Ok(());
            }
            to.write_all(&bytes[..len])?;
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }

    /// Lets nothing pass of the first connections, and all of the others.
    pub(crate) fn silence(&self, first: usize) {
        let (silent, changed) = &*self.silent;
        *silent.lock().unwrap() = first;
        changed.notify_all();
    }

    /// Ends those that there are.
    pub(crate) fn cut(&self) {
        for connection in self.connections.lock().unwrap().iter() {
            connection.shutdown(Shutdown::Both).unwrap();
        }
    }
}
