//! What the tests of this crate share: wakers that count, call back or panic, and a scene that knows who owns what.
#![allow(dead_code, unused_imports)] // each test file uses its own part of it

pub(crate) mod clock;
pub(crate) mod scene;
pub(crate) mod setup;
pub(crate) mod waiter;
pub(crate) mod wakers;

pub(crate) use scene::Scene;
pub(crate) use setup::{Form, Setup, Start, each_form, each_setup};
pub(crate) use waiter::{Held, Waiter};
