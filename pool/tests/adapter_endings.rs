//! When the end of a connection or of a cancel request counts as known. Against servers in the test, which
//! decide when they close their side.
#![cfg(all(feature = "postgres", feature = "redis"))]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lease_pool::manager::CloseReason;
use lease_pool::postgres::Options;
use lease_pool::{PgPool, Pool, Pooled, redis};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};

/// What a server saw. Its side of the socket is open as long as the value lives.
enum Event {
    Query(String, Arc<Mutex<OwnedWriteHalf>>),
    Cancel(TcpStream),
    /// The client has closed its side.
    Ended(Arc<Mutex<OwnedWriteHalf>>),
}

struct Server {
    address: SocketAddr,
    events: mpsc::UnboundedReceiver<Event>,
}

#[derive(Clone, Copy)]
enum Protocol {
    Postgres,
    Redis,
}

const CANCEL_REQUEST: u32 = 80_877_102;
/// A synchronisation that asks for nothing.
const PROBE: &str = "(probe)";
const READY: &[u8] = b"Z\0\0\0\x05I";

impl Server {
    async fn start(protocol: Protocol) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, events) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let sender = sender.clone();
                match protocol {
                    Protocol::Postgres => tokio::spawn(postgres(socket, sender)),
                    Protocol::Redis => tokio::spawn(redis(socket, sender)),
                };
            }
        });
        Server { address, events }
    }

    async fn next(&mut self) -> Event {
        self.events.recv().await.unwrap()
    }

    async fn query(&mut self) -> (String, Arc<Mutex<OwnedWriteHalf>>) {
        match self.next().await {
            Event::Query(text, answer) => (text, answer),
            _ => panic!("a query was due"),
        }
    }

    async fn end(&mut self) -> Arc<Mutex<OwnedWriteHalf>> {
        match self.next().await {
            Event::Ended(held) => held,
            _ => panic!("an end was due"),
        }
    }

    fn pool(&self) -> PgPool {
        let url = format!("host=127.0.0.1 port={} user=test sslmode=disable", self.address.port());
        let options = Options::from_url(&url).unwrap().cancel_after(Duration::ZERO);
        Pool::builder(options.manager()).max(1).build().unwrap()
    }
}

async fn postgres(mut socket: TcpStream, events: mpsc::UnboundedSender<Event>) {
    let length = socket.read_u32().await.unwrap();
    let code = socket.read_u32().await.unwrap();
    socket.read_exact(&mut vec![0; length as usize - 8]).await.unwrap();
    if code == CANCEL_REQUEST {
        let _ = events.send(Event::Cancel(socket));
        return;
    }
    let (mut reader, writer) = socket.into_split();
    let writer = Arc::new(Mutex::new(writer));
    let greeting = [b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02", READY].concat();
    writer.lock().await.write_all(&greeting).await.unwrap();
    while let Ok(kind) = reader.read_u8().await {
        let length = reader.read_u32().await.unwrap();
        let mut body = vec![0; length as usize - 4];
        reader.read_exact(&mut body).await.unwrap();
        if kind == b'S' {
            let _ = events.send(Event::Query(PROBE.to_owned(), Arc::clone(&writer)));
        }
        if kind == b'Q' {
            let text = String::from_utf8(body).unwrap().trim_end_matches('\0').to_owned();
            let _ = events.send(Event::Query(text, Arc::clone(&writer)));
        }
    }
    let _ = events.send(Event::Ended(writer));
}

/// Says OK to everything.
async fn redis(socket: TcpStream, events: mpsc::UnboundedSender<Event>) {
    let (reader, writer) = socket.into_split();
    let writer = Arc::new(Mutex::new(writer));
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(count) = line.strip_prefix('*') else { panic!("{line} begins no command") };
        for _ in 0..2 * count.parse::<usize>().unwrap() {
            lines.next_line().await.unwrap();
        }
        writer.lock().await.write_all(b"+OK\r\n").await.unwrap();
    }
    let _ = events.send(Event::Ended(writer));
}

async fn answer_done(to: &Mutex<OwnedWriteHalf>) {
    to.lock().await.write_all(READY).await.unwrap();
}

