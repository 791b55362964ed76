//! Five cars and three places, once strictly in order and once with barging.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use semaphore_core::{Fairness, Semaphore};
use tokio::sync::Notify;
use tokio::task::yield_now;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Ada, Bea and Cem park; Dan waits. In the instant in which Ada leaves, Eva arrives.
    assert_eq!(park(Fairness::Fifo).await?, ["Ada", "Bea", "Cem", "Dan", "Eva"]);
    // Barging lets her in: she was there when the place was free, Dan had still to start his engine.
    assert_eq!(park(Fairness::Barging).await?, ["Ada", "Bea", "Cem", "Eva", "Dan"]);
    Ok(())
}

/// Lets all five park and leave; the names in the order in which they drove in.
async fn park(fairness: Fairness) -> Result<Vec<&'static str>, Box<dyn std::error::Error>> {
    println!("{fairness:?}");
    let places = Arc::new(Semaphore::builder(3).name("parking lot").fairness(fairness).build()?);
    let log = Arc::new(Mutex::new(Log::default()));
    let mut cars = Vec::new();
    let ada = places.clone().acquire_owned().await?;
    log.lock().expect("no car crashed").enters("Ada");
    for name in ["Bea", "Cem", "Dan"] {
        let leave = Arc::new(Notify::new());
        cars.push((leave.clone(), tokio::spawn(visit(name, places.clone(), log.clone(), leave))));
        yield_now().await;
    }
    assert_eq!((places.available_permits(), places.queue_len()), (0, 1), "three parked, Dan waits");

    log.lock().expect("no car crashed").leaves("Ada");
    ada.release();
    let leave = Arc::new(Notify::new());
    match places.clone().try_acquire_owned() {
        Ok(lease) => {
            // No other task has run since Ada left.
            log.lock().expect("no car crashed").enters("Eva");
            let log = log.clone();
            let parked = leave.clone();
            cars.push((leave, tokio::spawn(async move { stay("Eva", lease, log, parked).await })));
        }
        Err(full) => {
            println!("  Eva   is told: {full}");
            cars.push((leave.clone(), tokio::spawn(visit("Eva", places.clone(), log.clone(), leave))));
        }
    }
    for (leave, car) in cars {
        leave.notify_one();
        car.await?;
    }
    let log = log.lock().expect("no car crashed");
    assert_eq!(log.inside, 0, "everybody has left");
    assert_eq!(log.most, 3, "never more cars than places");
    assert_eq!(places.available_permits(), 3, "every place is free again");
    Ok(log.entered.clone())
}

/// Waits for a place, parks until told to leave, leaves.
async fn visit(name: &'static str, places: Arc<Semaphore>, log: Arc<Mutex<Log>>, leave: Arc<Notify>) {
    let lease = places.acquire_owned().await.expect("the lot stays open");
    log.lock().expect("no car crashed").enters(name);
    stay(name, lease, log, leave).await;
}

async fn stay(
    name: &'static str,
    lease: semaphore_core::OwnedLease,
    log: Arc<Mutex<Log>>,
    leave: Arc<Notify>,
) {
    leave.notified().await;
    log.lock().expect("no car crashed").leaves(name);
    lease.release();
}

#[derive(Default)]
struct Log {
    entered: Vec<&'static str>,
    inside: usize,
    most: usize,
}

impl Log {
    fn enters(&mut self, name: &'static str) {
        self.entered.push(name);
        self.inside += 1;
        self.most = self.most.max(self.inside);
        println!("  {name}   drives in, {} inside", self.inside);
    }

    fn leaves(&mut self, name: &'static str) {
        self.inside -= 1;
        println!("  {name}   leaves, {} inside", self.inside);
    }
}
