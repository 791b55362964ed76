//! Programs that a test runs and a machine may lack.
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// `examples/monitoring`.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("monitoring")
}

/// The text of one of the shipped files.
pub(crate) fn shipped(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fresh folder for one test, under the target folder.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Whether `program` is there. Without it the calling test says so and passes, except in CI, where it fails.
pub(crate) fn present(program: &str) -> bool {
    let ran = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = ran.is_ok_and(|status| status.success());
    if !found {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "{program} is missing (Debian package prometheus)"
        );
        skipped(&format!("{program} is missing (Debian package prometheus)"));
    }
    found
}

/// Runs promtool in `folder`, `input` on its standard input.
pub(crate) fn promtool(folder: &Path, arguments: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Everything that promtool said, for the message of a failure.
pub(crate) fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Says so where the test harness does not swallow it.
pub(crate) fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
