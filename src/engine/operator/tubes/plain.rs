//! Tubes of response by their definition: one bin or one voxel at a time, in double precision.
//!
//! The projection is the sum of [`crate::data::TubeSet`], sample by sample: the forward kernel of Herraiz et al. 2011,
//! section 2.2. The backprojection is the paper's too (section 2.3): each voxel gathers from the bins that see it, the
//! coefficient being interpolated trilinearly in the tube at the voxel's middle. It is *not* exactly the adjoint of the
//! projection, which interpolates the image instead.

use std::sync::Arc;

use rayon::prelude::*;

use super::fit::{ring_difference, tubes_fit};
use crate::algebra::{Data, FieldOfView, Host, HostArray, Image, PeerGroup, Voxels};
use crate::data::TubeSet;
use crate::geometry::{Grid, Point};
use crate::operator::{
    Accumulation, LinearOperator, OperatorError, OperatorLimit, ShardOperator, Subset, ViewProjector, Views, check_lengths,
};
use crate::scanner::{Plane, ScanGeometry};
use crate::task::{Stopped, Task};

/// The paper's pair of projector and backprojector. Images are `[z, y, x]`, x fastest, and zero outside the field of view.
pub struct PlainTubes {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
    planes: Vec<Plane>,
    tubes: TubeSet,
}

/// Where the tube of the bins of one (view, tangential position) lies in the transaxial plane.
#[derive(Clone, Copy, Debug)]
pub struct InPlaneTube {
    /// |tangential index|.
    pub radial: usize,
    /// Middle of the line, mm.
    pub middle: [f64; 2],
    /// Unit vector towards the end of the line.
    pub along: [f64; 2],
    /// Unit vector along which b rises: away from the axis.
    pub across: [f64; 2],
    /// Half of the line's length, mm.
    pub half_mm: f64,
}

/// Returns the samples of one axis of an interpolation and their weights: two neighbours, those outside `0..num` left out.
fn neighbours(at: f64, num: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
    let (low, fraction) = (at.floor(), at - at.floor());
    let inside = move |(index, weight): (f64, f64)| (index >= 0.0 && index < num as f64).then_some((index as usize, weight));
    [(low, 1.0 - fraction), (low + 1.0, fraction)].into_iter().filter_map(inside)
}

/// Values `[z, y, x]` interpolated between their middles at `[x, y, z]`, 0 outside.
fn interpolated(values: &[f32], [nx, ny, nz]: [usize; 3], [x, y, z]: [f64; 3]) -> f64 {
    let mut sum = 0.0;
    for (k, wz) in neighbours(z, nz) {
        for (j, wy) in neighbours(y, ny) {
            for (i, wx) in neighbours(x, nx) {
                sum += wx * wy * wz * f64::from(values[(k * ny + j) * nx + i]);
            }
        }
    }
    sum
}

/// Returns the distance of sample `index` of `num` from the middle one.
fn from_middle(index: usize, num: usize, spacing_mm: f64) -> f64 {
    (index as f64 - (num / 2) as f64) * spacing_mm
}

