//! The fast walk: eight paths at a time, in single precision, side by side in the lanes of the processor's vectors. Its start is
//! that of [`starts`](super::siddon::starts), in double precision; tests compare it with
//! [`walk_parts`](super::siddon::walk_parts).

use super::siddon::Start;
use super::tof::{TofKernel, TofTerms};
use crate::algebra::Simd;

/// Paths that are walked side by side.
pub(super) const LANES: usize = 8;

/// A path ends this part of its length early: a face at its very end, beyond which there may be no voxel, is then never crossed
/// through rounding.
pub const END_MARGIN: f64 = 4e-7;

/// Weights of voxels in addition to the length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Weights {
    /// Nothing.
    #[default]
    Whole,
    /// The density of d's Gaussian.
    Density,
    /// Its mean over an interval.
    Interval,
}

/// A path, in mm from where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    next: [f32; 3],
    pitch: [f32; 3],
    stride: [i32; 3],
    voxel: i32,
    leave: f32,
    num_steps: usize,
    factor: f32,
    /// The interval of d as seen from the beginning, σ.
    seen: [f32; 2],
    weights: Weights,
    kernel: u8,
}

impl Path {
    /// Makes the walk from `start` of a line of this length, which counts for a `share` of its event; with the kernel and the
    /// interval of d where that is known; `kernel` is its number.
    #[inline(always)]
    pub fn new(start: &Start, length_mm: f64, share: f64, tof: Option<(&TofKernel, [f64; 2])>, kernel: u8) -> Self {
        let leave = (start.leave - start.enter) * length_mm * (1.0 - END_MARGIN);
        let mut num_steps = 2;
        let mut next = [f32::MAX; 3];
        let mut pitch = [0.0; 3];
        for a in 0..3 {
            if start.pitch[a] > 0.0 {
                let first = (start.next[a] - start.enter) * length_mm;
                let each = start.pitch[a] * length_mm;
                (next[a], pitch[a]) = (first as f32, each as f32);
                num_steps += if first < leave { 1 + ((leave - first) / each) as usize } else { 0 };
            }
        }
        let (mut factor, mut seen, mut weights) = (share * start.share, [0.0; 2], Weights::Whole);
        if let Some((kernel, interval)) = tof {
            let (ends, per_width) = kernel.in_sigma_from(interval, (start.enter - 0.5) * length_mm);
            factor *= per_width;
            seen = ends;
            weights = if ends[1] > ends[0] { Weights::Interval } else { Weights::Density };
        }
        Self {
            next,
            pitch,
            stride: start.stride.map(|stride| stride as i32),
            voxel: start.index as i32,
            leave: leave as f32,
            num_steps,
            factor: factor as f32,
            seen,
            weights,
            kernel,
        }
    }
}

/// Up to eight paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    first: [[f32; LANES]; 3],
    pitch: [[f32; LANES]; 3],
    stride: [[i32; LANES]; 3],
    voxel: [i32; LANES],
    leave: [f32; LANES],
    seen: [[f32; LANES]; 2],
    /// Factor of each path's sum.
    pub factor: [f32; LANES],
    /// The event of each path, as its owner numbers it.
    pub event: [usize; LANES],
    weights: Weights,
    /// That of all paths.
    kernel: u8,
    num_paths: usize,
    num_steps: usize,
}

/// Use of the pieces of the paths: for each lane the voxel, and its length in mm times its weight.
pub(super) trait Visit {
    fn visit(&mut self, voxels: &[u32; LANES], lengths: &[f32; LANES]);
}

impl Lanes {
    /// Returns true if there is room for a further path.
    #[inline(always)]
    pub fn has_room_for(&self, path: &Path) -> bool {
        self.num_paths == 0 || (self.num_paths < LANES && self.weights == path.weights && self.kernel == path.kernel)
    }

