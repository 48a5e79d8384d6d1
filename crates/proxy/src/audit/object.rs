use std::mem;

use program::escape;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message as _};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use serde_json::{Map, Value};

/// The fields of requests that name a call's objects. Other fields are not written, so a new one is left out until it
/// is reviewed.
const OBJECTS: [&str; 26] = [
    "auth_type",
    "chap_username",
    "context",
    "diskID",
    "disk_id",
    "disk_name",
    "disk_number",
    "force",
    "iqn",
    "isOnline",
    "is_online",
    "local_path",
    "mount",
    "name",
    "partition_number",
    "path",
    "remote_path",
    "size",
    "size_bytes",
    "source_path",
    "target_address",
    "target_path",
    "target_port",
    "target_portal",
    "username",
    "volume_id",
];

/// The most bytes of a text in the log: more than any path of a driver, and few enough for all of a request's texts in
/// a line.
const SHOWN: usize = 512;

/// How deep messages may nest. csi-proxy's have two levels.
const DEEPEST: usize = 4;

/// The request is no protobuf message.
struct Damaged;

impl From<DecodeError> for Damaged {
    fn from(_: DecodeError) -> Self {
        Self
    }
}

/// The fields of a request that may be written.
pub(crate) struct Shape(Vec<Field>);

struct Field {
    number: u32,
    name: String,
    kind: Kind,
}

enum Kind {
    Bool,
    Message(Shape),
    Signed32,
    Signed64,
    Text,
    Unsigned32,
    Unsigned64,
}

impl Shape {
    /// The shape of a method's request, from the descriptors of its version.
    pub(crate) fn of_request(group: &wire::Group, method: &wire::Method) -> Self {
        let set = FileDescriptorSet::decode(group.descriptor_set).unwrap_or_default();
        let messages = set.file.into_iter().flat_map(|file| file.message_type);
        let messages: Vec<DescriptorProto> = messages.collect();
        Self::of(&messages, method.request, DEEPEST)
    }

    fn of(messages: &[DescriptorProto], name: &str, depth: usize) -> Self {
        let message = messages.iter().find(|message| message.name() == name);
        let fields = message
            .map(|message| &message.field[..])
            .unwrap_or_default();
        let wanted = fields
            .iter()
            .filter(|field| OBJECTS.contains(&field.name()));
        Self(
            wanted
                .filter_map(|field| Field::of(messages, field, depth))
                .collect(),
        )
    }

    /// The fields of an encoded request by name. Malformed bytes end the reading; the call itself
    /// was refused for them.
    pub(crate) fn read(&self, request: &[u8]) -> Map<String, Value> {
        let mut object = self.defaults();
        // Fields before the damage stay.
        let _ = self.read_into(request, &mut object);
        object
    }

    /// As [`Shape::read`], for the log: in one line, and not all of a long text.
    pub(crate) fn show(&self, request: &[u8]) -> String {
        let mut object = self.read(request);
        object.values_mut().for_each(cut);
        Value::Object(object).to_string()
    }

    /// Protobuf leaves out zeros, and disk 0 is a disk.
    fn defaults(&self) -> Map<String, Value> {
        let numbers = self.0.iter().filter_map(|field| {
            let zero = match field.kind {
                Kind::Bool => Value::from(false),
                Kind::Message(_) | Kind::Text => return None,
                _ => Value::from(0),
            };
            Some((field.name.clone(), zero))
        });
        numbers.collect()
    }

    /// As protobuf demands, the last of several values holds, and messages are merged: a line may not name another
    /// object than the call's.
    fn read_into(&self, mut bytes: &[u8], object: &mut Map<String, Value>) -> Result<(), Damaged> {
        while !bytes.is_empty() {
            let (number, wire_type) = decode_key(&mut bytes)?;
            let field = self.0.iter().find(|field| field.number == number);
            match field {
                Some(field) if field.kind.wire_type() == wire_type => {
                    field.read_into(&mut bytes, object)?;
                }
                _ => skip_field(wire_type, number, &mut bytes, DecodeContext::default())?,
            }
        }
        Ok(())
    }
}

impl Field {
    fn of(
        messages: &[DescriptorProto],
        field: &FieldDescriptorProto,
        depth: usize,
    ) -> Option<Self> {
        Some(Self {
            number: u32::try_from(field.number()).ok()?,
            name: field.name().to_owned(),
            kind: Kind::of(messages, field, depth)?,
        })
    }

