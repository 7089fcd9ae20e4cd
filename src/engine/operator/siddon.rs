//! The projector one LOR at a time: the definition of the geometric system matrix on the CPU.
//!
//! a_ij is the length in mm of LOR i inside voxel j (Siddon 1985, Med Phys 12:252), walked incrementally (Jacobs et al. 1998, J
//! Comput Inf Technol 6:89), as in Belzunce et al. 2012, section 1.1.1. With u(α) = u₀ + α Δu the voxel coordinates along the
//! line, the next crossing of each axis is stored, the nearest one taken, and moved by 1/|Δu|. A line that runs in a voxel face
//! gives half of its length to each neighbour. Several rays per LOR are averaged.

use std::sync::Arc;

use super::accumulate::ImageSink;
use super::lors::{LorProjector, ProjectorCache};
use super::{MirrorSets, Mirrored, TofKernel, Views};
use crate::algebra::{FieldOfView, Voxels};
use crate::data::TofBins;
use crate::geometry::{Grid, Line, perpendicular_rows};
use crate::scanner::{Plane, ScanGeometry};

/// Siddon's projector, per LOR. Images are `[z, y, x]`, x fastest, and zero outside the field of view.
pub struct Siddon {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
    /// For each axial ray of a bin, all planes.
    planes: Vec<Vec<Plane>>,
    num_tangential_rays: usize,
    tof: Option<(TofBins, TofKernel)>,
    cache: ProjectorCache,
}

impl Siddon {
    /// Makes the projector between a grid and a scan; `rays` = rays per LOR, tangential and axial.
    pub fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, rays: [usize; 2]) -> Self {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let (voxels, views) = (Voxels::new(grid, fov), Views::in_place(&geometry));
        let planes = (0..rays[1].max(1)).map(|ray| geometry.ray_planes(ray, rays[1].max(1))).collect();
        Self { geometry, voxels, views, planes, num_tangential_rays: rays[0].max(1), tof: None, cache: ProjectorCache::default() }
    }

    /// The same with bins of the time of flight, `[view][tangential_pos][tof][plane]`: each piece of a path has the weights of its
    /// middle.
    pub fn with_tof(self, bins: TofBins, kernel: TofKernel) -> Self {
        Self { views: self.views.with_tof(bins.num), tof: Some((bins, kernel)), ..self }
    }

    /// Calls `visit(voxel index, time-of-flight bin, length in mm times the weight of the bin)` along a line.
    fn walk_tof(&self, line: &Line, (bins, kernel): &(TofBins, TofKernel), mut visit: impl FnMut(usize, usize, f64)) {
        let length_mm = line.length_mm();
        walk_parts(&self.voxels, line, |voxel, [from, to], share| {
            let middle_mm = (0.5 * (from + to) - 0.5) * length_mm;
            let inside_mm = share * length_mm * (to - from);
            kernel.for_each_bin(bins, middle_mm, |bin, weight| visit(voxel, bin, weight * inside_mm));
        });
    }

    /// Calls `visit(voxel index, length in mm)` for each voxel that a line crosses.
    pub fn walk(&self, line: &Line, mut visit: impl FnMut(usize, f64)) {
        let length_mm = line.length_mm();
        walk_parts(&self.voxels, line, |voxel, [from, to], share| visit(voxel, share * length_mm * (to - from)));
    }

    /// Returns the bin (view, tangential position), plane of A x, over all its time-of-flight bins. `x` is `[z, y, x]`.
    pub fn bin_sum(&self, [view, tangential_pos]: [usize; 2], plane: usize, x: &[f32]) -> f64 {
        let mut sum = 0.0;
        for (line, weight) in self.rays(view, tangential_pos, plane) {
            let mut integral = 0.0;
            match &self.tof {
                Some(tof) => self.walk_tof(&line, tof, |voxel, _, length| integral += length * f64::from(x[voxel])),
                None => self.walk(&line, |voxel, length| integral += length * f64::from(x[voxel])),
            }
            sum += weight * integral;
        }
        sum
    }

    /// Returns all lines of a bin with their weight.
    fn rays(&self, view: usize, tangential_pos: usize, plane: usize) -> impl Iterator<Item = (Line, f64)> + '_ {
        let weight = 1.0 / (self.num_tangential_rays * self.planes.len()) as f64;
        (0..self.num_tangential_rays).flat_map(move |ray| {
            let transaxial = self.geometry.transaxial_lor(view, tangential_pos, ray, self.num_tangential_rays);
            self.planes.iter().map(move |planes| (self.geometry.lor(transaxial, planes[plane]), weight))
        })
    }
}

