//! A manager that does what a test tells it, and a check-up for managers of your own.
//!
//! [`Scripted`] makes resources whose create, check, reset and close succeed, fail, wait, never end or panic on
//! command, and counts what was alive and what was cut off. [`conformance`] runs cancels and returns of every
//! kind over any manager and says what does not add up.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! use lease_pool::{Pool, testing::{Act, Scripted, Stage}};
//! use std::time::Duration;
//!
//! let script = Scripted::new();
//! script.always(Stage::Create, Act::After(Duration::from_millis(50)));
//! let pool = Pool::builder(script.clone()).max(2).build().unwrap();
//! assert!(pool.get_timeout(Duration::from_millis(20)).await.is_err());
//! assert!(pool.get_timeout(Duration::from_millis(40)).await.is_ok());
//! assert_eq!(script.calls(Stage::Create), 1);
//! # }
//! ```

mod conformance;
mod gate;
mod script;

pub use conformance::{Broken, Conformance, conformance};
pub use script::{Act, Scripted, ScriptedError, ScriptedResource, Stage};
