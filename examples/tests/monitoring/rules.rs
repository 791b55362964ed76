//! The rules file, read by its lines: promtool has no output that could be read instead.

/// One rule of the file.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) alert: bool,
    pub(crate) expression: String,
    pub(crate) severity: Option<String>,
    pub(crate) runbook: Option<String>,
    /// The lines of the expression's value, from its `expr:` to before the next key.
    pub(crate) lines: std::ops::Range<usize>,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// All rules in their order.
pub(crate) fn rules(text: &str) -> Vec<Rule> {
    let lines: Vec<&str> = text.lines().collect();
    let mut rules: Vec<Rule> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.trim().trim_start_matches("- ").split_once(": ") else { continue };
        let present = rules.last_mut();
        match (key, present) {
            ("record" | "alert", _) => rules.push(Rule {
                name: value.to_owned(),
                alert: key == "alert",
                expression: String::new(),
                severity: None,
                runbook: None,
                lines: 0..0,
            }),
            ("expr", Some(rule)) if value == ">-" => {
                let inside = lines[at + 1..].iter().take_while(|next| indent(next) > indent(line)).count();
                rule.lines = at..at + 1 + inside;
                rule.expression = lines[at + 1..at + 1 + inside].join(" ");
            }
            ("expr", Some(rule)) => {
                rule.lines = at..at + 1;
                rule.expression = value.to_owned();
            }
            ("severity", Some(rule)) => rule.severity = Some(value.to_owned()),
            ("runbook_url", Some(rule)) => rule.runbook = Some(value.to_owned()),
            _ => {}
        }
    }
    rules
}

/// The file with the expression of one rule exchanged.
pub(crate) fn with_expression(text: &str, rule: &Rule, expression: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let indent = " ".repeat(indent(&lines[rule.lines.start]));
    lines.splice(rule.lines.clone(), [format!("{indent}expr: {expression}")]);
    lines.join("\n")
}

/// The expressions of the group `identities` of the rule cases.
pub(crate) fn identities(text: &str) -> Vec<String> {
    let (_, group) = text.split_once("name: identities").expect("the group is called identities");
    let mut found = Vec::new();
    let mut lines = group.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(value) = line.trim().strip_prefix("- expr: ") else { continue };
        let mut expression = if value == ">-" { String::new() } else { value.to_owned() };
        // A key after the expression stands deeper than its dash, and its own lines deeper than that.
        while let Some(next) = lines.next_if(|next| value == ">-" && indent(next) > indent(line) + 2) {
            expression = format!("{expression} {}", next.trim());
        }
        found.push(expression.trim().to_owned());
    }
    found
}
