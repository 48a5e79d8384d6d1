//! h2's limits for a connection.

use h2::server::Builder;

use crate::ServerOptions;

/// h2's limits, each set on purpose.
pub(super) fn http2(options: &ServerOptions) -> Builder {
    let message = u32::try_from(options.max_message_bytes).unwrap_or(u32::MAX >> 2);
    let window = message.saturating_add(64 << 10).min((1 << 31) - 1);
    let mut builder = Builder::new();
    builder
        .initial_window_size(window)
        .initial_connection_window_size(window.saturating_mul(2).min((1 << 31) - 1))
        .max_concurrent_streams(options.max_concurrent_streams)
        .max_header_list_size(32 << 10)
        .max_send_buffer_size(options.max_queued_output)
        .max_concurrent_reset_streams(64)
        .max_pending_accept_reset_streams(64)
        .max_local_error_reset_streams(Some(256));
    builder
}
