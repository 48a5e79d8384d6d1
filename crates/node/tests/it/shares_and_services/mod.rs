//! A node's SMB mappings, iSCSI initiator, services and firmware.

mod field;
mod firmware;
mod initiator_questions;
mod iscsi;
mod iscsi_sessions;
mod logout;
mod services;
mod smb;
mod smb_folder_mappings;
mod smb_folders;
mod smb_options;
mod smb_renewal;
mod smb_unmap;
mod smb_waits;
mod system;
