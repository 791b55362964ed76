//! The semaphore beside its sequential reference model, one operation at a time.
//!
//! The fuzz target includes this directory by path, so it uses nothing of the other tests.

pub(crate) mod acquiring;
pub(crate) mod comparing;
pub(crate) mod driver;
pub(crate) mod leasing;
pub(crate) mod operation;
pub(crate) mod reference;
pub(crate) mod reserving;
