//! The bounded queue against a plain list, then under many hands.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use semaphore_core::{BoundedQueue, BuildError, PopError, PushError};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[derive(Clone, Debug)]
enum Op {
    Push,
    Pop,
    Snapshot,
    Drain,
    Close,
    Reserve,
    Use,
    Return,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => Just(Op::Push),
        7 => Just(Op::Pop),
        2 => Just(Op::Snapshot),
        1 => Just(Op::Drain),
        1 => Just(Op::Reserve),
        1 => Just(Op::Use),
        1 => Just(Op::Return),
    ]
    .prop_flat_map(|op| prop_oneof![40 => Just(op), 1 => Just(Op::Close)])
}

fn same(ours: &[Arc<u64>], model: &VecDeque<Arc<u64>>) -> bool {
    ours.len() == model.len() && ours.iter().zip(model).all(|(a, b)| Arc::ptr_eq(a, b))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_a_plain_list_by_identity(
        capacity in prop_oneof![Just(1_usize), Just(2), Just(3), Just(64)],
        ops in prop::collection::vec(op(), 1..300),
    ) {
        let queue = BoundedQueue::new(capacity).unwrap();
        let mut model: VecDeque<Arc<u64>> = VecDeque::new();
        let mut closed = false;
        let mut slots = Vec::new();
        for (number, op) in ops.into_iter().enumerate() {
            let item = Arc::new(number as u64 % 3);
            match op {
                Op::Push => match queue.try_push(item.clone()) {
                    Ok(()) => {
                        prop_assert!(!closed && model.len() + slots.len() < capacity);
                        model.push_back(item);
                    }
                    Err(PushError::Closed(back)) => prop_assert!(closed && Arc::ptr_eq(&back, &item)),
                    Err(PushError::Full(back)) => {
                        prop_assert!(!closed && model.len() + slots.len() == capacity);
                        prop_assert!(Arc::ptr_eq(&back, &item));
                    }
                    Err(other) => prop_assert!(false, "{other:?}"),
                },
                Op::Pop => match queue.try_pop() {
                    Ok(item) => prop_assert!(Arc::ptr_eq(&item, &model.pop_front().unwrap())),
                    Err(PopError::Empty) => prop_assert!(!closed && model.is_empty()),
                    Err(PopError::Closed) => prop_assert!(closed && model.is_empty()),
                    Err(other) => prop_assert!(false, "{other:?}"),
                },
                Op::Snapshot => prop_assert!(same(&queue.snapshot_shared(), &model)),
                Op::Drain => {
                    prop_assert!(same(&queue.drain(), &model));
                    model.clear();
                }
                Op::Close => {
                    queue.close();
                    closed = true;
                }
                Op::Reserve => {
                    if let Poll::Ready(Ok(slot)) = poll(pin!(queue.reserve())) {
                        prop_assert!(!closed && model.len() + slots.len() < capacity);
                        slots.push(slot);
                    }
                }
                Op::Use => {
                    if let Some(slot) = slots.pop() {
                        match slot.push(item.clone()) {
                            Ok(()) => {
                                prop_assert!(!closed);
                                model.push_back(item);
                            }
                            Err(refused) => {
                                prop_assert!(closed && Arc::ptr_eq(&refused.into_item(), &item));
                            }
                        }
                    }
                }
                Op::Return => drop(slots.pop()),
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
            prop_assert_eq!(queue.is_full(), model.len() == capacity);
            prop_assert_eq!(queue.is_closed(), closed);
        }
    }
}

#[test]
fn a_capacity_of_zero_or_beyond_memory_is_an_error() {
    assert!(matches!(BoundedQueue::<u8>::new(0), Err(BuildError::Capacity { requested: 0, .. })));
    assert!(BoundedQueue::<u8>::new(usize::MAX).is_err());
    assert!(BoundedQueue::<[u64; 1 << 30]>::new(1 << 30).is_err());
}

#[test]
fn waiting_pushes_get_room_in_order_and_a_cancelled_one_keeps_its_item_out() {
    let queue = BoundedQueue::new(1).unwrap();
    queue.try_push(0).unwrap();
    let (mut one, mut three) = (pin!(queue.push(1)), pin!(queue.push(3)));
    assert!(poll(one.as_mut()).is_pending());
    {
        let mut two = pin!(queue.push(2));
        assert!(poll(two.as_mut()).is_pending());
        assert!(poll(three.as_mut()).is_pending());
    }
    assert_eq!(queue.try_pop(), Ok(0));
    assert!(poll(three.as_mut()).is_pending(), "the room is the first one's");
    assert_eq!(queue.try_push(9), Err(PushError::Full(9)), "nobody passes");
    assert_eq!(poll(one), Poll::Ready(Ok(())));
    assert_eq!(queue.try_pop(), Ok(1));
    assert_eq!(poll(three), Poll::Ready(Ok(())));
    assert_eq!(queue.drain(), [3]);
}

#[test]
fn a_push_cancelled_after_its_grant_passes_the_room_on() {
    let queue = BoundedQueue::new(1).unwrap();
    queue.try_push(0).unwrap();
    let mut second = pin!(queue.push(2));
    {
        let mut first = pin!(queue.push(1));
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        assert_eq!(queue.try_pop(), Ok(0));
    }
    assert_eq!(poll(second), Poll::Ready(Ok(())));
    assert_eq!(queue.snapshot(), [2]);
}

#[test]
fn a_promised_item_is_counted_but_not_to_be_popped_by_others() {
    let queue = BoundedQueue::new(2).unwrap();
    let mut second = pin!(queue.pop());
    {
        let mut first = pin!(queue.pop());
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        queue.try_push(1).unwrap();
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.try_pop(), Err(PopError::Empty));
        assert!(queue.drain().is_empty());
    }
    assert_eq!(poll(second), Poll::Ready(Ok(1)), "the cancelled pop took nothing");
}

