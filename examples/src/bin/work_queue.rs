//! A bounded queue of work: it wraps around, refuses when full, and closes without losing what it holds.
#![forbid(unsafe_code)]

use std::sync::Arc;

use semaphore_core::{BoundedQueue, PopError, PushError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Three places in a ring: once the first item is out, the fourth takes its place.
    let queue = Arc::new(BoundedQueue::new(3)?);
    queue.try_push(10)?;
    queue.try_push(20)?;
    assert_eq!(queue.try_pop(), Ok(10));
    queue.try_push(30)?;
    queue.try_push(40)?;
    println!("in order over the wrap-around: {:?}", queue.snapshot());
    assert_eq!(queue.snapshot(), [20, 30, 40]);

    // A full queue gives the item back instead of waiting or dropping something.
    let refused = queue.try_push(50);
    println!("a fourth item: {}", refused.map_err(|error| error.to_string()).unwrap_err());
    assert_eq!(refused, Err(PushError::Full(50)));

    // Producers that may wait stand in line; two workers take what there is.
    let workers: Vec<_> = (1..=2).map(|name| tokio::spawn(work(name, queue.clone()))).collect();
    for item in [50, 60, 70, 80] {
        queue.push(item).await?;
        println!("pushed {item}, {} of {} places taken", queue.len(), queue.capacity());
    }

    // Closing refuses new work and lets the rest be done; then every worker hears of it.
    queue.close();
    assert_eq!(queue.try_push(90), Err(PushError::Closed(90)));
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await?);
    }
    done.sort_unstable();
    println!("done: {done:?}");
    assert_eq!(done, [20, 30, 40, 50, 60, 70, 80]);
    assert_eq!(queue.pop().await, Err(PopError::Closed));
    Ok(())
}

/// Works until the queue is closed and empty.
async fn work(name: u32, queue: Arc<BoundedQueue<u32>>) -> Vec<u32> {
    let mut done = Vec::new();
    while let Ok(item) = queue.pop().await {
        println!("worker {name} takes {item}");
        done.push(item);
        tokio::task::yield_now().await;
    }
    done
}
