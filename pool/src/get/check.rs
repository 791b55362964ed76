//! The check and the hook before a checkout, under the caller's own deadline.

use std::pin::pin;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::{Hub, InHand, Manager};
use crate::entry::Entry;
use crate::error::CreateError;
use crate::keeper::{Trouble, guarded};
use crate::manager::{CheckContext, CheckReason, CloseReason};

/// The resource, and whether it may be used.
pub(super) type Examination<M> = (InHand<M>, Result<(), Stop>);

/// Why an examination ended without a usable resource.
pub(super) enum Stop {
    /// The resource is to be closed.
    Refused(CloseReason),
    /// The caller's own deadline has passed; the resource may be fine.
    Late,
}

/// Whose time limit an examination runs under.
struct Limits {
    until: Instant,
    deadline: Option<Instant>,
    runtime: Option<Handle>,
}

impl Limits {
    fn blame(&self, trouble: Trouble) -> Stop {
        match trouble {
            Trouble::Panicked => Stop::Refused(CloseReason::Panicked),
            Trouble::TimedOut if self.deadline.is_some_and(|at| at <= Instant::now()) => Stop::Late,
            Trouble::TimedOut => Stop::Refused(CloseReason::CheckFailed),
        }
    }
}

impl<M: Manager> Hub<M> {
    /// Runs what stands between a claimed resource and its use.
    ///
    /// Dropped half way, the resource follows the manager's cancel safety.
    pub(super) async fn examine(
        &self,
        mut in_hand: InHand<M>,
        reason: Option<CheckReason>,
        deadline: Option<Instant>,
    ) -> Examination<M> {
        let result = match in_hand.entry_mut() {
            Some(entry) => self.inspect(entry, reason, deadline).await,
            None => Ok(()),
        };
        (in_hand, result)
    }

    async fn inspect(
        &self,
        entry: &mut Entry<M>,
        reason: Option<CheckReason>,
        deadline: Option<Instant>,
    ) -> Result<(), Stop> {
        let slot = entry.slot;
        let own = Instant::now() + self.options.check_timeout;
        let limits = {
            let mut state = self.lock();
            state.engine.begin_check(slot);
            let until = deadline.map_or(own, |deadline| deadline.min(own));
            Limits { until, deadline, runtime: state.keeper.clone() }
        };
        if let Some(reason) = reason {
            self.check(entry, reason, &limits).await?;
        }
        self.ask_hook(entry, &limits).await?;
        self.lock().engine.end_check(slot);
        Ok(())
    }

    async fn check(&self, entry: &mut Entry<M>, reason: CheckReason, limits: &Limits) -> Result<(), Stop> {
        let Entry { resource, meta, due, .. } = entry;
        let outcome = {
            let timeout = self.options.check_timeout;
            let context = CheckContext { pool: self.name(), meta, reason, timeout };
            let checking = pin!(async { self.manager.check(resource, context).await });
            guarded(checking, limits.until, limits.runtime.as_ref()).await
        };
        match outcome {
            Ok(Ok(())) => {
                meta.verified = Instant::now();
                *due = None;
                Ok(())
            }
            Ok(Err(_)) => Err(Stop::Refused(CloseReason::CheckFailed)),
            Err(trouble) => Err(limits.blame(trouble)),
        }
    }

    async fn ask_hook(&self, entry: &mut Entry<M>, limits: &Limits) -> Result<(), Stop> {
        let Some(hook) = &self.hooks.before_checkout else { return Ok(()) };
        let Entry { resource, meta, .. } = entry;
        let fresh = meta.uses == 1;
        let asking = pin!(async { hook(resource, meta).await });
        let (cause, stop) = match guarded(asking, limits.until, limits.runtime.as_ref()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(cause)) => (CreateError::Hook(cause), Stop::Refused(CloseReason::CheckFailed)),
            Err(trouble) => match limits.blame(trouble) {
                Stop::Late => return Err(Stop::Late),
                stop if trouble == Trouble::Panicked => (CreateError::Panicked, stop),
                stop => (CreateError::TimedOut, stop),
            },
        };
        if fresh {
            self.refuse_fresh(cause);
        }
        Err(stop)
    }

    /// A hook that refuses what was just made would otherwise have the pool create in a tight loop.
    fn refuse_fresh(&self, cause: CreateError<M::Error>) {
        let options = &self.options;
        let mut state = self.lock();
        state.engine.refused();
        state.last_error = Some(cause);
        state.fatal = false;
        let failures = state.engine.failures();
        let pause = crate::jitter::backoff(&self.dice, options.backoff_min, options.backoff_max, failures);
        state.retry_at = Some(Instant::now() + pause);
        let debts = self.settle_debts(&mut state);
        drop(state);
        debts.pay(self);
    }
}
