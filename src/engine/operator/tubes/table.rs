//! Tables of a projection on the lattice that are the same for all views of a scan.
//!
//! Seen from above, the samples of all tubes of a view lie on one lattice: rows along the lines, columns one tangential position
//! apart. A *cell* is a point of it with the image's values there at all z, in the order of an image column: even and odd
//! slices apart. Where the line of plane p passes a cell at slice u_p = u_0 + 2p, the samples along the axis and the
//! interpolation in z make one sum of neighbouring slices,
//!
//! ```text
//! Σ_c T[c] f(u_p + c − C) = Σ_e w[e] f[k − C + e + 2p],   k = ⌊u_0⌋,  w[e] = (1 − u_0 + k) T[e] + (u_0 − k) T[e − 1],
//! ```
//!
//! the same for all planes of a ring difference, which are neighbours in the slices of one parity. −d mirrors it: the same
//! weights count down from k.

use std::ops::Range;

use super::fit::{largest_indices, lattice_fits, ring_difference};
use crate::algebra::{Columns, FieldOfView};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::OperatorError;
use crate::operator::chunk::LANES;
use crate::scanner::ScanGeometry;

/// Samples along the axis at most; tubes with fewer are filled up with zeros.
pub const MAX_AXIAL: usize = 7;
/// Slices that the samples and the interpolation between them reach.
pub const TAPS: usize = MAX_AXIAL + 1;
/// Those of one parity.
pub const TAPS_PER_CLASS: usize = TAPS / 2;
/// Rows of the lattice that are taken together, whose cells around a line stay in the first cache.
pub const ROWS_PER_BLOCK: usize = 4;

/// The planes of one ring difference.
#[derive(Clone, Debug)]
pub struct Group {
    /// |d|.
    pub ring_difference: usize,
    /// True if d < 0: the weights count down.
    pub is_mirrored: bool,
    /// The first of its planes, which follow each other.
    pub first_plane: usize,
    /// Number of planes.
    pub num_planes: usize,
    /// Where its planes begin among the padded bins of a LOR, behind [`TAPS_PER_CLASS`] − 1 zeros.
    pub at: usize,
}

impl Group {
    /// Chunks that hold the slices of one parity which its planes see around a cell.
    pub fn num_slice_chunks(&self) -> usize {
        (self.num_planes + TAPS_PER_CLASS - 1).div_ceil(LANES)
    }
}

/// Everything but the angle of the view.
#[derive(Clone, Debug)]
pub struct TubeTable {
    /// The order of an image column and of a cell.
    pub columns: Columns,
    /// Rows of the lattice.
    pub num_along: usize,
    /// Samples of a tube across.
    pub num_across: usize,
    /// Number of different |tangential index|.
    pub num_radial: usize,
    /// Ring differences, in the order of the planes.
    pub groups: Vec<Group>,
    /// Padded bins of a LOR.
    pub bins_len: usize,
    /// Points farther from the axis see nothing, mm.
    pub radius_mm: f64,
    /// Number of different |ring difference|.
    pub num_differences: usize,
    /// For each |tangential index| the rows of the lattice where its tubes can meet the field of view.
    rows: Vec<Range<usize>>,
    /// w, `[radial][block of rows][ring difference][row in block][across][e]`.
    weights: Vec<f32>,
    /// Where in a cell the slices of plane 0 begin for the taps of even and odd place, `[radial][group][row]`.
    windows: Vec<[u32; 2]>,
}

