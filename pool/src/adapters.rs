//! Managers for the resources that most programs pool, each behind its feature.
