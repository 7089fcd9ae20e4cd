//! The cells of a slice: of rings, or squares.

use std::f64::consts::PI;
use std::ops::Range;

/// A cell of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Number among the basic cells of the slice.
    pub in_slice: usize,
    /// Number of the symmetry that keeps the slice: `[mirrored][turn]`.
    pub transaxial: usize,
}

/// Returns the number of cells of a width that reach to a length.
pub(super) fn cells_within(length_mm: f64, spacing_mm: f64) -> usize {
    (length_mm / spacing_mm - 1e-9).ceil().max(1.0) as usize
}

/// Rings of width Δ, cut into cells: ring k of a wedge of half a turn has max(1, round(inner arc / Δ)) of them. The cells of the
/// wedge are basic.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PolarCells {
    pub num_turns: usize,
    pub spacing_mm: f64,
    /// Cells of each ring of the wedge.
    pub num_cells: Vec<usize>,
    /// The first cell of each ring, and how many there are in all.
    pub first: Vec<usize>,
}

impl PolarCells {
    pub fn new(num_turns: usize, spacing_mm: f64, radius_mm: f64) -> Self {
        let wedge_rad = PI / num_turns as f64;
        let cells = |ring: usize| ((ring as f64 * wedge_rad).round() as usize).max(1);
        let num_cells: Vec<usize> = (0..cells_within(radius_mm, spacing_mm)).map(cells).collect();
        let mut first = vec![0];
        num_cells.iter().for_each(|num| first.push(first[first.len() - 1] + num));
        Self { num_turns, spacing_mm, num_cells, first }
    }

    fn ring_of(&self, in_slice: usize) -> usize {
        self.first.partition_point(|first| *first <= in_slice) - 1
    }

    fn cell_angle_rad(&self, ring: usize) -> f64 {
        PI / (self.num_turns * self.num_cells[ring]) as f64
    }

    pub fn middle_mm(&self, in_slice: usize) -> [f64; 2] {
        let ring = self.ring_of(in_slice);
        let radius_mm = (ring as f64 + 0.5) * self.spacing_mm;
        let angle_rad = ((in_slice - self.first[ring]) as f64 + 0.5) * self.cell_angle_rad(ring);
        [radius_mm * angle_rad.cos(), radius_mm * angle_rad.sin()]
    }

    pub fn area_mm2(&self, in_slice: usize) -> f64 {
        let ring = self.ring_of(in_slice);
        0.5 * self.cell_angle_rad(ring) * (2 * ring + 1) as f64 * self.spacing_mm.powi(2)
    }

    /// Returns the cell of a ring that begins `number` cell angles from the x axis, all the way round.
    fn cell(&self, ring: usize, number: i64) -> Cell {
        let num = self.num_cells[ring];
        let number = number.rem_euclid((2 * self.num_turns * num) as i64) as usize;
        let (half_turn, at) = (number / num, number % num);
        let is_mirrored = half_turn % 2 == 1;
        let turn = half_turn.div_ceil(2) % self.num_turns;
        let at = if is_mirrored { num - 1 - at } else { at };
        Cell { in_slice: self.first[ring] + at, transaxial: usize::from(is_mirrored) * self.num_turns + turn }
    }

    /// The cells whose middles are closer than `reach_mm` to a point, each with the square of its distance, mm².
    pub fn cells_near(&self, [x, y]: [f64; 2], reach_mm: f64) -> impl Iterator<Item = (Cell, f64)> + '_ {
        let (radius_mm, angle_rad) = (x.hypot(y), y.atan2(x));
        let place = |mm: f64| mm / self.spacing_mm - 0.5;
        let last = place(radius_mm + reach_mm).floor().min(self.num_cells.len() as f64 - 1.0);
        let first = place(radius_mm - reach_mm).ceil().max(0.0);
        let rings: Range<usize> = if last < first { 0..0 } else { first as usize..last as usize + 1 };
        rings.flat_map(move |ring| {
            let ring_mm = (ring as f64 + 0.5) * self.spacing_mm;
            // Law of cosines: how far round the ring the reach goes.
            let cosine = (radius_mm.powi(2) + ring_mm.powi(2) - reach_mm.powi(2)) / (2.0 * radius_mm * ring_mm);
            let each_rad = self.cell_angle_rad(ring);
            let whole = (2 * self.num_turns * self.num_cells[ring]) as i64;
            let numbers = if cosine > -1.0 {
                let half_rad = cosine.min(1.0).acos();
                let from = ((angle_rad - half_rad) / each_rad - 0.5).ceil() as i64;
                from..((angle_rad + half_rad) / each_rad - 0.5).floor() as i64 + 1
            } else {
                0..whole
            };
            numbers.map(move |number| {
                let off_rad = (number as f64 + 0.5) * each_rad - angle_rad;
                let square = radius_mm.powi(2) + ring_mm.powi(2) - 2.0 * radius_mm * ring_mm * off_rad.cos();
                (self.cell(ring, number), square.max(0.0))
            })
        })
    }

    /// Returns the cell that a point lies in.
    pub fn cell_of(&self, [x, y]: [f64; 2]) -> Option<Cell> {
        let ring = (x.hypot(y) / self.spacing_mm) as usize;
        (ring < self.num_cells.len()).then(|| self.cell(ring, (y.atan2(x) / self.cell_angle_rad(ring)).floor() as i64))
    }
}

/// Squares of side Δ with a corner on the axis, `[y][x]`. Those with x > 0 and y > 0 are basic; the others are their images under
/// a half turn and the mirror y → −y. Those with their middles outside a circle are empty: of what reaches into it too little is
/// seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SquareCells {
    pub spacing_mm: f64,
    /// Squares from the axis to each side.
    pub num: usize,
    pub radius_mm: f64,
}

impl SquareCells {
    pub fn new(spacing_mm: f64, half_side_mm: f64, radius_mm: f64) -> Self {
        Self { spacing_mm, num: cells_within(half_side_mm, spacing_mm), radius_mm }
    }

    pub fn middle_mm(&self, in_slice: usize) -> [f64; 2] {
        [in_slice % self.num, in_slice / self.num].map(|at| (at as f64 + 0.5) * self.spacing_mm)
    }

    /// Returns the square that a point lies in.
    pub fn cell_of(&self, at_mm: [f64; 2]) -> Option<Cell> {
        let [x, y] = at_mm.map(|mm| (mm / self.spacing_mm).floor());
        let [along_x, along_y] = [x, y].map(|at| (if at < 0.0 { -1.0 - at } else { at }) as usize);
        let in_slice = along_y * self.num + along_x;
        let [middle_x, middle_y] = self.middle_mm(in_slice);
        if along_x >= self.num || along_y >= self.num || middle_x.hypot(middle_y) > self.radius_mm {
            return None;
        }
        // A half turn changes both signs, the mirror that of y.
        let (is_turned, is_mirrored) = (x < 0.0, (x < 0.0) != (y < 0.0));
        Some(Cell { in_slice, transaxial: 2 * usize::from(is_mirrored) + usize::from(is_turned) })
    }
}
