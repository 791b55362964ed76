//! A pool of services made by a MakeService.
#![cfg(feature = "make_service")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use lease_pool::make_service::MakeServiceManager;
use lease_pool::manager::CloseReason;
use lease_pool::{GetError, Pool};
use tower::Service;

/// Numbers its services; each works until it is told to fail.
#[derive(Clone, Default)]
struct Maker {
    made: Arc<AtomicUsize>,
    refuse: bool,
}

#[derive(Debug)]
struct Numbered {
    number: usize,
    uses_left: usize,
}

impl Service<&'static str> for Maker {
    type Response = Numbered;
    type Error = std::io::Error;
    type Future = Ready<Result<Numbered, std::io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> {
        Poll::Ready(if self.refuse { Err(std::io::Error::other("the maker refuses")) } else { Ok(()) })
    }

    fn call(&mut self, target: &'static str) -> Self::Future {
        assert_eq!(target, "target");
        ready(Ok(Numbered { number: self.made.fetch_add(1, Ordering::Relaxed), uses_left: 2 }))
    }
}

impl Service<()> for Numbered {
    type Response = usize;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Ready<Result<usize, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(if self.uses_left == 0 { Err("used up".into()) } else { Ok(()) })
    }

    fn call(&mut self, _: ()) -> Self::Future {
        self.uses_left -= 1;
        ready(Ok(self.number))
    }
}

#[tokio::test]
async fn services_are_made_once_lent_again_and_retired_when_they_say_they_are_not_ready() {
    let maker = Maker::default();
    let manager = MakeServiceManager::<_, _, ()>::new(maker.clone(), "target");
    let pool = Pool::builder(manager).max(1).check_if_idle(std::time::Duration::ZERO).build().unwrap();
    let mut numbers = Vec::new();
    for _ in 0..5 {
        let mut service = pool.get().await.unwrap();
        numbers.push(service.call(()).await.unwrap());
    }
    assert_eq!(numbers, [0, 0, 1, 1, 2]);
    assert_eq!(maker.made.load(Ordering::Relaxed), 3);
    assert_eq!(pool.stats().closed(CloseReason::CheckFailed), 2);
}

#[tokio::test]
async fn the_error_of_the_maker_reaches_the_caller() {
    let manager = MakeServiceManager::<_, _, ()>::new(Maker { refuse: true, ..Maker::default() }, "target");
    let pool = Pool::builder(manager).max(1).build().unwrap();
    let error = pool.get().await.unwrap_err();
    let text = format!("{error:?}");
    assert!(matches!(error, GetError::Unavailable { .. }), "{text}");
    assert!(text.contains("the maker refuses"), "{text}");
}

#[tokio::test]
async fn any_tower_service_of_services_will_do() {
    let maker = tower::service_fn(|add: u32| async move {
        Ok::<_, Infallible>(tower::service_fn(move |n: u32| async move { Ok::<_, Infallible>(n + add) }))
    });
    let pool = Pool::builder(MakeServiceManager::new(maker, 5)).build().unwrap();
    assert_eq!(pool.get().await.unwrap().call(1).await.unwrap(), 6);
}
