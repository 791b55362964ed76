//! Medians, spreads and indexes, of few numbers and without a model of their distribution.

/// The value below which `share` (0 to 1) of `values` lie, by the nearest rank.
///
/// `None` when there is nothing to rank.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The middle value; the mean of the two middle ones of an even count.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The distance between the quartiles as a share of the median: 0.1 is ten percent.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / middle)
}

/// The median of `ours[i] / theirs[i]`: rounds that ran next to each other are compared with each other.
pub fn paired_ratio(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(own, other)| own / other).collect();
    median(&ratios)
}

/// Jain's index of fairness: 1 when all shares are equal, 1/n when one has everything.
///
/// `(sum x)^2 / (n * sum x^2)`, from Jain, Chiu and Hawe, "A Quantitative Measure of Fairness" (1984).
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}
