//! The span of a get (feature `tracing`).
#![cfg(feature = "tracing")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use lease_pool::testing::{Act, Stage};
use support::{ms, scripted};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[derive(Clone, Default)]
struct Recorder {
    spans: Arc<Mutex<Vec<BTreeMap<String, String>>>>,
    warnings: Arc<Mutex<Vec<String>>>,
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("lease_pool")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = BTreeMap::from([("span".to_owned(), span.metadata().name().to_owned())]);
        span.record(&mut Fields(&mut fields));
        let mut spans = self.spans.lock().unwrap();
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut self.spans.lock().unwrap()[span.into_u64() as usize - 1]));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == tracing::Level::WARN {
            let mut fields = BTreeMap::new();
            event.record(&mut Fields(&mut fields));
            self.warnings.lock().unwrap().push(format!("{fields:?}"));
        }
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_get_that_waits_tells_how_long_it_queued_created_and_checked() {
    let recorder = Recorder::default();
    let _guard = tracing::subscriber::set_default(recorder.clone());
    let (script, builder) = scripted(1);
    let pool = builder.leak_warning_after(ms(300)).build().unwrap();
    script.always(Stage::Create, Act::After(ms(50)));
    script.always(Stage::Check, Act::After(ms(20)));
    let held = pool.get().await.unwrap();
    held.set_dirty(true);
    drop(held);
    drop(pool.get().await.unwrap());
    drop(pool.get().await.unwrap());
    let spans = recorder.spans.lock().unwrap().clone();
    assert_eq!(spans.len(), 2, "an immediate get has no span: {spans:?}");
    let ms_of = |span: usize, field: &str| spans[span][field].parse::<f64>().unwrap();
    assert_eq!(spans[0]["span"], "pool.get");
    assert_eq!(spans[0]["outcome"], "\"ok\"");
    assert!((ms_of(0, "queued_ms") - 50.0).abs() < 1.5, "{spans:?}");
    assert!((ms_of(0, "create_ms") - 50.0).abs() < 1.5, "{spans:?}");
    assert_eq!((ms_of(0, "check_ms"), ms_of(1, "create_ms"), ms_of(1, "queued_ms")), (0.0, 0.0, 0.0));
    assert!((ms_of(1, "check_ms") - 20.0).abs() < 1.5, "{spans:?}");

    let _held = pool.get().await.unwrap();
    tokio::time::sleep(ms(400)).await;
    let warnings = recorder.warnings.lock().unwrap().clone();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("tracing.rs"), "the line that asked for it: {warnings:?}");
}
