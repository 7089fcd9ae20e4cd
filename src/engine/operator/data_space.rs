//! Data of an operator: their order in arrays, and their division into subsets.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::algebra::Rows;
use crate::scanner::ScanGeometry;

/// One of `count` parts of the data, which the [`DataSpace`] defines. A subset of views has those v ≡ `index` (mod `count`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subset {
    /// Which subset.
    pub index: usize,
    /// Number of subsets.
    pub count: usize,
}

impl Subset {
    /// All data in one subset.
    pub const ALL: Subset = Subset { index: 0, count: 1 };

    /// Returns all of `count` subsets.
    pub fn all(count: usize) -> impl Iterator<Item = Subset> + Clone {
        (0..count).map(move |index| Subset { index, count })
    }

    /// Returns its views in ascending order, of `num_views`.
    pub fn views(self, num_views: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        (self.index..num_views).step_by(self.count.max(1))
    }
}

/// The data of an operator. The values of a study have another order than arrays, which hold them in the order of this space for
/// a number of subsets.
pub trait DataSpace: Send {
    /// Into how many subsets the data can be divided at most.
    fn max_subsets(&self) -> usize;

    /// Returns the number of values in the data of a subset.
    fn len(&self, subset: Subset) -> usize;

    /// Returns true if a subset has no data.
    fn is_empty(&self, subset: Subset) -> bool {
        self.len(subset) == 0
    }

    /// Returns the values of a study, in the order of this space for a number of subsets. Values that all time-of-flight bins of a
    /// line share are fewer.
    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>>;

    /// Returns the reverse of [`DataSpace::arranged`] for all data in one subset.
    fn in_order(&self, values: Vec<f32>) -> Vec<f32>;

    /// Returns the pieces of arranged values that make up a subset: where each begins in the subset's own array, and where it
    /// lies in the whole.
    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)>;

    /// Returns the rows in the data of a subset of values that all time-of-flight bins of a line share: `rows` those of a study.
    fn rows(&self, _subset: Subset, rows: Rows) -> Rows {
        rows
    }
}

/// [`DataSpace::pieces`] where the values of each subset lie in one piece, subset after subset.
pub(crate) fn one_after_the_other(space: &impl DataSpace, subset: Subset) -> Vec<(usize, Range<usize>)> {
    let first: usize = Subset::all(subset.count).take(subset.index).map(|before| space.len(before)).sum();
    vec![(0, first..first + space.len(subset))]
}

impl DataSpace for Box<dyn DataSpace> {
    fn max_subsets(&self) -> usize {
        (**self).max_subsets()
    }

    fn len(&self, subset: Subset) -> usize {
        (**self).len(subset)
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        (**self).arranged(values, num_subsets)
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        (**self).in_order(values)
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        (**self).pieces(subset)
    }

    fn rows(&self, subset: Subset, rows: Rows) -> Rows {
        (**self).rows(subset, rows)
    }
}

/// In which order the bins of a subset's views lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, strum::VariantArray)]
pub enum BinOrder {
    /// Radial position, then view, then plane: the paper's. Neighbouring bins hold parallel lines.
    #[default]
    #[strum(serialize = "r-fastest")]
    Radial,
    /// Plane, then radial position, then view, as in a michelogram. Neighbouring bins hold lines one above the other.
    #[strum(serialize = "plane-fastest")]
    Plane,
    /// Shuffled.
    #[strum(serialize = "random")]
    Random,
}

/// Shuffles bins; as in the kernels.
const SHUFFLE: u64 = 2_654_435_761;

/// The bins of a michelogram, in subsets of views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Views {
    num_views: usize,
    num_tangential: usize,
    num_planes: usize,
    order: BinOrder,
    /// True if the data of the subsets follow each other; else the views do, as in a michelogram.
    by_subset: bool,
}

