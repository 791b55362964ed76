/// Proposes HTTP/2's `max_concurrent_streams` so that queued uploads cannot stall running ones.
///
/// A request that waits for its lease does not read its body, and what the peer has sent of it stays charged to the
/// flow-control window of the whole connection. Once the unread bodies of queued streams fill that window, a running
/// handler on the same connection gets no byte any more, and the queue behind it stands until a queue timeout.
///
/// One stream can leave at most `min(stream_window, body)` bytes unread, so this many streams always fit:
///
/// ```text
/// streams = max(1, floor(connection_window / min(stream_window, body)))
/// ```
///
/// All sizes are bytes. `body` is the largest body that clients usually send; zero means that they send none, and the
/// window sets no bound.
///
/// # Examples
///
/// hyper's defaults are a window of 1 MiB for the connection and for each stream. Uploads of 64 KiB fit 16 times.
///
/// ```
/// use tower_limit_fair::max_concurrent_streams;
///
/// assert_eq!(max_concurrent_streams(1 << 20, 1 << 20, 64 << 10), 16);
/// assert_eq!(max_concurrent_streams(1 << 20, 1 << 16, 8 << 20), 16);
/// assert_eq!(max_concurrent_streams(65_535, 65_535, 1 << 20), 1);
/// ```
pub const fn max_concurrent_streams(connection_window: u32, stream_window: u32, body: u64) -> u32 {
    let unread = if body < stream_window as u64 { body as u32 } else { stream_window };
    if unread == 0 {
        return u32::MAX;
    }
    let streams = connection_window / unread;
    if streams == 0 { 1 } else { streams }
}
