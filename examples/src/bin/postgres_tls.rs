//! PostgreSQL over TLS by rustls: the connector that a pool takes, and a cancel request that is encrypted too.
//!
//! ```text
//! DATABASE_URL='host=localhost user=postgres sslmode=require' CA_FILE=ca.pem \
//!     cargo run -p examples --features tls --bin postgres_tls
//! ```

use std::io;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lease_pool::postgres::tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use lease_pool::{Pool, postgres};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Makes TLS streams that trust the certificates of one file.
#[derive(Clone)]
struct Rustls(Arc<ClientConfig>);

impl Rustls {
    fn trusting(ca_file: &str) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(ca_file)? {
            roots.add(certificate?)?;
        }
        Ok(Rustls(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())))
    }
}

/// Works for any stream, so for connections as well as for cancel requests.
impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Rustls {
    type Stream = Encrypted<S>;
    type TlsConnect = ToServer;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<ToServer, InvalidDnsNameError> {
        Ok(ToServer { config: Arc::clone(&self.0), name: ServerName::try_from(domain.to_owned())? })
    }
}

struct ToServer {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToServer {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(
            async move { Ok(Encrypted(TlsConnector::from(self.config).connect(self.name, stream).await?)) },
        )
    }
}

struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

async fn run(url: &str, ca_file: &str) -> Result<(), Failure> {
    let options = postgres::Options::from_url(url)?.tls(Rustls::trusting(ca_file)?);
    let pool = Pool::builder(options.manager()).max(1).build()?;
    let client = pool.get().await?;
    let status = "SELECT pg_backend_pid(), version FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()";
    let row = client.query_one(status, &[]).await?;
    let (backend, version) = (row.get::<_, i32>(0), row.get::<_, String>(1));

    // Given up by its caller, cancelled by the pool, over TLS both.
    let slow = client.batch_execute("SELECT pg_sleep(3600)");
    assert!(tokio::time::timeout(Duration::from_millis(50), slow).await.is_err());
    drop(client);
    let client = pool.get().await?;
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
    assert_eq!(row.get::<_, i32>(0), backend, "the connection was kept");
    println!("encrypted by {version}; a query was cancelled and its connection used again");
    drop(client);
    pool.drain(Duration::from_secs(10)).await.map_err(|report| format!("{report:?}"))?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let (Ok(url), Ok(ca_file)) = (std::env::var("DATABASE_URL"), std::env::var("CA_FILE")) else {
        eprintln!("set DATABASE_URL and CA_FILE, the certificates to trust in PEM form");
        return Ok(ExitCode::from(2));
    };
    run(&url, &ca_file).await?;
    Ok(ExitCode::SUCCESS)
}
