//! Workloads of the layer.

use tower::Service;

use super::{Workload, measured};
use crate::layer::{Echo, deferred, ours, request, tower_limit};

const LOOPS: u64 = 10_000;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("ready + call, re-used", "ours", LOOPS, |n| reuse(ours(8, Echo), n)),
        Workload::new("ready + call, re-used", "ours (deferred)", LOOPS, |n| reuse(deferred(8, Echo), n)),
        Workload::new("ready + call, re-used", "tower", LOOPS, |n| reuse(tower_limit(8, Echo), n)),
        Workload::new("ready + call, cloned", "ours", LOOPS, |n| clone(ours(8, Echo), n)),
        Workload::new("ready + call, cloned", "ours (deferred)", LOOPS, |n| clone(deferred(8, Echo), n)),
        Workload::new("ready + call, cloned", "tower", LOOPS, |n| clone(tower_limit(8, Echo), n)),
    ]
}

fn reuse<S: Service<u64>>(mut service: S, n: u64) {
    measured(|| (0..n).for_each(|_| assert!(request(&mut service).is_ok())));
}

fn clone<S: Service<u64> + Clone>(service: S, n: u64) {
    measured(|| (0..n).for_each(|_| assert!(request(&mut service.clone()).is_ok())));
}
