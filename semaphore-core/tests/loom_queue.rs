//! Every interleaving of the bounded queue's two ends.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{block_on, explore, spawn};
use semaphore_core::{BoundedQueue, PopError, PushError};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn queue(capacity: usize) -> Arc<BoundedQueue<u8>> {
    Arc::new(BoundedQueue::new(capacity).unwrap())
}

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

fn poll<T>(future: &mut Boxed<T>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_push_meets_a_pop() {
    explore(|| {
        let queue = queue(1);
        let other = queue.clone();
        let popping = spawn(move || block_on(other.pop()));
        block_on(queue.push(1)).unwrap();
        assert_eq!(popping.join().unwrap(), Ok(1));
        assert!(queue.is_empty());
        assert_eq!(queue.try_push(2), Ok(()), "the slot came back");
    });
}

#[test]
fn a_push_into_a_full_queue_meets_a_pop() {
    explore(|| {
        let queue = queue(1);
        queue.try_push(1).unwrap();
        let other = queue.clone();
        let pushing = spawn(move || block_on(other.push(2)));
        assert_eq!(block_on(queue.pop()), Ok(1));
        pushing.join().unwrap().unwrap();
        assert_eq!(queue.snapshot(), [2]);
    });
}

#[test]
fn close_meets_a_push() {
    explore(|| {
        let queue = queue(1);
        let other = queue.clone();
        let pushing = spawn(move || other.try_push(1));
        queue.close();
        let popped = queue.try_pop();
        match pushing.join().unwrap() {
            // Accepted items come out, refused ones do not.
            Ok(()) => assert_eq!(popped, Ok(1)),
            Err(error) => {
                assert_eq!(error, PushError::Closed(1));
                assert_eq!(popped, Err(PopError::Closed));
            }
        }
        assert_eq!(queue.try_pop(), Err(PopError::Closed));
    });
}

#[test]
fn close_meets_a_push_that_waits_and_a_pop() {
    explore(|| {
        let queue = queue(1);
        queue.try_push(1).unwrap();
        let other = queue.clone();
        let pushing = spawn(move || block_on(other.push(2)));
        let other = queue.clone();
        let closing = spawn(move || other.close());
        assert_eq!(block_on(queue.pop()), Ok(1));
        closing.join().unwrap();
        let rest = block_on(queue.pop());
        match pushing.join().unwrap() {
            Ok(()) => assert_eq!(rest, Ok(2)),
            Err(error) => {
                assert_eq!(error, PushError::Closed(2));
                assert_eq!(rest, Err(PopError::Closed));
            }
        }
    });
}

#[test]
fn a_cancelled_push_with_a_grant_passes_its_room_on() {
    explore(|| {
        let queue = queue(1);
        queue.try_push(0).unwrap();
        let owner = queue.clone();
        let mut first: Boxed<Result<(), PushError<u8>>> = Box::pin(async move { owner.push(1).await });
        assert!(poll(&mut first).is_pending());
        let other = queue.clone();
        let second = spawn(move || block_on(other.push(2)));
        let other = queue.clone();
        let popping = spawn(move || other.try_pop());
        drop(first);
        assert_eq!(popping.join().unwrap(), Ok(0));
        second.join().unwrap().unwrap();
        assert_eq!(queue.snapshot(), [2]);
    });
}
