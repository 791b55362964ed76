//! The bounded queue beside async-channel, flume and tokio's mpsc used as a shared work queue.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::poll;
use crate::scenario::{Batch, Contender, Effort, Rival, Scenario, Target};

/// The table these scenarios belong to.
pub const SUBJECT: &str = "queue";

const CAPACITY: usize = 64;

/// Every scenario of the queue.
pub fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(16_000);
    let within = |scenario: Scenario| scenario.target(Target::time(Rival::Best, 1.5));
    let mut all = vec![
        within(Scenario::new(SUBJECT, "push + pop, nobody waits", everybody(move |who| free(who, n))))
            .target(Target::at_most("allocations", Rival::Nobody, 0.0)),
    ];
    for (name, pairs) in [("1 producer, 1 consumer", 1), ("4 producers, 4 consumers", 4), ("64 tasks", 32)] {
        for (threads, runtime) in
            [("one thread", one_thread as fn() -> Runtime), ("two threads", two_threads)]
        {
            let contenders = everybody(move |who| pipe(who, pairs, n, runtime));
            // The tasks themselves are allocated, one for 250 items and more; the queue's share is nothing.
            all.push(within(Scenario::new(SUBJECT, format!("{name}, {threads}"), contenders)));
        }
    }
    all
}

/// A bounded queue that many may push to and many may pop from.
pub trait Queueing: Send + Sync + 'static {
    /// Its name in the tables.
    const NAME: &'static str;
    /// With room for this many.
    fn with(capacity: usize) -> Self;
    /// Waits for room.
    fn push(&self, item: u64) -> impl Future<Output = ()> + Send;
    /// Waits for an item.
    fn pop(&self) -> impl Future<Output = u64> + Send;
}

/// Ours.
#[derive(Debug)]
pub struct Ours(semaphore_core::BoundedQueue<u64>);

/// tokio's channel, its one receiver shared behind tokio's mutex.
#[derive(Debug)]
pub struct Tokio(tokio::sync::mpsc::Sender<u64>, tokio::sync::Mutex<tokio::sync::mpsc::Receiver<u64>>);

/// async-channel.
#[derive(Debug)]
pub struct AsyncChannel(async_channel::Sender<u64>, async_channel::Receiver<u64>);

/// flume.
#[derive(Debug)]
pub struct Flume(flume::Sender<u64>, flume::Receiver<u64>);

impl Queueing for Ours {
    const NAME: &'static str = "ours";

    fn with(capacity: usize) -> Self {
        Self(semaphore_core::BoundedQueue::new(capacity).expect("a valid capacity"))
    }

    async fn push(&self, item: u64) {
        self.0.push(item).await.expect("nobody closes it");
    }

    async fn pop(&self) -> u64 {
        self.0.pop().await.expect("nobody closes it")
    }
}

impl Queueing for Tokio {
    const NAME: &'static str = "tokio mpsc + mutex";

    fn with(capacity: usize) -> Self {
        let (sender, receiver) = tokio::sync::mpsc::channel(capacity);
        Self(sender, tokio::sync::Mutex::new(receiver))
    }

    async fn push(&self, item: u64) {
        self.0.send(item).await.expect("nobody closes it");
    }

    async fn pop(&self) -> u64 {
        self.1.lock().await.recv().await.expect("nobody closes it")
    }
}

impl Queueing for AsyncChannel {
    const NAME: &'static str = "async-channel";

    fn with(capacity: usize) -> Self {
        let (sender, receiver) = async_channel::bounded(capacity);
        Self(sender, receiver)
    }

    async fn push(&self, item: u64) {
        self.0.send(item).await.expect("nobody closes it");
    }

    async fn pop(&self) -> u64 {
        self.1.recv().await.expect("nobody closes it")
    }
}

impl Queueing for Flume {
    const NAME: &'static str = "flume";

    fn with(capacity: usize) -> Self {
        let (sender, receiver) = flume::bounded(capacity);
        Self(sender, receiver)
    }

    async fn push(&self, item: u64) {
        self.0.send_async(item).await.expect("nobody closes it");
    }

    async fn pop(&self) -> u64 {
        self.1.recv_async().await.expect("nobody closes it")
    }
}

#[derive(Clone, Copy)]
enum Who {
    Ours,
    Tokio,
    AsyncChannel,
    Flume,
}

fn everybody(make: impl Fn(Who) -> Contender) -> Vec<Contender> {
    [Who::Ours, Who::Tokio, Who::AsyncChannel, Who::Flume].map(make).into()
}

fn free(who: Who, n: u64) -> Contender {
    fn work<Q: Queueing>(n: u64) -> Contender {
        Contender::timed(Q::NAME, move || {
            let queue = Q::with(CAPACITY);
            Box::new(move || {
                Batch::time(n, || {
                    for item in 0..n {
                        poll::ready(queue.push(item));
                        assert_eq!(poll::ready(queue.pop()), item);
                    }
                })
            })
        })
        .gated(gate::<Q>)
    }
    match who {
        Who::Ours => work::<Ours>(n),
        Who::Tokio => work::<Tokio>(n),
        Who::AsyncChannel => work::<AsyncChannel>(n),
        Who::Flume => work::<Flume>(n),
    }
}

fn pipe(who: Who, pairs: u64, n: u64, runtime: fn() -> Runtime) -> Contender {
    fn work<Q: Queueing>(pairs: u64, n: u64, runtime: fn() -> Runtime) -> Contender {
        Contender::timed(Q::NAME, move || {
            let runtime = runtime();
            Box::new(move || {
                let queue = Arc::new(Q::with(CAPACITY));
                Batch::time(n, || runtime.block_on(transport(queue, pairs, n / pairs)))
            })
        })
        .gated(gate::<Q>)
    }
    match who {
        Who::Ours => work::<Ours>(pairs, n, runtime),
        Who::Tokio => work::<Tokio>(pairs, n, runtime),
        Who::AsyncChannel => work::<AsyncChannel>(pairs, n, runtime),
        Who::Flume => work::<Flume>(pairs, n, runtime),
    }
}

/// The sum of all items that came out.
async fn transport<Q: Queueing>(queue: Arc<Q>, pairs: u64, each: u64) -> u64 {
    let mut consumers = Vec::new();
    for producer in 0..pairs {
        let (from, to) = (Arc::clone(&queue), Arc::clone(&queue));
        tokio::spawn(async move {
            for item in 0..each {
                to.push(producer * each + item).await;
            }
        });
        consumers.push(tokio::spawn(async move {
            let mut sum = 0;
            for _ in 0..each {
                sum += from.pop().await;
            }
            sum
        }));
    }
    let mut sum = 0;
    for consumer in consumers {
        sum += consumer.await.expect("the consumer ends");
    }
    sum
}

/// Each item comes out once: the sum says so.
fn gate<Q: Queueing>() -> Result<(), String> {
    let sum = one_thread().block_on(transport(Arc::new(Q::with(3)), 4, 1000));
    let expected: u64 = (0..4000).sum();
    if sum == expected { Ok(()) } else { Err(format!("loses items: the sum is {sum} and not {expected}")) }
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime of two threads")
}
