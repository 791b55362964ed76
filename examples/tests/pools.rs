//! The example programs of the pool's adapters run against real servers and end well.
#![cfg(all(feature = "tls", feature = "redis", feature = "http"))]

#[path = "../../pool/tests/support/programs.rs"]
mod programs;

use std::process::Command;

use programs::{Folder, Postgres, Redis, find};

fn run(program: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    for name in ["SQLITE_FILE", "DATABASE_URL", "REDIS_URL", "HTTP_URL", "CA_FILE"] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {text}");
    text
}

#[test]
fn sqlite_pool_counts_every_sale() {
    let folder = Folder::new("example");
    let file = folder.path().join("shop.db");
    for variables in [vec![], vec![("SQLITE_FILE", file.to_str().unwrap())]] {
        assert!(run(env!("CARGO_BIN_EXE_sqlite_pool"), &variables).contains("500 sales"));
    }
}

#[test]
fn postgres_pool_loses_no_cent() {
    let Some(server) = Postgres::start(&[]) else { return };
    let text = run(env!("CARGO_BIN_EXE_postgres_pool"), &[("DATABASE_URL", &server.url())]);
    assert!(text.contains("10000 cents"), "{text}");
}

#[test]
fn redis_pool_does_every_job_once() {
    let Some(server) = Redis::start() else { return };
    let text = run(env!("CARGO_BIN_EXE_redis_pool"), &[("REDIS_URL", &server.url())]);
    assert!(text.contains("sum 20100"), "{text}");
}

#[test]
fn http_pool_keeps_its_connections() {
    assert!(run(env!("CARGO_BIN_EXE_http_pool"), &[]).contains("100 requests"));
}

#[test]
fn postgres_tls_encrypts_and_cancels() {
    let Some(openssl) = find("openssl", &[]) else { return };
    let folder = Folder::new("certificate");
    let (key, certificate) = (folder.path().join("key.pem"), folder.path().join("certificate.pem"));
    let made = Command::new(openssl)
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // The server reads them from its own folder, which has to be made first.
    let Some(mut server) = Postgres::start(&[]) else { return };
    server.kill();
    server.take_file(&key, "server.key");
    server.take_file(&certificate, "server.crt");
    server.set("ssl=on");
    server.start_again();
    let url = format!("host=localhost hostaddr=127.0.0.1 port={} user=postgres sslmode=require", server.port);
    let variables = [("DATABASE_URL", url.as_str()), ("CA_FILE", certificate.to_str().unwrap())];
    let text = run(env!("CARGO_BIN_EXE_postgres_tls"), &variables);
    assert!(text.contains("encrypted by TLSv1.3"), "{text}");
}
