//! From an address to a running connection, and the cancel request that goes the same way.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_postgres::config::{SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Config, SimpleQueryMessage};

use super::address::Address;
use super::wire::{Encrypted, Negotiated, TransactionStatus, Wire};
use super::{Error, Socket};
use crate::manager::BoxFuture;

/// Length and code of the message that asks for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Makes a TLS stream to the server of this name out of a socket.
pub(super) type Connector = dyn Fn(Socket, &str) -> Handshake + Send + Sync;
type Handshake = BoxFuture<'static, Result<Encrypted, Box<dyn std::error::Error + Send + Sync>>>;

/// Hides the types of the user's connector.
pub(super) fn connector<T>(tls: T) -> Arc<Connector>
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::Stream: Send + 'static,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send + 'static,
{
    Arc::new(move |socket, domain| {
        let connector = tls.clone().make_tls_connect(domain).map_err(Into::into);
        let handshake = connector.map(|connector| connector.connect(socket));
        Box::pin(async move {
            let stream = handshake?.await.map_err(Into::into)?;
            Ok(Box::new(stream) as Box<dyn TlsStream + Send + Unpin>)
        })
    })
}

/// A connection, its task, and where it leads.
pub(super) struct Connected {
    pub(super) raw: tokio_postgres::Client,
    pub(super) task: JoinHandle<()>,
    pub(super) status: Arc<TransactionStatus>,
    pub(super) address: Address,
}

/// Connects to the first server that takes us.
pub(super) async fn connect(config: &Config, tls: Option<&Connector>) -> Result<Connected, Error> {
    let mut last = None;
    for address in Address::all(config).await? {
        match connect_to(address, config, tls).await {
            Ok(connected) => return Ok(connected),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| Error::Hosts { reason: "no host is given".to_owned() }))
}

async fn connect_to(address: Address, config: &Config, tls: Option<&Connector>) -> Result<Connected, Error> {
    let status = Arc::<TransactionStatus>::default();
    let wire = open(&address, config, tls, &status).await?;
    let mut config = config.clone();
    // The wire is plain or encrypted already, so nothing is left to negotiate; `Require` keeps channel binding.
    config.ssl_negotiation(SslNegotiation::Direct);
    config.ssl_mode(if wire.is_tls() { SslMode::Require } else { SslMode::Disable });
    let (raw, connection) = config.connect_raw(wire, Negotiated).await?;
    // Its error also ends every query in flight, which is where it is read.
    let task = tokio::spawn(async move { drop(connection.await) });
    let connected = Connected { raw, task, status, address };
    let wanted = config.get_target_session_attrs();
    if wanted != TargetSessionAttrs::Any {
        let read_only = is_read_only(&connected.raw).await?;
        if read_only != (wanted == TargetSessionAttrs::ReadOnly) {
            return Err(Error::Session { address: connected.address.to_string() });
        }
    }
    Ok(connected)
}

async fn is_read_only(raw: &tokio_postgres::Client) -> Result<bool, Error> {
    let answer = raw.simple_query("SHOW transaction_read_only").await?;
    Ok(answer.iter().any(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0) == Some("on"),
        _ => false,
    }))
}

/// Asks the server to cancel what the connection does; returns when the request has been delivered.
pub(super) async fn cancel(
    token: &CancelToken,
    address: &Address,
    config: &Config,
    tls: Option<&Connector>,
) -> Result<(), Error> {
    let wire = open(address, config, tls, &Arc::default()).await?;
    // Ends with the shutdown of the socket, which waits for the server's end: the signal is on its way then.
    Ok(token.cancel_query_raw(wire, Negotiated).await?)
}

async fn open(
    address: &Address,
    config: &Config,
    tls: Option<&Connector>,
    status: &Arc<TransactionStatus>,
) -> Result<Wire, Error> {
    let mut socket = address.connect(config).await?;
    let mode = config.get_ssl_mode();
    let refused = |reason: &str| Error::Tls { address: address.to_string(), source: reason.into() };
    let connector = match (mode, tls) {
        (SslMode::Require, None) => {
            return Err(refused("sslmode is require and the pool has no TLS connector"));
        }
        (SslMode::Disable, _) | (_, None) => return Ok(Wire::plain(socket, Arc::clone(status))),
        (_, Some(connector)) => connector,
    };
    if config.get_ssl_negotiation() == SslNegotiation::Postgres {
        let answer = ask_for_tls(&mut socket).await;
        let answer = answer.map_err(|source| Error::Connect { address: address.to_string(), source })?;
        if answer != b'S' {
            return match mode {
                SslMode::Require => Err(refused("the server offers none and sslmode is require")),
                _ => Ok(Wire::plain(socket, Arc::clone(status))),
            };
        }
    }
    let stream = connector(socket, &address.domain)
        .await
        .map_err(|source| Error::Tls { address: address.to_string(), source })?;
    Ok(Wire::tls(stream, Arc::clone(status)))
}

/// Reads one byte only: what follows belongs to the handshake.
async fn ask_for_tls(socket: &mut Socket) -> std::io::Result<u8> {
    socket.write_all(&SSL_REQUEST).await?;
    let mut answer = [0];
    socket.read_exact(&mut answer).await?;
    Ok(answer[0])
}
