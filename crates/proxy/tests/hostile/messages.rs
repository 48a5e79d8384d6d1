//! Requests of any method as bytes, built from the descriptors of its version.

use prost::Message as _;
use prost::encoding::{self, WireType};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};

/// The fields of a request, nested messages included.
pub(crate) struct Request {
    fields: Vec<Field>,
}

struct Field {
    number: u32,
    name: String,
    kind: Kind,
}

enum Kind {
    Number,
    Text,
    Within(Request),
}

/// A field without a message: its place in the order of the fields, its name and its type.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) place: usize,
    pub(crate) name: String,
    pub(crate) is_text: bool,
}

/// A leaf's bytes on the wire, with its key.
pub(crate) type Value<'a> = &'a dyn Fn(&Leaf, u32) -> Vec<u8>;

impl Request {
    pub(crate) fn of(group: &wire::Group, method: &wire::Method) -> Self {
        let set = FileDescriptorSet::decode(group.descriptor_set).expect("descriptors");
        let messages = set.file.into_iter().flat_map(|file| file.message_type);
        Self::named(&messages.collect::<Vec<_>>(), method.request)
    }

    fn named(messages: &[DescriptorProto], name: &str) -> Self {
        let name = name.rsplit('.').next().expect("a name");
        let message = messages.iter().find(|message| message.name() == name);
        let fields = message.expect("it is in the file").field.iter();
        let fields = fields.map(|field| Field {
            number: u32::try_from(field.number()).expect("a field's number"),
            name: field.name().to_owned(),
            kind: match field.r#type() {
                Type::String => Kind::Text,
                Type::Message => Kind::Within(Self::named(messages, field.type_name())),
                Type::Bool
                | Type::Enum
                | Type::Int32
                | Type::Int64
                | Type::Uint32
                | Type::Uint64 => Kind::Number,
                other => panic!(
                    "{}: a field of a kind that no request has: {other:?}",
                    field.name()
                ),
            },
        });
        Self {
            fields: fields.collect(),
        }
    }

    pub(crate) fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.visit(&mut |leaf, _| {
            leaves.push(leaf.clone());
            Vec::new()
        });
        leaves
    }

    /// The request with these values.
    pub(crate) fn encode(&self, value: Value<'_>) -> Vec<u8> {
        self.visit(&mut |leaf, number| value(leaf, number))
    }

    /// The request with the ordinary value in each field but one.
    pub(crate) fn with(
        &self,
        leaf: &Leaf,
        value: impl Fn(u32) -> Vec<u8>,
        ordinary: Value<'_>,
    ) -> Vec<u8> {
        self.encode(&|other, number| {
            if other.place == leaf.place {
                value(number)
            } else {
                ordinary(other, number)
            }
        })
    }

    fn visit(&self, value: &mut dyn FnMut(&Leaf, u32) -> Vec<u8>) -> Vec<u8> {
        self.visit_from(&mut 0, value)
    }

    fn visit_from(
        &self,
        place: &mut usize,
        value: &mut dyn FnMut(&Leaf, u32) -> Vec<u8>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in &self.fields {
            if let Kind::Within(request) = &field.kind {
                bytes.extend(text(field.number, &request.visit_from(place, value)));
                continue;
            }
            let leaf = Leaf {
                place: *place,
                name: field.name.clone(),
                is_text: matches!(field.kind, Kind::Text),
            };
            *place += 1;
            bytes.extend(value(&leaf, field.number));
        }
        bytes
    }
}

pub(crate) fn number(field: u32, value: u64) -> Vec<u8> {
    let mut bytes = key(field, WireType::Varint);
    encoding::encode_varint(value, &mut bytes);
    bytes
}

pub(crate) fn text(field: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = key(field, WireType::LengthDelimited);
    let length = u64::try_from(value.len()).expect("a length");
    encoding::encode_varint(length, &mut bytes);
    bytes.extend_from_slice(value);
    bytes
}

pub(crate) fn key(field: u32, wire_type: WireType) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoding::encode_key(field, wire_type, &mut bytes);
    bytes
}
