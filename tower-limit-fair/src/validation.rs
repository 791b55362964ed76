//! The rules between the options of a limit.

use semaphore_core::Semaphore;

use crate::{BuildError, Mode, rule::RuleOptions, spec::Spec};

pub(crate) fn check(
    spec: &Spec,
    limit: Option<usize>,
    shared: bool,
    rule: &impl RuleOptions,
) -> Result<(), BuildError> {
    let name = || spec.name.as_ref().map(|name| name.to_string());
    match (limit, shared) {
        (None, false) => return Err(BuildError::NoLimit { name: name() }),
        (Some(_), true) => return Err(BuildError::SharedSemaphore { option: "limit" }),
        (Some(limit), false) if limit == 0 || limit > Semaphore::MAX_PERMITS => {
            return Err(BuildError::LimitOutOfRange { name: name(), limit, max: Semaphore::MAX_PERMITS });
        }
        _ => {}
    }
    if shared {
        // The owner of the semaphore has decided on these.
        for (option, set) in [
            ("name", spec.name.is_some()),
            ("queue", spec.queue.is_some()),
            ("max_limit", spec.max_limit.is_some()),
            ("lease_time", spec.lease_time),
            ("warn_lease_after", spec.warn_lease_after.is_some()),
        ] {
            if set {
                return Err(BuildError::SharedSemaphore { option });
            }
        }
    }
    if let (Some(limit), Some(max_limit)) = (limit, spec.max_limit) {
        if max_limit < limit || max_limit > Semaphore::MAX_PERMITS {
            return Err(BuildError::MaxLimitOutOfRange { name: name(), limit, max_limit });
        }
    }
    for (option, value) in [
        ("queue_timeout", spec.queue_timeout),
        ("reservation_ttl", spec.reservation_ttl),
        ("max_hold", spec.max_hold),
        ("warn_lease_after", spec.warn_lease_after),
    ] {
        if value.is_some_and(|value| value.is_zero()) {
            return Err(BuildError::ZeroDuration { name: name(), option });
        }
    }
    if !spec.rejects {
        for (option, set) in [
            ("queue", spec.queue.is_some()),
            ("queue_timeout", spec.queue_timeout.is_some()),
            ("mode", spec.mode == Mode::Shed),
            ("semaphore", shared),
            ("weight", rule.weighs()),
        ] {
            if set {
                return Err(BuildError::CannotReject { name: name(), option });
            }
        }
    }
    if spec.mode == Mode::Reserve {
        if let Some(option) = rule.option() {
            return Err(BuildError::NeedsRequest { name: name(), option });
        }
    }
    if spec.mode == Mode::Shed {
        for (option, set) in
            [("queue", spec.queue.is_some()), ("queue_timeout", spec.queue_timeout.is_some())]
        {
            if set {
                return Err(BuildError::NeverQueues { name: name(), option });
            }
        }
    }
    if spec.max_hold.is_some() && !spec.holds_body {
        return Err(BuildError::HoldsHeadOnly { name: name() });
    }
    Ok(())
}