    fn read_into(&self, bytes: &mut &[u8], object: &mut Map<String, Value>) -> Result<(), Damaged> {
        let value = match &self.kind {
            Kind::Bool => Value::from(decode_varint(bytes)? != 0),
            Kind::Signed32 => Value::from(low(decode_varint(bytes)?).cast_signed()),
            Kind::Signed64 => Value::from(decode_varint(bytes)?.cast_signed()),
            Kind::Unsigned32 => Value::from(low(decode_varint(bytes)?)),
            Kind::Unsigned64 => Value::from(decode_varint(bytes)?),
            Kind::Text => {
                let text = String::from_utf8_lossy(delimited(bytes)?);
                Value::from(escape::one_line(&text))
            }
            Kind::Message(shape) => {
                let inner = delimited(bytes)?;
                let place = object
                    .entry(&self.name)
                    .or_insert_with(|| Value::Object(shape.defaults()));
                return match place.as_object_mut() {
                    Some(place) => shape.read_into(inner, place),
                    None => Ok(()),
                };
            }
        };
        object.insert(self.name.clone(), value);
        Ok(())
    }
}

impl Kind {
    fn of(
        messages: &[DescriptorProto],
        field: &FieldDescriptorProto,
        depth: usize,
    ) -> Option<Self> {
        match field.r#type() {
            Type::Bool => Some(Self::Bool),
            Type::Int32 | Type::Enum => Some(Self::Signed32),
            Type::Int64 => Some(Self::Signed64),
            Type::Uint32 => Some(Self::Unsigned32),
            Type::Uint64 => Some(Self::Unsigned64),
            Type::String => Some(Self::Text),
            Type::Message => {
                let name = field.type_name().rsplit('.').next()?;
                let inner = Shape::of(messages, name, depth.checked_sub(1)?);
                Some(Self::Message(inner))
            }
            _ => None,
        }
    }

    fn wire_type(&self) -> WireType {
        match self {
            Self::Message(_) | Self::Text => WireType::LengthDelimited,
            _ => WireType::Varint,
        }
    }
}

fn cut(value: &mut Value) {
    match value {
        Value::Object(object) => object.values_mut().for_each(cut),
        Value::String(text) => *text = escape::bounded(mem::take(text), SHOWN),
        _ => {}
    }
}

