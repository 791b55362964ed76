//! Whether what an expression names is exported, and used as what it is.
use std::collections::BTreeSet;

use semaphore_core::metrics::{Kind, Metric};

use super::exported::exported;
use super::promql::{Reading, Selector, read};

/// Labels that a scrape adds to every series.
const TARGET: [&str; 2] = ["job", "instance"];

/// The exported metric behind a series name, and the name's suffix if it is a histogram.
fn behind(series: &str) -> Result<(Metric, &str), String> {
    for metric in exported() {
        match (series.strip_prefix(metric.name), metric.kind) {
            (Some(suffix @ ("_bucket" | "_sum" | "_count")), Kind::Histogram) => return Ok((metric, suffix)),
            (Some(""), Kind::Histogram) => {
                return Err(format!("{series} is a histogram: _bucket, _sum or _count"));
            }
            (Some(""), _) => return Ok((metric, "")),
            _ => {}
        }
    }
    Err(format!("no crate exports {series}"))
}

fn check_selector(selector: &Selector, labels: &mut BTreeSet<String>) -> Result<(), String> {
    let (metric, suffix) = behind(&selector.metric)?;
    if selector.rated && metric.kind == Kind::Gauge {
        return Err(format!("the rate of {}, which is a gauge", metric.name));
    }
    labels.extend(metric.labels.iter().map(|(label, _)| (*label).to_owned()));
    if suffix == "_bucket" {
        labels.insert("le".to_owned());
    }
    for (label, pattern) in &selector.matchers {
        if TARGET.contains(&label.as_str()) || (label == "le" && suffix == "_bucket") {
            continue;
        }
        let (_, values) = metric
            .labels
            .iter()
            .find(|(known, _)| known == label)
            .ok_or_else(|| format!("{} has no label {label}", metric.name))?;
        let stranger = pattern
            .split('|')
            .find(|value| !value.starts_with('$') && !values.is_empty() && !values.contains(value));
        if let Some(value) = stranger {
            return Err(format!("{}: {label} is never {value:?}, but one of {values:?}", metric.name));
        }
    }
    Ok(())
}

/// Checks one expression; `recorded` are the names that recording rules make.
pub(crate) fn check(expression: &str, recorded: &[String]) -> Result<(), String> {
    let Reading { selectors, labels: used, made } = read(expression);
    if selectors.is_empty() {
        return Err("it names no metric".to_owned());
    }
    let mut known: BTreeSet<String> = TARGET.iter().map(|label| (*label).to_owned()).chain(made).collect();
    for selector in &selectors {
        if selector.metric.contains(':') {
            if !recorded.contains(&selector.metric) {
                return Err(format!("no rule records {}", selector.metric));
            }
            // Its level, the part before the first colon, is the label that names the instance.
            known.extend(selector.metric.split(':').next().map(str::to_owned));
        } else {
            check_selector(selector, &mut known)?;
        }
    }
    match used.iter().find(|label| !known.contains(*label)) {
        Some(label) => Err(format!("nothing in it has the label {label}")),
        None => Ok(()),
    }
}
