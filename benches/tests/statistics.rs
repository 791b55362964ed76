//! The numbers under every table.

use benches::random::Random;
use benches::statistics::{jain, median, paired_ratio, quantile, spread};

#[test]
fn the_median_is_the_middle_or_the_mean_of_the_two_middle_values() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

#[test]
fn a_quantile_is_a_value_that_was_measured() {
    let values: Vec<f64> = (1..=1000).map(f64::from).collect();
    assert_eq!(quantile(&values, 0.999), Some(999.0));
    assert_eq!(quantile(&values, 1.0), Some(1000.0));
    assert_eq!(quantile(&values, 0.0), Some(1.0));
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn the_spread_is_the_distance_of_the_quartiles_over_the_median() {
    assert_eq!(spread(&[10.0, 10.0, 10.0, 10.0]), Some(0.0));
    assert_eq!(spread(&[8.0, 10.0, 10.0, 12.0]), Some(0.2));
}

#[test]
fn a_slow_round_of_the_machine_does_not_move_the_paired_ratio() {
    // Every round the peer takes twice as long; in the second the whole machine is ten times slower.
    let (ours, theirs) = ([10.0, 100.0, 10.0], [20.0, 200.0, 20.0]);
    assert_eq!(paired_ratio(&ours, &theirs), Some(0.5));
}

#[test]
fn jains_index_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
    assert_eq!(jain(&[5.0; 4]), Some(1.0));
    assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain(&[0.0, 0.0]), None);
}

#[test]
fn the_same_seed_draws_the_same_numbers_and_exponentials_have_their_mean() {
    let (mut one, mut two) = (Random::new(5), Random::new(5));
    assert!((0..100).all(|_| one.next() == two.next()));
    assert_ne!(Random::new(5).next(), Random::new(6).next());
    let mean = (0..100_000).map(|_| one.exponential(10.0)).sum::<f64>() / 100_000.0;
    assert!((9.8..10.2).contains(&mean), "{mean}");
}
