//! A node in this process does what the API names: the one place where a call becomes an operation.

use std::fmt;

use os::Deadline;

use super::{Cause, Error, Result};
use crate::{Node, Unfinished};

/// The trait of a group of operations, with each operation's call in this process.
///
/// `= disks.partition, "partition disk", disk.number();` after a signature names the operation below
/// [`Node::operations`] that takes the same arguments; then what an error says, as operation and object. [`run`] runs it
/// with copies of the arguments, as it may outlive its caller. `= self.rescan_for_all;` names a method of [`Node`] that
/// answers by the deadline itself.
macro_rules! operations {
    (
        by $deadline:ident;
        $(#[$about:meta])*
        pub trait $group:ident {$(
            $(#[$doc:meta])*
            fn $name:ident(
                &$this:ident,
                $($arg:ident: $(&$lent:ident $(<$life:lifetime>)?)? $($given:ident $(<$of:ty>)?)?),+ $(,)?
            ) -> $answer:ty
                = $at:ident.$operation:ident $(, $named:literal, $object:expr $(=> $then:path)?)?;
        )+}
    ) => {
        $(#[$about])*
        pub trait $group: $crate::api::sealed::Sealed + Send + Sync {$(
            $(#[$doc])*
            fn $name(&self, $($arg: $(&$lent $(<$life>)?)? $($given $(<$of>)?)?),+) -> $answer;
        )+}

        impl $group for $crate::Node {$(
            fn $name(&$this, $($arg: $(&$lent $(<$life>)?)? $($given $(<$of>)?)?),+) -> $answer {
                operations!(@call $this $deadline $at $operation
                    ($($arg $($lent)?),+) $($named, $object $(=> $then)?)?)
            }
        )+}
    };
    (@call $this:ident $deadline:ident self $operation:ident
        ($($arg:ident $($lent:ident)?),+)) => {
        $this.$operation($($arg),+)
    };
    (@call $this:ident $deadline:ident $at:ident $operation:ident
        ($($arg:ident $($lent:ident)?),+) $named:literal, $object:expr $(=> $then:path)?) => {
        super::operations::run($this, $named, $object, $deadline, {
            $(let $arg = operations!(@keep $arg $($lent)?);)+
            move |node| {
                let group = node.operations().$at();
                group.$operation($(operations!(@lend $arg $($lent)?)),+)$(.map($then))?
            }
        })
    };
    (@keep $arg:ident) => { $arg };
    (@keep $arg:ident $lent:ident) => { $arg.to_owned() };
    (@lend $arg:ident) => { $arg };
    (@lend $arg:ident $lent:ident) => { &$arg };
}
pub(super) use operations;

/// Runs an operation and answers by its deadline; what has begun goes on under its locks.
pub(super) fn run<T, E>(
    node: &Node,
    operation: &'static str,
    object: impl fmt::Display,
    deadline: Deadline,
    act: impl FnOnce(&Node) -> std::result::Result<T, E> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    E: From<Unfinished> + Into<Cause> + Send + 'static,
{
    let done = node.bounded(operation, deadline, act);
    done.map_err(|error| Error::new(operation, object, error))
}
