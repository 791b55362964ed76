//! HTTP/1 client connections: what keeps one, what gives it back, what closes it. Against a server in the test.
#![cfg(feature = "hyper")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use lease_pool::http::{self, Bytes, HttpManager, HttpPool, Request, SendError};
use lease_pool::manager::CloseReason;
use lease_pool::{GetError, Pool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

type Body = Full<Bytes>;

/// One request as the server saw it; what it does then is up to the test.
struct Exchange {
    connection: usize,
    head: String,
    stream: oneshot::Sender<TcpStream>,
    socket: TcpStream,
}

impl Exchange {
    /// Writes these bytes and waits for the next request on the connection.
    async fn answer(mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
        let _ = self.stream.send(self.socket);
    }

    async fn answer_ok(self, body: &str) {
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.answer(text).await;
    }
}

/// A server that hands each request to the test.
struct Server {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Exchange>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for connection in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(connection, socket, sender.clone()));
            }
        });
        Server { address, requests }
    }

    async fn next(&mut self) -> Exchange {
        self.requests.recv().await.unwrap()
    }

    fn pool(&self, max: usize) -> HttpPool<Body> {
        Pool::builder(HttpManager::new(self.address.to_string())).max(max).build().unwrap()
    }
}

async fn serve(connection: usize, mut socket: TcpStream, requests: mpsc::UnboundedSender<Exchange>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let (stream, again) = oneshot::channel();
        let head = String::from_utf8(head).unwrap();
        if requests.send(Exchange { connection, head, stream, socket }).is_err() {
            return;
        }
        match again.await {
            Ok(back) => socket = back,
            Err(_) => return,
        }
    }
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "test").body(Body::default()).unwrap()
}

async fn text(body: impl http_body::Body<Data = Bytes, Error = hyper::Error>) -> String {
    String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn the_connection_comes_back_with_the_end_of_the_body_and_not_before() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let (response, exchange) = tokio::join!(http::send(&pool, get("/")), async {
        let mut exchange = server.next().await;
        exchange.socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc").await.unwrap();
        exchange
    });
    let mut body = response.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "abc");
    assert_eq!(pool.snapshot().leased, 1);
    exchange.answer("def").await;
    assert_eq!(text(body).await, "def");
    assert_eq!(pool.snapshot().leased, 0);

    let (response, ()) =
        tokio::join!(http::send(&pool, get("/")), async { server.next().await.answer_ok("whole").await });
    let body = response.unwrap().into_body();
    assert_eq!(pool.snapshot().leased, 1);
    assert_eq!(text(body).await, "whole");
    assert_eq!(pool.snapshot().leased, 0);
}

#[tokio::test]
async fn a_response_without_a_body_gives_the_connection_back_with_its_head() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let (response, ()) = tokio::join!(http::send(&pool, get("/")), async {
        server.next().await.answer("HTTP/1.1 204 No Content\r\n\r\n").await;
    });
    let response = response.unwrap();
    assert_eq!(pool.snapshot().leased, 0);
    assert_eq!(response.status(), 204);
}

#[tokio::test]
async fn requests_in_a_row_use_one_connection() {
    let mut server = Server::start().await;
    let pool = server.pool(4);
    for n in 0..5 {
        let (response, ()) = tokio::join!(http::send(&pool, get("/")), async {
            let exchange = server.next().await;
            assert_eq!(exchange.connection, 0);
            exchange.answer_ok(&n.to_string()).await;
        });
        assert_eq!(text(response.unwrap().into_body()).await, n.to_string());
    }
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn a_short_body_dropped_half_way_is_read_to_its_end_and_the_connection_kept() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let (response, exchange) = tokio::join!(http::send(&pool, get("/")), async {
        let mut exchange = server.next().await;
        exchange.socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\nabc").await.unwrap();
        exchange
    });
    drop(response.unwrap());
    assert!(http::send(&pool, get("/next")).now_or_never().is_none());
    assert_eq!(pool.snapshot().resetting, 1, "the rest has not come yet");
    let (next, ()) = tokio::join!(http::send(&pool, get("/next")), async {
        exchange.answer(vec![b'x'; 59_997]).await;
        let next = server.next().await;
        assert!(next.head.starts_with("GET /next"), "{}", next.head);
        assert_eq!(next.connection, 0);
        next.answer_ok("next").await;
    });
    assert_eq!(text(next.unwrap().into_body()).await, "next");
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn a_long_body_dropped_half_way_closes_the_connection() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let (response, exchange) = tokio::join!(http::send(&pool, get("/")), async {
        let mut exchange = server.next().await;
        exchange.socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nabc").await.unwrap();
        exchange
    });
    drop(response.unwrap());
    let writing = tokio::spawn(async move {
        let mut socket = exchange.socket;
        // Ends with an error when the client has had enough.
        let _ = socket.write_all(&vec![b'x'; 999_997]).await;
    });
    let (next, ()) = tokio::join!(http::send(&pool, get("/next")), async {
        let next = server.next().await;
        assert_eq!(next.connection, 1);
        next.answer_ok("next").await;
    });
    assert_eq!(text(next.unwrap().into_body()).await, "next");
    assert_eq!(pool.stats().closed(CloseReason::ResetFailed), 1);
    writing.await.unwrap();
}

