//! Peers measured beside us.
