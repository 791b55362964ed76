//! Resizing, closing and draining a limit under load.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::{sync::Arc, time::Duration};

use axum::{Router, routing::get};
use support::{
    Script, Task,
    server::{Gauge, get as request, http1, until, within},
};
use tokio::sync::{Notify, Semaphore as Gate, oneshot};
use tower_layer::Layer;
use tower_limit_fair::{
    CannotReject, ConcurrencyLimitLayer, DrainPolicy, Limit, LimitError, Mode, Reason, SetLimitError,
};
use tower_service::Service;

/// Permits that were given to waiters which were not polled since.
fn granted(limit: &Limit) -> usize {
    let snapshot = limit.snapshot();
    snapshot.unclaimed + snapshot.reserved
}

#[tokio::test]
async fn shrinking_from_four_to_one_admits_nobody_until_three_are_gone_even_if_grants_are_dropped() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Deferred).fail().build().unwrap();
    let limit = layer.handle();
    let mut service = layer.layer(script.service());
    let task = Task::new();
    let mut running: Vec<_> = (0..4).map(|_| Box::pin(service.call("running"))).collect();
    running.iter_mut().for_each(|request| assert!(task.poll_future(request).is_pending()));
    let mut queued: Vec<_> = (0..4).map(|_| Box::pin(service.call("queued"))).collect();
    queued.iter_mut().for_each(|request| assert!(task.poll_future(request).is_pending()));

    // Two are granted and not polled since, then the limit falls, then both are dropped.
    drop(running.pop());
    drop(running.pop());
    assert_eq!(granted(&limit), 2);
    limit.set_limit(1).unwrap();
    drop(queued.drain(..2));
    for left in (0..2).rev() {
        assert_eq!((granted(&limit), limit.queued()), (0, 2), "admitted with {} running", running.len());
        drop(running.pop());
        assert_eq!(limit.snapshot().in_flight, left);
    }
    assert_eq!((granted(&limit), limit.queued()), (1, 1), "one, now that the old ones are gone");

    // Growing by n lets n in.
    let mut more: Vec<_> = (0..4).map(|_| Box::pin(service.call("more"))).collect();
    more.iter_mut().for_each(|request| assert!(task.poll_future(request).is_pending()));
    limit.set_limit(4).unwrap();
    assert_eq!((granted(&limit), limit.queued()), (4, 2));
}

#[tokio::test]
async fn set_limit_up_and_down_under_load_never_over_admits() {
    let layer = ConcurrencyLimitLayer::server_builder(4)
        .queue(10_000)
        .queue_timeout(Duration::from_secs(600))
        .build()
        .unwrap();
    let limit = layer.handle();
    let (gauge, gate) = (Gauge::default(), Arc::new(Gate::new(0)));
    let (counted, held) = (gauge.clone(), Arc::clone(&gate));
    let app = Router::new()
        .route(
            "/",
            get(move || {
                let (gauge, gate) = (counted.clone(), Arc::clone(&held));
                async move {
                    let _inside = gauge.enter();
                    gate.acquire().await.unwrap().forget();
                }
            }),
        )
        .layer(layer);
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let app = app.clone();
        requests.spawn(async move { tower::ServiceExt::oneshot(app, request("/")).await.unwrap().status() });
    }
    for (step, most) in [4_usize, 1, 6, 2, 8, 1, 3].into_iter().enumerate() {
        let before = gauge.now();
        limit.set_limit(most).unwrap();
        // Those inside may be more than the new limit; nobody new enters until they are fewer.
        let bound = most.max(before);
        for _ in 0..20 {
            gate.add_permits(1);
            for _ in 0..4 {
                tokio::task::yield_now().await;
                assert!(gauge.now() <= bound, "step {step}: {} inside at limit {most}", gauge.now());
            }
        }
        assert!(gauge.now() <= most, "step {step}");
    }
    gate.add_permits(500);
    while let Some(done) = within("every request ends", requests.join_next()).await {
        assert_eq!(done.unwrap(), 200);
    }
    assert_eq!((limit.in_flight(), limit.snapshot().available, gauge.peak()), (0, 3, 8));
}

#[tokio::test]
async fn refused_numbers_name_themselves_and_change_nothing() {
    let layer = ConcurrencyLimitLayer::builder().limit(4).max_limit(8).name("uploads").build().unwrap();
    let limit = layer.handle();
    let zero = limit.set_limit(0).unwrap_err();
    assert_eq!(zero.to_string(), "limit `uploads` cannot be set to 0: nobody would ever be admitted");
    let above = limit.set_limit(9).unwrap_err();
    assert!(matches!(above, SetLimitError::AboveMax { requested: 9, max: 8, .. }));
    assert_eq!(above.to_string(), "limit `uploads` cannot be set to 9: it can be at most 8");
    assert!(limit.set_limit(usize::MAX).is_err());
    assert_eq!(limit.limit(), 4);
    assert!(ConcurrencyLimitLayer::new(1).handle().set_limit(usize::MAX).is_err());
}

