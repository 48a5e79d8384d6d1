//! A server answering every method with the request's own bytes: `echo ENDPOINT...`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use std::{env, io};

use transport::{Call, Endpoint, Server, ServerOptions, Service, Status};

struct Echo;

impl Service for Echo {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        Ok(call.message.to_vec())
    }
}

/// Serves until standard input ends.
fn main() -> Result<(), Box<dyn Error>> {
    let mut services = Vec::new();
    for endpoint in env::args().skip(1) {
        let endpoint: Endpoint = endpoint.parse()?;
        services.push((endpoint, Arc::new(Echo) as Arc<dyn Service>));
    }
    let server = Server::bind(services, ServerOptions::default())?;
    println!("serving");
    io::copy(&mut io::stdin(), &mut io::sink())?;
    println!("{:?}", server.shutdown(Duration::from_secs(5)));
    Ok(())
}
