//! The builder's last step: every option is looked at before anything is made.

use super::{Arc, BuildError, Builder, Duration, Hub, Manager, Options, Pool, Semaphore};

impl<M: Manager> Builder<M> {
    /// Makes the pool. Nothing is connected and no runtime is needed.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the option and its value.
    ///
    /// ```
    /// use lease_pool::{BuildError, Pool, manager};
    /// let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
    /// assert!(matches!(builder.max(0).build(), Err(BuildError::Max { max: 0, .. })));
    /// ```
    pub fn build(self) -> Result<Pool<M>, BuildError> {
        let options = &self.options;
        check(options)?;
        let name = || options.name.clone();
        let wrong_max = || BuildError::Max { name: name(), max: options.max, limit: Semaphore::MAX_PERMITS };
        let mut semaphore = Semaphore::builder(0).ceiling(options.max);
        if let Some(name) = &options.name {
            semaphore = semaphore.name(Arc::clone(name));
            if options.lease_time {
                semaphore = semaphore.lease_time();
            }
            if let Some(after) = options.leak_warning_after {
                semaphore = semaphore.warn_lease_after(after);
            }
        }
        if let Some(max_waiters) = options.max_waiters {
            semaphore = semaphore.max_waiters(max_waiters);
        }
        let semaphore = semaphore.build().map_err(|_| wrong_max())?;
        Pool::of(Hub::new(self.manager, self.options, self.hooks, semaphore))
    }
}

fn check(options: &Options) -> Result<(), BuildError> {
    let name = || options.name.clone();
    if options.max == 0 || options.max > Semaphore::MAX_PERMITS {
        return Err(BuildError::Max { name: name(), max: options.max, limit: Semaphore::MAX_PERMITS });
    }
    if options.min_idle > options.max {
        return Err(BuildError::MinIdle { name: name(), min_idle: options.min_idle, max: options.max });
    }
    let durations = [
        ("create_timeout", Some(options.create_timeout)),
        ("check_timeout", Some(options.check_timeout)),
        ("reset_timeout", Some(options.reset_timeout)),
        ("close_timeout", Some(options.close_timeout)),
        ("lifetime", options.lifetime),
        ("idle_timeout", options.idle_timeout),
        ("keepalive", options.keepalive),
        ("leak_warning_after", options.leak_warning_after),
        ("backoff", Some(options.backoff_max)),
    ];
    if let Some((option, _)) = durations.iter().find(|(_, value)| *value == Some(Duration::ZERO)) {
        return Err(BuildError::Zero { name: name(), option });
    }
    if options.create_concurrency == 0 {
        return Err(BuildError::Zero { name: name(), option: "create_concurrency" });
    }
    if options.backoff_min > options.backoff_max {
        let (min, max) = (options.backoff_min, options.backoff_max);
        return Err(BuildError::Backoff { name: name(), min, max });
    }
    Ok(())
}
