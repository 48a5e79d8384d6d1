use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use simple_dns::rdata::{A, AAAA, CNAME};
use simple_dns::{CLASS, PacketFlag, QTYPE, ResourceRecord};

use super::*;

const NAME: &str = "samba.files.svc.cluster.local";

/// Bounds every wait: only a test that has failed already gets there.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Udp,
    Tcp,
}

/// A DNS server on loopback, for as long as the process lives.
struct Server {
    dns: ClusterDns,
    /// How many questions came.
    asked: Arc<AtomicUsize>,
}

impl Server {
    /// Sends each of these messages for a question.
    fn answering(
        answer: impl Fn(&Packet<'_>, Over) -> Vec<Vec<u8>> + Send + Sync + Clone + 'static,
    ) -> Self {
        let (tcp, udp) = listeners();
        let (asked, server) = (Arc::<AtomicUsize>::default(), udp.local_addr().unwrap());
        let (over_udp, count) = (answer.clone(), Arc::clone(&asked));
        thread::spawn(move || serve_udp(&udp, &count, over_udp));
        thread::spawn(move || serve_tcp(&tcp, answer));
        let patience = TIMEOUT;
        let dns = ClusterDns { server, patience };
        Self { dns, asked }
    }

    fn has(records: fn(TYPE) -> Vec<ResourceRecord<'static>>) -> Self {
        Self::answering(move |query, _| vec![reply(query, &records(kind(query)))])
    }

    fn address(&self) -> Result<String, String> {
        let address = self.dns.address_of(NAME, TIMEOUT);
        address
            .map(|it| it.to_string())
            .map_err(|error| error.to_string())
    }
}

/// The same port of both kinds.
fn listeners() -> (TcpListener, UdpSocket) {
    for _ in 0..100 {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
            return (tcp, udp);
        }
    }
    panic!("no port is free of both kinds");
}

fn serve_udp(
    socket: &UdpSocket,
    asked: &AtomicUsize,
    answer: impl Fn(&Packet<'_>, Over) -> Vec<Vec<u8>>,
) {
    let mut buffer = [0; 512];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        asked.fetch_add(1, Ordering::SeqCst);
        let query = Packet::parse(&buffer[..length]).unwrap();
        for message in answer(&query, Over::Udp) {
            socket.send_to(&message, from).unwrap();
        }
    }
}

fn serve_tcp(listener: &TcpListener, answer: impl Fn(&Packet<'_>, Over) -> Vec<Vec<u8>>) {
    while let Ok((mut stream, _)) = listener.accept() {
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut message = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut message).unwrap();
        for message in answer(&Packet::parse(&message).unwrap(), Over::Tcp) {
            let length = u16::try_from(message.len()).unwrap();
            stream.write_all(&length.to_be_bytes()).unwrap();
            // In two parts, as a network may have it.
            let (first, second) = message.split_at(message.len() / 2);
            stream.write_all(first).unwrap();
            stream.write_all(second).unwrap();
        }
    }
}

fn kind(query: &Packet<'_>) -> TYPE {
    match query.questions[0].qtype {
        QTYPE::TYPE(kind) => kind,
        other => panic!("{other:?} is asked"),
    }
}

fn reply(query: &Packet<'_>, records: &[ResourceRecord<'_>]) -> Vec<u8> {
    message(query, records, |_| {})
}

fn message(
    query: &Packet<'_>,
    records: &[ResourceRecord<'_>],
    change: impl FnOnce(&mut Packet<'_>),
) -> Vec<u8> {
    let mut packet = Packet::new_reply(query.id());
    packet.questions.clone_from(&query.questions);
    packet.answers = records.to_vec();
    change(&mut packet);
    packet.build_bytes_vec_compressed().unwrap()
}

fn record(owner: &'static str, data: RData<'static>) -> ResourceRecord<'static> {
    ResourceRecord::new(Name::new(owner).unwrap(), CLASS::IN, 5, data)
}

fn v4(owner: &'static str, address: [u8; 4]) -> ResourceRecord<'static> {
    let address = u32::from_be_bytes(address);
    record(owner, RData::A(A { address }))
}

fn v6(address: &str) -> ResourceRecord<'static> {
    let address = address.parse::<Ipv6Addr>().unwrap().to_bits();
    record(NAME, RData::AAAA(AAAA { address }))
}

fn alias(owner: &'static str, target: &'static str) -> ResourceRecord<'static> {
    record(owner, RData::CNAME(CNAME(Name::new(target).unwrap())))
}

#[test]
fn a_name_has_its_least_address_of_ipv4_in_whichever_order_they_come() {
    let server = Server::has(|kind| match kind {
        TYPE::A => vec![
            v4(NAME, [10, 0, 0, 20]),
            v4("SAMBA.Files.svc.cluster.local", [10, 0, 0, 3]),
            v4("other.svc.cluster.local", [10, 0, 0, 1]),
        ],
        _ => vec![v6("fd00::1")],
    });
    assert_eq!(server.address(), Ok(String::from("10.0.0.3")));
}

#[test]
fn a_name_without_ipv4_has_its_address_of_ipv6() {
    let server = Server::has(|kind| match kind {
        TYPE::AAAA => vec![v6("fd00::2"), v6("fd00::1")],
        _ => vec![],
    });
    assert_eq!(server.address(), Ok(String::from("fd00::1")));
}

