//! RPCs by name, with their messages by the descriptors of their version.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    ReflectMessage as _, Value,
};
use wire::{GROUPS, Group, Stability};

/// What versions before v1 call the RPCs and fields that a script has by their names in v1.
const BEFORE_V1: [(&str, &str); 21] = [
    ("CreateSymlink", "LinkPath"),
    ("GetDiskNumberFromVolumeID", "GetVolumeDiskNumber"),
    ("GetDiskStats", "DiskStats"),
    ("GetVolumeIDFromTargetPath", "GetVolumeIDFromMount"),
    ("GetVolumeStats", "VolumeStats"),
    ("IsSymlink", "IsMountPoint"),
    ("SetDiskState", "SetAttachState"),
    ("UnmountVolume", "DismountVolume"),
    ("disk_number", "diskID"),
    ("disk_number", "diskNumber"),
    ("disk_number", "disk_id"),
    ("is_online", "isOnline"),
    ("is_symlink", "is_mount_point"),
    ("page83", "identifiers.page83"),
    ("serial_number", "identifiers.serialNumber"),
    ("size_bytes", "size"),
    ("target_path", "mount"),
    ("target_path", "path"),
    ("total_bytes", "diskSize"),
    ("total_bytes", "volumeSize"),
    ("used_bytes", "volumeUsedSize"),
];

/// The descriptors of each group and version. To read them for each call takes a fifth of the tests' time.
static POOLS: LazyLock<BTreeMap<String, DescriptorPool>> = LazyLock::new(|| {
    let pool = |group: &Group| DescriptorPool::decode(group.descriptor_set).expect("descriptors");
    let pools = GROUPS.iter().map(|group| (group.to_string(), pool(group)));
    pools.collect()
});

/// One RPC of one version.
pub(crate) struct Rpc {
    pub(crate) group: &'static Group,
    pub(crate) path: &'static str,
    request: MessageDescriptor,
    response: MessageDescriptor,
}

/// An answer, or a part of it.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    Text(String),
    List(Vec<Self>),
    /// A message by its fields' names, or a map.
    Map(BTreeMap<String, Self>),
}

impl Rpc {
    pub(crate) fn find(group: &'static Group, name: &str) -> Option<Self> {
        let method = names(group, name).find_map(|name| group.method(name))?;
        let pool = &POOLS[&group.to_string()];
        let message = |name| pool.get_message_by_name(&format!("{}.{name}", group.package));
        Some(Self {
            group,
            path: method.path,
            request: message(method.request)?,
            response: message(method.response)?,
        })
    }

    /// The request with these fields. `+2` is a text in a field of this number, which its message lacks. Fails with
    /// the field that is wrong; when it is dry, an empty value stands for any.
    pub(crate) fn request<'f>(
        &self,
        fields: &[(&'f str, &str)],
        is_dry: bool,
    ) -> Result<Vec<u8>, &'f str> {
        let mut message = DynamicMessage::new(self.request.clone());
        let mut more = Vec::new();
        for (name, text) in fields {
            if let Some(number) = name.strip_prefix('+') {
                let number = number.parse().map_err(|_| *name)?;
                prost::encoding::string::encode(number, &(*text).to_owned(), &mut more);
                continue;
            }
            let field = self.field(name).ok_or(*name)?;
            if is_dry && text.is_empty() {
                continue;
            }
            message.set_field(&field, value(&field.kind(), text).ok_or(*name)?);
            // Before v1 a driver says beside a path whether it is a pod's.
            if *name == "path"
                && let Some(context) = self.request.get_field_by_name("context")
            {
                let is_of_pod = text.contains(r"\pods\");
                message.set_field(&context, Value::EnumNumber(i32::from(is_of_pod)));
            }
        }
        Ok([message.encode_to_vec(), more].concat())
    }

    fn field(&self, name: &str) -> Option<FieldDescriptor> {
        names(self.group, name).find_map(|name| self.request.get_field_by_name(name))
    }

    pub(crate) fn answer(&self, bytes: &[u8]) -> Data {
        let message = DynamicMessage::decode(self.response.clone(), bytes);
        Data::of(&Value::Message(message.expect("an answer")))
    }
}

impl Data {
    fn of(value: &Value) -> Self {
        match value {
            Value::Message(message) => {
                let fields = message.descriptor().fields().collect::<Vec<_>>();
                let field = |field: &FieldDescriptor| Self::of(&message.get_field(field));
                Self::Map(
                    fields
                        .iter()
                        .map(|one| (one.name().to_owned(), field(one)))
                        .collect(),
                )
            }
            Value::Map(map) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| (key_text(key), Self::of(value)));
                Self::Map(entries.collect())
            }
            Value::List(values) => Self::List(values.iter().map(Self::of).collect()),
            Value::Bool(is_set) => Self::Text(is_set.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::U32(number) => Self::Text(number.to_string()),
            Value::I64(number) => Self::Text(number.to_string()),
            other => panic!("no answer has {other:?}"),
        }
    }