#[tokio::test]
async fn a_limit_that_cannot_reject_says_so_and_changes_nothing() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::new(1);
    let limit = layer.handle();
    let refused: CannotReject = limit.close().unwrap_err();
    assert!(refused.to_string().contains("cannot close"), "{refused}");
    assert!(limit.drain(DrainPolicy::FinishQueued).await.is_err());
    assert!(limit.drain(DrainPolicy::RejectQueued).await.is_err());
    assert!(!limit.is_closed() && !limit.snapshot().draining);
    let mut service = layer.layer(script.service());
    let mut request = Box::pin(service.call("runs"));
    let task = Task::new();
    assert_pending!(task.poll_future(&mut request));
    let mut drain = limit.drain(DrainPolicy::FinishAll);
    assert_pending!(task.poll_future(&mut drain));
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut request));
    assert!(task.is_woken());
    assert_ready_ok!(task.poll_future(&mut drain));
}

#[tokio::test]
async fn draining_in_reserve_mode_rejects_newcomers_and_reservations_of_the_rejecting_kind() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::builder().limit(1).fail().build().unwrap();
    let limit = layer.handle();
    let mut ready = support::Spawned::new(layer.layer(script.service()));
    let (mut queued, mut new) = (ready.clone(), ready.clone());
    assert_ready_ok!(ready.poll_ready());
    assert_pending!(queued.poll_ready());
    let _drain = limit.drain(DrainPolicy::FinishQueued);
    assert_ready_ok!(new.poll_ready());
    let task = Task::new();
    match task.poll_future(&mut Box::pin(new.service.call("new"))) {
        std::task::Poll::Ready(Err(LimitError::Rejected(rejected))) => {
            assert_eq!(rejected.reason, Reason::Draining)
        }
        other => panic!("{other:?}"),
    }
    let mut request = Box::pin(ready.service.call("reserved"));
    assert_pending!(task.poll_future(&mut request));
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut request));
    assert_ready_ok!(queued.poll_ready());

    let _drain = limit.drain(DrainPolicy::RejectQueued);
    assert_ready_ok!(queued.poll_ready());
    match task.poll_future(&mut Box::pin(queued.service.call("queued"))) {
        std::task::Poll::Ready(Err(LimitError::Rejected(rejected))) => {
            assert_eq!(rejected.reason, Reason::Draining)
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((limit.snapshot().available, limit.snapshot().reserved), (1, 0));
}

/// One running and nine queued requests in axum; returns the statuses after the drain and a graceful shutdown.
async fn shut_down(policy: DrainPolicy) -> (Vec<u16>, usize, Limit) {
    let layer = ConcurrencyLimitLayer::server_builder(1)
        .queue(100)
        .queue_timeout(Duration::from_secs(600))
        .build()
        .unwrap();
    let limit = layer.handle();
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let (counted, held) = (gauge.clone(), Arc::clone(&go));
    let handler = move || {
        let (gauge, go) = (counted.clone(), Arc::clone(&held));
        async move {
            let _inside = gauge.enter();
            go.notified().await;
        }
    };
    let app = Router::new().route("/", get(handler)).layer(layer);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let drained = limit.clone();
    let server = tokio::spawn(async move {
        let shutdown = async move {
            stopped.await.unwrap();
            drained.drain(policy).await.unwrap();
        };
        axum::serve(listener, app).with_graceful_shutdown(shutdown).await.unwrap();
    });
    let mut requests = tokio::task::JoinSet::new();
    for n in 0..10 {
        requests.spawn(async move {
            http1(addr).await.send_request(request("/")).await.unwrap().status().as_u16()
        });
        until("it runs or waits", || gauge.now() == 1 && limit.queued() == n).await;
    }
    stop.send(()).unwrap();
    let draining = policy != DrainPolicy::FinishAll;
    until("the drain has begun", || limit.snapshot().draining == draining).await;
    // A newcomer during the drain.
    let late =
        tokio::spawn(async move { http1(addr).await.send_request(request("/")).await.unwrap().status() });
    if draining {
        assert_eq!(within("the newcomer is answered", late).await.unwrap(), 503);
    } else {
        until("the newcomer waits", || limit.queued() == 10).await;
    }
    let served = match policy {
        DrainPolicy::FinishAll => 11,
        DrainPolicy::FinishQueued => 10,
        _ => 1,
    };
    for n in 1..=served {
        until("the next one runs", || gauge.total() == n && gauge.now() == 1).await;
        go.notify_one();
        until("it ends", || gauge.now() == 0 || gauge.total() > n).await;
    }
    let mut statuses = Vec::new();
    while let Some(status) = within("every request is answered", requests.join_next()).await {
        statuses.push(status.unwrap());
    }
    within("the server ends", server).await.unwrap();
    statuses.sort_unstable();
    (statuses, gauge.total(), limit)
}

#[tokio::test]
async fn finish_all_serves_everybody_and_then_the_server_ends() {
    let (statuses, served, _) = shut_down(DrainPolicy::FinishAll).await;
    assert_eq!((statuses, served), (vec![200; 10], 11));
}

#[tokio::test]
async fn finish_queued_serves_the_nine_and_rejects_newcomers() {
    let (statuses, served, limit) = shut_down(DrainPolicy::FinishQueued).await;
    assert_eq!((statuses, served), (vec![200; 10], 10));
    assert_eq!(limit.stats().rejected(Reason::Draining), 1);
}

#[tokio::test]
async fn reject_queued_finishes_the_one_that_runs_and_rejects_the_nine() {
    let (statuses, served, limit) = shut_down(DrainPolicy::RejectQueued).await;
    assert_eq!(statuses, [vec![200], vec![503; 9]].concat());
    assert_eq!((served, limit.stats().rejected(Reason::Draining)), (1, 10));
}
