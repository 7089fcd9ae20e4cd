//! Where a transaxial LOR enters the field of view, and the regular distances at which it then crosses voxel faces in x
//! and y: all that its path through the voxel columns depends on.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::algebra::FieldOfView;
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid, Row, face_or_row, perpendicular_rows};
use crate::scanner::{Plane, ScanGeometry, TransaxialLor};

/// Rows in which a LOR runs along x or y: none, one, or the two on both sides of a face.
#[derive(Clone, Copy, Debug)]
pub struct Sides {
    rows: [Option<([isize; 2], usize)>; 2],
    u0: [f64; 2],
    u1: [f64; 2],
}

impl Sides {
    /// Makes the sides of a LOR on a grid.
    pub fn new(grid: &Grid, lor: &TransaxialLor) -> Self {
        let voxel = |point: [f64; 2], a: usize| (point[a] - grid.origin_mm[a]) / grid.voxel_mm[a] + 0.5;
        let u0 = [voxel(lor.start, 0), voxel(lor.start, 1)];
        let u1 = [voxel(lor.end, 0), voxel(lor.end, 1)];
        Self { rows: std::array::from_fn(|a| perpendicular_rows(u0[a], u1[a])), u0, u1 }
    }

    /// Returns the number of paths that the LOR splits into, each with an equal share.
    pub fn num_paths(&self) -> usize {
        self.rows.iter().flatten().map(|(_, n)| *n).product()
    }

    /// Returns the row that path number `path` stays in along an axis.
    fn fixed(&self, axis: usize, path: usize) -> Option<isize> {
        // A LOR runs along one axis at most, so the path number chooses the side there.
        self.rows[axis].map(|(rows, _)| rows[path])
    }
}

/// One in-plane path of a transaxial LOR inside the field of view. Distances in mm, in-plane, from the path's start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InPlanePath {
    /// Column (y·nx + x) in which the path begins.
    pub column: usize,
    /// First crossing of a face along x and along y; infinite along an axis on which none is crossed.
    pub next: [f64; 2],
    /// Distance between crossings along x and along y; 0 along an axis on which none is crossed.
    pub pitch: [f64; 2],
    /// Increment of the column at a crossing.
    pub stride: [isize; 2],
    /// Where the path begins on the LOR, mm from the LOR's start.
    pub start_mm: f64,
    /// Length of the path.
    pub length_mm: f64,
    /// Length of the whole LOR.
    pub lor_mm: f64,
}

impl InPlanePath {
    /// Path number `path` of a LOR; `None` where it misses the field of view.
    #[inline(always)]
    pub fn new(grid: &Grid, fov: &FieldOfView, lor: &TransaxialLor, sides: &Sides, path: usize) -> Option<Self> {
        let (mut enter, mut leave) = fov.clip(lor.start, lor.end)?;
        let (u0, u1) = (sides.u0, sides.u1);
        let mut inverse = [0.0f64; 2];
        for a in 0..2 {
            if let Some(row) = sides.fixed(a, path) {
                if row < 0 || row >= grid.size[a] as isize {
                    return None;
                }
            } else {
                inverse[a] = 1.0 / (u1[a] - u0[a]);
                let (low, high) = (-u0[a] * inverse[a], (grid.size[a] as f64 - u0[a]) * inverse[a]);
                enter = enter.max(low.min(high));
                leave = leave.min(low.max(high));
            }
        }
        if enter >= leave {
            return None;
        }
        let lor_mm = (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1]);
        let start_mm = enter * lor_mm;
        let length_mm = (leave - enter) * lor_mm;
        let strides = [1isize, grid.size[0] as isize];
        let mut column = 0isize;
        let mut next = [f64::INFINITY; 2];
        let mut pitch = [0.0f64; 2];
        let mut stride = [0isize; 2];
        for a in 0..2 {
            if let Some(row) = sides.fixed(a, path) {
                column += row * strides[a];
                continue;
            }
            let du = u1[a] - u0[a];
            let forwards = du > 0.0;
            let mut row = ((u0[a] + enter * du).floor() as isize).clamp(0, grid.size[a] as isize - 1);
            let face = (row + isize::from(forwards)) as f64;
            next[a] = (face - u0[a]) * inverse[a] * lor_mm - start_mm;
            pitch[a] = inverse[a].abs() * lor_mm;
            // Rounding at the entry can leave the row one behind.
            while next[a] <= 0.0 {
                row += if forwards { 1 } else { -1 };
                next[a] += pitch[a];
            }
            stride[a] = if forwards { strides[a] } else { -strides[a] };
            column += row * strides[a];
        }
        let column = usize::try_from(column).ok()?;
        Some(Self { column, next, pitch, stride, start_mm, length_mm, lor_mm })
    }

    /// Returns the first crossings in single precision: an axis that is never crossed is crossed beyond everything.
    pub fn next_f32(&self) -> [f32; 2] {
        std::array::from_fn(|a| if self.pitch[a] > 0.0 { self.next[a] as f32 } else { f32::MAX })
    }
}

