//! The resources that every pool is given: made after a while, checked after a while, counted always.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What it costs to make and to check a resource, and what was made so far.
#[derive(Debug, Default)]
pub struct World {
    create: Duration,
    check: Duration,
    down: AtomicBool,
    attempts: AtomicU64,
    created: AtomicU64,
    alive: AtomicU64,
    peak: AtomicU64,
}

/// One resource; it counts itself out when it is dropped.
#[derive(Debug)]
pub struct Resource(Arc<World>);

/// Why there is no resource: the server is down.
#[derive(Debug, Clone, Copy)]
pub struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server refuses connections")
    }
}

impl std::error::Error for Refused {}

impl World {
    /// A server that is up.
    pub fn new(create: Duration, check: Duration) -> Arc<Self> {
        Arc::new(Self { create, check, ..Self::default() })
    }

    /// Turns the server off or on.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Relaxed);
    }

    /// Attempts to create so far.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Relaxed)
    }

    /// Resources that came into being so far.
    pub fn created(&self) -> u64 {
        self.created.load(Relaxed)
    }

    /// Resources that exist now.
    pub fn alive(&self) -> u64 {
        self.alive.load(Relaxed)
    }

    /// The most that existed at a time.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Makes a resource.
    ///
    /// # Errors
    /// While the server is down.
    pub async fn connect(self: &Arc<Self>) -> Result<Resource, Refused> {
        self.attempts.fetch_add(1, Relaxed);
        wait(self.create).await;
        if self.down.load(Relaxed) {
            return Err(Refused);
        }
        self.created.fetch_add(1, Relaxed);
        let alive = self.alive.fetch_add(1, Relaxed) + 1;
        self.peak.fetch_max(alive, Relaxed);
        Ok(Resource(Arc::clone(self)))
    }

    /// Checks a resource.
    ///
    /// # Errors
    /// While the server is down.
    pub async fn check(&self) -> Result<(), Refused> {
        wait(self.check).await;
        if self.down.load(Relaxed) { Err(Refused) } else { Ok(()) }
    }
}

impl Resource {
    /// Checks itself in its world.
    ///
    /// # Errors
    /// While the server is down.
    pub async fn check(&self) -> Result<(), Refused> {
        self.0.check().await
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Relaxed);
    }
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
