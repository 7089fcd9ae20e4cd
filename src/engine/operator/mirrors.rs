//! Which transaxial LORs are mirror images of each other on a grid: they cross its columns in the same steps and its slices at
//! the same fractions of their length, so that one in-plane path serves them all.
//!
//! A square grid about the axis is its own image under eight symmetries: x and y exchanged or not, each turned round or not.
//! The image of the LOR (φ, s) is one of (φ, ±s), (π − φ, ±s), (π/2 ± φ, ±s), where the scan has such views; some of them run
//! from end to start, so that z rises along them where it falls along the other. Grids, scans and subsets with less symmetry
//! have smaller sets, down to single LORs.

use std::f64::consts::PI;
use std::ops::{Neg, Range};

use crate::algebra::{FieldOfView, Shard};
use crate::geometry::Grid;
use crate::scanner::ScanGeometry;

/// Most LORs of a set.
pub const MAX_MIRRORED: usize = 8;
/// Tolerance of grids and directions of views that are images of each other, in voxels and radians: rounding.
const TOLERANCE: f64 = 1e-10;

/// A symmetry of the plane about the scanner's axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// True if x and y are exchanged, before either changes its sign.
    swaps: bool,
    /// True for each of x and y that changes its sign.
    flips: [bool; 2],
}

impl Mirror {
    /// Returns all eight; the first one leaves everything where it is.
    fn all() -> impl Iterator<Item = Self> {
        (0..MAX_MIRRORED).map(|bits| Self { swaps: bits & 4 != 0, flips: [bits & 1 != 0, bits & 2 != 0] })
    }

    fn flipped<T: Neg<Output = T>>(self, pair: [T; 2]) -> [T; 2] {
        let [a, b] = pair;
        let [a, b] = if self.swaps { [b, a] } else { [a, b] };
        [if self.flips[0] { -a } else { a }, if self.flips[1] { -b } else { b }]
    }

    /// Returns true if its determinant is −1.
    fn turns_round(self) -> bool {
        self.swaps ^ self.flips[0] ^ self.flips[1]
    }

    /// Where the columns of a grid of `[nx, ny]` voxels have their images.
    pub fn columns(self, [nx, ny]: [usize; 2]) -> MirroredColumns {
        let strides = [1, nx as isize];
        let last = [nx as isize - 1, (ny as isize - 1) * strides[1]];
        let first = (0..2).filter(|&a| self.flips[a]).map(|a| last[a]).sum();
        // Increment of one voxel along x: the sign of the axis that x becomes, and its stride.
        let signed: [isize; 2] = std::array::from_fn(|a| if self.flips[a] { -strides[a] } else { strides[a] });
        MirroredColumns { first, strides: if self.swaps { [signed[1], signed[0]] } else { signed } }
    }

    /// Returns true if a grid and its field of view are their own image.
    fn keeps(self, grid: &Grid, fov: &FieldOfView) -> bool {
        let ([nx, ny, _], [dx, dy, _]) = (grid.size, grid.voxel_mm);
        if self.swaps && (nx != ny || dx != dy) {
            return false;
        }
        let is_centred = |a: usize| {
            let middle_mm = grid.origin_mm[a] + 0.5 * (grid.size[a] as f64 - 1.0) * grid.voxel_mm[a];
            middle_mm.abs() <= TOLERANCE * grid.voxel_mm[a]
        };
        if self != Self::default() && !(is_centred(0) && is_centred(1)) {
            return false;
        }
        let columns = self.columns([nx, ny]);
        let is_seen = |column: usize| fov.contains(column % nx, column / nx);
        (0..ny).all(|y| fov.row(y).all(|x| is_seen(columns.column([x, y]))))
    }
}

/// Columns (y·nx + x) of a grid under a [`Mirror`]: the image of (x, y) is `first` + x `strides[0]` + y `strides[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirroredColumns {
    /// The image of (0, 0).
    pub first: isize,
    /// Increments of a step along x, and along y.
    pub strides: [isize; 2],
}

impl MirroredColumns {
    /// Returns the image of the column (x, y).
    pub fn column(&self, [x, y]: [usize; 2]) -> usize {
        (self.first + x as isize * self.strides[0] + y as isize * self.strides[1]) as usize
    }
}

/// A LOR as the image of the first one of its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirrored {
    /// Its number among the LORs of the views: view by view, tangential position by tangential position.
    pub lor: usize,
    /// Mirror that maps the first LOR to this one.
    pub mirror: Mirror,
    /// True if the image runs from this LOR's end to its start.
    pub is_reversed: bool,
}