/// The low 32 bits of a number, as the server reads it.
fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// The bytes behind a length.
fn delimited<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Damaged> {
    let length = decode_varint(bytes)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    match bytes.split_at_checked(length) {
        Some((inner, rest)) => {
            *bytes = rest;
            Ok(inner)
        }
        None => Err(Damaged),
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use serde_json::{Value, json};

    use super::{OBJECTS, SHOWN, Shape};

    /// The fields of no line.
    const SECRETS: [&str; 3] = ["MutualChapSecret", "chap_secret", "password"];

    #[test]
    fn every_field_of_every_request_was_looked_at() {
        for group in wire::GROUPS {
            let set = FileDescriptorSet::decode(group.descriptor_set).expect("descriptors");
            let messages: Vec<_> = set
                .file
                .iter()
                .flat_map(|file| &file.message_type)
                .collect();
            let methods = group.methods.iter();
            let mut names: Vec<String> = methods.map(|method| method.request.to_owned()).collect();
            while let Some(name) = names.pop() {
                let message = messages.iter().find(|message| message.name() == name);
                for field in &message.expect("it is in the file").field {
                    let (object, secret) = (
                        OBJECTS.contains(&field.name()),
                        SECRETS.contains(&field.name()),
                    );
                    assert!(object != secret, "{group} {name}.{}", field.name());
                    names.extend(field.type_name.as_deref().and_then(|name| {
                        let name = name.rsplit('.').next()?;
                        messages
                            .iter()
                            .any(|message| message.name() == name)
                            .then(|| name.to_owned())
                    }));
                }
            }
        }
    }

    /// Guards: P21
    #[test]
    fn the_audited_object_has_no_secret() {
        use wire::smb::v1::NewSmbGlobalMappingRequest;
        let group = &wire::smb::v1::GROUP;
        let shape = Shape::of_request(group, group.method("NewSmbGlobalMapping").expect("it has"));
        let request = NewSmbGlobalMappingRequest {
            remote_path: String::from(r"\\server\share"),
            local_path: String::new(),
            username: String::from("ann\nforged"),
            password: String::from("hunter2"),
        };
        let object = Value::from(shape.read(&request.encode_to_vec()));
        assert_eq!(
            object,
            json!({"remote_path": r"\\server\share", "username": r"ann\nforged"})
        );
    }

    #[test]
    fn the_log_shows_a_line_and_the_beginning_of_a_long_text() {
        use wire::filesystem::v1::CreateSymlinkRequest;
        let group = &wire::filesystem::v1::GROUP;
        let shape = Shape::of_request(group, group.method("CreateSymlink").expect("it has"));
        let request = CreateSymlinkRequest {
            source_path: "x".repeat(1 << 20),
            target_path: String::from("C:\\a\n\u{202e}b"),
        };
        let shown = shape.show(&request.encode_to_vec());
        let long = format!("{}...", "x".repeat(SHOWN));
        let object: Value = serde_json::from_str(&shown).expect("an object");
        let expected = json!({"source_path": long, "target_path": r"C:\a\n\u{202e}b"});
        assert_eq!(object, expected);
        assert!(!shown.contains(char::is_control), "{shown}");
    }

    /// Guards: P18
    #[test]
    fn the_last_value_holds_and_messages_are_merged_as_the_server_reads_them() {
        use wire::iscsi::v1alpha2::{ConnectTargetRequest, TargetPortal};
        let group = &wire::iscsi::v1alpha2::GROUP;
        let shape = Shape::of_request(group, group.method("ConnectTarget").expect("it has"));
        let portal = |target_address: &str, target_port| {
            Some(TargetPortal {
                target_address: target_address.to_owned(),
                target_port,
            })
        };
        let request = |target_portal, iqn: &str| {
            let mut request = ConnectTargetRequest::default();
            request.target_portal = target_portal;
            request.iqn = iqn.to_owned();
            request.auth_type = 1;
            request.chap_secret = String::from("s");
            request
        };
        let mut bytes = request(portal("a", 1), "one").encode_to_vec();
        bytes.extend(request(portal("", 2), "two").encode_to_vec());
        let merged = ConnectTargetRequest::decode(&bytes[..]).expect("both are well-formed");
        let object = Value::from(shape.read(&bytes));
        assert_eq!(
            object,
            json!({"target_portal": {"target_address": "a", "target_port": 2}, "iqn": "two", "auth_type": 1})
        );
        assert_eq!(
            (merged.iqn.as_str(), merged.target_portal.clone()),
            ("two", portal("a", 2))
        );
    }

    /// Guards: P18
    #[test]
    fn a_number_that_is_too_long_is_the_one_that_the_server_acts_on() {
        use wire::disk::v1::SetDiskStateRequest;
        let group = &wire::disk::v1::GROUP;
        let shape = Shape::of_request(group, group.method("SetDiskState").expect("it has"));
        // 2^32 + 1 as a varint.
        let bytes = [0x08, 0x81, 0x80, 0x80, 0x80, 0x10];
        let request = SetDiskStateRequest::decode(&bytes[..]).expect("protobuf cuts it");
        assert_eq!(request.disk_number, 1);
        assert_eq!(shape.read(&bytes)["disk_number"], 1);
    }

    #[test]
    fn disk_zero_is_named_though_the_wire_leaves_it_out() {
        let group = &wire::disk::v1::GROUP;
        let shape = Shape::of_request(group, group.method("PartitionDisk").expect("it has"));
        assert_eq!(Value::from(shape.read(&[])), json!({"disk_number": 0}));
    }

    #[test]
    fn damage_ends_the_reading() {
        let group = &wire::disk::v1::GROUP;
        let shape = Shape::of_request(group, group.method("SetDiskState").expect("it has"));
        for bytes in [
            &[0x08, 7, 0x12, 0xff][..],
            &[0x08, 7, 0x3a, 0xff, 0xff, 0x7f],
        ] {
            let object = Value::from(shape.read(bytes));
            assert_eq!(object, json!({"disk_number": 7, "is_online": false}));
        }
    }
}