impl Views {
    /// Bins as they lie in a michelogram: the data of a subset is taken view by view.
    pub fn in_place(geometry: &ScanGeometry) -> Self {
        Self { by_subset: false, ..Self::by_subset(geometry, BinOrder::Plane) }
    }

    /// Makes the data of each subset in one piece, in this order.
    pub fn by_subset(geometry: &ScanGeometry, order: BinOrder) -> Self {
        let ScanGeometry { num_views, num_tangential, .. } = *geometry;
        Self { num_views, num_tangential, num_planes: geometry.num_planes(), order, by_subset: true }
    }

    /// The same with `num_tof` time-of-flight bins, each with all planes.
    pub fn with_tof(self, num_tof: usize) -> Self {
        Self { num_planes: self.num_planes * num_tof, ..self }
    }

    /// The same in another order.
    pub fn with_order(self, order: BinOrder) -> Self {
        Self { order, ..self }
    }

    /// Returns the order of the bins.
    pub fn order(&self) -> BinOrder {
        self.order
    }

    /// Tangential positions of a view.
    pub fn num_tangential(&self) -> usize {
        self.num_tangential
    }

    /// Planes of a transaxial LOR, of all its time-of-flight bins.
    pub fn num_planes(&self) -> usize {
        self.num_planes
    }

    /// Returns the number of bins of a view.
    pub fn view_len(&self) -> usize {
        self.num_tangential * self.num_planes
    }

    /// Returns the views of a subset.
    pub fn of(&self, subset: Subset) -> impl ExactSizeIterator<Item = usize> + Clone {
        subset.views(self.num_views)
    }

    /// Returns the number of values in the data of a subset.
    pub fn len(&self, subset: Subset) -> usize {
        self.of(subset).len() * self.view_len()
    }

    /// Returns true if the subset has no view.
    pub fn is_empty(&self, subset: Subset) -> bool {
        self.len(subset) == 0
    }

    /// The same for this number of values: those that time-of-flight bins share lie in fewer planes.
    fn of_values(&self, num_values: usize) -> Self {
        Self { num_planes: num_values / (self.num_views * self.num_tangential).max(1), ..*self }
    }

    /// Where the bins of a subset lie in a michelogram, in their order.
    fn bins(&self, subset: Subset) -> impl IndexedParallelIterator<Item = usize> + use<> {
        let (nt, np, order, nv, len) =
            (self.num_tangential, self.num_planes, self.order, self.of(subset).len(), self.len(subset));
        (0..len).into_par_iter().map(move |i| {
            let i = if order == BinOrder::Random { (i as u64 * SHUFFLE % len as u64) as usize } else { i };
            let (tangential_pos, view, plane) = match order {
                BinOrder::Plane => (i / np % nt, i / np / nt, i % np),
                BinOrder::Radial | BinOrder::Random => (i % nt, i / nt % nv, i / nt / nv),
            };
            ((subset.index + subset.count.max(1) * view) * nt + tangential_pos) * np + plane
        })
    }
}

impl DataSpace for Views {
    fn max_subsets(&self) -> usize {
        self.num_views
    }

    fn len(&self, subset: Subset) -> usize {
        self.len(subset)
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        let subsets = Subset::all(num_subsets.max(1));
        if self.order == BinOrder::Plane {
            if !self.by_subset || num_subsets <= 1 {
                return Arc::clone(values);
            }
            let view_len = values.len() / self.num_views.max(1);
            let view = |view: usize| &values[view * view_len..(view + 1) * view_len];
            return Arc::new(subsets.flat_map(|subset| self.of(subset)).flat_map(view).copied().collect());
        }
        let (views, mut arranged) = (self.of_values(values.len()), vec![0.0; values.len()]);
        let mut rest = arranged.as_mut_slice();
        for subset in subsets {
            let (here, behind) = rest.split_at_mut(views.len(subset));
            here.par_iter_mut().zip(views.bins(subset)).for_each(|(value, bin)| *value = values[bin]);
            rest = behind;
        }
        Arc::new(arranged)
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        if self.order == BinOrder::Plane {
            return values;
        }
        let places: Vec<usize> = self.bins(Subset::ALL).collect();
        let mut ordered = vec![0.0; values.len()];
        for (value, place) in values.into_iter().zip(places) {
            ordered[place] = value;
        }
        ordered
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        let view_len = self.view_len();
        if subset.count <= 1 {
            return vec![(0, 0..self.len(subset))];
        }
        if self.by_subset {
            return one_after_the_other(self, subset);
        }
        self.of(subset).enumerate().map(|(k, view)| (k * view_len, view * view_len..(view + 1) * view_len)).collect()
    }

