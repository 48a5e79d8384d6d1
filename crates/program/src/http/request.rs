use std::net::IpAddr;

const MOST_HEADERS: usize = 64;

/// A client's request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    method: String,
    path: String,
    is_verbose: bool,
    host: Option<String>,
}

impl Request {
    /// Whether the request line and the headers are complete, with the empty line behind them. Lines end in CRLF, or in
    /// LF alone, as RFC 9112 section 2.2 allows.
    #[must_use]
    pub fn is_complete(head: &[u8]) -> bool {
        head.windows(3).any(|end| end == b"\n\r\n") || head.windows(2).any(|end| end == b"\n\n")
    }

    /// Reads the request line and checks the headers; `None` when they are not well-formed or not whole,
    /// or when there are more than 64 headers.
    #[must_use]
    pub fn parse(head: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let status = request.parse(head).ok()?;
        let target = request.path?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut words = query.split('&').map(|word| word.split('=').next());
        let mut headers = request.headers.iter();
        let host = headers.find(|header| header.name.eq_ignore_ascii_case("host"));
        status.is_complete().then_some(Self {
            method: request.method?.to_owned(),
            path: path.to_owned(),
            is_verbose: words.any(|word| word == Some("verbose")),
            host: host.map(|host| String::from_utf8_lossy(host.value).into_owned()),
        })
    }

    /// The method, as it was sent.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Whether it is sent to an address or to `localhost`, or has no host. A browser's page with its own name for our
    /// address (DNS rebinding) sends this name.
    #[must_use]
    pub fn names_only_this_host(&self) -> bool {
        let Some(host) = self.host.as_deref() else {
            return true;
        };
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let name = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => host,
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
    }

    /// The path without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The page's level of detail: more with `?verbose` of any value, as on the health pages of Kubernetes.
    #[must_use]
    pub fn detail(&self) -> Detail {
        match self.is_verbose {
            true => Detail::Verbose,
            false => Detail::Brief,
        }
    }
}

/// A page's level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Brief,
    Verbose,
}

#[cfg(test)]
mod tests {
    use super::Request;

    #[test]
    fn whatever_ends_its_lines_a_request_that_reads_is_complete() {
        for head in [
            "GET /a?b HTTP/1.1\r\nHost: c\r\n\r\n",
            "GET /a?b HTTP/1.1\nHost: c\n\n",
            "GET /a?b HTTP/1.1\nHost: c\n\r\n",
            "GET /a?b HTTP/1.1\r\nHost: c\r\n\n",
            "GET /a HTTP/1.0\n\r\n",
        ] {
            let head = head.as_bytes();
            let request = Request::parse(head).expect("it is well-formed");
            assert_eq!((request.method(), request.path()), ("GET", "/a"));
            assert!(Request::is_complete(head), "{head:?}");
            for cut in 0..head.len() {
                assert!(!Request::is_complete(&head[..cut]), "{head:?} at {cut}");
            }
        }
    }

    /// Guards: P35
    #[test]
    fn a_host_is_an_address_or_this_machine() {
        let is_ours = |host: &str| {
            let head = format!("GET / HTTP/1.1\r\nhOst: {host}\r\n\r\n");
            let request = Request::parse(head.as_bytes()).expect("it is well-formed");
            request.names_only_this_host()
        };
        for ours in [
            "127.0.0.1",
            "10.1.2.3:9090",
            "[::1]:9090",
            "[::1]",
            "LocalHost:1",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in [
            "node",
            "localhost.example:9090",
            "127.0.0.1.example",
            "",
            ":9090",
        ] {
            assert!(!is_ours(other), "{other}");
        }
        let old = Request::parse(b"GET / HTTP/1.0\r\n\r\n").expect("it is well-formed");
        assert!(old.names_only_this_host());
    }
}