#[test]
fn close_lets_a_promise_be_kept_and_the_rest_be_popped() {
    let queue = BoundedQueue::new(3).unwrap();
    let mut promised = pin!(queue.pop());
    let mut late = pin!(queue.pop());
    assert!(poll(promised.as_mut()).is_pending());
    assert!(poll(late.as_mut()).is_pending());
    queue.try_push(1).unwrap();
    queue.close();
    assert_eq!(poll(late), Poll::Ready(Err(PopError::Closed)));
    assert_eq!(queue.try_pop(), Err(PopError::Closed), "the one item is promised");
    assert_eq!(poll(promised), Poll::Ready(Ok(1)));
}

#[test]
fn close_gives_waiting_pushes_and_reserved_slots_their_items_back() {
    let queue = BoundedQueue::new(1).unwrap();
    let Poll::Ready(Ok(slot)) = poll(pin!(queue.reserve())) else { panic!() };
    let mut waiting = pin!(queue.push(2));
    assert!(poll(waiting.as_mut()).is_pending());
    queue.close();
    assert_eq!(slot.push(1), Err(PushError::Closed(1)));
    assert_eq!(poll(waiting), Poll::Ready(Err(PushError::Closed(2))));
    assert!(queue.is_empty());
}

#[test]
fn an_item_whose_drop_calls_back_does_not_deadlock() {
    struct Nosy(std::sync::Weak<BoundedQueue<Nosy>>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            if let Some(queue) = self.0.upgrade() {
                let _ = (queue.len(), queue.try_pop().is_ok());
            }
        }
    }
    let queue = Arc::new(BoundedQueue::new(4).unwrap());
    for _ in 0..4 {
        queue.try_push(Nosy(Arc::downgrade(&queue))).unwrap();
    }
    assert!(format!("{queue:?}").contains("len: 4"));
    drop(queue.try_pop().unwrap());
    drop(queue.drain());
    assert!(queue.is_empty());
}

#[test]
fn a_shared_item_is_never_cloned() {
    struct Untouchable;
    impl Clone for Untouchable {
        fn clone(&self) -> Self {
            panic!("cloned");
        }
    }
    let queue = BoundedQueue::new(1).unwrap();
    queue.try_push(Arc::new(Untouchable)).unwrap();
    assert_eq!(queue.snapshot_shared().len(), 1);
}

/// Four by four, cancelling on both sides now and then: every item once, in order per producer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_items_come_out_exactly_once_and_in_order_per_producer() {
    const PER_PRODUCER: u64 = 250_000;
    let queue = Arc::new(BoundedQueue::new(64).unwrap());
    let producers: Vec<_> = (0..4_u64)
        .map(|producer| {
            let queue = queue.clone();
            tokio::spawn(async move {
                for number in 0..PER_PRODUCER {
                    if number % 64 == 0 {
                        // Waits, or not, and gives up either way; a slot loses no item.
                        let mut reserving = pin!(queue.reserve());
                        let _ = poll(reserving.as_mut());
                    }
                    queue.push((producer, number)).await.unwrap();
                    if number % 128 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    let consumers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut seen: [Vec<u64>; 4] = Default::default();
                let mut turn = 0_u64;
                loop {
                    turn += 1;
                    if turn % 64 == 0 {
                        let mut popping = pin!(queue.pop());
                        if let Poll::Ready(Ok((producer, number))) = poll(popping.as_mut()) {
                            seen[producer as usize].push(number);
                        }
                    }
                    match queue.pop().await {
                        Ok((producer, number)) => seen[producer as usize].push(number),
                        Err(error) => {
                            assert_eq!(error, PopError::Closed);
                            return seen;
                        }
                    }
                    if turn % 128 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    queue.close();
    let mut all: [Vec<u64>; 4] = Default::default();
    for consumer in consumers {
        for (producer, numbers) in consumer.await.unwrap().into_iter().enumerate() {
            assert!(numbers.is_sorted(), "in order per producer");
            all[producer].extend(numbers);
        }
    }
    for mut numbers in all {
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..PER_PRODUCER), "each exactly once");
    }
}

#[cfg(feature = "time")]
#[tokio::test(start_paused = true)]
async fn timeouts_on_both_sides_expire_at_the_deadline_and_lose_nothing() {
    use std::time::Duration;
    let wait = Duration::from_secs(1);
    let queue = BoundedQueue::new(1).unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(queue.pop_timeout(wait).await, Err(PopError::TimedOut));
    assert_eq!(start.elapsed(), wait);
    queue.push_timeout(1, wait).await.unwrap();
    assert_eq!(queue.push_timeout(2, wait).await, Err(PushError::TimedOut(2)));
    assert_eq!(queue.reserve_timeout(wait).await.unwrap_err(), PopError::TimedOut);
    assert_eq!(queue.pop_timeout(wait).await, Ok(1));
    assert!(queue.is_empty());
}
