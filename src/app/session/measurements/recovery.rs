//! Recovery coefficients of the stored full iterations after several post-filters: search for those that comply with a standard.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::measurement::Measurement;
use super::roi_set::RoiSet;
use crate::coded::Problem;
use crate::data::{RunId, Volume};
use crate::measure::nema::{NemaError, NemaKnown, Recovery, RecoveryPoint, RecoveryRegions, find};
use crate::recon::gaussian_filter;
use crate::session::history::History;

/// Maximum number of post-filters of a query from another host, and their widths, mm.
const MAX_FILTERS: usize = 64;
pub const FILTERS_MM: RangeInclusive<f64> = 0.0..=1000.0;

/// Maximum number of stored settings; the oldest are discarded.
const MAX_SETTINGS: usize = 2000;

/// Post-filters and phantom of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryQuery {
    /// FWHM of the post-filters, mm; 0 = none.
    pub filters_mm: Vec<f64>,
    /// True activity ratio of the spheres to the background.
    pub activity_ratio: Option<f64>,
    /// Regions: circles of the template are measured where they lie. Their edit numbers the query.
    pub rois: RoiSet,
    pub with_peak: bool,
}

impl RecoveryQuery {
    /// Finds the phantom in an unfiltered iterate.
    ///
    /// # Errors
    /// No phantom, cold spheres, no ratio.
    pub fn regions(&self, volume: &Volume) -> Result<RecoveryRegions, NemaError> {
        let found = find(volume, &NemaKnown::default())?;
        let placement = found.with_rois(&self.rois.rois).unwrap_or(found);
        RecoveryRegions::new(&placement, &volume.grid, self.activity_ratio)
    }

    /// Measures an iterate after a post-filter.
    ///
    /// # Errors
    /// The regions failed, or the image has none of the coefficients.
    pub fn measure(
        &self,
        volume: &Volume,
        regions: &Result<RecoveryRegions, NemaError>,
        filter_mm: f64,
    ) -> Result<Recovery, Problem> {
        let regions = regions.as_ref().map_err(|error| Problem::from(*error))?;
        Ok(regions.measure(&gaussian_filter(volume, filter_mm), self.with_peak)?)
    }
}

/// Measured settings of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveryFound {
    /// Number of the query.
    query: u64,
    /// Settings in the order of their measurement.
    pub points: Vec<RecoveryPoint>,
}

impl RecoveryFound {
    pub fn at(&self, iteration: usize, filter_mm: f64) -> Option<&RecoveryPoint> {
        self.points.iter().find(|point| point.iteration == iteration && point.filter_mm == filter_mm)
    }
}

/// Search, and the settings that were measured.
pub struct RecoverySearch {
    query: RecoveryQuery,
    /// Steps done of the iterate, and index of the filter.
    measured: HashSet<(usize, usize)>,
    /// Regions of the newest iterate.
    regions: Option<(usize, Result<RecoveryRegions, NemaError>)>,
}

impl Measurement for RecoverySearch {
    /// `None` ends the search.
    type Query = Option<RecoveryQuery>;
    /// Number of the query, and one setting.
    type Answer = (u64, Box<RecoveryPoint>);
    type Found = RecoveryFound;

    fn begin(query: Option<RecoveryQuery>, _before: Option<Self>) -> Option<Self> {
        Some(Self { query: query?, measured: HashSet::new(), regions: None })
    }

    /// Measures the next full iteration after the next filter.
    fn measure(&mut self, run: RunId, history: &History) -> Option<(u64, Box<RecoveryPoint>)> {
        let Self { query, measured, regions } = self;
        let mut filter_mm = 0.0;
        let image = history.next(run, |id| {
            let next =
                (0..).zip(&query.filters_mm).find(|(index, _)| id.iteration > 0 && measured.insert((id.subiteration, *index)));
            next.map(|(_, next_mm)| filter_mm = *next_mm).is_some()
        })?;
        let step = image.id.subiteration;
        let known = regions.take().filter(|(of, _)| *of == step);
        let (_, regions) = regions.insert(known.unwrap_or_else(|| (step, query.regions(&image.volume))));
        let outcome = query.measure(&image.volume, regions, filter_mm);
        let point = RecoveryPoint { iteration: image.id.iteration, filter_mm, outcome };
        Some((query.rois.branch, Box::new(point)))
    }

    /// Adds a setting. One of another query replaces the present ones; one of an older query is discarded.
    fn add((query, point): &Self::Answer, found: &mut RecoveryFound) {
        if *query < found.query {
            return;
        }
        if *query != found.query {
            *found = RecoveryFound { query: *query, points: Vec::new() };
        }
        found.points.push((**point).clone());
        let excess = found.points.len().saturating_sub(MAX_SETTINGS);
        found.points.drain(..excess);
    }

    fn regions(query: &mut Self::Query) -> Option<&mut RoiSet> {
        query.as_mut().map(|query| &mut query.rois)
    }

    fn is_valid(query: &Self::Query) -> bool {
        let filters_mm = query.as_ref().map_or(&[][..], |query| &query.filters_mm);
        filters_mm.len() <= MAX_FILTERS && filters_mm.iter().all(|mm| FILTERS_MM.contains(mm))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::IterateId;
    use crate::geometry::Grid;
    use crate::session::history::StoredIterate;

    #[test]
    fn each_full_iteration_is_measured_once_after_each_filter() {
        let image = |iteration: usize| {
            let volume = Arc::new(Volume::filled(Grid::centred([20; 3], [4.0; 3]).unwrap(), 1.0));
            let id = IterateId { run: 1, iteration, subiteration: 3 * iteration };
            StoredIterate { id, extremes: volume.extremes(), volume }
        };
        let query = RecoveryQuery { filters_mm: vec![0.0, 5.0], activity_ratio: Some(4.0), ..RecoveryQuery::default() };
        let mut search = RecoverySearch::begin(Some(query), None).unwrap();
        let history = History::new(1 << 20);
        history.begin(1);
        [0, 1, 2].into_iter().for_each(|iteration| _ = history.push(image(iteration)));
        let found: Vec<RecoveryPoint> = std::iter::from_fn(|| search.measure(1, &history)).map(|(_, point)| *point).collect();
        let settings: Vec<(usize, f64)> = found.iter().map(|point| (point.iteration, point.filter_mm)).collect();
        assert_eq!(settings, [(1, 0.0), (1, 5.0), (2, 0.0), (2, 5.0)]);
        // The reason is part of the setting.
        assert!(found.iter().all(|point| point.outcome.as_ref().unwrap_err().code == "nema"), "{found:?}");
    }

    #[test]
    fn settings_of_an_older_query_are_discarded() {
        let point = |iteration| RecoveryPoint { iteration, filter_mm: 5.0, outcome: Err(Problem::new("code", "text")) };
        let mut found = RecoveryFound::default();
        let add = |found: &mut RecoveryFound, query, iteration| {
            RecoverySearch::add(&(query, Box::new(point(iteration))), found);
        };
        add(&mut found, 2, 1);
        add(&mut found, 1, 7);
        add(&mut found, 2, 2);
        assert_eq!(found.points.iter().map(|point| point.iteration).collect::<Vec<_>>(), [1, 2]);
        assert!(found.at(2, 5.0).is_some() && found.at(2, 6.0).is_none() && found.at(7, 5.0).is_none());
        add(&mut found, 3, 9);
        assert_eq!(found.points, [point(9)]);
        (0..MAX_SETTINGS).for_each(|_| add(&mut found, 3, 10));
        assert_eq!((found.points.len(), found.points[0].iteration), (MAX_SETTINGS, 10));
    }
}
