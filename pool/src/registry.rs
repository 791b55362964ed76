//! The names of living pools: two of one name could not be told apart in metrics.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::BuildError;

static NAMES: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());

pub(crate) fn enter(name: Option<&str>) -> Result<(), BuildError> {
    let Some(name) = name else { return Ok(()) };
    let name = Arc::from(name);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if names.insert(Arc::clone(&name)) { Ok(()) } else { Err(BuildError::NameTaken { name }) }
}

pub(crate) fn leave(name: Option<&str>) {
    if let Some(name) = name {
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