/// Sets of transaxial LORs that are mirror images of each other.
#[derive(Clone, Debug)]
pub struct MirrorSets {
    members: Vec<Mirrored>,
    /// Where each set ends among the members.
    ends: Vec<usize>,
}

impl MirrorSets {
    /// Makes the LORs of these views in sets.
    pub fn new(geometry: &ScanGeometry, grid: &Grid, fov: &FieldOfView, views: &[usize]) -> Self {
        let num_tangential = geometry.num_tangential;
        let mirrors: Vec<Mirror> = Mirror::all().filter(|mirror| mirror.keeps(grid, fov)).collect();
        let opposite: Vec<Option<usize>> = (0..num_tangential).map(|t| opposite(geometry, t)).collect();
        let can_reverse = reversed_planes(geometry).is_some();
        let mut place = vec![None; geometry.num_views];
        views.iter().enumerate().for_each(|(k, &view)| place[view] = Some(k));
        let mut is_taken = vec![false; views.len() * num_tangential];
        let (mut members, mut ends) = (Vec::with_capacity(is_taken.len()), Vec::new());
        for (k, &view) in views.iter().enumerate() {
            // Lines at odd tangential indices may have another angle than those at even ones.
            let images = [num_tangential / 2, num_tangential / 2 + 1].map(|tangential_pos| {
                let image = |&mirror: &Mirror| {
                    let image = ViewImage::new(geometry, mirror, view, tangential_pos)?;
                    let place = place[image.view].filter(|_| can_reverse || !image.is_reversed)?;
                    Some((mirror, place, image))
                };
                mirrors.iter().filter_map(image).collect::<Vec<(Mirror, usize, ViewImage)>>()
            });
            for tangential_pos in 0..num_tangential {
                let images = &images[geometry.tangential_index(tangential_pos).rem_euclid(2) as usize];
                if is_taken[k * num_tangential + tangential_pos] {
                    continue;
                }
                for &(mirror, k, ViewImage { is_opposite, is_reversed, .. }) in images {
                    let position = if is_opposite { opposite[tangential_pos] } else { Some(tangential_pos) };
                    let Some(lor) = position.map(|position| k * num_tangential + position) else { continue };
                    // A LOR that is its own image is already in the set.
                    if !std::mem::replace(&mut is_taken[lor], true) {
                        members.push(Mirrored { lor, mirror, is_reversed });
                    }
                }
                ends.push(members.len());
            }
        }
        Self { members, ends }
    }

    /// `num_lors` LORs, each alone.
    pub fn single(num_lors: usize) -> Self {
        let alone = |lor| Mirrored { lor, mirror: Mirror::default(), is_reversed: false };
        Self { members: (0..num_lors).map(alone).collect(), ends: (1..=num_lors).collect() }
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true without LORs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns a set, with the LOR first that the others are images of; together the sets hold every LOR once.
    pub fn set(&self, index: usize) -> &[Mirrored] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.members[begin..self.ends[index]]
    }

    /// LORs of the largest set.
    pub fn max_len(&self) -> usize {
        (0..self.len()).map(|index| self.set(index).len()).max().unwrap_or(0)
    }
}

impl MirrorSets {
    /// Returns the sets of a member of a group: whole ones, since the last digits of a LOR's data depend on the first of its set.
    /// Shards have equal numbers of LORs up to a set.
    pub fn of_shard(&self, Shard { index, count }: Shard) -> Range<usize> {
        let num_lors = self.members.len();
        // LORs before each set.
        let first = |shard: usize| {
            let before = |set: usize| set.checked_sub(1).map_or(0, |set| self.ends[set]);
            (0..self.len()).find(|&set| before(set) * count >= shard * num_lors).unwrap_or(self.len())
        };
        first(index)..first(index + 1)
    }

    /// Where the LORs of some sets lie.
    pub fn runs(&self, sets: Range<usize>) -> LorRuns {
        let mut lors: Vec<usize> = sets.flat_map(|set| self.set(set)).map(|member| member.lor).collect();
        lors.sort_unstable();
        let runs: Vec<Range<usize>> = lors.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[0] + run.len()).collect();
        let before = runs.iter().scan(0, |sum, run| Some(std::mem::replace(sum, *sum + run.len()))).collect();
        LorRuns { runs, before }
    }
}

/// Some of the LORs of a subset, in their order.
#[derive(Clone, Debug)]
pub struct LorRuns {
    runs: Vec<Range<usize>>,
    /// For each run how many LORs are in those before.
    before: Vec<usize>,
}

