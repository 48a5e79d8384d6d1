use std::fmt;

use crate::{Component, DiskNumber, Facility, ObjectPath, Target, VolumeId, WinPath};

/// An operation of the seam, as a layer sees it. Nothing in it is allocated.
#[derive(Debug, Clone, Copy)]
pub struct Op<'a> {
    /// The facility that it belongs to.
    pub facility: Facility,
    /// The trait's method: `Files::entry`.
    pub method: &'static str,
    /// The Windows call, as [`crate::Error::operation`] names it; for providers `query`, `associators`,
    /// `invoke` or `parameters`.
    pub name: &'static str,
    /// The subject of the call, unless its name has it: the class, the method, the property. Empty
    /// otherwise.
    pub subject: &'static str,
    /// The kind of cost.
    pub kind: Kind,
    /// The effect on its object.
    pub access: Access,
    /// The object of the call.
    pub object: Object<'a>,
}

impl<'a> Op<'a> {
    /// The WMI class, or association, of a provider's query; empty for other facilities. The class of an
    /// instance is in its path, `\\server\namespace:Class.Key="value"`.
    #[must_use]
    pub fn class(&self) -> &'a str {
        match self.object {
            Object::Class(class) | Object::Related { by: class, .. } => class,
            Object::Instance(path) => class_of(path),
            _ => "",
        }
    }
}

fn class_of(path: &ObjectPath) -> &str {
    let named = path.0.split('"').next().unwrap_or_default();
    let relative = named.rsplit(':').next().unwrap_or_default();
    relative.split(['.', '=']).next().unwrap_or_default()
}

/// The cost of an operation to the system, as `os-windows` implements it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A call by name, or on a handle that is open already.
    Call,
    /// Opens a handle to a file, a device or a service, and uses it.
    Handle,
    /// Runs a method of a WMI provider.
    Method,
    /// Has a WMI provider answer a query.
    Query,
    /// Lets time pass.
    Wait,
}

/// The effect of an operation on its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Changes it.
    Change,
    /// Lists the object's content, or all of its kind, which may take long.
    List,
    /// Changes nothing of it: reads it, or has the system read it anew or write its cache.
    Look,
    /// Keeps it open: holds a directory, locks a volume.
    Open,
}

/// The object of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object<'a> {
    /// A class of a provider.
    Class(&'static str),
    /// A device path.
    Device(&'a str),
    /// A disk.
    Disk(DiskNumber),
    /// Another machine, by its name or address.
    Host(&'a str),
    /// An instance of a provider.
    Instance(&'a ObjectPath),
    /// An entry of the directory that is held.
    Name(&'a Component),
    /// The node, or what is open.
    Node,
    /// An entry by its path; of a link the link's own.
    Path(&'a WinPath),
    /// The instances that an association ties to one.
    Related {
        /// The one.
        of: &'a ObjectPath,
        /// The association.
        by: &'static str,
    },
    /// A service.
    Service(&'a str),
    /// A volume.
    Volume(VolumeId),
}

impl<'a> From<Target<'a>> for Object<'a> {
    fn from(target: Target<'a>) -> Self {
        match target {
            Target::Class(class) => Self::Class(class),
            Target::Instance(path) => Self::Instance(path),
        }
    }
}

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(class) => f.write_str(class),
            Self::Device(text) | Self::Host(text) | Self::Service(text) => f.write_str(text),
            Self::Disk(disk) => write!(f, "disk {disk}"),
            Self::Instance(path) | Self::Related { of: path, .. } => path.fmt(f),
            Self::Name(name) => write!(f, "{name}"),
            Self::Node => f.write_str("the node"),
            Self::Path(path) => path.fmt(f),
            Self::Volume(volume) => volume.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_an_instance_stands_in_its_path() {
        let class = |path: &str| class_of(&ObjectPath(path.to_owned())).to_owned();
        let quoted = r#"\\SRV\root\x:MSFT_Disk.ObjectId="{1}\\SRV\root:spaces.a=b""#;
        assert_eq!(class(quoted), "MSFT_Disk");
        assert_eq!(class("MSFT_StorageSetting=@"), "MSFT_StorageSetting");
        assert_eq!(class(r#"MSFT_Volume.Id="1""#), "MSFT_Volume");
    }
}