impl TubeTable {
    /// Makes the table of some tubes.
    ///
    /// # Errors
    /// The tubes do not fit the scan, or their samples and the slices of the grid are not on one lattice.
    pub fn new(geometry: &ScanGeometry, grid: &Grid, fov: &FieldOfView, tubes: &TubeSet) -> Result<Self, OperatorError> {
        lattice_fits(geometry, grid, tubes, MAX_AXIAL)?;
        let [num_along, num_across, _] = tubes.sampling.num;
        let [largest_radial, largest_difference] = largest_indices(geometry);
        let (num_radial, num_differences) = (largest_radial + 1, largest_difference + 1);
        let (groups, bins_len) = groups(geometry);
        let half_mm: Vec<f64> = (0..num_radial).map(|radial| half_length_mm(geometry, radial)).collect();
        let fraction = |radial: usize, row: usize| along_mm(tubes, row) / half_mm[radial];
        let lanes_of = lanes_of_windows(geometry, grid, &groups, num_radial, num_along, fraction);
        let first = lanes_of.iter().flatten().map(|&(_, lane)| -lane).max().unwrap_or(0).max(0);
        let reach = |group: &Group| LANES * group.num_slice_chunks();
        let of_group = |index: usize| &groups[index / num_along % groups.len()];
        let end = |(index, pair): (usize, &[(usize, isize); 2])| pair.map(|(_, lane)| lane + reach(of_group(index)) as isize);
        let last = lanes_of.iter().enumerate().flat_map(end).max().unwrap_or(0);
        let lanes = ((first + last.max(grid.size[2].div_ceil(2) as isize)) as usize).next_multiple_of(LANES / 2);
        let columns = Columns { classes: 2, lanes, first: first as usize, tail: 0 };
        let place = |(class, lane): (usize, isize)| (class * lanes) as u32 + (lane + first) as u32;
        let windows = lanes_of.into_iter().map(|pair| pair.map(place)).collect();
        let mut table = Self {
            columns,
            num_along,
            num_across,
            num_radial,
            groups,
            bins_len,
            radius_mm: view_radius_mm(grid, fov),
            num_differences,
            rows: (0..num_radial).map(|radial| rows_in_view(grid, fov, tubes, radial)).collect(),
            weights: Vec::new(),
            windows,
        };
        table.weights = table.all_weights(tubes, fraction);
        Ok(table)
    }

    /// Columns of the lattice; the one through the axis is in the middle.
    pub fn num_columns(&self) -> usize {
        2 * (self.num_radial - 1 + self.num_across / 2) + 1
    }

    /// Returns the number of blocks of rows.
    pub fn num_blocks(&self) -> usize {
        self.num_along.div_ceil(ROWS_PER_BLOCK)
    }

    /// Returns the rows in which the tubes of a |tangential index| can meet the field of view.
    pub fn rows(&self, radial: usize) -> Range<usize> {
        self.rows[radial].clone()
    }

    /// Returns the class and the lane in which a window begins; the lane of the lowest slice of a class is 0.
    pub fn class_and_lane(&self, place: u32) -> (usize, isize) {
        let place = place as usize;
        (place / self.columns.lanes, (place % self.columns.lanes) as isize - self.columns.first as isize)
    }

    /// Returns the rows of a block in which the tubes of a |tangential index| can meet the field of view.
    pub fn rows_of_block(&self, radial: usize, block: usize) -> Range<usize> {
        let rows = &self.rows[radial];
        rows.start.max(block * ROWS_PER_BLOCK)..rows.end.min((block + 1) * ROWS_PER_BLOCK)
    }

    /// w of a |ring difference| in some rows of one block, `[row][across][e]`.
    #[inline(always)]
    pub fn weights(&self, radial: usize, ring_difference: usize, rows: &Range<usize>) -> &[f32] {
        let from = self.weights_at(radial, ring_difference, rows.start);
        &self.weights[from..from + rows.len() * self.num_across * TAPS]
    }

    /// Returns the windows of a group in some rows.
    #[inline(always)]
    pub fn windows(&self, radial: usize, group: usize, rows: &Range<usize>) -> &[[u32; 2]] {
        let from = (radial * self.groups.len() + group) * self.num_along;
        &self.windows[from + rows.start..from + rows.end]
    }

    fn weights_at(&self, radial: usize, ring_difference: usize, row: usize) -> usize {
        let first = row / ROWS_PER_BLOCK * ROWS_PER_BLOCK;
        let rows = ROWS_PER_BLOCK.min(self.num_along - first);
        let rows_before = (radial * self.num_along + first) * self.num_differences + ring_difference * rows + (row - first);
        rows_before * self.num_across * TAPS
    }

