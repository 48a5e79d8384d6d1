const MOST_HEADERS: usize = 64;

/// What a client of the pages asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    method: String,
    path: String,
}

impl Request {
    /// Whether the request line and the headers have come, up to the empty line behind them. Lines end in
    /// CRLF, or in LF alone, which RFC 9112 section 2.2 lets a server take.
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
        let path = target.split('?').next().unwrap_or(target);
        status.is_complete().then_some(Self {
            method: request.method?.to_owned(),
            path: path.to_owned(),
        })
    }

    /// The method, as it was sent.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
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
}
