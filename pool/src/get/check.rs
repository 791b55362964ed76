//! The check and the hook before a checkout, under the caller's own deadline.

use std::pin::pin;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::attempt::Attempt;
use super::{Fate, GetError, Hub, InHand, Manager, Pooled};
use crate::entry::Entry;
use crate::error::{CreateError, Phase};
use crate::keeper::{Trouble, guarded};
use crate::manager::{CheckContext, CheckReason, CloseReason};

/// The resource as it may be used, or why it may not.
type Examined<M> = Result<Pooled<M>, (InHand<M>, CloseReason)>;

/// Why an examination ended without a usable resource.
enum Stop {
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

impl<M: Manager> Attempt<'_, M> {
    /// Runs what stands between a claimed resource and its use.
    ///
    /// Dropped half way, the resource follows the manager's cancel safety.
    pub(super) async fn examine(
        &mut self,
        mut in_hand: InHand<M>,
        fate: Fate,
    ) -> Result<Examined<M>, GetError<M::Error>> {
        let hub = self.hub;
        let Some(entry) = in_hand.entry_mut() else { unreachable!("a claimed resource is in hand") };
        if let Some(reason) = hub.breakage(entry) {
            return Ok(Err((in_hand, reason)));
        }
        let stop = match fate {
            Fate::Check(reason) => self.inspect(entry, Some(reason)).await,
            _ if hub.hooks.before_checkout.is_some() => self.inspect(entry, None).await,
            _ => Ok(()),
        };
        match stop {
            Ok(()) => Ok(Pooled::of(in_hand).ok_or_else(|| unreachable!("it is in hand until here"))),
            Err(Stop::Refused(reason)) => Ok(Err((in_hand, reason))),
            Err(Stop::Late) => {
                drop(in_hand);
                Err(hub.timeout(self, Some(Phase::Checking)))
            }
        }
    }

    async fn inspect(&mut self, entry: &mut Entry<M>, reason: Option<CheckReason>) -> Result<(), Stop> {
        let hub = self.hub;
        let slot = entry.slot;
        let since = Instant::now();
        let own = since + hub.options.check_timeout;
        let limits = {
            let mut state = hub.lock();
            state.engine.begin_check(slot);
            let until = self.deadline.map_or(own, |deadline| deadline.min(own));
            Limits { until, deadline: self.deadline, runtime: state.keeper.clone() }
        };
        if let Some(reason) = reason {
            hub.check(entry, reason, &limits).await?;
        }
        hub.ask_hook(entry, &limits).await?;
        self.span.checked(since);
        hub.lock().engine.end_check(slot);
        Ok(())
    }
}

impl<M: Manager> Hub<M> {
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