/// Calls `visit(voxel index, [from, to], share)` for each voxel of a `[z, y, x]` image that a line crosses, between these parts
/// of the line's length; of a line in voxel faces each voxel has a share.
#[inline(always)]
pub(super) fn walk_parts(voxels: &Voxels, line: &Line, mut visit: impl FnMut(usize, [f64; 2], f64)) {
    let size = voxels.grid().size.map(|n| n as isize);
    let num_voxels = size[0] * size[1] * size[2];
    starts(voxels, [1, size[0], size[0] * size[1]], line, [0.0, 1.0], |start| {
        let Start { enter, leave, next: [mut next_x, mut next_y, mut next_z], pitch, stride, mut index, share } = start;
        let mut alpha = enter;
        while alpha < leave {
            // Selected without branches: which axis comes next is as good as random.
            let nearest = next_x.min(next_y).min(next_z);
            let (is_x, is_y) = (next_x == nearest, next_y == nearest);
            let is_y = is_y && !is_x;
            let is_z = !is_x && !is_y;
            let end = nearest.min(leave);
            if (0..num_voxels).contains(&index) {
                visit(index as usize, [alpha, end], share);
            }
            alpha = end;
            index += if is_x { stride[0] } else { 0 } + if is_y { stride[1] } else { 0 } + if is_z { stride[2] } else { 0 };
            next_x += if is_x { pitch[0] } else { 0.0 };
            next_y += if is_y { pitch[1] } else { 0.0 };
            next_z += if is_z { pitch[2] } else { 0.0 };
        }
    });
}

/// Where a line begins to cross voxels, in parts α of its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The part that is walked.
    pub enter: f64,
    pub leave: f64,
    /// The first face that is crossed along each axis; infinite where none is.
    pub next: [f64; 3],
    /// From each face to the next one.
    pub pitch: [f64; 3],
    /// Increment of the index at a crossing.
    pub stride: [isize; 3],
    /// The first voxel.
    pub index: isize,
    /// Part of the line's length.
    pub share: f64,
}

/// Calls `visit` for the walk of a line between these parts of it; for two or more walks with equal shares where it runs in
/// voxel faces. Voxel (x, y, z) has the index x·strides\[0\] + y·strides\[1\] + z·strides\[2\].
#[inline(always)]
pub(super) fn starts(voxels: &Voxels, strides: [isize; 3], line: &Line, within: [f64; 2], mut visit: impl FnMut(Start)) {
    let grid = voxels.grid();
    let ends = [[line.start[0], line.start[1]], [line.end[0], line.end[1]]];
    let Some((enter, leave)) = voxels.fov().clip(ends[0], ends[1]) else { return };
    let part = [enter.max(within[0]), leave.min(within[1])];
    // Voxel i spans i … i + 1 in these coordinates.
    let u0 = grid.voxel_from_mm(line.start).map(|u| u + 0.5);
    let u1 = grid.voxel_from_mm(line.end).map(|u| u + 0.5);
    let mut rows = [[0isize; 2]; 3];
    let mut num_rows = [0usize; 3];
    for a in 0..3 {
        if let Some(along) = perpendicular_rows(u0[a], u1[a]) {
            (rows[a], num_rows[a]) = along;
        }
    }
    let share = 1.0 / num_rows.iter().map(|&n| n.max(1)).product::<usize>() as f64;
    for k in 0..num_rows[2].max(1) {
        for j in 0..num_rows[1].max(1) {
            for i in 0..num_rows[0].max(1) {
                let fixed = std::array::from_fn(|a| (num_rows[a] > 0).then(|| rows[a][[i, j, k][a]]));
                if let Some(start) = start_between(grid, strides, [u0, u1], fixed, part, share) {
                    visit(start);
                }
            }
        }
    }
}