impl LorRuns {
    /// Returns the ranges of their bins in the data of the subset.
    pub fn bins(&self, num_planes: usize) -> Vec<Range<usize>> {
        self.runs.iter().map(|lors| lors.start * num_planes..lors.end * num_planes).collect()
    }

    /// Returns the number of LORs.
    pub fn num_lors(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    /// Returns the index of a LOR among them.
    pub fn place(&self, lor: usize) -> usize {
        let run = self.runs.partition_point(|run| run.end <= lor);
        self.before.get(run).map_or(0, |before| before + lor - self.runs[run].start)
    }
}

/// For each plane the one that runs the other way between the same z; `None` where a segment has no counterpart.
pub fn reversed_planes(geometry: &ScanGeometry) -> Option<Vec<u32>> {
    let firsts: Vec<usize> =
        geometry.segments.iter().scan(0, |next, segment| Some(std::mem::replace(next, *next + segment.num_axial_pos))).collect();
    let mut planes = Vec::with_capacity(geometry.num_planes());
    for segment in &geometry.segments {
        let other = geometry.segments.iter().position(|other| {
            other.num_axial_pos == segment.num_axial_pos
                && other.is_spanned() == segment.is_spanned()
                && other.mean_ring_difference() == -segment.mean_ring_difference()
        })?;
        planes.extend((0..segment.num_axial_pos).map(|k| (firsts[other] + k) as u32));
    }
    Some(planes)
}

/// Where the LORs of a view have their images: in this view, at the opposite tangential positions or the same ones.
#[derive(Clone, Copy)]
struct ViewImage {
    view: usize,
    is_opposite: bool,
    is_reversed: bool,
}

impl ViewImage {
    /// Returns the image of a view's lines at a tangential position; `None` where the scan has no such view.
    ///
    /// The LOR (φ, s) runs along −(−sin φ, cos φ) at the distance s along (cos φ, sin φ). A mirror M takes the latter to
    /// (cos φ′, sin φ′), and the former to its counterpart at φ′ times det M. Where φ′ is the angle of no view, φ′ − π may be,
    /// with −s and the other direction.
    fn new(geometry: &ScanGeometry, mirror: Mirror, view: usize, tangential_pos: usize) -> Option<Self> {
        let normal = |view: usize| {
            let (sin, cos) = geometry.line_phi_rad(view, tangential_pos).sin_cos();
            [cos, sin]
        };
        let [x, y] = mirror.flipped(normal(view));
        let num_views = geometry.num_views;
        let number = (y.atan2(x) - geometry.line_phi_rad(0, tangential_pos)) * num_views as f64 / PI;
        let number = number.round().rem_euclid(2.0 * num_views as f64) as usize;
        let (image, is_opposite) = if number < num_views { (number, false) } else { (number - num_views, true) };
        let [found_x, found_y] = normal(image).map(|v| if is_opposite { -v } else { v });
        let is_exact = (found_x - x).hypot(found_y - y) <= TOLERANCE;
        is_exact.then_some(Self { view: image, is_opposite, is_reversed: mirror.turns_round() != is_opposite })
    }
}

/// Returns the tangential position on the other side of the axis, if there is one.
fn opposite(geometry: &ScanGeometry, tangential_pos: usize) -> Option<usize> {
    let other = (2 * (geometry.num_tangential / 2)).checked_sub(tangential_pos).filter(|t| *t < geometry.num_tangential)?;
    (geometry.s_mm(other) == -geometry.s_mm(tangential_pos)).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::{Cylinder, find};

    /// Returns a scanner's sampling; "pairs" = that of the small one's detectors.
    fn geometry_of(scanner: &str) -> ScanGeometry {
        match scanner {
            "pairs" => Cylinder::of(&find("small").unwrap().geometry).geometry("pairs", 61, 7, 1, 60.0).unwrap(),
            _ => find(scanner).unwrap().geometry.clone(),
        }
    }

    fn sets_of(scanner: &str, grid: &Grid, views: &[usize]) -> (ScanGeometry, MirrorSets) {
        let geometry = geometry_of(scanner);
        let fov = FieldOfView::new(grid, grid.inscribed_radius_mm());
        let sets = MirrorSets::new(&geometry, grid, &fov, views);
        (geometry, sets)
    }

    fn square(side: usize) -> Grid {
        Grid::centred([side, side, 3], [4.0, 4.0, 3.0]).unwrap()
    }

    #[test]
    fn every_lor_is_in_one_set_and_is_the_image_of_its_first() {
        for scanner in ["small", "prt-1", "ecat-931", "discovery-ste", "pairs"] {
            let grid = square(20);
            let all = geometry_of(scanner).num_views;
            for views in [(0..all).collect::<Vec<_>>(), (1..all).step_by(4).collect()] {
                let (geometry, sets) = sets_of(scanner, &grid, &views);
                let mut lors: Vec<usize> = (0..sets.len()).flat_map(|index| sets.set(index)).map(|member| member.lor).collect();
                lors.sort_unstable();
                assert!(lors.into_iter().eq(0..views.len() * geometry.num_tangential), "{scanner}");
                // Both rays of two, which lie on either side of the middle.
                let lines = |lor: usize| {
                    let (view, tangential_pos) = (views[lor / geometry.num_tangential], lor % geometry.num_tangential);
                    [0, 1].map(|ray| geometry.transaxial_lor(view, tangential_pos, ray, 2))
                };
                for set in (0..sets.len()).map(|index| sets.set(index)) {
                    assert_eq!((set[0].mirror, set[0].is_reversed), (Mirror::default(), false));
                    for member in set {
                        let found = lines(member.lor);
                        for line in lines(set[0].lor) {
                            let [start, end] = [line.start, line.end].map(|end| member.mirror.flipped(end));
                            let is_image = found.iter().any(|found| {
                                let ends = if member.is_reversed { [found.end, found.start] } else { [found.start, found.end] };
                                let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
                                distance(ends[0], start) + distance(ends[1], end) < 1e-7
                            });
                            assert!(is_image, "{scanner}: {found:?} has no image of {line:?} by {member:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn shares_are_whole_sets_of_equal_size_and_have_every_lor_once() {
        let (geometry, sets) = sets_of("small", &square(16), &(0..48).collect::<Vec<_>>());
        for count in [1, 2, 3, 7, 5000] {
            let mut next = 0;
            let mut lors = Vec::new();
            for index in 0..count {
                let own = sets.of_shard(Shard { index, count });
                assert_eq!(own.start, next);
                next = own.end;
                let runs = sets.runs(own.clone());
                let equal = geometry.num_transaxial() as f64 / count as f64;
                assert!((runs.num_lors() as f64 - equal).abs() <= MAX_MIRRORED as f64);
                let found: Vec<usize> = runs.runs.iter().flat_map(Clone::clone).collect();
                assert!(found.iter().enumerate().all(|(place, lor)| runs.place(*lor) == place));
                lors.extend(found);
            }
            lors.sort_unstable();
            assert!(next == sets.len() && lors.into_iter().eq(0..geometry.num_transaxial()));
        }
    }

    #[test]
    fn columns_are_mirrored_as_points_are() {
        for side in [4usize, 5] {
            let grid = square(side);
            for mirror in Mirror::all() {
                let columns = mirror.columns([side, side]);
                for (x, y) in (0..side).flat_map(|y| (0..side).map(move |x| (x, y))) {
                    let at = |x: usize, y: usize| grid.mm_from_voxel([x as f64, y as f64, 0.0]);
                    let [px, py, _] = at(x, y);
                    let column = columns.column([x, y]);
                    let [qx, qy, _] = at(column % side, column / side);
                    assert_eq!(mirror.flipped([px, py]), [qx, qy], "{mirror:?}");
                }
            }
        }
    }

    #[test]
    fn sets_are_as_large_as_the_symmetry_allows() {
        let max_len = |grid: &Grid, views: &[usize]| sets_of("discovery-ste", grid, views).1.max_len();
        let all: Vec<usize> = (0..280).collect();
        let small = Grid::centred([32, 32, 3], [20.0, 20.0, 3.0]).unwrap();
        assert_eq!(max_len(&small, &all), 8);
        // A subset of 14 has the views a quarter turn apart, but not their reflections.
        assert_eq!(max_len(&small, &(1..280).step_by(14).collect::<Vec<_>>()), 4);
        let oblong = Grid::centred([32, 30, 3], [20.0, 20.0, 3.0]).unwrap();
        assert_eq!(max_len(&oblong, &all), 4);
        let [x, y, z] = small.origin_mm;
        let beside = Grid { origin_mm: [x + 1.0, y, z], ..small };
        assert_eq!(max_len(&beside, &all), 1);
        let (geometry, sets) = sets_of("discovery-ste", &square(16), &all);
        let mean = geometry.num_transaxial() as f64 / sets.len() as f64;
        assert!(mean > 7.8, "{mean}");
        let (geometry, sets) = sets_of("pairs", &square(16), &(0..48).collect::<Vec<_>>());
        let mean = geometry.num_transaxial() as f64 / sets.len() as f64;
        assert!(mean > 7.0, "{mean}");
    }
}