#[tokio::test]
async fn a_body_that_breaks_closes_the_connection() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let (response, ()) = tokio::join!(http::send(&pool, get("/")), async {
        let mut exchange = server.next().await;
        exchange.socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await.unwrap();
    });
    let error = response.unwrap().into_body().collect().await.unwrap_err();
    assert!(error.is_incomplete_message() || error.is_body_write_aborted() || !error.to_string().is_empty());
    let now = pool.snapshot();
    assert_eq!((now.leased, now.idle), (0, 0), "{now:?}");
}

#[tokio::test]
async fn a_send_dropped_before_its_answer_closes_the_connection_and_nobody_reads_the_answer() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let old = tokio::select! {
        _ = http::send(&pool, get("/old")) => panic!("nobody answers"),
        exchange = server.next() => exchange,
    };
    let (next, ()) = tokio::join!(http::send(&pool, get("/next")), async {
        old.answer_ok("old").await;
        let next = server.next().await;
        assert!(next.head.starts_with("GET /next"), "{}", next.head);
        assert_eq!(next.connection, 1);
        next.answer_ok("next").await;
    });
    assert_eq!(text(next.unwrap().into_body()).await, "next");
    assert_eq!(pool.stats().closed(CloseReason::Broken), 1, "at once, not by a failed reset");
}

/// Streams for the pool, one after the other.
type Streams = Arc<Mutex<VecDeque<tokio::io::DuplexStream>>>;

#[tokio::test]
async fn a_request_refused_unsent_on_a_stale_connection_is_tried_once_more_on_another() {
    let streams = Streams::default();
    let mut far_ends = Vec::new();
    for _ in 0..3 {
        let (near, far) = tokio::io::duplex(1024);
        streams.lock().unwrap().push_back(near);
        far_ends.push(far);
    }
    let manager = HttpManager::<Body>::with_connector("test", {
        let streams = Arc::clone(&streams);
        move |_| {
            let stream = streams.lock().unwrap().pop_front();
            async move { stream.ok_or_else(|| std::io::Error::other("no more streams")) }
        }
    });
    let pool = Pool::builder(manager).max(1).build().unwrap();
    // Both the kept connection and its end are there, and the client has not looked yet.
    let guard = pool.get().await.unwrap();
    drop(guard);
    let mut far_ends = far_ends.into_iter();
    drop(far_ends.next());
    let mut second = far_ends.next().unwrap();
    let (response, ()) = tokio::join!(http::send(&pool, get("/")), async {
        let mut head = vec![0; 1024];
        let read = second.read(&mut head).await.unwrap();
        assert!(head[..read].starts_with(b"GET / HTTP/1.1\r\n"));
        second.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
    });
    assert_eq!(text(response.unwrap().into_body()).await, "ok");
    assert_eq!(pool.stats().created, 2);
}

#[tokio::test]
async fn a_request_that_was_written_is_never_sent_again() {
    let mut server = Server::start().await;
    let pool = server.pool(2);
    let (response, ()) = tokio::join!(http::send(&pool, get("/")), async {
        drop(server.next().await);
    });
    assert!(matches!(response.unwrap_err(), SendError::Broken { .. }));
    assert!(server.requests.recv().now_or_never().is_none());
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn an_absolute_uri_is_sent_as_its_path_with_a_host() {
    let mut server = Server::start().await;
    let pool = server.pool(1);
    let request = Request::get("http://user:secret@name.test:81/a?b=c").body(Body::default()).unwrap();
    let (response, ()) = tokio::join!(http::send(&pool, request), async {
        let exchange = server.next().await;
        assert!(exchange.head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{}", exchange.head);
        assert!(exchange.head.contains("host: name.test:81\r\n"), "{}", exchange.head);
        assert!(!exchange.head.contains("secret"), "{}", exchange.head);
        exchange.answer_ok("").await;
    });
    assert_eq!(response.unwrap().status(), 200);
}

#[tokio::test]
async fn connections_stay_below_the_maximum_under_load() {
    let mut server = Server::start().await;
    let pool = server.pool(3);
    let answering = tokio::spawn(async move {
        let mut connections = std::collections::BTreeSet::new();
        for _ in 0..60 {
            let exchange = server.next().await;
            connections.insert(exchange.connection);
            let path = exchange.head.split(' ').nth(1).unwrap().to_owned();
            exchange.answer_ok(&path).await;
        }
        connections.len()
    });
    let sends = (0..60).map(|n| {
        let pool = pool.clone();
        async move {
            let path = format!("/{n}");
            let response = http::send(&pool, get(&path)).await.unwrap();
            assert_eq!(text(response.into_body()).await, path);
        }
    });
    futures_util::future::join_all(sends).await;
    assert!(answering.await.unwrap() <= 3);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let pool = http::pool::<Body>(format!("127.0.0.1:{port}")).unwrap();
    let error = http::send(&pool, get("/")).await.unwrap_err();
    let SendError::Get { source, .. } = error else { panic!("{error:?}") };
    assert!(matches!(source, GetError::Unavailable { .. }), "{source:?}");
    assert!(format!("{source:?}").contains(&port.to_string()), "{source:?}");
    pool.drain(Duration::from_secs(60)).await.unwrap();
}
