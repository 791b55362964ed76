//! Options from a file or from the environment.

mod value;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::builder::Builder;
use crate::engine::IdleOrder;
use crate::manager::Manager;
use crate::options::{NestedGet, OnUnwind};
use value::Value;

/// The options of a pool as they stand in a configuration file or in the environment (feature `serde`).
///
/// Only what is set replaces the builder's value. Durations are texts such as `30s`, `250ms`, `2m`, `1h` or
/// `1m 30s`; where an option can be switched off, `off` does so. Unknown keys are refused, and every error names
/// the key and the value.
///
/// The keys are those of the builder: `max`, `min_idle`, `acquire_timeout`, `create_timeout`, `check_timeout`,
/// `reset_timeout`, `close_timeout`, `max_waiters`, `create_concurrency`, `lifetime`, `idle_timeout`,
/// `check_if_idle`, `keepalive`, `backoff_min`, `backoff_max`, `idle_order` (`lifo`, `fifo`), `on_unwind`
/// (`recheck`, `discard`, `return`), `nested_get` (`allow`, `warn`, `deny`), `leak_warning_after`, `name`.
///
/// ```
/// use lease_pool::{Pool, PoolConfig, manager};
///
/// let config: PoolConfig = serde_json::from_str(r#"{ "max": 4, "acquire_timeout": "250ms", "lifetime": "off" }"#)?;
/// let manager = manager::from_fn(|| async { Ok::<_, std::io::Error>(()) });
/// let pool = Pool::builder(manager).config(&config).build().unwrap();
/// assert_eq!(pool.snapshot().max, 4);
///
/// let error = serde_json::from_str::<PoolConfig>(r#"{ "max_idle": 4 }"#).unwrap_err();
/// assert!(error.to_string().contains("max_idle"));
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolConfig {
    name: Option<String>,
    max: Option<usize>,
    min_idle: Option<usize>,
    acquire_timeout: Option<Option<Duration>>,
    create_timeout: Option<Duration>,
    check_timeout: Option<Duration>,
    reset_timeout: Option<Duration>,
    close_timeout: Option<Duration>,
    max_waiters: Option<Option<usize>>,
    create_concurrency: Option<usize>,
    lifetime: Option<Option<Duration>>,
    idle_timeout: Option<Option<Duration>>,
    check_if_idle: Option<Option<Duration>>,
    keepalive: Option<Option<Duration>>,
    backoff_min: Option<Duration>,
    backoff_max: Option<Duration>,
    idle_order: Option<IdleOrder>,
    on_unwind: Option<OnUnwind>,
    nested_get: Option<NestedGet>,
    leak_warning_after: Option<Option<Duration>>,
}

/// What is wrong with one key.
///
/// ```
/// use lease_pool::PoolConfig;
/// let error = PoolConfig::from_vars("DB", [("DB_MAX", "many")]).unwrap_err();
/// assert_eq!(error.to_string(), "DB_MAX is \"many\": a whole number is expected");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    key: String,
    value: String,
    expected: &'static str,
}

impl ConfigError {
    /// The key as it was given.
    ///
    /// ```
    /// # use lease_pool::PoolConfig;
    /// let error = PoolConfig::from_vars("DB", [("DB_MAX", "many")]).unwrap_err();
    /// assert_eq!(error.key(), "DB_MAX");
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {:?}: {}", self.key, self.value, self.expected)
    }
}

impl Error for ConfigError {}

