//! The ways a case is set up: who holds the rest, which fairness, which form of acquire.

use semaphore_core::{Fairness, Semaphore};
use std::sync::Arc;

/// Where the permits that are not free are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The capacity covers every request of the case, and others hold what is not free.
    OthersHold,
    /// Nothing is held: the capacity is what is free, and an explicit ceiling covers the requests.
    Ceiling,
}

/// How a waiter asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Borrowed,
    Owned,
    /// A deadline far away, given as an instant.
    #[cfg(feature = "time")]
    Until,
    #[cfg(feature = "time")]
    UntilOwned,
    /// A deadline far away, given as a duration.
    #[cfg(feature = "time")]
    Timeout,
    #[cfg(feature = "time")]
    TimeoutOwned,
    /// A reservation that is taken as soon as it is ready.
    Reserved,
}

impl Form {
    pub(crate) const ALL: &'static [Form] = &[
        Form::Borrowed,
        Form::Owned,
        #[cfg(feature = "time")]
        Form::Until,
        #[cfg(feature = "time")]
        Form::UntilOwned,
        #[cfg(feature = "time")]
        Form::Timeout,
        #[cfg(feature = "time")]
        Form::TimeoutOwned,
        Form::Reserved,
    ];
}

/// One combination that a case runs with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) start: Start,
    pub(crate) fairness: Fairness,
    pub(crate) form: Form,
}

impl Setup {
    pub(crate) fn is_fifo(&self) -> bool {
        matches!(self.fairness, Fairness::Fifo)
    }

    /// A semaphore that will have `free` of `most` permits free once its `Scene` has started.
    pub(crate) fn semaphore(&self, free: usize, most: usize) -> Arc<Semaphore> {
        let builder = match self.start {
            Start::OthersHold => Semaphore::builder(most),
            Start::Ceiling => Semaphore::builder(free).ceiling(most),
        };
        Arc::new(builder.fairness(self.fairness).build().expect("a legal setup"))
    }
}

/// Runs `case` under each fairness, with others holding and with a bare ceiling, for the borrowed form.
pub(crate) fn each_setup(fairness: &[Fairness], mut case: impl FnMut(Setup)) {
    each(fairness, &[Form::Borrowed], &mut case);
}

/// Runs `case` in every combination of fairness, start and form.
pub(crate) fn each_form(fairness: &[Fairness], mut case: impl FnMut(Setup)) {
    each(fairness, Form::ALL, &mut case);
}

fn each(fairness: &[Fairness], forms: &[Form], case: &mut dyn FnMut(Setup)) {
    for &fairness in fairness {
        for start in [Start::OthersHold, Start::Ceiling] {
            for &form in forms {
                let setup = Setup { start, fairness, form };
                // Printed only when the test fails: it names the combination.
                println!("{setup:?}");
                case(setup);
            }
        }
    }
}

pub(crate) const FIFO: &[Fairness] = &[Fairness::Fifo];
pub(crate) const BARGING: &[Fairness] = &[Fairness::Barging];
pub(crate) const BOTH: &[Fairness] = &[Fairness::Fifo, Fairness::Barging];
