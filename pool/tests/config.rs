//! Options from files and the environment (feature `serde`).
#![cfg(feature = "serde")]

use std::time::Duration;

use lease_pool::{Pool, PoolConfig, manager};

fn parse(json: &str) -> Result<PoolConfig, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn every_key_of_the_builder_is_read_from_both_sources() {
    let pairs = [
        ("name", "from both"),
        ("max", "7"),
        ("min_idle", "3"),
        ("acquire_timeout", "250ms"),
        ("create_timeout", "3s"),
        ("check_timeout", "1s"),
        ("reset_timeout", "1s"),
        ("close_timeout", "1s"),
        ("max_waiters", "9"),
        ("create_concurrency", "4"),
        ("lifetime", "1h 30m"),
        ("idle_timeout", "off"),
        ("check_if_idle", "5s"),
        ("keepalive", "2m"),
        ("backoff_min", "10ms"),
        ("backoff_max", "1s"),
        ("idle_order", "fifo"),
        ("on_unwind", "discard"),
        ("nested_get", "deny"),
        ("leak_warning_after", "1m"),
    ];
    let json: Vec<String> = pairs.iter().map(|(key, value)| format!("{key:?}: {value:?}")).collect();
    let from_file = parse(&format!("{{ {} }}", json.join(", "))).unwrap();
    let vars = pairs.iter().map(|(key, value)| (format!("APP_POOL_{}", key.to_uppercase()), *value));
    let from_env = PoolConfig::from_vars("APP_POOL", vars).unwrap();
    assert_eq!(from_file, from_env);
    let manager = manager::from_fn(|| async { Ok::<_, std::io::Error>(()) });
    let builder = Pool::builder(manager).config(&from_file);
    let shown = format!("{builder:?}");
    for part in ["max: 7", "min_idle: 3", "5400s", "idle_timeout: None", "Fifo", "Discard", "Deny", "Some(9)"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(builder.build().unwrap().name(), Some("from both"));
}

#[test]
fn errors_name_the_key_and_the_value() {
    for (json, key, value) in [
        (r#"{ "maximum": 3 }"#, "maximum", "3"),
        (r#"{ "max": "three" }"#, "max", "three"),
        (r#"{ "max": -3 }"#, "max", "-3"),
        (r#"{ "max": 1.5 }"#, "max", "1.5"),
        (r#"{ "lifetime": 30 }"#, "lifetime", "30"),
        (r#"{ "lifetime": "30" }"#, "lifetime", "30"),
        (r#"{ "lifetime": "30 parsecs" }"#, "lifetime", "30 parsecs"),
        (r#"{ "check_timeout": "off" }"#, "check_timeout", "off"),
        (r#"{ "keepalive": true }"#, "keepalive", "true"),
        (r#"{ "idle_order": "random" }"#, "idle_order", "random"),
        (r#"{ "lifetime": "99999999999999999999s" }"#, "lifetime", "99999999999999999999s"),
    ] {
        let error = parse(json).unwrap_err();
        assert!(error.contains(key) && error.contains(value), "{json}: {error}");
    }
    let error = PoolConfig::from_vars("DB", [("DB_MAXX", "3")]).unwrap_err();
    assert_eq!(
        (error.key(), error.to_string().as_str()),
        ("DB_MAXX", "DB_MAXX is \"3\": there is no such option")
    );
    assert!(PoolConfig::from_vars("DB", [("DBMAX", "x"), ("OTHER_MAX", "y")]).is_ok(), "not the prefix");
}

#[test]
fn what_is_not_set_keeps_the_builders_value() {
    let manager = manager::from_fn(|| async { Ok::<_, std::io::Error>(()) });
    let builder = Pool::builder(manager).max(3).acquire_timeout(Duration::from_secs(7));
    let shown = format!("{builder:?}");
    assert_eq!(format!("{:?}", builder.config(&PoolConfig::default())), shown);
}
