//! A generic async resource pool.
