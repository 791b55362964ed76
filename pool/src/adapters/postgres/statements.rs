use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use tokio_postgres::Statement;

/// The prepared statements of one connection; the oldest makes room for a new one.
#[derive(Debug)]
pub(super) struct Statements {
    capacity: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_text: HashMap<String, Statement>,
    by_age: VecDeque<String>,
}

impl Statements {
    pub(super) fn new(capacity: usize) -> Self {
        Statements { capacity, kept: Mutex::default() }
    }

    pub(super) fn get(&self, text: &str) -> Option<Statement> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).by_text.get(text).cloned()
    }

    pub(super) fn keep(&self, text: &str, statement: &Statement) {
        if self.capacity == 0 {
            return;
        }
        let mut dropped = Vec::new();
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(replaced) = kept.by_text.insert(text.to_owned(), statement.clone()) {
                dropped.push(replaced);
            } else {
                kept.by_age.push_back(text.to_owned());
            }
            while kept.by_text.len() > self.capacity {
                let oldest = kept.by_age.pop_front().and_then(|oldest| kept.by_text.remove(&oldest));
                dropped.extend(oldest);
            }
        }
        // Outside the lock: each drop sends a message to the server.
        drop(dropped);
    }

    pub(super) fn clear(&self) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        drop(kept);
    }

    pub(super) fn len(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).by_text.len()
    }
}
