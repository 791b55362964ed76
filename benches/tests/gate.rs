//! The gate sees through contenders that cheat.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use benches::gate::check;
use benches::rounds::watch;
use tokio::sync::{Semaphore, SemaphorePermit};

#[test]
fn an_honest_semaphore_passes() {
    let semaphore = Semaphore::new(3);
    let passed = check(3, || async { semaphore.acquire().await.map_err(|error| error.to_string()) });
    assert_eq!(passed, Ok(()));
}

#[test]
fn one_that_lets_too_many_in_is_caught() {
    let semaphore = Semaphore::new(4);
    let reason = check(3, || async { semaphore.acquire().await.map_err(|error| error.to_string()) });
    assert!(reason.as_ref().is_err_and(|reason| reason.contains("lets 4 in where 3")), "{reason:?}");
}

#[test]
fn one_that_loses_a_permit_now_and_then_is_caught() {
    let (semaphore, entered) = (Semaphore::new(3), Cell::new(0));
    let reason = check(3, || async {
        let permit: SemaphorePermit<'_> = semaphore.acquire().await.map_err(|error| error.to_string())?;
        entered.set(entered.get() + 1);
        if entered.get() == 100 {
            permit.forget();
            return Ok(None);
        }
        Ok(Some(permit))
    });
    let words = reason.expect_err("a permit is gone");
    assert!(words.contains("loses places") || words.contains("hangs"), "{words}");
}

/// Wakes one waiter per release and forgets it, whether or not it is still there.
#[derive(Default)]
struct Forgetful {
    taken: Cell<usize>,
    waiting: RefCell<VecDeque<Waker>>,
}

struct Place(Rc<Forgetful>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.set(self.0.taken.get() - 1);
        if let Some(waker) = self.0.waiting.borrow_mut().pop_front() {
            waker.wake();
        }
    }
}

#[test]
fn one_whose_wake_up_is_swallowed_by_a_waiter_who_left_is_caught() {
    let forgetful = Rc::new(Forgetful::default());
    let reason = check(1, || enter(Rc::clone(&forgetful)));
    assert!(reason.as_ref().is_err_and(|reason| reason.contains("hangs")), "{reason:?}");
}

fn enter(place: Rc<Forgetful>) -> impl Future<Output = Result<Place, String>> {
    let mut queued = false;
    poll_fn(move |cx| {
        if place.taken.get() == 0 {
            place.taken.set(1);
            return Poll::Ready(Ok(Place(Rc::clone(&place))));
        }
        if !queued {
            queued = true;
            place.waiting.borrow_mut().push_back(cx.waker().clone());
        }
        Poll::Pending
    })
}

#[test]
fn one_that_blocks_its_thread_is_given_up() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let reason = watch(
        Box::new(move || released.recv().map_err(|error| error.to_string())),
        Duration::from_millis(20),
    );
    assert!(reason.as_ref().is_err_and(|reason| reason.starts_with("hangs")), "{reason:?}");
    drop(release);
}

#[test]
fn one_that_panics_fails_with_that_word() {
    assert_eq!(watch(Box::new(|| panic!("on purpose")), Duration::from_secs(60)), Err("panics".into()));
}
