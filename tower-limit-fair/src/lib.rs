//! A fair concurrency limit for Tower.
