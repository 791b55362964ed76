//! The inner loops of the semaphore, the layer and the pool, for day-to-day work.

#![expect(missing_docs, reason = "criterion's macro makes a public function")]

use std::time::Duration;

use benches::layer::{Echo, deferred, ours, request, tower_limit};
use benches::poll;
use benches::pool::{DeadpoolBare, Ours, Pooling, World, get_and_return};
use benches::semaphore::{Counting, Fair, Tokio};
use criterion::{Criterion, criterion_group, criterion_main};

fn semaphore(criterion: &mut Criterion) {
    fn one<S: Counting>(criterion: &mut Criterion) {
        let semaphore = S::with(4);
        criterion.bench_function(&format!("acquire + release/{}", S::NAME), |bencher| {
            bencher.iter(|| drop(S::permit(poll::ready(semaphore.acquire()))));
        });
    }
    one::<Fair>(criterion);
    one::<Tokio>(criterion);
}

fn layer(criterion: &mut Criterion) {
    let (mut reserve, mut later, mut tower) = (ours(8, Echo), deferred(8, Echo), tower_limit(8, Echo));
    criterion.bench_function("ready + call/ours", |bencher| bencher.iter(|| request(&mut reserve)));
    criterion.bench_function("ready + call/ours (deferred)", |bencher| bencher.iter(|| request(&mut later)));
    criterion.bench_function("ready + call/tower", |bencher| bencher.iter(|| request(&mut tower)));
}

fn pool(criterion: &mut Criterion) {
    fn one<P: Pooling>(criterion: &mut Criterion) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let pool = runtime.block_on(async {
            let pool = P::with(&World::new(Duration::ZERO, Duration::ZERO), 8);
            drop(pool.get().await.expect("a first resource"));
            pool
        });
        let _inside = runtime.enter();
        criterion.bench_function(&format!("get + return/{}", P::NAME), |bencher| {
            bencher.iter(|| get_and_return(&pool, 1));
        });
    }
    one::<Ours>(criterion);
    one::<DeadpoolBare>(criterion);
}

criterion_group!(loops, semaphore, layer, pool);
criterion_main!(loops);
