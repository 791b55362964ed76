//! Errors of the pool, each with the numbers that explain it.

mod create;
mod get;
mod other;

pub use create::{CreateError, HookError};
pub use get::{GetError, Holder, Holders, Phase};
pub use other::{AddError, BuildError, ResizeError, TryGetError};