    /// Where planes come last the time-of-flight bins do, too: each has all lines of the subset. (Data with time of flight are never
    /// shuffled.)
    fn rows(&self, subset: Subset, rows: Rows) -> Rows {
        match self.order {
            BinOrder::Plane => rows,
            BinOrder::Radial | BinOrder::Random => Rows { len: self.len(subset) / rows.repeats.max(1), ..rows },
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::algebra::{Backend as _, Data, Host};
    use crate::scanner::find;

    #[test]
    fn every_order_holds_each_bin_once_in_the_subset_of_its_view() {
        let geometry = &find("small").unwrap().geometry;
        let values = Arc::new((0..geometry.num_bins()).map(|bin| bin as f32).collect::<Vec<f32>>());
        let spaces = BinOrder::VARIANTS.iter().map(|&order| Views::by_subset(geometry, order));
        for space in spaces.chain([Views::in_place(geometry)]) {
            for num_subsets in [1, 4, 7, space.max_subsets()] {
                let arranged = space.arranged(&values, num_subsets);
                let mut found: Vec<usize> = Vec::new();
                for subset in Subset::all(num_subsets) {
                    let mut end = 0;
                    for (at, range) in space.pieces(subset) {
                        assert_eq!(at, end);
                        end += range.len();
                        let bins = arranged[range].iter().map(|&bin| bin as usize);
                        found.extend(bins.inspect(|bin| assert_eq!(bin / space.view_len() % num_subsets, subset.index)));
                    }
                    assert_eq!(end, space.len(subset));
                }
                found.sort_unstable();
                assert!(found.into_iter().eq(0..values.len()), "{space:?}, {num_subsets}");
            }
            assert_eq!(space.in_order(space.arranged(&values, 1).to_vec()), *values);
        }
    }

    #[test]
    fn values_that_the_bins_of_a_line_share_lie_in_its_rows() {
        let geometry = &find("small").unwrap().geometry;
        let (num_tof, num_planes) = (3, geometry.num_planes());
        let of_lines = Arc::new((0..geometry.num_bins()).map(|line| line as f32).collect::<Vec<f32>>());
        // The same value in all bins of a line, `[view][tangential_pos][tof][plane]`.
        let repeated = of_lines.chunks(num_planes).flat_map(|planes| planes.repeat(num_tof)).collect();
        let repeated: Arc<Vec<f32>> = Arc::new(repeated);
        for order in [BinOrder::Plane, BinOrder::Radial] {
            let space = Views::by_subset(geometry, order).with_tof(num_tof);
            // (A number of subsets of unequal size.)
            for num_subsets in [1, 7] {
                let [of_lines, expected] = [&of_lines, &repeated].map(|values| space.arranged(values, num_subsets));
                for subset in Subset::all(num_subsets) {
                    let rows = space.rows(subset, Rows { len: num_planes, repeats: num_tof });
                    for (at, range) in space.pieces(subset) {
                        let mut found = vec![0.0f32; at + range.len()].into();
                        let values = of_lines.to_vec().into();
                        Host.add_rows::<Data>(&mut found, at, &values, rows.in_lines(range.clone()), rows).unwrap();
                        assert_eq!(found[at..], expected[range], "{order}, {subset:?}");
                    }
                }
            }
        }
    }
}
