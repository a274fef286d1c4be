//! Medians and their intervals.

use std::hash::{BuildHasher as _, RandomState};

use anyhow::Result;

/// The median of some figures.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    Estimate::of(figures).middle
}

/// A median with its confidence interval of 95 %, by order statistics; with fewer than six figures, with the least and the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The lower end of the interval.
    pub low: f64,
    /// The median.
    pub middle: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// The median of some figures.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut figures: Vec<_> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let number = figures.len();
        // As many figures are left out at each end as in 2.5 % of all series lie on one side of the true median.
        let (mut left_out, mut term) = (0, 0.5_f64.powf(number as f64));
        let mut tail = term;
        while tail <= 0.025 {
            term *= (number - left_out) as f64 / (left_out + 1) as f64;
            left_out += 1;
            tail += term;
        }
        let left_out = left_out.saturating_sub(1);
        Self {
            low: figures[left_out],
            middle: figures[number / 2],
            high: figures[number - 1 - left_out],
        }
    }
}

/// Measures subjects in rounds. In each round all take their turn, in random order; the first round warms up and does not count.
/// The result has the figures of each subject.
///
/// # Errors
/// If a measurement fails.
pub fn turns<T>(rounds: usize, subjects: usize, mut measure: impl FnMut(usize) -> Result<T>) -> Result<Vec<Vec<T>>> {
    let mut figures: Vec<Vec<T>> = (0..subjects).map(|_| Vec::with_capacity(rounds)).collect();
    let random = RandomState::new();
    for round in 0..=rounds {
        let mut order: Vec<_> = (0..subjects).collect();
        order.sort_by_key(|subject| random.hash_one((round, subject)));
        for subject in order {
            let figure = measure(subject)?;
            if round > 0 {
                figures[subject].push(figure);
            }
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_leaves_out_what_chance_leaves_out() {
        // Of tables of the sign test.
        for (number, low) in [(3, 1.0), (5, 1.0), (6, 1.0), (9, 2.0), (15, 4.0), (20, 6.0)] {
            let figures = (1..=number).rev().map(f64::from);
            let estimate = Estimate::of(figures);
            assert_eq!(estimate.low, low, "of {number}");
            assert_eq!(estimate.high, f64::from(number) + 1.0 - low);
        }
    }

    #[test]
    fn every_subject_takes_its_turn_in_each_round() {
        let mut taken = [0; 3];
        let figures = turns(4, 3, |subject| {
            taken[subject] += 1;
            Ok(subject)
        });
        assert_eq!(taken, [5; 3]);
        assert_eq!(figures.unwrap(), [vec![0; 4], vec![1; 4], vec![2; 4]]);
    }
}
