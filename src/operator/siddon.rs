//! The projector one LOR at a time: the definition of the geometric system matrix on the CPU.
//!
//! a_ij is the length in mm of LOR i inside voxel j (Siddon 1985, Med Phys 12:252), walked incrementally (Jacobs et al.
//! 1998, J Comput Inf Technol 6:89), as in Belzunce et al. 2012, section 1.1.1. With u(α) = u₀ + α Δu the voxel
//! coordinates along the line, the next crossing of each axis is kept, the nearest one taken, and moved on by 1/|Δu|.
//! A line that runs in a voxel face gives half of its length to each neighbour. Several lines per bin are averaged.

use std::sync::Arc;

use super::accumulate::ImageSink;
use super::lors::{Kept, LorProjector};
use super::{MirrorSets, Mirrored, Views};
use crate::algebra::{FieldOfView, Voxels};
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
    kept: Kept,
}

impl Siddon {
    /// The projector between a grid and a scan; `rays` = lines per bin, tangential and axial.
    pub fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, rays: [usize; 2]) -> Self {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let (voxels, views) = (Voxels::new(grid, fov), Views::in_place(&geometry));
        let planes = (0..rays[1].max(1)).map(|ray| geometry.ray_planes(ray, rays[1].max(1))).collect();
        Self { geometry, voxels, views, planes, num_tangential_rays: rays[0].max(1), kept: Kept::default() }
    }

    /// Calls `visit(voxel index, length in mm)` for each voxel that a line crosses.
    pub fn walk(&self, line: &Line, mut visit: impl FnMut(usize, f64)) {
        let grid = self.voxels.grid();
        let ends = [[line.start[0], line.start[1]], [line.end[0], line.end[1]]];
        let Some((enter, leave)) = self.voxels.fov().clip(ends[0], ends[1]) else { return };
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
        let weight = line.length_mm() / num_rows.iter().map(|&n| n.max(1)).product::<usize>() as f64;
        for k in 0..num_rows[2].max(1) {
            for j in 0..num_rows[1].max(1) {
                for i in 0..num_rows[0].max(1) {
                    let fixed = std::array::from_fn(|a| (num_rows[a] > 0).then(|| rows[a][[i, j, k][a]]));
                    self.walk_between(u0, u1, fixed, enter, leave, weight, &mut visit);
                }
            }
        }
    }

    /// The walk itself: rows given in `fixed` stay, along the other axes the line crosses voxel faces.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn walk_between(
        &self,
        u0: [f64; 3],
        u1: [f64; 3],
        fixed: [Option<isize>; 3],
        mut enter: f64,
        mut leave: f64,
        weight: f64,
        visit: &mut impl FnMut(usize, f64),
    ) {
        let size = self.voxels.grid().size.map(|n| n as isize);
        for a in 0..3 {
            if let Some(row) = fixed[a] {
                if row < 0 || row >= size[a] {
                    return;
                }
            } else {
                let inverse = 1.0 / (u1[a] - u0[a]);
                let (low, high) = ((-u0[a]) * inverse, (size[a] as f64 - u0[a]) * inverse);
                enter = enter.max(low.min(high));
                leave = leave.min(low.max(high));
            }
        }
        if enter >= leave {
            return;
        }
        let strides = [1, size[0], size[0] * size[1]];
        let mut index = 0isize;
        let mut next = [f64::INFINITY; 3];
        let mut pitch = [0.0f64; 3];
        let mut stride = [0isize; 3];
        for a in 0..3 {
            if let Some(row) = fixed[a] {
                index += row * strides[a];
                continue;
            }
            let du = u1[a] - u0[a];
            let forwards = du > 0.0;
            let mut row = ((u0[a] + enter * du).floor() as isize).clamp(0, size[a] - 1);
            let face = |row: isize| (row + isize::from(forwards)) as f64;
            next[a] = (face(row) - u0[a]) / du;
            pitch[a] = 1.0 / du.abs();
            // Rounding at the entry can leave the row one behind.
            while next[a] <= enter {
                row += if forwards { 1 } else { -1 };
                next[a] += pitch[a];
            }
            stride[a] = if forwards { strides[a] } else { -strides[a] };
            index += row * strides[a];
        }
        let num_voxels = size[0] * size[1] * size[2];
        let [mut next_x, mut next_y, mut next_z] = next;
        let mut alpha = enter;
        while alpha < leave {
            // Selected without branches: which axis comes next is as good as random.
            let nearest = next_x.min(next_y).min(next_z);
            let (is_x, is_y) = (next_x == nearest, next_y == nearest);
            let is_y = is_y && !is_x;
            let is_z = !is_x && !is_y;
            let end = nearest.min(leave);
            if (0..num_voxels).contains(&index) {
                visit(index as usize, weight * (end - alpha));
            }
            alpha = end;
            index += if is_x { stride[0] } else { 0 } + if is_y { stride[1] } else { 0 } + if is_z { stride[2] } else { 0 };
            next_x += if is_x { pitch[0] } else { 0.0 };
            next_y += if is_y { pitch[1] } else { 0.0 };
            next_z += if is_z { pitch[2] } else { 0.0 };
        }
    }

    /// All lines of a bin with their weight.
    fn rays(&self, view: usize, tangential_pos: usize, plane: usize) -> impl Iterator<Item = (Line, f64)> + '_ {
        let weight = 1.0 / (self.num_tangential_rays * self.planes.len()) as f64;
        (0..self.num_tangential_rays).flat_map(move |ray| {
            let transaxial = self.geometry.transaxial_lor(view, tangential_pos, ray, self.num_tangential_rays);
            self.planes.iter().map(move |planes| (self.geometry.lor(transaxial, planes[plane]), weight))
        })
    }
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

    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn mirror_sets(&self, views: &[usize]) -> MirrorSets {
        MirrorSets::single(views.len() * self.geometry.num_tangential)
    }

    fn scratch(&self) {}

    fn project_set(&self, [view, tangential_pos]: [usize; 2], _: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], _: &mut ()) {
        for (plane, bin) in bins.iter_mut().flat_map(|bins| bins.iter_mut().enumerate()) {
            let mut sum = 0.0f64;
            for (line, weight) in self.rays(view, tangential_pos, plane) {
                let mut integral = 0.0f64;
                self.walk(&line, |voxel, length| integral += length * f64::from(x[voxel]));
                sum += weight * integral;
            }
            *bin = sum as f32;
        }
    }

    fn add_set<S: ImageSink>(&self, [view, tangential_pos]: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, _: &mut ()) {
        let num_planes = self.geometry.num_planes();
        for bins in set.iter().map(|member| &q[member.lor * num_planes..][..num_planes]) {
            for (plane, &value) in bins.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                for (line, weight) in self.rays(view, tangential_pos, plane) {
                    let value = f64::from(value) * weight;
                    self.walk(&line, |voxel, length| image.add(voxel, (value * length) as f32));
                }
            }
        }
    }
}
