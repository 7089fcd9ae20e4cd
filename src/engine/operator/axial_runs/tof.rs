//! Time of flight in axial runs: which weight each step of a path has in each bin.
//!
//! A bin of time of flight weighs the point at the distance l from a line's middle with w(l) ([`TofKernel`]); a step has the
//! weight of its middle, as each piece of a line has in the definition ([`crate::operator::Siddon`]). On a line that rises by r
//! over the in-plane length L, l is s = √(1 + (r/L)²) times the distance in the plane. The lines of all planes walk one path, so
//! that w is taken at a few s, the nodes, and interpolated between them:
//!
//! ```text
//! w(l s) ≈ Σ_n h_n(s) w(l s_n),     Σ_n h_n(s) = 1
//! ```
//!
//! The error is at most (l Δs)²/8 · max |w''|, with Δs the distance of the nodes, and their number keeps it small.

use std::ops::Range;

use super::path::TracedPath;
use crate::data::TofBins;
use crate::operator::TofKernel;

/// Largest error of the interpolation at the rim of the field of view, as a part of the largest weight. Half way to the axis it
/// is a quarter of it.
const TOLERANCE: f64 = 6e-3;
/// Paths that are looked at.
const NUM_PATHS: usize = 64;
/// Places of a point that are looked at, from the middle of a bin to the end of its reach.
const NUM_PLACES: usize = 1000;
/// An s that moves no point by more than this part of σ is 1.
const NEGLIGIBLE: f64 = 2e-3;

/// The bins of time of flight, and the nodes.
#[derive(Clone, Debug)]
pub struct TofRuns {
    /// The bins.
    pub bins: TofBins,
    /// Distribution of d.
    pub kernel: TofKernel,
    /// Largest rise of a line, mm.
    max_rise_mm: f64,
    num_nodes: usize,
    /// Distance of the steepest line from a line in the plane, at the end of a path, mm.
    shift_mm: f64,
    /// Length of a piece of the steepest line over its length in the plane.
    largest_secant: f64,
}

impl TofRuns {
    /// Chooses the nodes for lines that rise by up to `max_rise_mm` between detectors on a cylinder, in a field of view about its
    /// axis.
    pub fn new(bins: TofBins, kernel: TofKernel, max_rise_mm: f64, scanner_radius_mm: f64, fov_radius_mm: f64) -> Self {
        let fov_radius_mm = fov_radius_mm.min(scanner_radius_mm);
        // The shift of a path's end by the steepest line, at some distances of the path from the axis.
        let end_and_secant = |at: usize| {
            let off_mm = fov_radius_mm * at as f64 / NUM_PATHS as f64;
            let [end_mm, half_lor_mm] =
                [fov_radius_mm, scanner_radius_mm].map(|radius_mm| (radius_mm.powi(2) - off_mm.powi(2)).sqrt());
            [end_mm, 1f64.hypot(0.5 * max_rise_mm / half_lor_mm)]
        };
        let paths = || (0..NUM_PATHS).map(end_and_secant);
        let shift_mm = paths().map(|[end_mm, secant]| end_mm * (secant - 1.0)).fold(0.0, f64::max);
        let largest_secant = paths().map(|[_, secant]| secant).fold(1.0, f64::max);
        let shift = shift_mm / kernel.sigma_mm();
        // No w has a curvature of more than its largest value, over σ².
        let num_nodes = if shift <= NEGLIGIBLE { 1 } else { 1 + (shift / (8.0 * TOLERANCE).sqrt()).ceil() as usize };
        Self { bins, kernel, max_rise_mm, num_nodes, shift_mm, largest_secant }
    }

    /// Rise of the steepest line, mm.
    pub fn max_rise_mm(&self) -> f64 {
        self.max_rise_mm
    }

    /// Returns the length of the longest step of a line through columns of these widths, mm.
    pub fn max_step_mm(&self, [dx_mm, dy_mm]: [f64; 2]) -> f64 {
        self.largest_secant * dx_mm.hypot(dy_mm)
    }

