//! The rewriter against an encoder with all of HPACK, and against h2 itself.

mod against_h2;
mod reference;

use proptest::collection::vec;
use proptest::prelude::*;

use self::reference::{Decoder, Encoder, Field, Form};
use super::hpack::HpackError;
use super::*;

const HEADERS: u8 = 1;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Cuts bytes into frames: kind, flags, stream, payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (payload, rest) = rest.split_at(length);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        frames.push((head[3], head[4], stream, payload.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "no half frame at the end");
    frames
}

/// A header block, put together again.
#[derive(Debug)]
struct Block {
    stream: u32,
    ends_stream: bool,
    bytes: Vec<u8>,
}

/// The header blocks in a stream of frames.
fn blocks(bytes: &[u8]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (kind, flags, stream, mut payload) in frames(bytes) {
        match kind {
            HEADERS => {
                if flags & PADDED != 0 {
                    let padding = usize::from(payload.remove(0));
                    payload.truncate(payload.len() - padding);
                }
                if flags & PRIORITY != 0 {
                    payload.drain(..5);
                }
                blocks.push(Block {
                    stream,
                    ends_stream: flags & END_STREAM != 0,
                    bytes: payload,
                });
            }
            CONTINUATION => {
                let block = blocks.last_mut().unwrap();
                assert_eq!((stream, flags & END_STREAM), (block.stream, 0));
                block.bytes.extend(payload);
            }
            _ => {}
        }
    }
    blocks
}

/// Rewrites the bytes after the preface, pushed in chunks of these sizes.
fn rewrite(bytes: &[u8], chunks: &[usize]) -> Result<Vec<u8>, AuthorityError> {
    let mut rewriter = AuthorityRewriter::new(Pings::Pass);
    let mut output = Vec::new();
    let input = [PREFACE, bytes].concat();
    let mut rest = input.as_slice();
    for size in chunks.iter().cycle() {
        let (chunk, tail) = rest.split_at((*size).min(rest.len()));
        rewriter.push(chunk, &mut output)?;
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    Ok(output.split_off(PREFACE.len()))
}

/// How a header block is cut into frames.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    sizes: Vec<usize>,
    padding: Option<u8>,
    priority: bool,
}

impl Cut {
    fn frames(&self, block: &[u8], flags: u8, stream: u32) -> Vec<u8> {
        let mut sizes = self.sizes.iter().copied();
        let (first, mut rest) = block.split_at(sizes.next().unwrap_or(usize::MAX).min(block.len()));
        let mut payload = Vec::new();
        payload.extend(self.padding);
        if self.priority {
            payload.extend([0, 0, 0, 0, 16]);
        }
        payload.extend(first);
        payload.extend(vec![0; usize::from(self.padding.unwrap_or(0))]);
        let padded = if self.padding.is_some() { PADDED } else { 0 };
        let priority = if self.priority { PRIORITY } else { 0 };
        let ends = |rest: &[u8]| if rest.is_empty() { END_HEADERS } else { 0 };
        let mut bytes = frame(
            HEADERS,
            flags | padded | priority | ends(rest),
            stream,
            &payload,
        );
        while !rest.is_empty() {
            let (next, tail) = rest.split_at(sizes.next().unwrap_or(usize::MAX).min(rest.len()));
            bytes.extend(frame(CONTINUATION, ends(tail), stream, next));
            rest = tail;
        }
        bytes
    }
}

fn cut() -> impl Strategy<Value = Cut> {
    let padding = proptest::option::of(any::<u8>());
    (vec(0usize..40, 0..8), padding, any::<bool>()).prop_map(|(sizes, padding, priority)| Cut {
        sizes,
        padding,
        priority,
    })
}

fn chunks() -> impl Strategy<Value = Vec<usize>> {
    vec(1usize..200, 1..6)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-z0-9]{0,20}".prop_map(String::into_bytes),
        2 => vec(any::<u8>(), 0..60),
        1 => vec(any::<u8>(), 500..1500),
    ]
}

fn authority() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(br"\\.\\pipe\\csi-proxy-disk-v1".to_vec()),
        Just(b"%5C%5C.%5C%5Cpipe%5C%5Ccsi-proxy-disk-v1".to_vec()),
        Just(b"unix:%2F%2FC:%5C%5Ccsi%5C%5Ccsi.sock".to_vec()),
        Just(b"localhost".to_vec()),
        vec(any::<u8>(), 1..80),
    ]
}

fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let name = prop_oneof![
        Just(b":path".to_vec()),
        Just(b"te".to_vec()),
        Just(b"content-type".to_vec()),
        "[a-z-]{1,12}".prop_map(String::into_bytes),
    ];
    prop_oneof![
        3 => (name, value()),
        1 => (Just(b":authority".to_vec()), authority()),
    ]
}

fn encoded_field() -> impl Strategy<Value = (Field, Form)> {
    (field(), any::<Form>()).prop_map(|((name, value), form)| (Field { name, value }, form))
}

/// Table sizes, and fields behind them.
type List = (Vec<usize>, Vec<(Field, Form)>);

/// Blocks of fields, each with its initial table sizes; at most one path in each.
fn lists() -> impl Strategy<Value = Vec<List>> {
    let sizes = prop_oneof![3 => Just(vec![]), 1 => vec(0usize..=4096, 1..3)];
    let list = vec(encoded_field(), 0..12).prop_map(|mut list: Vec<(Field, Form)>| {
        let mut paths = 0..1;
        list.retain(|(field, _)| field.name != b":path" || paths.next().is_some());
        for (field, _) in &mut list {
            if field.name == b":path" {
                field.value.truncate(500);
            }
        }
        list
    });
    vec((sizes, list), 1..6)
}

proptest! {
    #[test]
    fn every_list_survives_without_its_authorities_and_stores_no_path(
        lists in lists(),
        cuts in vec(cut(), 1..4),
        ends in vec(any::<bool>(), 1..4),
        chunks in chunks(),
    ) {
        let mut encoder = Encoder::default();
        let mut bytes = Vec::new();
        let mut heads = Vec::new();
        for (index, (sizes, list)) in lists.iter().enumerate() {
            let block = encoder.block(sizes, list);
            let stream = u32::try_from(index * 2 + 1).unwrap();
            let ends_stream = ends[index % ends.len()];
            let flags = if ends_stream { END_STREAM } else { 0 };
            bytes.extend(cuts[index % cuts.len()].frames(&block, flags, stream));
            heads.push((stream, ends_stream));
        }
        let rewritten = rewrite(&bytes, &chunks).unwrap();
        let mut decoder = Decoder::default();
        let blocks = blocks(&rewritten);
        let rewritten_heads: Vec<_> = blocks.iter().map(|block| (block.stream, block.ends_stream)).collect();
        prop_assert_eq!(rewritten_heads, heads);
        for (block, (_, list)) in blocks.iter().zip(&lists) {
            let decoded = decoder.block(&block.bytes);
            let sent: Vec<_> =
                list.iter().map(|(field, _)| field).filter(|field| field.name != b":authority").collect();
            prop_assert_eq!(decoded.iter().collect::<Vec<_>>(), sent);
        }
        let keeps = |name: &[u8]| decoder.stored().any(|field| field.name == name);
        prop_assert!(!keeps(b":path") && !keeps(b":authority"));
    }

    #[test]
    fn where_nothing_is_left_out_or_kept_back_not_a_byte_changes(
        lists in lists(),
        cuts in vec(cut(), 1..4),
        chunks in chunks(),
        others in vec((prop_oneof![Just(0u8), 2u8..9, 10u8..], any::<u8>(), 0u32..9, vec(any::<u8>(), 0..300)), 0..6),
    ) {
        let mut encoder = Encoder::default();
        let mut bytes = Vec::new();
        let mut others = others.iter();
        for (index, (sizes, list)) in lists.into_iter().enumerate() {
            let list: Vec<_> = list.into_iter().filter(|(field, _)| !field.name.starts_with(b":")).collect();
            let block = encoder.block(&sizes, &list);
            bytes.extend(cuts[index % cuts.len()].frames(&block, 1, 1));
            if let Some((kind, flags, stream, payload)) = others.next() {
                bytes.extend(frame(*kind, *flags, *stream, payload));
            }
        }
        prop_assert_eq!(rewrite(&bytes, &chunks).unwrap(), bytes);
    }

    #[test]
    fn other_frames_pass_between_rewritten_ones(
        before in vec(any::<u8>(), 0..3000),
        after in vec(any::<u8>(), 0..3000),
        cut in cut(),
        chunks in chunks(),
    ) {
        let field = Field { name: b":path".to_vec(), value: b"/a".to_vec() };
        let block = Encoder::default().block(&[], &[(field, Form::default())]);
        let bytes = [
            frame(0, 1, 1, &before),
            cut.frames(&block, 0, 3),
            frame(8, 0, 0, &after),
        ]
        .concat();
        let rewritten = frames(&rewrite(&bytes, &chunks).unwrap());
        let others: Vec<_> = rewritten.iter().filter(|frame| frame.0 != HEADERS).collect();
        prop_assert_eq!(others, [&(0, 1, 1, before), &(8, 0, 0, after)]);
    }

    #[test]
    fn the_size_of_the_writes_does_not_matter(bytes: Vec<u8>, frames in vec(vec(any::<u8>(), 0..60), 0..5), chunks in chunks()) {
        let mut input = Vec::new();
        for payload in frames {
            input.extend(frame(HEADERS, END_HEADERS, 1, &payload));
        }
        input.extend(bytes);
        // Where both succeed the output is the same; an error ends the connection either way.
        prop_assert_eq!(rewrite(&input, &chunks), rewrite(&input, &[usize::MAX]));
    }

    #[test]
    fn no_input_makes_it_panic_or_swell(bytes in vec(any::<u8>(), 0..4000), chunks in chunks()) {
        if let Ok(rewritten) = rewrite(&bytes, &chunks) {
            // A few bytes can name a path and a scheme of 512 bytes each.
            prop_assert!(rewritten.len() <= bytes.len() * 100);
        }
    }
}