    fn all_weights(&self, tubes: &TubeSet, fraction: impl Fn(usize, usize) -> f64) -> Vec<f32> {
        let num_axial = tubes.sampling.num[2];
        let missing = (MAX_AXIAL - num_axial) / 2;
        let mut weights = vec![0.0; self.num_radial * self.num_along * self.num_differences * self.num_across * TAPS];
        for radial in 0..self.num_radial {
            for ring_difference in 0..self.num_differences {
                let samples = tubes.tube(radial, ring_difference).chunks_exact(num_axial);
                for (sample, tube) in samples.enumerate() {
                    let (row, b) = (sample / self.num_across, sample % self.num_across);
                    let (_, above) = floor_and_rest(-(ring_difference as f64) * fraction(radial, row));
                    let at = self.weights_at(radial, ring_difference, row) + b * TAPS + missing;
                    for (c, &coefficient) in tube.iter().enumerate() {
                        weights[at + c] += ((1.0 - above) * f64::from(coefficient)) as f32;
                        weights[at + c + 1] += (above * f64::from(coefficient)) as f32;
                    }
                }
            }
        }
        weights
    }
}

/// Returns the ring differences of a scan, and how many padded bins they make.
fn groups(geometry: &ScanGeometry) -> (Vec<Group>, usize) {
    let (mut groups, mut first_plane, mut at) = (Vec::new(), 0, 0);
    for segment in &geometry.segments {
        let num_planes = segment.num_axial_pos;
        let ring_difference = segment.min_ring_difference;
        let group = Group {
            ring_difference: ring_difference.unsigned_abs() as usize,
            is_mirrored: ring_difference < 0,
            first_plane,
            num_planes,
            at: at + TAPS_PER_CLASS - 1,
        };
        first_plane += num_planes;
        at = group.at + LANES * group.num_slice_chunks();
        groups.push(group);
    }
    (groups, at)
}

/// Half of the length of the lines of a |tangential index|.
fn half_length_mm(geometry: &ScanGeometry, radial: usize) -> f64 {
    let is_of = |tangential_pos: &usize| geometry.tangential_index(*tangential_pos).unsigned_abs() == radial;
    let tangential_pos = (0..geometry.num_tangential).find(is_of).unwrap_or_default();
    let lor = geometry.transaxial_lor(0, tangential_pos, 0, 1);
    0.5 * (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1])
}

/// Returns the distance of a row of the lattice from the middle of the lines.
pub fn along_mm(tubes: &TubeSet, row: usize) -> f64 {
    (row as f64 - (tubes.sampling.num[0] / 2) as f64) * tubes.sampling.spacing_mm[0]
}

fn floor_and_rest(value: f64) -> (isize, f64) {
    (value.floor() as isize, value - value.floor())
}

/// For each (radial, group, row) class and lane in which the slices of plane 0 begin, for the taps of even and odd place;
/// `fraction` = how far a row lies from the lines' middle, in half lengths of a line.
fn lanes_of_windows(
    geometry: &ScanGeometry,
    grid: &Grid,
    groups: &[Group],
    num_radial: usize,
    num_along: usize,
    fraction: impl Fn(usize, usize) -> f64,
) -> Vec<[(usize, isize); 2]> {
    let planes = geometry.planes();
    let middle = (MAX_AXIAL / 2) as isize;
    let mut windows = Vec::with_capacity(num_radial * groups.len() * num_along);
    for radial in 0..num_radial {
        for group in groups {
            let plane = &planes[group.first_plane];
            debug_assert_eq!(ring_difference(geometry, plane).unsigned_abs() as usize, group.ring_difference);
            let z_mm = 0.5 * (plane.z_start_mm + plane.z_end_mm);
            let slice = ((z_mm - grid.origin_mm[2]) / grid.voxel_mm[2]).round() as isize;
            for row in 0..num_along {
                let (k, _) = floor_and_rest(-(group.ring_difference as f64) * fraction(radial, row));
                let last = TAPS as isize - 1;
                // The lowest slice of the even and of the odd taps.
                let lowest = if group.is_mirrored {
                    [slice - (k - middle + last - 1), slice - (k - middle + last)]
                } else {
                    [slice + k - middle, slice + k - middle + 1]
                };
                windows.push(lowest.map(|slice| class_and_lane(slice, group, grid.size[2])));
            }
        }
    }
    windows
}