async fn answer_cancelled(to: &Mutex<OwnedWriteHalf>) {
    let fields = b"SERROR\0VERROR\0C57014\0Mcanceled\0\0";
    let length = (fields.len() as u32 + 4).to_be_bytes();
    let bytes = [b"E", &length[..], fields, READY].concat();
    to.lock().await.write_all(&bytes).await.unwrap();
}

/// Lets everything happen that can happen without the test.
async fn let_it_run() {
    for _ in 0..2000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_place_comes_back_after_the_end_of_the_cancel_request_and_one_round_trip_more() {
    let mut server = Server::start(Protocol::Postgres).await;
    let pool = server.pool();
    let client = pool.get().await.unwrap();
    let (text, slow) = tokio::select! {
        _ = client.batch_execute("slow") => panic!("nobody answers"),
        query = server.query() => query,
    };
    assert_eq!(text, "slow");
    drop(client);
    assert!(pool.get().now_or_never().is_none());
    let (mut probe, mut request) = (None, None);
    while probe.is_none() || request.is_none() {
        match server.next().await {
            Event::Query(text, answer) => {
                assert_eq!(text, PROBE);
                probe = Some(answer);
            }
            Event::Cancel(socket) => request = Some(socket),
            Event::Ended(_) => panic!("the connection is kept"),
        }
    }
    answer_cancelled(&slow).await;
    answer_done(&probe.unwrap()).await;
    let_it_run().await;
    assert_eq!(pool.snapshot().resetting, 1, "the request may still strike");
    drop(request);
    let (text, last) = server.query().await;
    assert_eq!(text, PROBE);
    let_it_run().await;
    assert_eq!(pool.snapshot().resetting, 1, "the signal may not have been taken yet");
    // It struck the probe, which is what the probe is for.
    answer_cancelled(&last).await;
    let client = pool.get().await.unwrap();
    assert_eq!(pool.stats().created, 1);
    assert!(!client.is_in_transaction());
}

#[tokio::test]
async fn a_server_that_fails_the_probe_otherwise_loses_the_connection() {
    let mut server = Server::start(Protocol::Postgres).await;
    let pool = server.pool();
    let mut client = pool.get().await.unwrap();
    client.raw();
    drop(client);
    let (_, probe) = server.query().await;
    let fields = b"SERROR\0VERROR\0CXX000\0Mbroken\0\0";
    let length = (fields.len() as u32 + 4).to_be_bytes();
    let bytes = [b"E", &length[..], fields, READY].concat();
    probe.lock().await.write_all(&bytes).await.unwrap();
    drop(probe);
    // Its close tries once more to settle, in vain, and ends.
    while pool.stats().closed(CloseReason::ResetFailed) == 0 {
        if let Some(Event::Query(_, answer)) = server.next().now_or_never() {
            answer_done(&answer).await;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_postgres_place_is_vacant_only_when_the_server_has_closed_its_side() {
    let mut server = Server::start(Protocol::Postgres).await;
    let pool = server.pool();
    Pooled::discard(pool.get().await.unwrap());
    let held = server.end().await;
    let_it_run().await;
    assert_eq!(pool.snapshot().closing, 1);
    drop(held);
    pool.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(pool.stats().closed_unconfirmed, 0);
}

#[tokio::test]
async fn a_redis_place_is_vacant_only_when_the_server_has_closed_its_side() {
    let mut server = Server::start(Protocol::Redis).await;
    let pool = redis::pool(&format!("redis://{}", server.address)).unwrap();
    Pooled::discard(pool.get().await.unwrap());
    let held = server.end().await;
    let_it_run().await;
    assert_eq!(pool.snapshot().closing, 1);
    drop(held);
    pool.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(pool.stats().closed_unconfirmed, 0);
}

#[tokio::test]
async fn a_close_that_the_server_never_confirms_is_counted() {
    let mut server = Server::start(Protocol::Postgres).await;
    let url = format!("host=127.0.0.1 port={} user=test sslmode=disable", server.address.port());
    let manager = Options::from_url(&url).unwrap().manager();
    let pool = Pool::builder(manager).max(1).close_timeout(Duration::from_millis(20)).build().unwrap();
    Pooled::discard(pool.get().await.unwrap());
    let held = server.end().await;
    pool.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(pool.stats().closed_unconfirmed, 1);
    drop(held);
}
