//! What a real Samba has after a call.