    /// Returns the largest error of a point's bin, as a part of its largest bin: the point lies at the end of a step of this length,
    /// and is weighed at its middle.
    pub fn max_error(&self, step_mm: f64) -> f64 {
        let (off_mm, half_mm) = (0.5 * step_mm, 0.5 * self.bins.width_mm);
        let weight = |l_mm: f64| self.kernel.weight([-half_mm, half_mm], l_mm);
        let end_mm = self.kernel.reach_mm([-half_mm, half_mm])[1];
        let errors = (0..=NUM_PLACES).map(|at| end_mm * at as f64 / NUM_PLACES as f64);
        let largest = errors.map(|l_mm| (weight(l_mm) - weight(l_mm + off_mm)).abs()).fold(0.0, f64::max);
        largest / weight(0.0) + if self.num_nodes > 1 { TOLERANCE } else { NEGLIGIBLE }
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    /// Returns the smallest n for which no point is in reach of more than `most` bins if every n-th alone is in use.
    pub fn interleave(&self, most: usize) -> usize {
        // (A point may be in reach of both ends of a bin.)
        let reached_mm = 2.0 * self.kernel.reach_mm([0.0; 2])[1] + self.shift_mm;
        ((reached_mm / self.bins.width_mm + 1.0) / most as f64).ceil().max(1.0) as usize
    }

    /// s of a node on a path over lines of this in-plane length.
    pub fn secant(&self, node: usize, lor_mm: f64) -> f64 {
        let steepest = 1f64.hypot(self.max_rise_mm / lor_mm);
        1.0 + (steepest - 1.0) * node as f64 / (self.num_nodes - 1).max(1) as f64
    }

    /// h of a node for lines that rise by this much.
    pub fn share(&self, node: usize, rise_mm: f64, lor_mm: f64) -> f32 {
        if self.num_nodes == 1 {
            return 1.0;
        }
        let [steepest, own] = [self.max_rise_mm, rise_mm].map(|rise_mm| 1f64.hypot(rise_mm / lor_mm) - 1.0);
        let at = own / steepest * (self.num_nodes - 1) as f64;
        (1.0 - (at - node as f64).abs()).max(0.0) as f32
    }

    /// Returns the weight in a bin of a step whose middle is so far from the middle of the path's LOR, on a line with this rise.
    pub fn weight(&self, bin: usize, middle_mm: f64, rise_mm: f64, lor_mm: f64) -> f64 {
        let [low, high] = self.bins.edges_mm(bin);
        let of_node = |node: usize| match self.share(node, rise_mm, lor_mm) {
            0.0 => 0.0,
            share => {
                let weight = self.kernel.weight([low, high], middle_mm * self.secant(node, lor_mm));
                f64::from(share) * weight * self.bins.width_mm
            }
        };
        (0..self.num_nodes).map(of_node).sum()
    }

    /// Returns for each bin that sees a path, for one node: the bin, the steps, and the lengths of these times their weights.
    pub fn weighted_lengths(
        &self,
        path: &TracedPath,
        node: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>, impl Iterator<Item = f32>)> {
        let secant = self.secant(node, path.lor_mm);
        let mut of_bins: Vec<(Range<usize>, Vec<f32>)> = vec![(0..0, Vec::new()); self.bins.num];
        for (step, middle_mm) in path.middles_mm().enumerate() {
            let length = path.lengths[step];
            self.kernel.for_each_bin(&self.bins, middle_mm * secant, |bin, weight| {
                let (steps, lengths) = &mut of_bins[bin];
                if lengths.is_empty() {
                    steps.start = step;
                }
                // (The steps of a bin follow each other.)
                steps.end = step + 1;
                lengths.push((weight * f64::from(length)) as f32);
            });
        }
        let seen = of_bins.into_iter().enumerate().filter(|(_, (_, lengths))| !lengths.is_empty());
        seen.map(|(bin, (steps, lengths))| (bin, steps, lengths.into_iter()))
    }
}
