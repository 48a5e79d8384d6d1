//! WMI for tests: COM objects in this process, in place of the connection to Windows's own.
//!
//! [`InProcessWmi`] answers for the providers of a node, a simulated one say: each query and each method
//! that a client sends through `IWbemServices` becomes a call of [`os::Provider`], whose answer goes
//! back as `IWbemClassObject`s. So the whole of `os-windows`'s way to WMI, query text, VARIANTs, waits
//! and errors, runs against the simulator.
//!
//! # What it holds a client to
//! Classes, properties, methods and types are those of [`os::schema`] and no others. Texts are read by
//! this crate's own readers ([`wql`], [`object_path`]), written from Microsoft's pages and not from what
//! our client writes, so that both cannot agree on the same mistake. A value is taken in just the VARIANT
//! that its CIM type has; an object has just the properties that were selected; a path comes with an object
//! that can be found again; a method that returns at once is handed no place for its out-parameters, and the place
//! for a definition is left empty where one returns at once. What it does not serve says `E_NOTIMPL`.
//!
//! # What can go wrong
//! A provider that is slow, hangs or fails is the node's business (a simulated one has faults for it):
//! each call runs on a thread of its own, as in WMI's own process. What stands between, a connection that dies,
//! an end that is late, an error object, is a [`Trouble`]; what does not return at all is [`Hanging`].
//!
//! # What it is not
//! Everything here is in one process: no proxy marshals anything, nobody is authenticated, and whether
//! Windows answers as this does is read in its documentation and tried by nobody here.
//!
//! Elsewhere than on Windows there are the readers alone.
//!
//! # Real Windows
//! `real` makes what a suite on a real server needs: virtual disks, a share, a user.

pub mod object_path;
#[cfg(windows)]
pub mod real;
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