#[test]
fn an_alias_is_followed_and_a_ring_of_them_ends() {
    let server = Server::has(|_| {
        vec![
            v4("b.example", [10, 0, 0, 9]),
            alias("a.example", "b.example"),
            alias(NAME, "a.example"),
        ]
    });
    assert_eq!(server.address(), Ok(String::from("10.0.0.9")));
    let ring = Server::has(|_| vec![alias(NAME, "a.example"), alias("a.example", NAME)]);
    let error = ring.address().unwrap_err();
    assert!(error.contains("has no address"), "{error}");
}

#[test]
fn an_answer_that_was_cut_is_asked_for_over_tcp() {
    let server = Server::answering(|query, over| {
        let cut = |packet: &mut Packet<'_>| packet.set_flags(PacketFlag::TRUNCATION);
        vec![match over {
            Over::Udp => message(query, &[v4(NAME, [10, 0, 0, 1])], cut),
            Over::Tcp => reply(query, &[v4(NAME, [10, 0, 0, 2])]),
        }]
    });
    assert_eq!(server.address(), Ok(String::from("10.0.0.2")));
}

/// Guards: P81
#[test]
fn what_answers_another_question_is_passed_over() {
    let server = Server::answering(|query, _| {
        let wrong = [v4(NAME, [6, 6, 6, 6])];
        let other_name = |packet: &mut Packet<'_>| {
            packet.questions[0].qname = Name::new("other.svc.cluster.local").unwrap();
        };
        let other_kind = |packet: &mut Packet<'_>| packet.questions[0].qtype = TYPE::TXT.into();
        vec![
            message(query, &wrong, |packet| packet.set_id(query.id() ^ 1)),
            message(query, &wrong, |packet| {
                packet.remove_flags(PacketFlag::RESPONSE)
            }),
            message(query, &wrong, |packet| packet.questions.clear()),
            message(query, &wrong, other_name),
            message(query, &wrong, other_kind),
            vec![0; 5],
            reply(query, &[v4(NAME, [10, 0, 0, 1])]),
        ]
    });
    assert_eq!(server.address(), Ok(String::from("10.0.0.1")));
}

/// Guards: P81
#[test]
fn what_another_socket_answers_is_passed_over() {
    let (_, server) = listeners();
    let address = server.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let mut buffer = [0; 512];
        let (length, from) = server.recv_from(&mut buffer).unwrap();
        let query = Packet::parse(&buffer[..length]).unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        other
            .send_to(&reply(&query, &[v4(NAME, [6, 6, 6, 6])]), from)
            .unwrap();
        server
            .send_to(&reply(&query, &[v4(NAME, [10, 0, 0, 1])]), from)
            .unwrap();
    });
    let dns = ClusterDns {
        server: address,
        patience: TIMEOUT,
    };
    assert_eq!(
        dns.address_of(NAME, TIMEOUT).unwrap().to_string(),
        "10.0.0.1"
    );
    answering.join().unwrap();
}

#[test]
fn a_name_that_is_not_there_is_an_error_with_the_name_and_the_server() {
    let server = Server::answering(|query, _| {
        let missing = |packet: &mut Packet<'_>| *packet.rcode_mut() = RCODE::NameError;
        vec![message(query, &[], missing)]
    });
    let error = server.address().unwrap_err();
    let at = server.dns.server.to_string();
    assert!(error.contains(NAME) && error.contains(&at), "{error}");
    assert!(error.contains("no such name"), "{error}");
}

#[test]
fn a_silent_server_is_asked_twice_and_then_an_error() {
    let mut server = Server::answering(|_, _| vec![]);
    server.dns.patience = Duration::from_millis(20);
    let error = server.address().unwrap_err();
    assert!(error.contains("does not answer"), "{error}");
    assert_eq!(server.asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_that_fails_has_its_code_in_the_error() {
    let server = Server::answering(|query, _| {
        let fails = |packet: &mut Packet<'_>| *packet.rcode_mut() = RCODE::ServerFailure;
        vec![message(query, &[], fails)]
    });
    let error = server.address().unwrap_err();
    assert!(error.contains("ServerFailure"), "{error}");
}

#[test]
fn names_of_the_cluster_are_those_of_its_services_alone() {
    for name in [NAME, "a.svc.cluster.local", "A.SVC.Cluster.LOCAL"] {
        assert!(ClusterDns::is_of_cluster(name), "{name}");
    }
    for name in [
        "",
        "files",
        "svc.cluster.local",
        ".svc.cluster.local",
        "a.svc.cluster.local.",
        "a.svc.cluster.local.example",
        "asvc.cluster.local",
        "a.pod.cluster.local",
        "\u{e9}svc.cluster.local",
    ] {
        assert!(!ClusterDns::is_of_cluster(name), "{name}");
    }
}

#[test]
fn a_server_is_an_address_with_or_without_a_port() {
    for (text, expected) in [
        ("10.0.0.10", "10.0.0.10:53"),
        ("10.0.0.10:5353", "10.0.0.10:5353"),
        ("fd00::10", "[fd00::10]:53"),
        ("[fd00::10]", "[fd00::10]:53"),
        ("[fd00::10]:5353", "[fd00::10]:5353"),
    ] {
        assert_eq!(
            ClusterDns::parse(text).unwrap().server.to_string(),
            expected
        );
    }
    for text in [
        "",
        "dns",
        "10.0.0.10:",
        "10.0.0.10:x",
        "kube-dns.kube-system:53",
    ] {
        assert!(ClusterDns::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_call_whose_time_is_over_asks_nobody() {
    let server = Server::has(|_| Vec::new());
    let refused = server.dns.address_of(NAME, Duration::ZERO).unwrap_err();
    assert!(refused.to_string().contains("does not answer"), "{refused}");
    assert_eq!(server.asked.load(Ordering::SeqCst), 0);
}
