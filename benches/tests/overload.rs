//! The overload model.

use std::time::Duration;

use benches::overload::{Departures, Limiter, Load, run};
use benches::plot::{Chart, Line, curves};

fn load(factor: f64) -> Load {
    Load { factor, span: Duration::from_secs(3), departures: Departures::Untold, seed: 3 }
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let (one, two) = (run(Limiter::Server, load(2.0)), run(Limiter::Server, load(2.0)));
    assert_eq!((one.goodput, one.p99, one.shed, one.offered), (two.goodput, two.p99, two.shed, two.offered));
}

#[test]
fn below_the_capacity_nobody_is_shed_by_a_queue() {
    for limiter in [Limiter::New, Limiter::Tower] {
        let outcome = run(limiter, load(0.5));
        assert_eq!(outcome.shed, 0.0);
        assert!((0.4..0.6).contains(&outcome.goodput), "{outcome:?}");
    }
}

#[test]
fn above_the_capacity_a_limiter_without_a_queue_sheds_at_least_the_surplus() {
    let outcome = run(Limiter::TowerShed, load(2.0));
    assert!(outcome.shed > 0.5, "{outcome:?}");
    assert!(outcome.goodput <= 1.0, "{outcome:?}");
}

#[test]
fn a_plot_follows_the_readers_colour_scheme_and_names_its_lines() {
    let line = Line { name: "ours".into(), points: vec![(1.0, 2.0), (2.0, 3.0)] };
    let chart = Chart { title: "T".into(), x: "x".into(), y: "y".into(), lines: vec![line] };
    let text = curves(&[chart]).expect("it can be drawn");
    assert!(text.contains("prefers-color-scheme:dark") && text.contains("ours"));
    assert!(curves(&[Chart { title: "T".into(), x: "x".into(), y: "y".into(), lines: vec![] }]).is_err());
}
