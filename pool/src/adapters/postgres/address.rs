//! Which servers a configuration names, and a socket to one of them.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::PathBuf;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts};

use super::{Error, Socket};

const DEFAULT_PORT: u16 = 5432;

/// One place where a server listens; a cancel request has to go to the same one.
#[derive(Clone, Debug)]
pub(super) struct Address {
    place: Place,
    /// The name that a certificate has to carry.
    pub(super) domain: String,
}

#[derive(Clone, Debug)]
enum Place {
    Tcp(SocketAddr),
    #[cfg(unix)]
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Tcp(address) => address.fmt(f),
            #[cfg(unix)]
            Place::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Address {
    /// All of them, in the order in which to try them.
    pub(super) async fn all(config: &Config) -> Result<Vec<Address>, Error> {
        let (hosts, literal) = (config.get_hosts(), config.get_hostaddrs());
        let ports = config.get_ports();
        let count = hosts.len().max(literal.len());
        let problem = if count == 0 {
            Some("no host is given".to_owned())
        } else if !hosts.is_empty() && !literal.is_empty() && hosts.len() != literal.len() {
            Some(format!("{} hosts and {} hostaddrs", hosts.len(), literal.len()))
        } else if ports.len() > 1 && ports.len() != count {
            Some(format!("{count} hosts and {} ports", ports.len()))
        } else {
            None
        };
        if let Some(reason) = problem {
            return Err(Error::Hosts { reason });
        }
        let mut all = Vec::new();
        let mut unresolved = None;
        for index in 0..count {
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
            let domain = match hosts.get(index) {
                Some(Host::Tcp(name)) => name.clone(),
                _ => String::new(),
            };
            if let Some(ip) = literal.get(index) {
                all.push(Address { place: Place::Tcp(SocketAddr::new(*ip, port)), domain });
                continue;
            }
            match &hosts[index] {
                Host::Tcp(name) => match tokio::net::lookup_host((name.as_str(), port)).await {
                    Ok(found) => all.extend(
                        found.map(|found| Address { place: Place::Tcp(found), domain: domain.clone() }),
                    ),
                    Err(source) => {
                        unresolved = Some(Error::Connect { address: format!("{name}:{port}"), source });
                    }
                },
                #[cfg(unix)]
                Host::Unix(folder) => {
                    all.push(Address { place: Place::Unix(folder.join(format!(".s.PGSQL.{port}"))), domain });
                }
            }
        }
        if config.get_load_balance_hosts() == LoadBalanceHosts::Random && !all.is_empty() {
            let any = RandomState::new().hash_one(all.len()) as usize;
            let first = any % all.len();
            all.rotate_left(first);
        }
        match unresolved {
            Some(error) if all.is_empty() => Err(error),
            _ if all.is_empty() => Err(Error::Hosts { reason: "no host has an address".to_owned() }),
            _ => Ok(all),
        }
    }

    /// A socket to it, with the timeouts and keepalives of the configuration.
    pub(super) async fn connect(&self, config: &Config) -> Result<Socket, Error> {
        let connecting = self.open(config);
        let outcome = match config.get_connect_timeout() {
            Some(limit) => tokio::time::timeout(*limit, connecting).await.unwrap_or_else(|_| {
                Err(io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {limit:?}")))
            }),
            None => connecting.await,
        };
        outcome.map_err(|source| Error::Connect { address: self.to_string(), source })
    }

    async fn open(&self, config: &Config) -> io::Result<Socket> {
        let address = match &self.place {
            Place::Tcp(address) => address,
            #[cfg(unix)]
            Place::Unix(path) => return Ok(tokio::net::UnixStream::connect(path).await?.into()),
        };
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let socket = SockRef::from(&stream);
        #[cfg(target_os = "linux")]
        if let Some(limit) = config.get_tcp_user_timeout() {
            socket.set_tcp_user_timeout(Some(*limit))?;
        }
        if config.get_keepalives() {
            let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
            if let Some(interval) = config.get_keepalives_interval() {
                keepalive = keepalive.with_interval(interval);
            }
            if let Some(retries) = config.get_keepalives_retries() {
                keepalive = keepalive.with_retries(retries);
            }
            socket.set_tcp_keepalive(&keepalive)?;
        }
        Ok(stream.into())
    }
}
