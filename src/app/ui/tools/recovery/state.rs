//! Standards to compare with, and the query for the coefficients.

use crate::data::{RecoveryQuantity, RecoveryStandard, Roi, RoiRole};
use crate::io::recovery::built_in;
use crate::session::{RecoveryQuery, RoiSet};

/// FWHM of the post-filters of the map, mm.
pub const FILTERS_MM: [f64; 8] = [0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// Standards to compare with, and the query for the coefficients.
pub struct RecoveryState {
    standards: Vec<RecoveryStandard>,
    selected: usize,
    /// True once the tab was drawn: the map fills also behind other tabs.
    is_wanted: bool,
    query: RecoveryQuery,
}

impl Default for RecoveryState {
    fn default() -> Self {
        Self { standards: built_in().to_vec(), selected: 0, is_wanted: false, query: RecoveryQuery::default() }
    }
}

impl RecoveryState {
    pub fn standards(&self) -> &[RecoveryStandard] {
        &self.standards
    }

    /// Returns the selected standard.
    pub fn standard(&self) -> Option<&RecoveryStandard> {
        self.standards.get(self.selected)
    }

    pub fn select(&mut self, index: usize) {
        self.selected = index.min(self.standards.len().saturating_sub(1));
    }

    /// Adds a standard and selects it; it replaces one of the same name.
    pub fn add(&mut self, standard: RecoveryStandard) {
        self.standards.retain(|other| other.name != standard.name);
        self.selected = self.standards.len();
        self.standards.push(standard);
    }

    /// Returns the query for regions with a true activity ratio; `None` before the tab is drawn for the first time. A change of
    /// the query has the next number.
    pub fn query(&mut self, is_drawn: bool, rois: &[Roi], activity_ratio: Option<f64>) -> Option<RecoveryQuery> {
        self.is_wanted |= is_drawn;
        if !self.is_wanted {
            return None;
        }
        let is_of_template = |roi: &&Roi| matches!(roi.role, RoiRole::Hot | RoiRole::Cold | RoiRole::Background);
        let rois: Vec<Roi> = rois.iter().filter(is_of_template).cloned().collect();
        let with_peak = self.standards.iter().any(|standard| standard.has(RecoveryQuantity::Peak));
        let branch = self.query.rois.branch;
        let is_same = *self.query.rois.rois == *rois
            && (self.query.activity_ratio, self.query.with_peak) == (activity_ratio, with_peak)
            && branch > 0;
        if !is_same {
            let rois = RoiSet { branch: branch + 1, rois: rois.into() };
            self.query = RecoveryQuery { filters_mm: FILTERS_MM.to_vec(), activity_ratio, rois, with_peak };
        }
        Some(self.query.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_query_has_the_next_number() {
        let mut state = RecoveryState::default();
        let rois = |x_mm: f64| [Roi::circle("sphere 10 mm", [x_mm, 0.0, 0.0], 5.0, RoiRole::Hot)];
        assert_eq!(state.query(false, &rois(0.0), Some(4.0)), None);
        let number = |query: Option<RecoveryQuery>| query.map(|query| query.rois.branch);
        assert_eq!(number(state.query(true, &rois(0.0), Some(4.0))), Some(1));
        // Behind another tab, too; a region without a role has no effect.
        let with_another = [&rois(0.0)[..], &[Roi::circle("a", [0.0; 3], 5.0, RoiRole::None)]].concat();
        assert_eq!(number(state.query(false, &with_another, Some(4.0))), Some(1));
        assert_eq!(number(state.query(false, &rois(1.0), Some(4.0))), Some(2));
        assert_eq!(number(state.query(false, &rois(1.0), None)), Some(3));
        let peaks = RecoveryStandard {
            bands: vec![crate::data::RecoveryBand { quantity: RecoveryQuantity::Peak, limits: [[0.0, 1.0]; 6] }],
            name: "peaks".into(),
            ..built_in()[0].clone()
        };
        state.add(peaks.clone());
        assert_eq!((number(state.query(false, &rois(1.0), None)), state.standard()), (Some(4), Some(&peaks)));
        state.add(peaks);
        assert_eq!(state.standards().len(), built_in().len() + 1);
    }
}
