//! The audit log's reading of a request beside that of its descriptor.

use std::fs::File;
use std::io::Read as _;

use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, Value as Decoded};
use serde_json::{Map, Value};
use wincsi_proxy::catalogue::{self, Effect};

/// The fields of no line.
const SECRETS: [&str; 3] = ["MutualChapSecret", "chap_secret", "password"];

/// Texts up to here are never cut, in bytes.
const WHOLE: usize = 8 << 10;

/// Checks what the log has of one call of a method; the log was read up to this call.
pub(crate) fn check(
    log: &mut File,
    (group, method): (&wire::Group, &wire::Method),
    message: &[u8],
) {
    let mut text = String::new();
    log.read_to_string(&mut text).expect("a text");
    let lines: Vec<_> = text.lines().collect();
    let operation = catalogue::find(group.name, method.name).expect("each has a row");
    let [line] = lines[..] else {
        assert!(
            lines.is_empty() && operation.effect == Effect::Reads,
            "{text}"
        );
        return;
    };
    assert_eq!(operation.effect, Effect::Changes, "{line}");
    let line: Value = serde_json::from_str(line).expect("an object");
    let object = line["object"].as_object().expect("an object");
    let pool = DescriptorPool::decode(group.descriptor_set).expect("descriptors");
    let name = format!("{}.{}", group.version, method.request);
    let descriptor = pool.get_message_by_name(&name).expect("it is in the file");
    // An undecodable message was refused, without any effect.
    if let Ok(message) = DynamicMessage::decode(descriptor, message) {
        assert_same(object, &message);
    }
}

fn assert_same(object: &Map<String, Value>, message: &DynamicMessage) {
    let descriptor = message.descriptor();
    for name in object.keys() {
        let field = descriptor.get_field_by_name(name);
        assert!(
            field.is_some() && !SECRETS.contains(&name.as_str()),
            "{name}"
        );
    }
    for field in descriptor.fields() {
        let name = field.name();
        match object.get(name) {
            Some(value) => assert_value(name, value, &message.get_field(&field)),
            None => assert!(
                SECRETS.contains(&name) || !message.has_field(&field),
                "{name} is left out of {object:?}"
            ),
        }
    }
}

fn assert_value(name: &str, value: &Value, decoded: &Decoded) {
    let expected = match decoded {
        Decoded::Bool(is_set) => Value::from(*is_set),
        Decoded::I32(number) | Decoded::EnumNumber(number) => Value::from(*number),
        Decoded::I64(number) => Value::from(*number),
        Decoded::U32(number) => Value::from(*number),
        Decoded::U64(number) => Value::from(*number),
        Decoded::String(text) if is_kept(text) => Value::from(text.as_str()),
        Decoded::String(_) => {
            assert!(value.is_string(), "{name}: {value}");
            return;
        }
        Decoded::Message(inner) => {
            return assert_same(value.as_object().expect("an object"), inner);
        }
        other => panic!("{name}: {other:?} is in no request"),
    };
    assert_eq!(*value, expected, "{name}");
}

/// Whether a text is written as it is: the others are escaped or cut.
fn is_kept(text: &str) -> bool {
    text.len() < WHOLE && text.chars().all(|character| matches!(character, ' '..='~'))
}