impl PlainTubes {
    /// Makes the projector between a grid and a scan.
    ///
    /// # Errors
    /// There is no tube for some bin.
    pub fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, tubes: TubeSet) -> Result<Self, OperatorError> {
        tubes_fit(&geometry, &tubes)?;
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let (voxels, views, planes) = (Voxels::new(grid, fov), Views::in_place(&geometry), geometry.planes());
        Ok(Self { geometry, voxels, views, planes, tubes })
    }

    /// Where the tube of a view's tangential position lies.
    pub fn in_plane(&self, view: usize, tangential_pos: usize) -> InPlaneTube {
        let index = self.geometry.tangential_index(tangential_pos);
        let lor = self.geometry.transaxial_lor(view, tangential_pos, 0, 1);
        let (dx, dy) = (lor.end[0] - lor.start[0], lor.end[1] - lor.start[1]);
        let length = dx.hypot(dy);
        let along = [dx / length, dy / length];
        let sign = if index < 0 { -1.0 } else { 1.0 };
        InPlaneTube {
            radial: index.unsigned_abs(),
            middle: [0.5 * (lor.start[0] + lor.end[0]), 0.5 * (lor.start[1] + lor.end[1])],
            along,
            across: [-sign * along[1], sign * along[0]],
            half_mm: 0.5 * length,
        }
    }

    /// Returns the ring difference of a plane, and the z of its line `along_mm` from the middle.
    fn axial(&self, in_plane: &InPlaneTube, plane: &Plane, along_mm: f64) -> (i32, f64) {
        let middle = 0.5 * (plane.z_start_mm + plane.z_end_mm);
        let rise = 0.5 * (plane.z_end_mm - plane.z_start_mm) * along_mm / in_plane.half_mm;
        (ring_difference(&self.geometry, plane), middle + rise)
    }

    /// Returns the expected value of a bin, by its definition.
    pub fn bin(&self, view: usize, tangential_pos: usize, plane: usize, x: &[f32]) -> f64 {
        let (in_plane, plane) = (self.in_plane(view, tangential_pos), &self.planes[plane]);
        let ([num_along, num_across, num_axial], grid) = (self.tubes.sampling.num, self.voxels.grid());
        let spacing_mm = self.tubes.sampling.spacing_mm;
        let tube = self.tubes.tube(in_plane.radial, ring_difference(&self.geometry, plane).unsigned_abs() as usize);
        let mut sum = 0.0;
        for a in 0..num_along {
            let along_mm = from_middle(a, num_along, spacing_mm[0]);
            let (ring_difference, z_line_mm) = self.axial(&in_plane, plane, along_mm);
            let sign = if ring_difference < 0 { -1.0 } else { 1.0 };
            for b in 0..num_across {
                let across_mm = from_middle(b, num_across, spacing_mm[1]);
                let [x_mm, y_mm] = [0, 1]
                    .map(|axis| in_plane.middle[axis] + along_mm * in_plane.along[axis] + across_mm * in_plane.across[axis]);
                for c in 0..num_axial {
                    let z_mm = z_line_mm + sign * from_middle(c, num_axial, spacing_mm[2]);
                    let at = grid.voxel_from_mm([x_mm, y_mm, z_mm]);
                    sum += f64::from(tube[(a * num_across + b) * num_axial + c]) * interpolated(x, grid.size, at);
                }
            }
        }
        sum
    }

    /// Returns the sum that a point gathers from the bins `q` of these views.
    pub fn voxel(&self, views: &[usize], q: &[f32], point: Point) -> f64 {
        let (num_tangential, num_planes) = (self.geometry.num_tangential, self.planes.len());
        let mut sum = 0.0;
        for (lor, bins) in q.chunks_exact(num_planes).enumerate().take(views.len() * num_tangential) {
            let in_plane = self.in_plane(views[lor / num_tangential], lor % num_tangential);
            sum += self.gathered(&in_plane, bins, point);
        }
        sum
    }

    /// The same from the bins of one (view, tangential position). A coefficient represents the volume between the samples of the
    /// tube, a voxel its volume.
    fn gathered(&self, in_plane: &InPlaneTube, bins: &[f32], point: Point) -> f64 {
        let ([num_along, num_across, num_axial], spacing_mm) = (self.tubes.sampling.num, self.tubes.sampling.spacing_mm);
        let from = [point[0] - in_plane.middle[0], point[1] - in_plane.middle[1]];
        let along_mm = from[0] * in_plane.along[0] + from[1] * in_plane.along[1];
        let across_mm = from[0] * in_plane.across[0] + from[1] * in_plane.across[1];
        let in_tube = |mm: f64, axis: usize| mm / spacing_mm[axis] + (self.tubes.sampling.num[axis] / 2) as f64;
        let (a, b) = (in_tube(along_mm, 0), in_tube(across_mm, 1));
        if neighbours(a, num_along).next().is_none() || neighbours(b, num_across).next().is_none() {
            return 0.0;
        }
        let volumes = self.voxels.grid().voxel_mm.iter().product::<f64>() / spacing_mm.iter().product::<f64>();
        let mut sum = 0.0;
        for (plane, &value) in self.planes.iter().zip(bins) {
            let (ring_difference, z_line_mm) = self.axial(in_plane, plane, along_mm);
            let sign = if ring_difference < 0 { -1.0 } else { 1.0 };
            let at = [in_tube(sign * (point[2] - z_line_mm), 2), b, a];
            let tube = self.tubes.tube(in_plane.radial, ring_difference.unsigned_abs() as usize);
            sum += f64::from(value) * interpolated(tube, [num_axial, num_across, num_along], at);
        }
        volumes * sum
    }
}

impl LinearOperator<Host> for PlainTubes {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([x.len(), self.voxels.len()], [out.len(), self.views.len(subset)])?;
        let views: Vec<usize> = self.views.of(subset).collect();
        let num_tangential = self.geometry.num_tangential;
        let lors = out.values_mut().par_chunks_exact_mut(self.planes.len()).take(views.len() * num_tangential);
        lors.enumerate().try_for_each(|(lor, bins)| {
            task.check()?;
            for (plane, bin) in bins.iter_mut().enumerate() {
                *bin = self.bin(views[lor / num_tangential], lor % num_tangential, plane, x) as f32;
            }
            Ok(())
        })
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        _: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.voxels.len()], [q.len(), self.views.len(subset)])?;
        let (views, grid): (Vec<usize>, _) = (self.views.of(subset).collect(), self.voxels.grid());
        let [nx, ny, _] = grid.size;
        out.values_mut().par_chunks_exact_mut(nx).enumerate().try_for_each(|(row, values)| {
            task.check()?;
            let (y, z) = (row % ny, row / ny);
            values.fill(0.0);
            for i in self.voxels.fov().row(y) {
                values[i] = self.voxel(&views, q, grid.mm_from_voxel([i as f64, y as f64, z as f64])) as f32;
            }
            Ok::<_, Stopped>(())
        })?;
        Ok(())
    }

    /// Each voxel is the sum of one thread.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic]
    }

    fn scratch_bytes(&self, _: Subset, _: Accumulation) -> u64 {
        0
    }
}

impl ViewProjector<Host> for PlainTubes {
    fn for_group(self: Box<Self>, _: &PeerGroup) -> Result<ShardOperator<Host>, OperatorError> {
        Err(OperatorLimit::Processes.into())
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }
}