    /// Adds a path.
    #[inline(always)]
    pub fn push(&mut self, path: &Path, event: usize) {
        let lane = self.num_paths;
        for a in 0..3 {
            self.first[a][lane] = path.next[a];
            self.pitch[a][lane] = path.pitch[a];
            self.stride[a][lane] = path.stride[a];
        }
        self.voxel[lane] = path.voxel;
        self.leave[lane] = path.leave;
        self.seen[0][lane] = path.seen[0];
        self.seen[1][lane] = path.seen[1];
        self.factor[lane] = path.factor;
        self.event[lane] = event;
        (self.weights, self.kernel) = (path.weights, path.kernel);
        self.num_steps = self.num_steps.max(path.num_steps);
        self.num_paths += 1;
    }

    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.num_paths
    }

    /// Takes all paths out.
    pub fn clear(&mut self) {
        (self.num_paths, self.num_steps) = (0, 0);
        // Their remains have no length.
        self.leave = [0.0; LANES];
    }

    /// Walks all paths, with the terms of all kernels; `num_voxels` > 0.
    #[allow(unsafe_code)]
    pub fn walk(&self, terms: &[TofTerms], num_voxels: usize, simd: Simd, visit: &mut impl Visit) {
        let terms = &terms[usize::from(self.kernel)];
        #[cfg(target_arch = "x86_64")]
        if simd >= Simd::Avx2 {
            // SAFETY: the processor has the instructions.
            return unsafe { walk_avx2(self, terms, num_voxels, visit) };
        }
        let _ = simd;
        walk_lanes(self, terms, num_voxels, visit);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn walk_avx2(lanes: &Lanes, terms: &TofTerms, num_voxels: usize, visit: &mut impl Visit) {
    walk_lanes(lanes, terms, num_voxels, visit);
}

#[inline(always)]
fn walk_lanes(lanes: &Lanes, terms: &TofTerms, num_voxels: usize, visit: &mut impl Visit) {
    match lanes.weights {
        Weights::Whole => walk_weighted(lanes, num_voxels, visit, |_, _| 1.0),
        Weights::Density => {
            walk_weighted(lanes, num_voxels, visit, |lane, middle| terms.density(lanes.seen[0][lane] - middle * terms.per_sigma))
        }
        Weights::Interval => walk_weighted(lanes, num_voxels, visit, |lane, middle| {
            let [low, high] = [0, 1].map(|end| lanes.seen[end][lane] - middle * terms.per_sigma);
            terms.cumulative(high) - terms.cumulative(low)
        }),
    }
}

/// `weight(lane, middle)` = weight of a piece whose middle is `middle` mm from the start of its path.
#[inline(always)]
fn walk_weighted(lanes: &Lanes, num_voxels: usize, visit: &mut impl Visit, weight: impl Fn(usize, f32) -> f32) {
    let Lanes { first, pitch, stride, leave, .. } = lanes;
    let last = num_voxels as u32 - 1;
    let mut next = *first;
    // Crossings are counted and multiplied, not added up: a sum would drift.
    let mut passed = [[0.0f32; LANES]; 3];
    let mut voxel = lanes.voxel;
    let mut at = [0.0f32; LANES];
    for _ in 0..lanes.num_steps {
        let mut voxels = [0u32; LANES];
        let mut lengths = [0.0f32; LANES];
        for lane in 0..LANES {
            let nearest = min(min(next[0][lane], next[1][lane]), next[2][lane]);
            let end = min(nearest, leave[lane]);
            // A path that has ended is anywhere, with no length.
            voxels[lane] = (voxel[lane] as u32).min(last);
            lengths[lane] = (end - at[lane]) * weight(lane, 0.5 * (end + at[lane]));
            at[lane] = end;
            for a in 0..3 {
                let is_crossed = next[a][lane] <= end;
                passed[a][lane] += if is_crossed { 1.0 } else { 0.0 };
                voxel[lane] = voxel[lane].wrapping_add(if is_crossed { stride[a][lane] } else { 0 });
                next[a][lane] = first[a][lane] + passed[a][lane] * pitch[a][lane];
            }
        }
        visit.visit(&voxels, &lengths);
    }
}

/// As one instruction: neither is NaN.
#[inline(always)]
fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}
