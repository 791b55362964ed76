//! HTTP in a few lines, for tests that ask a program on this machine.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

/// One exchange with 127.0.0.1; the body, or why there is none. HTTP/1.0, so that it ends with the connection.
pub(crate) fn ask(port: u16, request: &str, kind: &str, body: &str) -> Result<String, String> {
    let mut stream =
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(|error| format!("port {port}: {error}"))?;
    let head = format!(
        "{request} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut answer = String::new();
    stream
        .write_all((head + body).as_bytes())
        .and_then(|()| stream.read_to_string(&mut answer))
        .map_err(|error| format!("{request}: {error}"))?;
    let (head, body) =
        answer.split_once("\r\n\r\n").ok_or_else(|| format!("{request}: no head in {answer:?}"))?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status.starts_with('2') { Ok(body.to_owned()) } else { Err(format!("{request}: {status} {body}")) }
}

/// A text as the value of a form.
pub(crate) fn form_value(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
