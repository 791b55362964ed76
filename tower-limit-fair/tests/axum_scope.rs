//! One layer value is one limit, in a real axum server.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::sync::Arc;

use axum::{Router, routing::get};
use support::server::{Gauge, body_of, get as request, http1, serve, until, within};
use tokio::sync::Semaphore as Gate;
use tower_limit_fair::{ConcurrencyLimitLayer, Limit};

/// A handler that counts itself and stays until the gate lets it go.
fn handler(
    gauge: &Gauge,
    gate: &Arc<Gate>,
) -> impl Fn() -> std::pin::Pin<Box<dyn Future<Output = &'static str> + Send>> + Clone + Send + Sync + 'static
{
    let (gauge, gate) = (gauge.clone(), Arc::clone(gate));
    move || {
        let (gauge, gate) = (gauge.clone(), Arc::clone(&gate));
        Box::pin(async move {
            let _inside = gauge.enter();
            gate.acquire().await.unwrap().forget();
            "done"
        })
    }
}

/// Sends one request per path, each on its own connection, and checks that all share `limit`.
async fn share_one_limit(app: Router, limit: &Limit, gauge: &Gauge, gate: &Gate, paths: &[&str]) {
    let most = limit.limit();
    let addr = serve(app).await;
    let mut requests = tokio::task::JoinSet::new();
    for path in paths {
        let path = (*path).to_owned();
        requests.spawn(async move {
            let response = http1(addr).await.send_request(request(&path)).await.unwrap();
            (response.status().as_u16(), body_of(response).await.unwrap())
        });
    }
    until("the rest queues", || gauge.now() == most && limit.queued() == paths.len() - most).await;
    assert_eq!(limit.in_flight(), most);
    for _ in paths {
        gate.add_permits(1);
        tokio::task::yield_now().await;
    }
    while let Some(done) = within("every request is answered", requests.join_next()).await {
        assert_eq!(done.unwrap(), (200, b"done".to_vec()));
    }
    assert_eq!((gauge.peak(), gauge.total()), (most, paths.len()));
    until("every lease comes home", || limit.in_flight() == 0).await;
}

#[tokio::test]
async fn router_layer_over_routes_methods_fallback_and_ten_connections_is_one_limit() {
    let (gauge, gate) = (Gauge::default(), Arc::new(Gate::new(0)));
    let layer = ConcurrencyLimitLayer::server(3);
    let limit = layer.handle();
    let app = Router::new()
        .route("/a", get(handler(&gauge, &gate)))
        .route("/b", get(handler(&gauge, &gate)))
        .route("/c", get(handler(&gauge, &gate)))
        .fallback(handler(&gauge, &gate))
        .layer(layer);
    let paths = ["/a", "/b", "/c", "/nowhere", "/a", "/b", "/c", "/nowhere", "/a", "/b"];
    share_one_limit(app, &limit, &gauge, &gate, &paths).await;
}

#[tokio::test]
async fn one_value_applied_to_a_method_router_a_route_and_a_nested_router_is_one_limit() {
    let (gauge, gate) = (Gauge::default(), Arc::new(Gate::new(0)));
    let layer = ConcurrencyLimitLayer::server(2);
    let limit = layer.handle();
    let app = Router::new()
        .route("/method", get(handler(&gauge, &gate)).layer(layer.clone()))
        .nest("/nested", Router::new().route("/x", get(handler(&gauge, &gate))).layer(layer.clone()))
        .merge(Router::new().route("/route", get(handler(&gauge, &gate))).route_layer(layer));
    let paths = ["/method", "/nested/x", "/route", "/method", "/nested/x", "/route"];
    share_one_limit(app, &limit, &gauge, &gate, &paths).await;
}

#[tokio::test]
async fn per_service_gives_each_route_its_own() {
    let (gauge, gate) = (Gauge::default(), Arc::new(Gate::new(0)));
    let layer = ConcurrencyLimitLayer::server(1).per_service();
    let app = Router::new()
        .route("/a", get(handler(&gauge, &gate)).layer(layer.clone()))
        .route("/b", get(handler(&gauge, &gate)).layer(layer))
        // Axum lays layers around method handlers per connection unless the state is given first.
        .with_state(());
    let addr = serve(app).await;
    let mut requests = tokio::task::JoinSet::new();
    for path in ["/a", "/b", "/a", "/b"] {
        requests.spawn(async move { http1(addr).await.send_request(request(path)).await.unwrap().status() });
    }
    until("one of each runs", || gauge.now() == 2).await;
    gate.add_permits(4);
    while let Some(done) = within("every request is answered", requests.join_next()).await {
        assert_eq!(done.unwrap(), 200);
    }
    assert_eq!((gauge.peak(), gauge.total()), (2, 4));
}

#[tokio::test]
async fn new_and_reserve_mode_share_one_limit_in_axum_too() {
    let (gauge, gate) = (Gauge::default(), Arc::new(Gate::new(0)));
    let layer = ConcurrencyLimitLayer::new(2);
    let limit = layer.handle();
    let app = Router::new()
        .route("/a", get(handler(&gauge, &gate)))
        .route("/b", get(handler(&gauge, &gate)))
        .layer(layer);
    share_one_limit(app, &limit, &gauge, &gate, &["/a", "/b", "/a", "/b", "/a", "/b"]).await;
}
