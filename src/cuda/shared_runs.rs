//! The data of the axial-run projector for the share of a member of a team of GPUs.

use std::ops::Range;
use std::sync::Arc;

use super::AxialRuns;
use super::projecting::Projecting;
use crate::operator::{DataSpace, Subset, one_after_the_other};

/// The LORs of its share alone, those of a subset in one piece.
pub(super) struct SharedRuns(pub Arc<AxialRuns>);

impl DataSpace for SharedRuns {
    fn max_subsets(&self) -> usize {
        self.0.views.max_subsets()
    }

    fn len(&self, subset: Subset) -> usize {
        Projecting::data_len(&*self.0, subset)
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        let num_planes = self.0.geometry.num_planes();
        let all = self.0.views.arranged(values, num_subsets);
        let mut own = Vec::with_capacity(Subset::all(num_subsets).map(|subset| self.len(subset)).sum());
        let mut first = 0;
        for subset in Subset::all(num_subsets) {
            for run in self.0.own(subset).lors.runs() {
                own.extend_from_slice(&all[first + run.start * num_planes..first + run.end * num_planes]);
            }
            first += self.0.views.len(subset);
        }
        Arc::new(own)
    }

    /// (A share's values have no place among those of all: they stay as they are.)
    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        values
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        one_after_the_other(self, subset)
    }
}
