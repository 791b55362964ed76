use crate::Limit;

/// What a named limit exports; see the module `metrics`.
impl Limit {
    /// Binds the metrics of the limit and its semaphore to the recorder that is installed now.
    ///
    /// Building a limit with a name does so already; this is for exporters installed later. The new recorder sees what ends
    /// from now on. Without a name it does nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).name("doc-late").build()?;
    /// // After the exporter was installed:
    /// layer.handle().bind_metrics();
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn bind_metrics(&self) {
        if self.name().is_some() {
            self.gate.semaphore.bind_metrics();
        }
        self.gate.bind_metrics();
    }

    /// Sends what has changed since the last call to the recorder: for a scrape handler.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).name("doc-scraped").build()?;
    /// layer.handle().publish();
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn publish(&self) {
        self.gate.publish();
    }

    /// Publishes every `period` until the limit is gone.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with a timer, and for a zero `period`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).name("doc-published").build().unwrap();
    /// let publisher = layer.handle().spawn_publisher(Duration::from_secs(5));
    /// publisher.abort();
    /// # }
    /// ```
    #[cfg(feature = "time")]
    pub fn spawn_publisher(&self, period: std::time::Duration) -> tokio::task::JoinHandle<()> {
        let gate = std::sync::Arc::downgrade(&self.gate);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(gate) = gate.upgrade() else { return };
                gate.publish();
            }
        })
    }
}