#[test]
fn what_does_not_begin_as_http2_is_refused_at_the_first_wrong_byte() {
    let push = |bytes: &[u8]| AuthorityRewriter::new(Pings::Pass).push(bytes, &mut Vec::new());
    assert_eq!(push(b"GET / HTTP/1.1\r\n"), Err(AuthorityError::Preface));
    assert_eq!(
        push(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r"),
        Err(AuthorityError::Preface)
    );
    assert_eq!(push(&PREFACE[..20]), Ok(()));
}

#[test]
fn header_blocks_are_bounded() {
    let large = frame(HEADERS, END_HEADERS, 1, &vec![0; FRAME_LIMIT + 1]);
    assert_eq!(
        rewrite(&large, &[usize::MAX]),
        Err(AuthorityError::FrameSize(FRAME_LIMIT + 1))
    );
    let announced = &frame(HEADERS, END_HEADERS, 1, &vec![0; FRAME_LIMIT + 1])[..9];
    assert_eq!(
        rewrite(announced, &[usize::MAX]),
        Err(AuthorityError::FrameSize(FRAME_LIMIT + 1))
    );
    let full = frame(CONTINUATION, 0, 1, &vec![0; FRAME_LIMIT]);
    let flood = [frame(HEADERS, 0, 1, &[]), full.repeat(5)].concat();
    assert_eq!(rewrite(&flood, &[1000]), Err(AuthorityError::BlockSize));
    let empty = frame(CONTINUATION, 0, 1, &[]);
    let flood = [frame(HEADERS, 0, 1, &[]), empty.repeat(CONTINUATION_LIMIT)].concat();
    assert_eq!(rewrite(&flood, &[9]), Err(AuthorityError::BlockSize));
}

#[test]
fn strings_that_swell_when_decoded_are_bounded() {
    // 41 000 bytes of five-bit codes are 65 600 bytes of text.
    let coded = huffman::tests::encode(&vec![b'a'; 65_600]);
    let mut block = vec![0x00, 0x01, b'x'];
    hpack::write_integer(&mut block, 0x80, 7, coded.len());
    block.extend(coded);
    let cut = Cut {
        sizes: vec![FRAME_LIMIT; 9],
        padding: None,
        priority: false,
    };
    let limit = HpackError::Decoded(Walker::DECODED_LIMIT);
    assert_eq!(
        rewrite(&cut.frames(&block, 0, 1), &[usize::MAX]),
        Err(AuthorityError::Block(limit))
    );
}

#[test]
fn continuation_is_where_it_belongs_or_an_error() {
    let headers = frame(HEADERS, 0, 1, &[0x82]);
    let bad = [
        frame(CONTINUATION, END_HEADERS, 1, &[]),
        [headers.clone(), frame(CONTINUATION, END_HEADERS, 3, &[])].concat(),
        [headers.clone(), frame(0, 0, 1, b"x")].concat(),
        [headers.clone(), headers].concat(),
    ];
    for bytes in bad {
        assert_eq!(
            rewrite(&bytes, &[usize::MAX]),
            Err(AuthorityError::Sequence)
        );
        assert_eq!(rewrite(&bytes, &[1]), Err(AuthorityError::Sequence));
    }
}

#[test]
fn padding_that_does_not_fit_is_an_error() {
    for (flags, payload) in [
        (PADDED, &[][..]),
        (PADDED, &[2, 0]),
        (PRIORITY, &[0; 4]),
        (PADDED | PRIORITY, &[1, 0, 0, 0, 0, 0]),
    ] {
        let bytes = frame(HEADERS, flags | END_HEADERS, 1, payload);
        assert_eq!(
            rewrite(&bytes, &[usize::MAX]),
            Err(AuthorityError::Padding),
            "{flags} {payload:?}"
        );
    }
}

#[test]
fn a_mended_block_that_outgrows_a_frame_is_continued() {
    let path = |value: Vec<u8>| {
        let name = b":path".to_vec();
        (Field { name, value }, Form::default())
    };
    let named = Form {
        indexed: true,
        ..Form::default()
    };
    let mut encoder = Encoder::default();
    let stored = path(vec![b'/'; 500]);
    let first = encoder.block(&[], std::slice::from_ref(&stored));
    let filler = Field {
        name: b"te".to_vec(),
        value: vec![b'x'; FRAME_LIMIT - 100],
    };
    let unstored = Form {
        literal: 1,
        ..Form::default()
    };
    let second = encoder.block(&[], &[(stored.0.clone(), named), (filler, unstored)]);
    assert!(second.len() <= FRAME_LIMIT);
    let bytes = [
        frame(HEADERS, END_HEADERS | 1, 3, &first),
        frame(HEADERS, END_HEADERS | 1, 5, &second),
    ];
    let rewritten = rewrite(&bytes.concat(), &[usize::MAX]).unwrap();
    let shape: Vec<_> = frames(&rewritten)
        .iter()
        .map(|frame| (frame.0, frame.1, frame.2))
        .collect();
    assert_eq!(
        shape[1..],
        [(HEADERS, 1, 5), (CONTINUATION, END_HEADERS, 5)]
    );
    let mut decoder = Decoder::default();
    let decoded: Vec<_> = blocks(&rewritten)
        .iter()
        .map(|block| decoder.block(&block.bytes))
        .collect();
    assert_eq!(decoded[1][0], stored.0);
}

#[test]
fn a_held_ping_waits_for_its_release_or_the_next_one() {
    let mut rewriter = AuthorityRewriter::new(Pings::Hold);
    let mut output = Vec::new();
    let (first, second) = (
        frame(PING, 0, 0, b"11111111"),
        frame(PING, 0, 0, b"22222222"),
    );
    let data = frame(0, 0, 1, b"data");
    let answer = frame(PING, 1, 0, b"answered");
    rewriter
        .push(&[PREFACE, &first, &data, &answer].concat(), &mut output)
        .unwrap();
    assert!(rewriter.holds_ping());
    assert_eq!(output.split_off(PREFACE.len()), [&*data, &answer].concat());
    output.clear();
    rewriter
        .push(&[&*second, &data[..11]].concat(), &mut output)
        .unwrap();
    assert_eq!(
        output,
        [&*first, &data[..11]].concat(),
        "the next one pushes it on"
    );
    output.clear();
    rewriter.release_ping(&mut output);
    assert!(
        rewriter.holds_ping() && output.is_empty(),
        "not within a frame"
    );
    rewriter.push(&data[11..], &mut output).unwrap();
    rewriter.release_ping(&mut output);
    assert_eq!(output, [&data[11..], &second].concat());
    assert!(!rewriter.holds_ping());
}

#[test]
fn without_holding_pings_pass() {
    let ping = frame(PING, 0, 0, b"11111111");
    assert_eq!(rewrite(&ping, &[3]).unwrap(), ping);
}
