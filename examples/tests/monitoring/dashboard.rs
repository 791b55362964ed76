//! The dashboard, as far as its tests look into it.
use serde_json::Value;

use super::programs::shipped;

/// One panel that shows data.
pub(crate) struct Panel {
    pub(crate) row: String,
    pub(crate) title: String,
    pub(crate) json: Value,
}

impl Panel {
    /// Its queries, as the dashboard has them.
    pub(crate) fn expressions(&self) -> Vec<String> {
        let targets = self.json["targets"].as_array().cloned().unwrap_or_default();
        targets.iter().map(|target| target["expr"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

pub(crate) fn dashboard() -> Value {
    serde_json::from_str(&shipped("grafana.json")).unwrap()
}

/// The panels in their order, each with the title of its row.
pub(crate) fn panels(dashboard: &Value) -> Vec<Panel> {
    let mut row = String::new();
    let mut panels = Vec::new();
    for json in dashboard["panels"].as_array().unwrap() {
        let title = json["title"].as_str().unwrap_or_default().to_owned();
        if json["type"] == "row" {
            row = title;
        } else {
            panels.push(Panel { row: row.clone(), title, json: json.clone() });
        }
    }
    panels
}

/// The expression as Grafana sends it, with everything chosen in every variable.
pub(crate) fn filled(expression: &str, job: &str, instance: &str, interval: &str) -> String {
    let filled = expression
        .replace("$__rate_interval", interval)
        .replace("$job", job)
        .replace("$instance", instance)
        .replace("$semaphore", ".*")
        .replace("$limit", ".*")
        .replace("$pool", ".*");
    assert!(!filled.replace("\"$1\"", "").contains('$'), "a variable is left in {filled}");
    filled
}
