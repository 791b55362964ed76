//! The live page in a real Chromium. Long, so it runs only with `FAIR_FULL=1`.
mod support;

use std::path::PathBuf;

use serde_json::json;
use support::Demo;
use support::browser::Browser;

fn wanted() -> Option<Browser> {
    if std::env::var("FAIR_FULL").as_deref() != Ok("1") {
        eprintln!("SKIPPED: the browser test runs with FAIR_FULL=1");
        return None;
    }
    let browser = Browser::start();
    if browser.is_none() {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "no Chromium: install the Debian package chromium"
        );
        eprintln!("SKIPPED: no Chromium; install the Debian package chromium");
    }
    browser
}

fn picture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

const NUMBERS: &str =
    "['running','waiting','p99','served'].map(id => document.getElementById(id).textContent)";

#[test]
fn page_shows_the_server_and_steers_it() {
    let Some(mut browser) = wanted() else { return };
    let demo = Demo::start(&["--burst-every", "4s"]);
    let own = format!("http://127.0.0.1:{}", demo.port);
    browser.size(1400, 900, false);
    browser.open(&own);

    // The numbers move.
    browser.wait_until("Number(document.getElementById('served').textContent) > 50");
    let first = browser.value(NUMBERS);
    browser.wait_until(&format!("JSON.stringify({NUMBERS}) !== {:?}", first.to_string()));
    browser.wait_until("document.querySelectorAll('.plot path').length > 10");

    // The slider changes the limit in the server, by keyboard.
    browser.value("document.getElementById('limit').focus()");
    browser.press("ArrowRight", 39);
    browser.press("ArrowRight", 39);
    let state = demo.state_when("limit 12", |state| state["limit"] == json!(12));
    assert_eq!(state["limiter"], "fair");
    demo.state_when("more than ten in flight", |state| {
        state["samples"].as_array().is_some_and(|all| all.iter().any(|sample| sample["running"] == json!(12)))
    });

    // The outage shows, with its countdown, and ends.
    browser.value("document.getElementById('outage').focus()");
    browser.press(" ", 32);
    demo.state_when("the outage", |state| state["outage"] == json!(true));
    browser.wait_until("/open.*next try in \\d/.test(document.querySelector('.state').textContent)");
    browser.wait_until("!document.getElementById('banner').hidden");
    browser.press(" ", 32);
    browser.wait_until("/healthy/.test(document.querySelector('.state').textContent)");

    // The other limiters replay the load, and each fills its column.
    for kind in ["tower", "none", "fair"] {
        browser.value(&format!("document.querySelector('input[value={kind}]').click()"));
        demo.state_when(kind, |state| state["limiter"] == json!(kind));
        browser.wait_until(
            "Number(document.querySelectorAll('#runs tr:nth-child(2) td.now')[0].textContent) > 50",
        );
    }
    demo.post("/control/burst", "");
    browser.wait_until("document.querySelectorAll('#runs tr')[1].textContent.includes('–') === false");

    // Nothing is wider than the window, light and dark, wide and narrow.
    for (width, height, phone) in [(1400, 900, false), (400, 860, true)] {
        browser.size(width, height, phone);
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            browser.wait_until(&format!("document.documentElement.clientWidth === {width}"));
            browser.wait_until("new Promise(done => setTimeout(() => done(true), 600))");
            let widest = browser.value(
                "Math.max(...[...document.querySelectorAll('body *')].filter(e => !e.closest('.aside')).map(e => e.getBoundingClientRect().right))",
            );
            assert!(widest.as_f64().is_some_and(|right| right <= f64::from(width)), "{widest} at {width}");
            let scroll = browser.value("document.documentElement.scrollWidth");
            assert_eq!(scroll, json!(width), "overflow at {width}");
            browser.picture(&picture(&format!("page-{width}-{scheme}.png")));
        }
    }

    // Every control can be reached and named without a mouse.
    let unnamed = browser.value(
        "[...document.querySelectorAll('button,input,svg[tabindex]')].filter(e => !(e.textContent.trim() || \
         e.labels?.length || e.getAttribute('aria-label'))).length",
    );
    assert_eq!(unnamed, json!(0));
    assert_eq!(browser.complaints(&own), Vec::<String>::new());

    // Drain: the page gets the report, the demo ends well.
    browser.value("document.getElementById('drain').click()");
    browser.wait_until("/every permit/.test(document.getElementById('report-text').textContent)");
    browser.picture(&picture("page-400-drained.png"));
    let (status, output) = demo.end();
    assert!(status.success(), "{output}");
}
