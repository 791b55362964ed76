//! Sizes, which no machine changes.

use std::mem::size_of_val;

use super::SUBJECT;
use crate::scenario::{Contender, Figure, Rival, Scenario, Target};

pub(super) fn scenarios() -> Vec<Scenario> {
    let sizes = |future: usize, semaphore: usize| {
        Ok(vec![
            Figure::new("acquire future", future as f64, "bytes"),
            Figure::new("semaphore", semaphore as f64, "bytes"),
        ])
    };
    let contenders = vec![
        Contender::read("ours", move || {
            let semaphore = semaphore_core::Semaphore::new(1);
            sizes(size_of_val(&semaphore.acquire()), size_of_val(&semaphore))
        }),
        Contender::read("tokio", move || {
            let semaphore = tokio::sync::Semaphore::new(1);
            sizes(size_of_val(&semaphore.acquire()), size_of_val(&semaphore))
        }),
        Contender::read("async-lock", move || {
            let semaphore = async_lock::Semaphore::new(1);
            sizes(size_of_val(&semaphore.acquire()), size_of_val(&semaphore))
        }),
        Contender::read("futures-intrusive", move || {
            let semaphore = futures_intrusive::sync::Semaphore::new(true, 1);
            sizes(size_of_val(&semaphore.acquire(1)), size_of_val(&semaphore))
        }),
    ];
    vec![
        Scenario::new(SUBJECT, "sizes", contenders)
            .target(Target::at_most("acquire future", Rival::Nobody, 64.0))
            .target(Target::at_most("semaphore", Rival::Nobody, 64.0)),
    ]
}
