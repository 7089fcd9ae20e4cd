//! Recovery coefficients of the iterates of a run after several post-filters.

use crate::measure::nema::RecoveryPoint;

/// Maximum number of stored settings; the oldest are discarded.
const MAX_SETTINGS: usize = 2000;

/// Measured settings of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveRecovery {
    /// Number of the query.
    query: u64,
    /// Settings in the order of their measurement.
    pub points: Vec<RecoveryPoint>,
}

impl LiveRecovery {
    /// Adds settings. Those of another query replace the present ones; an older query has none.
    pub(super) fn add(&mut self, query: u64, points: &[RecoveryPoint]) {
        if query < self.query {
            return;
        }
        if query != self.query {
            *self = Self { query, points: Vec::new() };
        }
        self.points.extend_from_slice(points);
        let excess = self.points.len().saturating_sub(MAX_SETTINGS);
        self.points.drain(..excess);
    }

    pub fn at(&self, iteration: usize, filter_mm: f64) -> Option<&RecoveryPoint> {
        self.points.iter().find(|point| point.iteration == iteration && point.filter_mm == filter_mm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coded::Problem;

    #[test]
    fn settings_of_an_older_query_are_discarded() {
        let point = |iteration| RecoveryPoint { iteration, filter_mm: 5.0, outcome: Err(Problem::new("code", "text")) };
        let mut live = LiveRecovery::default();
        live.add(2, &[point(1)]);
        live.add(1, &[point(7)]);
        live.add(2, &[point(2)]);
        assert_eq!(live.points.iter().map(|point| point.iteration).collect::<Vec<_>>(), [1, 2]);
        assert!(live.at(2, 5.0).is_some() && live.at(2, 6.0).is_none() && live.at(7, 5.0).is_none());
        live.add(3, &[point(9)]);
        assert_eq!(live.points, [point(9)]);
        live.add(3, &vec![point(10); MAX_SETTINGS]);
        assert_eq!((live.points.len(), live.points[0].iteration), (MAX_SETTINGS, 10));
    }
}
