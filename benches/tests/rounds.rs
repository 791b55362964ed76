//! Scenarios, their outcomes, records and verdicts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use benches::record;
use benches::rounds::{self, Entry, Outcome};
use benches::scenario::{Batch, Contender, Effort, Figure, OURS, Rival, Scenario, Target};
use benches::verdict::judge;

fn scripted(who: &'static str, nanoseconds: u64, order: &Arc<Mutex<Vec<&'static str>>>) -> Contender {
    let order = Arc::clone(order);
    Contender::timed(who, move || {
        Box::new(move || {
            order.lock().expect("nobody panics").push(who);
            Batch { elapsed: Duration::from_nanos(nanoseconds), operations: 10 }
        })
    })
}

fn timed(who: &'static str, rounds: &[f64]) -> Entry {
    let outcome =
        Outcome::Timed { rounds: rounds.to_vec(), allocations_per_operation: 0.0, bytes_per_operation: 0.0 };
    Entry { who, outcome }
}

#[test]
fn contenders_take_turns_in_every_round() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let contenders =
        vec![scripted(OURS, 100, &order), scripted("a", 200, &order), scripted("b", 300, &order)];
    let entries = rounds::run(Scenario::new("test", "turns", contenders), Effort::Quick);
    let order = order.lock().expect("nobody panics");
    // A batch to warm up, the rounds, a batch with the allocations counted.
    assert_eq!(order.len(), 3 * (Effort::Quick.rounds() + 2));
    assert!(order.chunks(3).all(|turn| turn == [OURS, "a", "b"]), "{order:?}");
    let Outcome::Timed { rounds, .. } = &entries[1].outcome else { panic!("{entries:?}") };
    assert_eq!(rounds, &vec![20.0; Effort::Quick.rounds()]);
}

#[test]
fn a_contender_that_fails_its_gate_is_never_run() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let cheat = scripted("cheat", 1, &order).gated(|| Err("loses places: 2 of 3".into()));
    let scenario = Scenario::new("test", "gate", vec![scripted(OURS, 100, &order), cheat])
        .target(Target::time(Rival::Best, 1.0));
    let targets = scenario.targets.clone();
    let entries = rounds::run(scenario, Effort::Quick);
    assert!(
        matches!(&entries[1].outcome, Outcome::Failed(reason) if reason.starts_with("loses")),
        "{entries:?}"
    );
    assert!(!order.lock().expect("nobody panics").contains(&"cheat"));
    // Being faster than nobody meets no target.
    assert!(!judge(&targets, &entries)[0].met());
    let lines = record::lines("test", "gate", &entries);
    assert_eq!(lines[1]["failed"], "loses places: 2 of 3");
}

#[test]
fn a_contender_that_panics_while_timed_fails_and_the_others_go_on() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let broken = Contender::timed("broken", || Box::new(|| panic!("on purpose")));
    let entries =
        rounds::run(Scenario::new("test", "panic", vec![broken, scripted("a", 50, &order)]), Effort::Quick);
    assert!(matches!(&entries[0].outcome, Outcome::Failed(reason) if reason == "panics"), "{entries:?}");
    assert!(matches!(entries[1].outcome, Outcome::Timed { .. }));
}

#[test]
fn a_record_has_the_agreed_fields() {
    let lines = record::lines("semaphore", "acquire", &[timed(OURS, &[30.0, 10.0, 20.0])]);
    let line = lines[0].as_object().expect("an object");
    for field in
        ["subject", "scenario", "who", "median_ns", "unit", "allocs_per_op", "bytes_per_op", "rounds"]
    {
        assert!(line.contains_key(field), "{field} is missing in {line:?}");
    }
    assert_eq!((&line["median_ns"], &line["rounds"]), (&20.0.into(), &3.into()));
    assert!(!lines[0].to_string().contains('\n'));
}

#[test]
fn each_reading_has_a_record_with_its_value() {
    let figures = vec![Figure::new("total", 20.0, "ms"), Figure::new("created", 2.0, "")];
    let lines = record::lines("pool", "spike", &[Entry { who: OURS, outcome: Outcome::Read(figures) }]);
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["scenario"], &lines[0]["value"]), (&"spike: total".into(), &20.0.into()));
    assert_eq!(lines[0]["unit"], "ms");
}

#[test]
fn a_target_against_the_best_peer_leaves_our_other_modes_out() {
    let entries = [timed(OURS, &[100.0]), timed("ours (barging)", &[10.0]), timed("a", &[80.0])];
    let verdict = &judge(&[Target::time(Rival::Best, 1.2)], &entries)[0];
    assert_eq!((verdict.rival, verdict.value, verdict.met()), (Some("a"), Some(1.25), false));
}
