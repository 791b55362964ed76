//! Runs a workload under callgrind and reads the total.

use std::process::Command;

use super::Workload;

/// Counts `work`, and nothing outside it: callgrind is told to collect inside this function only.
#[inline(never)]
pub fn measured<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Instructions per operation of `workload`, by running `program run NAME WHO` under valgrind.
///
/// # Errors
/// When valgrind is missing, the run fails, or its output has no total.
pub fn count(program: &std::path::Path, workload: &Workload) -> Result<f64, String> {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=*instructions*measured*",
        ])
        .arg(program)
        .args(["run", workload.name, workload.who])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} of {}: {}\n{text}", workload.name, workload.who, output.status));
    }
    let total =
        total(&text).ok_or_else(|| format!("{} of {}: no total in\n{text}", workload.name, workload.who))?;
    Ok(total as f64 / workload.operations as f64)
}

/// The number behind `Collected :`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    let total = line.split(':').nth(1)?.trim().parse().ok()?;
    (total > 0).then_some(total)
}