    /// A field, by its name in v1.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        fn field<'d>(data: Option<&'d Data>, name: &str) -> Option<&'d Data> {
            match data {
                Some(Data::Map(map)) => map.get(name),
                _ => None,
            }
        }
        let older = BEFORE_V1.iter().filter(|(new, _)| *new == name);
        let mut names = older.map(|(_, old)| *old);
        field(Some(self), name)
            .or_else(|| names.find_map(|name| name.split('.').fold(Some(self), field)))
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(list) => {
                let texts: Vec<_> = list.iter().map(Self::text).collect();
                texts.join(",")
            }
            Self::Map(_) => format!("{self:?}"),
        }
    }

    /// The first, last or only entry of a list; the last one that is not empty, or an empty text.
    pub(crate) fn one(&self, which: &str) -> Option<String> {
        let Self::List(list) = self else {
            return None;
        };
        let mut texts = list.iter().map(Self::text);
        match which {
            "first" => texts.next(),
            "only" => texts.next().filter(|_| list.len() == 1),
            _ => Some(texts.rfind(|text| !text.is_empty()).unwrap_or_default()),
        }
    }

    /// The key of the map's first entry that is wanted.
    pub(crate) fn key_where(&self, is_wanted: impl Fn(&Self) -> bool) -> Option<String> {
        let Self::Map(map) = self else {
            return None;
        };
        let mut found = map.iter().filter(|(_, entry)| is_wanted(entry));
        found.next().map(|(key, _)| key.clone())
    }

    /// Whether it holds anything: true, a text, an entry. Before v1 messages have a field for errors, always empty.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Self::Text(text) => !matches!(text.as_str(), "" | "0" | "false"),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => map.values().any(Self::holds),
        }
    }
}

/// A name, and the others that it has in the group's version.
fn names<'n>(group: &Group, name: &'n str) -> impl Iterator<Item = &'n str> {
    let version = group.version;
    let is_older = version.major() == 1 && version.stability() != Stability::Stable;
    let older = BEFORE_V1
        .iter()
        .filter(move |(new, _)| is_older && *new == name);
    std::iter::once(name).chain(older.map(|(_, old)| *old))
}

fn value(kind: &Kind, text: &str) -> Option<Value> {
    Some(match kind {
        Kind::String => Value::String(text.to_owned()),
        Kind::Bool => Value::Bool(text.parse().ok()?),
        Kind::Int64 => Value::I64(text.parse().ok()?),
        Kind::Uint32 => Value::U32(text.parse().ok()?),
        Kind::Enum(names) => Value::EnumNumber(names.get_value_by_name(text)?.number()),
        Kind::Message(inner) => {
            let mut message = DynamicMessage::new(inner.clone());
            for (field, text) in inner.fields().zip(text.split(',')) {
                message.set_field(&field, value(&field.kind(), text)?);
            }
            Value::Message(message)
        }
        _ => return None,
    })
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::String(text) => text.clone(),
        MapKey::U32(number) => number.to_string(),
        other => panic!("no answer has the key {other:?}"),
    }
}
