//! The table in README.md, written by the program and compared by CI.

use super::{Bound, Workload};

/// By how much a count may differ from the table: 0.02 is two percent.
pub const TOLERANCE: f64 = 0.02;

const START: &str = "<!-- instructions: start -->";
const END: &str = "<!-- instructions: end -->";

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What is done.
    pub name: String,
    /// By whom.
    pub who: String,
    /// Instructions per operation.
    pub count: f64,
}

/// The rows between the two marks of `text`.
///
/// # Errors
/// When the marks are missing or a line is not a row.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let (start, end) = marks(text)?;
    text[start..end].lines().map(str::trim).filter(|line| line.starts_with('|')).skip(2).map(row).collect()
}

/// The table of `rows` with the target of each workload and whether it is met.
pub fn render(rows: &[Row], workloads: &[Workload]) -> String {
    let mut text =
        String::from("| workload | who | instructions per operation | target |\n|---|---|---:|---|\n");
    for row in rows {
        let workload = workloads.iter().find(|w| w.name == row.name && w.who == row.who);
        let target = workload.and_then(|w| w.target).map(|bound| judge(row, rows, bound)).unwrap_or_default();
        text.push_str(&format!("| {} | {} | {:.1} | {target} |\n", row.name, row.who, row.count));
    }
    text
}

/// `text` with the table between its marks replaced.
///
/// # Errors
/// When the marks are missing.
pub fn splice(text: &str, table: &str) -> Result<String, String> {
    let (start, end) = marks(text)?;
    Ok(format!("{}\n{table}{}", &text[..start], &text[end..]))
}

/// A sentence for each counted row that is not in the table or more than [`TOLERANCE`] away from it.
pub fn differences(table: &[Row], counted: &[Row]) -> Vec<String> {
    let compare = |row: &Row| {
        let Some(written) = table.iter().find(|other| other.name == row.name && other.who == row.who) else {
            return Some(format!("{} of {}: {:.1}, not in the table", row.name, row.who, row.count));
        };
        let change = row.count / written.count - 1.0;
        (change.abs() > TOLERANCE).then(|| {
            let percent = change * 100.0;
            format!(
                "{} of {}: {:.1}, {percent:+.1} % from the table's {:.1}",
                row.name, row.who, row.count, written.count
            )
        })
    };
    counted.iter().filter_map(compare).collect()
}

fn judge(row: &Row, rows: &[Row], bound: Bound) -> String {
    let (words, limit) = match bound {
        Bound::Instructions(most) => (format!("at most {most}"), Some(most)),
        Bound::Of(name, share) => {
            let base = rows.iter().find(|other| other.name == name && other.who == row.who);
            let ratio = base.map_or("?".into(), |base| format!("{:.2}", row.count / base.count));
            (format!("at most {share} x `{name}`, is {ratio}"), base.map(|base| base.count * share))
        }
    };
    match limit {
        Some(limit) if row.count <= limit => format!("{words}: met"),
        Some(_) => format!("{words}: **missed**"),
        None => words,
    }
}

fn marks(text: &str) -> Result<(usize, usize), String> {
    let start = text.find(START).ok_or_else(|| format!("no line {START}"))? + START.len();
    let end = text[start..].find(END).ok_or_else(|| format!("no line {END} behind {START}"))? + start;
    Ok((start, end))
}

fn row(line: &str) -> Result<Row, String> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    match cells.as_slice() {
        ["", name, who, count, ..] => Ok(Row {
            name: (*name).into(),
            who: (*who).into(),
            count: count.parse().map_err(|_| format!("not a count in: {line}"))?,
        }),
        _ => Err(format!("not a row: {line}")),
    }
}
