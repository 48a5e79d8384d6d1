//! Measures a server: `hammer ENDPOINT CLIENTS SECONDS [BYTES] [METHOD]` prints calls/s, p50 and
//! p99. Each client has a connection of its own and calls as fast as it is answered.

use std::error::Error;
use std::time::{Duration, Instant};
use std::{env, thread};

use transport::{Channel, ChannelOptions, Endpoint, Owner};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [endpoint, clients, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("hammer ENDPOINT CLIENTS SECONDS [BYTES] [METHOD]".into());
    };
    let endpoint: Endpoint = endpoint.parse()?;
    let clients: usize = clients.parse()?;
    let time = Duration::from_secs_f64(seconds.parse()?);
    let bytes: usize = rest.first().map_or(Ok(60), |text| text.parse())?;
    let method = rest
        .get(1)
        .map_or("/v1.Filesystem/PathExists", String::as_str);
    let start = Instant::now();
    let mut took: Vec<Duration> = thread::scope(|scope| {
        let run = || run(&endpoint, method, bytes, start + time);
        #[expect(
            clippy::needless_collect,
            reason = "all are to run before the first is joined"
        )]
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    });
    took.sort_unstable();
    let elapsed = start.elapsed();
    let at = |percent: usize| {
        took.get(took.len() * percent / 100)
            .copied()
            .unwrap_or_default()
    };
    println!(
        "{clients} clients, {} calls, {:.0} calls/s, p50 {:?}, p99 {:?}",
        took.len(),
        u32::try_from(took.len()).map_or(f64::MAX, f64::from) / elapsed.as_secs_f64(),
        at(50),
        at(99),
    );
    Ok(())
}

/// The times of one client's calls; ends at the first failure.
fn run(endpoint: &Endpoint, method: &str, bytes: usize, end: Instant) -> Vec<Duration> {
    let message = vec![b'x'; bytes];
    let mut took = Vec::new();
    let mut options = ChannelOptions::default();
    // Other servers may leave the pipe to their account.
    options.owner = Owner::Any;
    let channel = match Channel::connect(endpoint.clone(), options) {
        Ok(channel) => channel,
        Err(error) => {
            eprintln!("{error}");
            return took;
        }
    };
    while Instant::now() < end {
        let start = Instant::now();
        match channel.call(method, &message, start + Duration::from_secs(10)) {
            Ok(_) => took.push(start.elapsed()),
            Err(error) => {
                eprintln!("{error}");
                return took;
            }
        }
    }
    took
}
