//! Recovery coefficients of the stored iterates of a run after each post-filter, in parallel with the solver.

use std::collections::HashSet;

use super::RecoveryQuery;
use crate::measure::nema::{NemaError, RecoveryPoint, RecoveryRegions};
use crate::session::StoredIterate;

/// Search, and the settings that were measured.
pub struct RecoverySearch {
    query: RecoveryQuery,
    /// Steps done of the iterate, and index of the filter.
    measured: HashSet<(usize, usize)>,
    /// Regions of the newest iterate.
    regions: Option<(usize, Result<RecoveryRegions, NemaError>)>,
}

impl RecoverySearch {
    pub fn new(query: RecoveryQuery) -> Self {
        Self { query, measured: HashSet::new(), regions: None }
    }

    pub fn number(&self) -> u64 {
        self.query.rois.branch
    }

    /// Measures full iterations that were not measured yet after each filter, and passes each setting to `send`, while `is_idle`.
    /// The first is measured always, or frequent inputs would delay it forever.
    pub fn measure(&mut self, images: &[StoredIterate], is_idle: impl Fn() -> bool, mut send: impl FnMut(RecoveryPoint)) {
        let filters = || self.query.filters_mm.iter().copied().enumerate();
        let full = images.iter().filter(|image| image.id.iteration > 0);
        let settings = full.flat_map(|image| filters().map(move |(index, filter_mm)| (image, index, filter_mm)));
        let mut is_first = true;
        for (image, index, filter_mm) in settings {
            let step = image.id.subiteration;
            if self.measured.contains(&(step, index)) {
                continue;
            }
            if !std::mem::take(&mut is_first) && !is_idle() {
                return;
            }
            self.measured.insert((step, index));
            let regions = self.regions.take().filter(|(of, _)| *of == step);
            let (_, regions) = self.regions.insert(regions.unwrap_or_else(|| (step, self.query.regions(&image.volume))));
            let outcome = self.query.measure(&image.volume, regions, filter_mm);
            send(RecoveryPoint { iteration: image.id.iteration, filter_mm, outcome });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{IterateId, Volume};
    use crate::geometry::Grid;

    #[test]
    fn each_full_iteration_is_measured_once_after_each_filter_while_there_is_time() {
        let image = |iteration: usize| {
            let volume = Arc::new(Volume::filled(Grid::centred([20; 3], [4.0; 3]).unwrap(), 1.0));
            let id = IterateId { run: 1, iteration, subiteration: 3 * iteration };
            StoredIterate { id, extremes: volume.extremes(), volume }
        };
        let query = RecoveryQuery { filters_mm: vec![0.0, 5.0], activity_ratio: Some(4.0), ..RecoveryQuery::default() };
        let mut search = RecoverySearch::new(query);
        let mut found = Vec::new();
        let images = [image(0), image(1), image(2)];
        // At least one is measured each time.
        search.measure(&images, || false, |point| found.push(point));
        assert_eq!(found.iter().map(|point| (point.iteration, point.filter_mm)).collect::<Vec<_>>(), [(1, 0.0)]);
        search.measure(&images, || true, |point| found.push(point));
        search.measure(&images, || true, |point| found.push(point));
        let settings: Vec<(usize, f64)> = found.iter().map(|point| (point.iteration, point.filter_mm)).collect();
        assert_eq!(settings, [(1, 0.0), (1, 5.0), (2, 0.0), (2, 5.0)]);
        // The reason is part of the setting.
        assert!(found.iter().all(|point| point.outcome.as_ref().unwrap_err().code == "nema"), "{found:?}");
    }
}