/// Where a line of a plane lies in z (voxel i spans i … i + 1), in single precision. One that does not rise lies in `num_rows` rows
/// from `row` on, with an equal share in each: two if it runs in a voxel face.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct PlaneLine {
    /// z of its start.
    pub v_start: f32,
    /// Rise over the whole LOR, voxels; 0 where it is less than a voxel face is thick.
    pub rise: f32,
    /// The same, mm.
    pub rise_mm: f32,
    /// Part of the bin's value, for each of its rows.
    pub weight: f32,
    /// First row of a line that does not rise.
    pub row: i32,
    /// Number of its rows.
    pub num_rows: i32,
}

impl PlaneLine {
    /// Makes the lines of all planes, for each of `num_rays` axial rays.
    pub fn of_all(geometry: &ScanGeometry, grid: &Grid, num_rays: usize) -> Vec<Self> {
        let planes = (0..num_rays).flat_map(|ray| geometry.ray_planes(ray, num_rays));
        planes.map(|plane| Self::new(plane, grid, num_rays)).collect()
    }

    fn new(plane: Plane, grid: &Grid, num_rays: usize) -> Self {
        let voxel = |z_mm: f64| (z_mm - grid.origin_mm[2]) / grid.voxel_mm[2] + 0.5;
        let (v_start, v_end) = (voxel(plane.z_start_mm), voxel(plane.z_end_mm));
        let rises = (v_end - v_start).abs() >= FACE_TOLERANCE_VOXELS;
        let (row, num_rows) = match face_or_row(0.5 * (v_start + v_end) - 0.5) {
            _ if rises => (0, 1),
            Row::Inside(row) => (row as i32, 1),
            Row::Face(row) => (row as i32, 2),
        };
        Self {
            v_start: v_start as f32,
            rise: if rises { (v_end - v_start) as f32 } else { 0.0 },
            rise_mm: (plane.z_end_mm - plane.z_start_mm) as f32,
            weight: 1.0 / (num_rays as i32 * num_rows) as f32,
            row,
            num_rows,
        }
    }
}

/// The in-plane paths of LORs, each with its share of the bin's value: LOR number i has the paths `first[i] .. first[i + 1]`.
#[derive(Clone, Debug)]
pub struct InPlanePaths {
    /// The paths, LOR by LOR.
    pub paths: Vec<(InPlanePath, f32)>,
    /// For each LOR, and behind the last one, the index of its first path.
    pub first: Vec<u32>,
}

impl InPlanePaths {
    /// Makes the paths of all LORs of a scan across a field of view, `num_rays` lines for each bin, numbered
    /// view·num_tangential + tangential_pos.
    pub fn of_all(geometry: &ScanGeometry, grid: &Grid, fov: &FieldOfView, num_rays: usize) -> Self {
        let all = 0..geometry.num_transaxial();
        let lors = all.into_par_iter().map(|i| [i / geometry.num_tangential, i % geometry.num_tangential]);
        Self::new(geometry, grid, fov, num_rays, lors)
    }

    /// Makes those of the LORs of these views and tangential positions.
    pub fn new(
        geometry: &ScanGeometry,
        grid: &Grid,
        fov: &FieldOfView,
        num_rays: usize,
        lors: impl IndexedParallelIterator<Item = [usize; 2]>,
    ) -> Self {
        let of_lor: Vec<Vec<(InPlanePath, f32)>> = lors
            .map(|[view, tangential_pos]| {
                let rays = (0..num_rays).map(|ray| geometry.transaxial_lor(view, tangential_pos, ray, num_rays));
                rays.flat_map(|lor| {
                    let sides = Sides::new(grid, &lor);
                    let share = 1.0 / (num_rays * sides.num_paths()) as f32;
                    let path = move |k| InPlanePath::new(grid, fov, &lor, &sides, k).map(|path| (path, share));
                    (0..sides.num_paths()).filter_map(path)
                })
                .collect()
            })
            .collect();
        let mut first = Vec::with_capacity(of_lor.len() + 1);
        first.push(0);
        first.extend(of_lor.iter().scan(0u32, |sum, paths| {
            *sum += paths.len() as u32;
            Some(*sum)
        }));
        Self { paths: of_lor.concat(), first }
    }

    /// Returns an upper limit of the steps of a path: one more than the faces that it crosses.
    pub fn max_steps(&self) -> usize {
        let crossings = |path: &InPlanePath, a: usize| {
            if path.pitch[a] > 0.0 { ((path.length_mm - path.next[a]) / path.pitch[a]).max(0.0).ceil() as usize + 1 } else { 0 }
        };
        self.paths.iter().map(|(path, _)| crossings(path, 0) + crossings(path, 1) + 1).max().unwrap_or(1)
    }
}