/// Returns the walk itself: rows given in `fixed` stay, along the other axes the line crosses voxel faces.
#[inline(always)]
fn start_between(
    grid: &Grid,
    strides: [isize; 3],
    [u0, u1]: [[f64; 3]; 2],
    fixed: [Option<isize>; 3],
    [mut enter, mut leave]: [f64; 2],
    share: f64,
) -> Option<Start> {
    let size = grid.size.map(|n| n as isize);
    for a in 0..3 {
        if let Some(row) = fixed[a] {
            if row < 0 || row >= size[a] {
                return None;
            }
        } else {
            let inverse = 1.0 / (u1[a] - u0[a]);
            let (low, high) = ((-u0[a]) * inverse, (size[a] as f64 - u0[a]) * inverse);
            enter = enter.max(low.min(high));
            leave = leave.min(low.max(high));
        }
    }
    if enter >= leave {
        return None;
    }
    let mut start = Start { enter, leave, next: [f64::INFINITY; 3], pitch: [0.0; 3], stride: [0; 3], index: 0, share };
    for a in 0..3 {
        if let Some(row) = fixed[a] {
            start.index += row * strides[a];
            continue;
        }
        let du = u1[a] - u0[a];
        let forwards = du > 0.0;
        let mut row = ((u0[a] + enter * du).floor() as isize).clamp(0, size[a] - 1);
        let face = |row: isize| (row + isize::from(forwards)) as f64;
        start.next[a] = (face(row) - u0[a]) / du;
        start.pitch[a] = 1.0 / du.abs();
        // Rounding at the entry can leave the row one behind.
        while start.next[a] <= enter {
            row += if forwards { 1 } else { -1 };
            start.next[a] += start.pitch[a];
        }
        start.stride[a] = if forwards { strides[a] } else { -strides[a] };
        start.index += row * strides[a];
    }
    Some(start)
}

impl LorProjector for Siddon {
    type Scratch = ();

    const SETS_PER_TASK: usize = 1;

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }

    fn cache(&self) -> &ProjectorCache {
        &self.cache
    }

    fn cache_mut(&mut self) -> &mut ProjectorCache {
        &mut self.cache
    }

    fn mirror_sets(&self, views: &[usize]) -> MirrorSets {
        MirrorSets::single(views.len() * self.geometry.num_tangential)
    }

    fn scratch(&self) {}

    fn project_set(&self, [view, tangential_pos]: [usize; 2], _: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], _: &mut ()) {
        if let Some(tof) = &self.tof {
            let num_planes = self.geometry.num_planes();
            for bins in bins.iter_mut() {
                for plane in 0..num_planes {
                    let mut sums = vec![0.0f64; tof.0.num];
                    for (line, weight) in self.rays(view, tangential_pos, plane) {
                        self.walk_tof(&line, tof, |voxel, bin, length| sums[bin] += weight * length * f64::from(x[voxel]));
                    }
                    sums.iter().enumerate().for_each(|(bin, sum)| bins[bin * num_planes + plane] = *sum as f32);
                }
            }
            return;
        }
        for (plane, bin) in bins.iter_mut().flat_map(|bins| bins.iter_mut().enumerate()) {
            *bin = self.bin_sum([view, tangential_pos], plane, x) as f32;
        }
    }

    fn add_set<S: ImageSink>(&self, [view, tangential_pos]: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, _: &mut ()) {
        let (num_planes, num_bins) = (self.geometry.num_planes(), self.views.num_planes());
        for bins in set.iter().map(|member| &q[member.lor * num_bins..][..num_bins]) {
            if let Some(tof) = &self.tof {
                for plane in 0..num_planes {
                    if bins.iter().skip(plane).step_by(num_planes).all(|value| *value == 0.0) {
                        continue;
                    }
                    for (line, weight) in self.rays(view, tangential_pos, plane) {
                        let value = |bin: usize| weight * f64::from(bins[bin * num_planes + plane]);
                        self.walk_tof(&line, tof, |voxel, bin, length| image.add(voxel, (value(bin) * length) as f32));
                    }
                }
                continue;
            }
            for (plane, &value) in bins.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                for (line, weight) in self.rays(view, tangential_pos, plane) {
                    let value = f64::from(value) * weight;
                    self.walk(&line, |voxel, length| image.add(voxel, (value * length) as f32));
                }
            }
        }
    }
}
