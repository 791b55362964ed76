//! The list of scenarios is whole.

use benches::scenario::{Effort, OURS};

#[test]
fn every_subject_is_there_and_every_name_is_used_once() {
    let scenarios = benches::scenarios(Effort::Quick);
    for subject in ["semaphore", "queue", "executor", "layer", "pool"] {
        assert!(scenarios.iter().any(|scenario| scenario.subject == subject), "{subject}");
    }
    let mut names: Vec<_> = scenarios.iter().map(|scenario| (scenario.subject, &scenario.name)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), scenarios.len());
}

#[test]
fn we_take_part_in_every_scenario_and_come_first() {
    for scenario in benches::scenarios(Effort::Quick) {
        assert_eq!(scenario.contenders[0].who, OURS, "{}", scenario.name);
    }
}
