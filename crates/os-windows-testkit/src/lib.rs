//! WMI for tests: COM objects in this process, in place of the connection to Windows's own.
//!
//! [`InProcessWmi`] answers for the providers of a node, such as a simulated one: each query and each method call
//! through `IWbemServices` becomes a call of [`os::Provider`], and its answer goes back as `IWbemClassObject`s. So all
//! of `os-windows`'s path to WMI (query text, VARIANTs, waits and errors) runs against the simulator.
//!
//! # What it requires of a client
//! Classes, properties, methods and types are those of [`os::schema`] and no others. Texts are read by this crate's own
//! readers ([`wql`], [`object_path`]), written from Microsoft's pages and not from our client, so both cannot share a
//! mistake. A value is taken only in the VARIANT of its CIM type; an object has only the selected properties; a path
//! comes with each object that has keys; a semisynchronous method gets no place for its out-parameters, and the place
//! for a semisynchronous definition stays empty. Calls that it does not serve return `E_NOTIMPL`.
//!
//! # What can go wrong
//! Slow, hung or failing providers are the node's part (a simulated one has faults for them): each call runs on a
//! thread of its own, as in WMI's own process. Troubles between, such as a dead connection, a late end or an error
//! object, are a [`Trouble`]; a call that never returns is [`Hanging`].
//!
//! # What it is not
//! Everything here is in one process: no proxy marshals anything, nobody is authenticated, and the answers follow
//! Windows's documentation, untested against Windows itself.
//!
//! Elsewhere than on Windows there are the readers alone.
//!
//! # Other processes
//! `process` ends one as a container runtime does, and names its threads.

pub mod object_path;
#[cfg(windows)]
pub mod process;
pub mod wql;

mod asked;

#[cfg(windows)]
mod call;
#[cfg(windows)]
mod com;
#[cfg(windows)]
mod hang;
#[cfg(windows)]
mod held;
#[cfg(windows)]
mod provided;
#[cfg(windows)]
mod trouble;
#[cfg(windows)]
mod wmi;
#[cfg(windows)]
mod workers;

pub use asked::{Asked, resolve};
#[cfg(windows)]
pub use hang::{Hang, Hanging};
#[cfg(windows)]
pub use trouble::{ErrorInfo, On, Trouble};
#[cfg(windows)]
pub use wmi::{Blanket, Crossing, InProcessWmi, OutParameters};