/// Class and lane of a slice from which on a group sees the image. Where it sees none of it, one that is not far away.
fn class_and_lane(slice: isize, group: &Group, num_slices: usize) -> (usize, isize) {
    let nothing_below = -((group.num_planes + TAPS_PER_CLASS) as isize);
    let nothing_above = num_slices.div_ceil(2) as isize;
    (slice.rem_euclid(2) as usize, slice.div_euclid(2).clamp(nothing_below, nothing_above))
}

/// Returns the rows of the lattice in which a tube of a |tangential index| can meet the field of view: those within a voxel's
/// diagonal of a voxel's middle.
fn rows_in_view(grid: &Grid, fov: &FieldOfView, tubes: &TubeSet, radial: usize) -> Range<usize> {
    let nearest = radial.saturating_sub(tubes.sampling.num[1] / 2) as f64 * tubes.sampling.spacing_mm[1];
    let reach_mm = view_radius_mm(grid, fov);
    let is_in_view = |row: &usize| along_mm(tubes, *row).hypot(nearest) < reach_mm;
    let mut rows = (0..tubes.sampling.num[0]).filter(is_in_view);
    let first = rows.next();
    first.map_or(0..0, |first| first..rows.next_back().unwrap_or(first) + 1)
}

/// Returns the largest distance from the axis of a point between voxels of the field of view.
fn view_radius_mm(grid: &Grid, fov: &FieldOfView) -> f64 {
    let farthest = |axis: usize| grid.extent_mm(axis).map(f64::abs).into_iter().fold(0.0, f64::max);
    let diagonal_mm = grid.voxel_mm[0].hypot(grid.voxel_mm[1]);
    fov.radius_mm.min(farthest(0).hypot(farthest(1))) + diagonal_mm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TubeSampling;
    use crate::scanner::{InPlane, Segment};

    fn table(num: [usize; 3]) -> (TubeSet, TubeTable) {
        let geometry = ScanGeometry {
            segments: (-2..=2).map(|d| Segment::full(d, d, 3)).collect(),
            num_rings: 3,
            ring_spacing_mm: 2.0,
            num_views: 4,
            num_tangential: 9,
            in_plane: InPlane::ArcCorrected { bin_mm: 1.0 },
            ..crate::scanner::find("small").unwrap().geometry.clone()
        };
        let sampling = TubeSampling { num, spacing_mm: [1.0, 1.0, 1.0], num_radial: 5, num_ring_differences: 3 };
        let coefficients = (0..5 * 3 * sampling.tube_len()).map(|k| 1.0 + (k * k % 17) as f32).collect();
        let tubes = TubeSet::new(geometry.scanner.clone(), sampling, coefficients).unwrap();
        let grid = Grid::centred([9, 9, 5], [1.0, 1.0, 1.0]).unwrap();
        let table = TubeTable::new(&geometry, &grid, &FieldOfView::new(&grid, 4.5), &tubes).unwrap();
        (tubes, table)
    }

    #[test]
    fn the_weights_of_a_sample_across_sum_up_to_its_coefficients() {
        for num_axial in [1, 3, 7] {
            let (tubes, table) = table([11, 3, num_axial]);
            for group in &table.groups {
                for row in 0..11 {
                    let weights = table.weights(2, group.ring_difference, &(row..row + 1)).chunks_exact(TAPS);
                    let tube = tubes.tube(2, group.ring_difference).chunks_exact(num_axial).skip(3 * row);
                    for (weights, tube) in weights.zip(tube) {
                        let (found, expected) = (weights.iter().sum::<f32>(), tube.iter().sum::<f32>());
                        assert!((found - expected).abs() <= 1e-5 * expected, "{found} for {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_window_lies_in_its_cell_and_lines_far_out_cross_less_of_the_view() {
        let (_, table) = table([21, 1, 7]);
        for radial in 0..table.num_radial {
            for (index, group) in table.groups.iter().enumerate() {
                let end = |at: &u32| *at as usize + LANES * group.num_slice_chunks();
                let windows = table.windows(radial, index, &(0..21));
                assert!(windows.iter().flatten().all(|at| end(at) <= table.columns.len()));
            }
        }
        let num_rows: Vec<usize> = table.rows.iter().map(Range::len).collect();
        assert!(num_rows.is_sorted_by(|a, b| a >= b) && num_rows[4] < num_rows[0] && num_rows[4] > 0, "{num_rows:?}");
    }
}
