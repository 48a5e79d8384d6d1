//! Doubles that answer otherwise than a node does, in tests: each forwards what it does not override.
//! ```
//! use std::sync::Arc;
//! use wincsi_os::layer::forward::ForwardBoot;
//! use wincsi_os::{Boot, BootId, Result};
//!
//! struct Rebooted(Arc<dyn Boot>);
//!
//! impl ForwardBoot for Rebooted {
//!     fn to(&self) -> &dyn Boot {
//!         &*self.0
//!     }
//!
//!     fn boot_id(&self) -> Result<BootId> {
//!         Ok(BootId("another".to_owned()))
//!     }
//! }
//!
//! fn rebooted(boot: Arc<dyn Boot>) -> Arc<dyn Boot> {
//!     Arc::new(Rebooted(boot))
//! }
//! ```

pub use super::seam::{
    ForwardAfUnix, ForwardBoot, ForwardDisks, ForwardEventLog, ForwardFiles, ForwardFirmware,
    ForwardHeld, ForwardPlaceholder, ForwardProvider, ForwardServices, ForwardVolumeLock,
    ForwardVolumes,
};
