//! Pages for people who come from another pool, and on sizing, cancelling and the design.

pub mod cancel_safety;
pub mod design;
pub mod from_bb8;
pub mod from_deadpool;
pub mod from_hikari;
pub mod from_sqlx;
pub mod sizing;
