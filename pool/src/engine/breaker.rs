//! Where creating stands after failures.

/// How many failures in a row make callers stop waiting for a create.
const OPEN_AFTER: u32 = 3;

/// Where creating stands; the `state` label of `fair_pool_create_state`.
///
/// ```
/// assert_eq!(lease_pool::CreateState::BackingOff.as_str(), "backing_off");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CreateState {
    /// The last create succeeded, or none was made yet.
    #[default]
    Healthy,
    /// One or two failed in a row: callers wait while the pool tries again.
    BackingOff,
    /// Three failed in a row, or one can never succeed: with nothing alive, callers fail at once.
    Open,
}

impl CreateState {
    /// Every state.
    pub const ALL: [CreateState; 3] = [CreateState::Healthy, CreateState::BackingOff, CreateState::Open];

    /// The word used in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            CreateState::Healthy => "healthy",
            CreateState::BackingOff => "backing_off",
            CreateState::Open => "open",
        }
    }
}

/// Counts failures and holds creates back until the driver's timer has fired.
#[derive(Debug, Default)]
pub struct Breaker {
    state: CreateState,
    failures: u32,
    waiting: bool,
}

impl Breaker {
    /// Where creating stands.
    pub fn state(&self) -> CreateState {
        self.state
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn is_troubled(&self) -> bool {
        self.state != CreateState::Healthy
    }

    pub(super) fn allows_attempt(&self) -> bool {
        !self.waiting
    }

    pub(super) fn succeed(&mut self) {
        *self = Breaker::default();
    }

    pub(super) fn fail(&mut self, fatal: bool) {
        self.failures = self.failures.saturating_add(1);
        self.waiting = true;
        if fatal || self.failures >= OPEN_AFTER {
            self.state = CreateState::Open;
        } else if self.state == CreateState::Healthy {
            self.state = CreateState::BackingOff;
        }
    }

    pub(super) fn elapse(&mut self) {
        self.waiting = false;
    }
}
