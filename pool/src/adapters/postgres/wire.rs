//! The stream below the protocol: plain or TLS, and read along for the transaction status.

use std::convert::Infallible;
use std::future::{self, Ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::Socket;

const READY_FOR_QUERY: u8 = b'Z';
const ERROR: u8 = b'E';
const COMMAND_COMPLETE: u8 = b'C';

/// Outside a transaction.
const IDLE: u8 = b'I';
/// Between the end of a command and the status after it; open, to be on the safe side.
const UNKNOWN: u8 = 0;

/// The server tells with each ReadyForQuery whether a transaction is open, however it was begun.
#[derive(Debug)]
pub(super) struct TransactionStatus(AtomicU8);

impl TransactionStatus {
    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire) != IDLE
    }
}

impl Default for TransactionStatus {
    fn default() -> Self {
        TransactionStatus(AtomicU8::new(IDLE))
    }
}

/// What a TLS connector made of a socket.
pub(super) type Encrypted = Box<dyn TlsStream + Send + Unpin>;

enum Layer {
    Plain(Socket),
    Tls(Encrypted),
}

pub(super) struct Wire {
    layer: Layer,
    frames: Frames,
}

impl Wire {
    pub(super) fn plain(socket: Socket, status: Arc<TransactionStatus>) -> Self {
        Wire { layer: Layer::Plain(socket), frames: Frames::new(status) }
    }

    pub(super) fn tls(stream: Encrypted, status: Arc<TransactionStatus>) -> Self {
        Wire { layer: Layer::Tls(stream), frames: Frames::new(status) }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self.layer, Layer::Tls(_))
    }
}

/// Finds the messages in what the server sends: one byte of type, four of length, then the body.
#[derive(Debug)]
struct Frames {
    status: Arc<TransactionStatus>,
    header: [u8; 5],
    header_len: usize,
    body_left: usize,
}

impl Frames {
    fn new(status: Arc<TransactionStatus>) -> Self {
        Frames { status, header: [0; 5], header_len: 0, body_left: 0 }
    }

    fn read_along(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.body_left > 0 {
                let taken = self.body_left.min(bytes.len());
                if self.header[0] == READY_FOR_QUERY {
                    self.status.0.store(bytes[0], Ordering::Release);
                }
                self.body_left -= taken;
                bytes = &bytes[taken..];
                continue;
            }
            let taken = (self.header.len() - self.header_len).min(bytes.len());
            self.header[self.header_len..self.header_len + taken].copy_from_slice(&bytes[..taken]);
            self.header_len += taken;
            bytes = &bytes[taken..];
            if self.header_len == self.header.len() {
                let [_, length @ ..] = self.header;
                // The length counts itself.
                self.body_left = (u32::from_be_bytes(length) as usize).saturating_sub(4);
                self.header_len = 0;
                // tokio_postgres passes an error on before the status behind it, so a caller may be quicker.
                if matches!(self.header[0], ERROR | COMMAND_COMPLETE) {
                    self.status.0.store(UNKNOWN, Ordering::Release);
                }
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        let before = buffer.filled().len();
        let outcome = match &mut wire.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Layer::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        wire.frames.read_along(&buffer.filled()[before..]);
        outcome
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Layer::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Layer::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Layer::Tls(stream) => match ready!(Pin::new(stream).poll_shutdown(cx)) {
                // TLS says goodbye first; a server that has ended already does not hear it, and has ended.
                Err(error) if is_end(error.kind()) => Poll::Ready(Ok(())),
                outcome => Poll::Ready(outcome),
            },
        }
    }
}

impl TlsStream for Wire {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.layer {
            Layer::Plain(_) => ChannelBinding::none(),
            Layer::Tls(stream) => stream.channel_binding(),
        }
    }
}

fn is_end(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

/// For a stream on which TLS was negotiated already.
pub(super) struct Negotiated;

impl TlsConnect<Wire> for Negotiated {
    type Stream = Wire;
    type Error = Infallible;
    type Future = Ready<Result<Wire, Infallible>>;

    fn connect(self, wire: Wire) -> Self::Future {
        future::ready(Ok(wire))
    }
}