impl PoolConfig {
    /// Reads `PREFIX_MAX`, `PREFIX_ACQUIRE_TIMEOUT` and so on from the environment.
    ///
    /// # Errors
    ///
    /// A variable that starts with `PREFIX_` and names no option is refused, so give the pool a prefix of its own.
    ///
    /// ```
    /// use lease_pool::PoolConfig;
    /// assert_eq!(PoolConfig::from_env("ORDERS_POOL").unwrap(), PoolConfig::default());
    /// ```
    pub fn from_env(prefix: &str) -> Result<Self, ConfigError> {
        let vars = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.to_string_lossy().into_owned())));
        PoolConfig::from_vars(prefix, vars)
    }

    /// The same from pairs of names and values.
    ///
    /// # Errors
    ///
    /// As [`from_env`](PoolConfig::from_env).
    ///
    /// ```
    /// use lease_pool::PoolConfig;
    /// let config = PoolConfig::from_vars("DB", [("DB_MAX", "4"), ("DB_LIFETIME", "1h 30m"), ("HOME", "/")]);
    /// assert!(config.is_ok());
    /// ```
    pub fn from_vars<K: AsRef<str>, V: AsRef<str>>(
        prefix: &str,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, ConfigError> {
        let mut config = PoolConfig::default();
        for (key, value) in vars {
            let rest = key.as_ref().strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
            let Some(rest) = rest else { continue };
            let value = Value::Text(value.as_ref().to_owned());
            config.set(&rest.to_ascii_lowercase(), &value).map_err(|expected| ConfigError {
                key: key.as_ref().to_owned(),
                value: value.to_string(),
                expected,
            })?;
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), &'static str> {
        match key {
            "name" => self.name = Some(value.to_string()),
            "max" => self.max = Some(value.number()?),
            "min_idle" => self.min_idle = Some(value.number()?),
            "acquire_timeout" => self.acquire_timeout = Some(value.span_or_off()?),
            "create_timeout" => self.create_timeout = Some(value.span()?),
            "check_timeout" => self.check_timeout = Some(value.span()?),
            "reset_timeout" => self.reset_timeout = Some(value.span()?),
            "close_timeout" => self.close_timeout = Some(value.span()?),
            "max_waiters" => {
                self.max_waiters = Some(if value.is_off() { None } else { Some(value.number()?) });
            }
            "create_concurrency" => self.create_concurrency = Some(value.number()?),
            "lifetime" => self.lifetime = Some(value.span_or_off()?),
            "idle_timeout" => self.idle_timeout = Some(value.span_or_off()?),
            "check_if_idle" => self.check_if_idle = Some(value.span_or_off()?),
            "keepalive" => self.keepalive = Some(value.span_or_off()?),
            "backoff_min" => self.backoff_min = Some(value.span()?),
            "backoff_max" => self.backoff_max = Some(value.span()?),
            "idle_order" => {
                self.idle_order = Some(value.one_of(
                    &[("lifo", IdleOrder::Lifo), ("fifo", IdleOrder::Fifo)],
                    "lifo or fifo is expected",
                )?);
            }
            "on_unwind" => {
                let words = [
                    ("recheck", OnUnwind::Recheck),
                    ("discard", OnUnwind::Discard),
                    ("return", OnUnwind::Return),
                ];
                self.on_unwind = Some(value.one_of(&words, "recheck, discard or return is expected")?);
            }
            "nested_get" => {
                let words =
                    [("allow", NestedGet::Allow), ("warn", NestedGet::Warn), ("deny", NestedGet::Deny)];
                self.nested_get = Some(value.one_of(&words, "allow, warn or deny is expected")?);
            }
            "leak_warning_after" => self.leak_warning_after = Some(value.span_or_off()?),
            _ => return Err("there is no such option"),
        }
        Ok(())
    }
}

impl<M: Manager> Builder<M> {
    /// Takes over every option that the configuration sets.
    ///
    /// ```
    /// use lease_pool::{Pool, PoolConfig, manager};
    /// let config = PoolConfig::from_vars("DB", [("DB_MAX", "3")]).unwrap();
    /// let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
    /// assert_eq!(builder.config(&config).build().unwrap().snapshot().max, 3);
    /// ```
    pub fn config(mut self, config: &PoolConfig) -> Self {
        macro_rules! take {
            ($($field:ident),*) => {
                $(if let Some(value) = config.$field {
                    self.options.$field = value;
                })*
            };
        }
        take!(
            max,
            min_idle,
            acquire_timeout,
            create_timeout,
            check_timeout,
            reset_timeout,
            close_timeout,
            max_waiters,
            create_concurrency,
            lifetime,
            idle_timeout,
            check_if_idle,
            keepalive,
            backoff_min,
            backoff_max,
            idle_order,
            on_unwind,
            nested_get,
            leak_warning_after
        );
        match &config.name {
            Some(name) => self.name(name.as_str()),
            None => self,
        }
    }
}

impl<'de> Deserialize<'de> for PoolConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = PoolConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of pool options")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PoolConfig, A::Error> {
                let mut config = PoolConfig::default();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map.next_value::<Value>()?;
                    config.set(&key, &value).map_err(|expected| {
                        let value = value.to_string();
                        serde::de::Error::custom(ConfigError { key, value, expected })
                    })?;
                }
                Ok(config)
            }
        }

        deserializer.deserialize_map(Keys)
    }
}
