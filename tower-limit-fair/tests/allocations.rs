//! Once warm, a request allocates nothing, even if the service is cloned for it.
#![cfg(feature = "time")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
use tower_service::Service;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's pointer and layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = COUNT.get();
    run();
    COUNT.get() - before
}

#[derive(Clone)]
struct Echo;

impl Service<u32> for Echo {
    type Response = u32;
    type Error = Infallible;
    type Future = Ready<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u32) -> Self::Future {
        ready(Ok(n))
    }
}

/// Stays until it is dropped.
#[derive(Clone)]
struct Stay;

impl Service<u32> for Stay {
    type Response = u32;
    type Error = Infallible;
    type Future = std::future::Pending<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Self::Future {
        std::future::pending()
    }
}

fn request<S: Service<u32, Response = u32>>(service: &mut S) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let mut answer = pin!(service.call(1));
    assert!(answer.as_mut().poll(&mut cx).is_ready());
}

#[test]
fn requests_that_do_not_wait_allocate_nothing_reused_or_cloned() {
    for mode in [Mode::Reserve, Mode::Deferred] {
        let mut service = ConcurrencyLimitLayer::builder().limit(2).mode(mode).build().unwrap().layer(Echo);
        request(&mut service);
        assert_eq!(allocations(|| (0..100).for_each(|_| request(&mut service))), 0, "{mode:?} reused");
        let cloned = allocations(|| (0..100).for_each(|_| request(&mut service.clone())));
        assert_eq!(cloned, 0, "{mode:?} cloned");
    }
}

#[test]
fn requests_that_wait_allocate_nothing_once_warm_reused_or_cloned() {
    for mode in [Mode::Reserve, Mode::Deferred] {
        let layer =
            ConcurrencyLimitLayer::builder().limit(1).mode(mode).reservation_ttl(None).build().unwrap();
        let stay = layer.layer(Stay);
        let round = || {
            let mut cx = Context::from_waker(Waker::noop());
            let (mut a, mut b) = (stay.clone(), stay.clone());
            assert!(a.poll_ready(&mut cx).is_ready());
            let mut running = a.call(1);
            let _ = std::pin::Pin::new(&mut running).poll(&mut cx);
            // Waits, in `poll_ready` or in the future, then gets its lease and runs.
            let _ = b.poll_ready(&mut cx);
            let mut waiting = pin!(b.call(2));
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            drop(running);
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
        };
        round();
        assert_eq!(allocations(|| (0..100).for_each(|_| round())), 0, "{mode:?}");
    }
}

#[test]
fn a_rejected_request_allocates_nothing() {
    let layer = ConcurrencyLimitLayer::builder().limit(1).mode(Mode::Shed).fail().build().unwrap();
    let mut stay = layer.layer(Stay);
    let _running = stay.call(1);
    let service = layer.layer(Echo);
    let shed = || {
        let mut cx = Context::from_waker(Waker::noop());
        let mut service = service.clone();
        let answer = pin!(service.call(1));
        assert!(matches!(answer.poll(&mut cx), Poll::Ready(Err(_))));
    };
    shed();
    assert_eq!(allocations(|| (0..100).for_each(|_| shed())), 0);
}

#[cfg(feature = "http")]
#[test]
fn the_body_wrapper_allocates_nothing() {
    use http_body::Body;
    use std::future::Ready;

    #[derive(Clone)]
    struct Answer;

    impl Service<http::Request<()>> for Answer {
        type Response = http::Response<http_body_util::Full<bytes::Bytes>>;
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: http::Request<()>) -> Self::Future {
            ready(Ok(http::Response::new(http_body_util::Full::new(bytes::Bytes::from_static(b"body")))))
        }
    }

    let layer = ConcurrencyLimitLayer::server(1);
    let service = layer.layer(Answer);
    let round = |limited: bool| {
        allocations(|| {
            let mut cx = Context::from_waker(Waker::noop());
            let request = http::Request::new(());
            if limited {
                let mut service = service.clone();
                let mut answer = pin!(service.call(request));
                let Poll::Ready(Ok(response)) = answer.as_mut().poll(&mut cx) else { panic!("waits") };
                let mut body = pin!(response.into_body());
                while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
                    drop(frame);
                }
            } else {
                let Poll::Ready(Ok(response)) = pin!(Answer.call(request)).poll(&mut cx) else {
                    panic!("waits")
                };
                let mut body = pin!(response.into_body());
                while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
                    drop(frame);
                }
            }
        })
    };
    let _ = (round(true), round(false));
    assert_eq!(round(true), round(false));
}
