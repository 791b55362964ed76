//! What callers see while a pool is paused.

/// How a paused pool treats its callers.
///
/// ```
/// assert_ne!(lease_pool::Pause::Wait, lease_pool::Pause::Fail);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pause {
    /// They wait, under their own deadline.
    Wait,
    /// Queued and new ones fail with [`GetError::Paused`](crate::GetError::Paused).
    Fail,
}
