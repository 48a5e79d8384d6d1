//! SPNEGO with one mechanism, NTLM: two tokens of ours and one of the server's, in DER.

const NTLM: [u8; 12] = *b"\x06\x0a\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a";
const SPNEGO: [u8; 8] = *b"\x06\x06\x2b\x06\x01\x05\x05\x02";

/// The list of mechanisms as the first token has it: the last one signs it, so that the list cannot be shortened on its way.
pub(super) const MECHANISMS: [u8; 14] =
    *b"\x30\x0c\x06\x0a\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a";

const APPLICATION: u8 = 0x60;
const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 0x04;
const ACCEPT_INCOMPLETE: [u8; 3] = [0x0a, 1, 1];

pub(super) fn first(ntlm: &[u8]) -> Vec<u8> {
    let mechanisms = element(context(0), &[&MECHANISMS]);
    let token = element(context(2), &[&element(OCTETS, &[ntlm])]);
    let init = element(SEQUENCE, &[&mechanisms, &token]);
    element(APPLICATION, &[&SPNEGO, &element(context(0), &[&init])])
}

pub(super) fn last(ntlm: &[u8], check: &[u8]) -> Vec<u8> {
    let state = element(context(0), &[&ACCEPT_INCOMPLETE]);
    let token = element(context(2), &[&element(OCTETS, &[ntlm])]);
    let check = element(context(3), &[&element(OCTETS, &[check])]);
    let answer = element(SEQUENCE, &[&state, &token, &check]);
    element(context(1), &[&answer])
}

/// The server's NTLM message in its answer to the first token.
pub(crate) fn token(bytes: &[u8]) -> Option<&[u8]> {
    let mut fields = only(SEQUENCE, only(context(1), bytes)?)?;
    while !fields.is_empty() {
        let (tag, content, rest) = next(fields)?;
        if tag == context(1) && content != NTLM {
            return None;
        }
        if tag == context(2) {
            return only(OCTETS, content);
        }
        fields = rest;
    }
    None
}

fn context(number: u8) -> u8 {
    0xa0 | number
}

fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let len = content.len().to_be_bytes();
    let significant = &len[len.iter().take_while(|byte| **byte == 0).count()..];
    let mut bytes = vec![tag];
    match significant {
        [] => bytes.push(0),
        [short] if *short < 0x80 => bytes.push(*short),
        long => {
            bytes.push(0x80 | u8::try_from(long.len()).expect("a length has 8 bytes at most"));
            bytes.extend_from_slice(long);
        }
    }
    bytes.extend(content);
    bytes
}

/// The content of the only element, which must have this tag.
fn only(tag: u8, bytes: &[u8]) -> Option<&[u8]> {
    let (found, content, rest) = next(bytes)?;
    (found == tag && rest.is_empty()).then_some(content)
}

fn next(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, len], rest) = bytes.split_first_chunk()?;
    let (len, rest) = match len {
        0..=0x7f => (usize::from(len), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(len & 0x7f))?;
            let fold = |n: usize, digit: &u8| (n << 8) | usize::from(*digit);
            (digits.iter().fold(0, fold), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(len)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::{element, first, last, token};
    use crate::vectors::{self, hex};

    #[test]
    fn a_recorded_challenge_is_found_in_its_token() {
        let answer = vectors::CHALLENGED;
        let found = token(&answer[0x48..]).unwrap();
        assert!(found.starts_with(b"NTLMSSP\0\x02"));
        assert_eq!(found.len(), 0x94);
        for len in 0x48..answer.len() {
            assert_eq!(token(&answer[0x48..len]), None);
        }
    }

    #[test]
    fn tokens_are_those_that_windows_sent() {
        let request = hex(vectors::LOGON[0]);
        assert_eq!(first(&request[0x58 + 34..]), request[0x58..]);
        let request = hex(vectors::LOGON[1]);
        let (message, check) = (
            &request[0x58 + 21..][..0x1a6],
            &request[request.len() - 16..],
        );
        assert_eq!(last(message, check), request[0x58..]);
    }

    #[test]
    fn tokens_of_another_form_are_refused() {
        let inner = element(4, &[b"t"]);
        let field = element(0xa2, &[&inner]);
        let ntlm = element(0xa1, &[&super::NTLM]);
        let kerberos = element(0xa1, &[b"\x06\x01\x2a"]);
        for (fields, expected) in [
            (vec![field.as_slice()], Some(b"t".as_slice())),
            (vec![ntlm.as_slice(), &field], Some(b"t")),
            (vec![kerberos.as_slice(), &field], None),
            (vec![ntlm.as_slice()], None),
            (vec![], None),
        ] {
            let bytes = element(0xa1, &[&element(0x30, &fields)]);
            assert_eq!(token(&bytes), expected);
            assert_eq!(token(&[bytes.as_slice(), b"x"].concat()), None);
        }
        assert_eq!(token(b"\xa1\x84\0\0\0\0"), None);
    }
}
