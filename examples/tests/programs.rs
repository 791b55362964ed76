//! Every small program runs to its own assertions and ends with code 0.
use std::process::Command;

fn run(program: &str) {
    let output = Command::new(program).output().expect("the program starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {}\n{out}{err}", output.status);
    assert!(!out.trim().is_empty(), "{program} says what it does");
}

#[test]
fn work_queue() {
    run(env!("CARGO_BIN_EXE_work_queue"));
}

#[test]
fn parking_lot() {
    run(env!("CARGO_BIN_EXE_parking_lot"));
}

#[test]
fn axum_limit() {
    run(env!("CARGO_BIN_EXE_axum_limit"));
}

#[test]
fn hyper_limit() {
    run(env!("CARGO_BIN_EXE_hyper_limit"));
}

#[test]
fn client_limit() {
    run(env!("CARGO_BIN_EXE_client_limit"));
}

#[cfg(feature = "grpc")]
#[test]
fn tonic_limit() {
    run(env!("CARGO_BIN_EXE_tonic_limit"));
}

#[test]
fn http2_connections() {
    run(env!("CARGO_BIN_EXE_http2_connections"));
}

#[cfg(feature = "sqlx")]
#[test]
fn sqlx_connections() {
    run(env!("CARGO_BIN_EXE_sqlx_connections"));
}
