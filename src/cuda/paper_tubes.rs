//! The pair of kernels of Herraiz et al. 2011 for tubes of response (`kernels/paper_tubes.cu`; the definition is
//! [`crate::operator::PlainTubes`]).

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr};

use super::fixed_point::FixedPoint;
use super::in_plane::fov_rows;
use super::kernel::{Kernel, Module, launch, one_each};
use super::probe::guarded;
use super::projecting::scratch_bytes;
use super::texture::Texture;
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Data, FieldOfView, Image, Team, Voxels};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{
    Accumulation, BinOrder, InPlaneTube, LinearOperator, OfShare, OperatorError, OwnShare, PlainTubes, Subset, ViewProjector,
    Views, check_lengths,
};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Threads of a launch: a few for every lane of a large GPU. Each of them takes milliseconds whether there are few or many, so that
/// the time of a small launch does not tell how many fill the device.
const THREADS_AT_ONCE: usize = 1 << 18;

/// `Plan` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PlanHead {
    num_tangential: i32,
    num_planes: i32,
    num_groups: i32,
    num_views: i32,
    first_view: i32,
    view_step: i32,
    num: [i32; 3],
    size: [i32; 3],
    spacing_mm: [f32; 3],
    origin_mm: [f32; 3],
    voxel_mm: [f32; 3],
    ring_mm: f32,
    volumes: f32,
    by_hardware: i32,
}

/// `InPlane` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct InPlaneRow {
    middle: [f32; 2],
    along: [f32; 2],
    across: [f32; 2],
    half_mm: f32,
    radial: i32,
}

/// `Group` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct GroupRow {
    first_plane: i32,
    num_planes: i32,
    difference: i32,
    sign: f32,
    first_mm: f32,
    rise_mm: f32,
}

#[allow(unsafe_code)]
// SAFETY: all are `repr(C)` with fields of plain numbers, laid out as the structs of the kernels.
mod device_repr {
    use super::*;

    unsafe impl DeviceRepr for PlanHead {}
    unsafe impl DeviceRepr for InPlaneRow {}
    unsafe impl DeviceRepr for GroupRow {}
}

/// The paper's pair. Images are `[z, y, x]`, zero outside the field of view; data of a subset is its views one after the other,
/// each `[tangential_pos][plane]`.
pub struct PaperTubes {
    voxels: Voxels,
    views: Views,
    head: PlanHead,
    in_planes: CudaSlice<InPlaneRow>,
    groups: CudaSlice<GroupRow>,
    group_of_plane: CudaSlice<i32>,
    fov_rows: CudaSlice<[i32; 2]>,
    tubes: Texture,
    project: Kernel,
    backproject: Kernel,
    backproject_fixed: Kernel,
    fixed_point: Mutex<FixedPoint>,
    /// The image as the kernels read it.
    image: Mutex<Texture>,
}

impl PaperTubes {
    /// The projector between a grid and a scan.
    ///
    /// # Errors
    /// There is no tube for some bin; more tubes than a texture holds; device failure.
    pub fn new(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        tubes: &TubeSet,
    ) -> Result<Self, OperatorError> {
        let plain = PlainTubes::new(Arc::clone(&geometry), grid.clone(), fov_radius_mm, tubes.clone())?;
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let lors = (0..geometry.num_transaxial()).map(|i| [i / geometry.num_tangential, i % geometry.num_tangential]);
        let in_planes: Vec<InPlaneRow> = lors.map(|[view, position]| InPlaneRow::new(plain.in_plane(view, position))).collect();
        let planes = geometry.planes();
        let (mut groups, mut group_of_plane): (Vec<GroupRow>, Vec<i32>) = Default::default();
        for segment in &geometry.segments {
            let difference = segment.min_ring_difference;
            let first = &planes[group_of_plane.len()];
            groups.push(GroupRow {
                first_plane: group_of_plane.len() as i32,
                num_planes: segment.num_axial_pos as i32,
                difference: difference.abs(),
                sign: if difference < 0 { -1.0 } else { 1.0 },
                first_mm: (0.5 * (first.z_start_mm + first.z_end_mm)) as f32,
                rise_mm: (0.5 * (first.z_end_mm - first.z_start_mm)) as f32,
            });
            group_of_plane.resize(group_of_plane.len() + segment.num_axial_pos, groups.len() as i32 - 1);
        }
        let sampling = &tubes.sampling;
        let head = PlanHead {
            num_tangential: geometry.num_tangential as i32,
            num_planes: geometry.num_planes() as i32,
            num_groups: groups.len() as i32,
            num: sampling.num.map(|n| n as i32),
            size: grid.size.map(|n| n as i32),
            spacing_mm: sampling.spacing_mm.map(|mm| mm as f32),
            origin_mm: grid.origin_mm.map(|mm| mm as f32),
            voxel_mm: grid.voxel_mm.map(|mm| mm as f32),
            ring_mm: geometry.ring_spacing_mm as f32,
            volumes: (grid.voxel_mm.iter().product::<f64>() / sampling.spacing_mm.iter().product::<f64>()) as f32,
            by_hardware: 1,
            ..PlanHead::default()
        };
        let module = Module::load(&backend.context, include_str!("../../kernels/ptx/paper_tubes.ptx"))?;
        Ok(Self {
            in_planes: backend.table(&in_planes, InPlaneRow::default())?,
            groups: backend.table(&groups, GroupRow::default())?,
            group_of_plane: backend.table(&group_of_plane, 0)?,
            fov_rows: fov_rows(backend, &grid, &fov)?,
            tubes: texture_of(backend, tubes)?,
            project: module.kernel("project")?,
            backproject: module.kernel("backproject")?,
            backproject_fixed: module.kernel("backproject_fixed")?,
            fixed_point: Mutex::default(),
            image: Mutex::new(Texture::new(&backend.stream, grid.size)?),
            views: Views::by_subset(&geometry, BinOrder::Plane),
            voxels: Voxels::new(grid, fov),
            head,
        })
    }

    /// The same with its own interpolation in place of the GPU's, whose weights have eight bits only.
    pub fn interpolating(mut self) -> Self {
        self.head.by_hardware = 0;
        self
    }

    /// The plan for the views of a subset.
    fn head(&self, subset: Subset) -> PlanHead {
        PlanHead {
            first_view: subset.index as i32,
            view_step: subset.count.max(1) as i32,
            num_views: self.views.of(subset).len() as i32,
            ..self.head
        }
    }
}

impl InPlaneRow {
    fn new(tube: InPlaneTube) -> Self {
        Self {
            middle: tube.middle.map(|mm| mm as f32),
            along: tube.along.map(|v| v as f32),
            across: tube.across.map(|v| v as f32),
            half_mm: tube.half_mm as f32,
            radial: tube.radial as i32,
        }
    }
}

/// All tubes in a texture, a sample of zeros between any two.
fn texture_of(backend: &CudaBackend, tubes: &TubeSet) -> Result<Texture, OperatorError> {
    let sampling = &tubes.sampling;
    let [num_along, num_across, num_axial] = sampling.num;
    let (num_radial, num_differences) = (sampling.num_radial, sampling.num_ring_differences);
    let size = [num_differences * (num_axial + 1), num_radial * (num_across + 1), num_along];
    let mut values = vec![0.0; size.iter().product()];
    for radial in 0..num_radial {
        for difference in 0..num_differences {
            for (sample, along_axis) in tubes.tube(radial, difference).chunks_exact(num_axial).enumerate() {
                let (a, b) = (sample / num_across, sample % num_across);
                let at = (a * size[1] + radial * (num_across + 1) + b) * size[0] + difference * (num_axial + 1);
                values[at..at + num_axial].copy_from_slice(along_axis);
            }
        }
    }
    let mut texture = Texture::new(&backend.stream, size)?;
    texture.fill(&backend.table(&values, 0.0)?)?;
    Ok(texture)
}

/// Calls `launch(first, count)` for all of `total` threads, in pieces; two are under way at most.
fn in_pieces(
    backend: &CudaBackend,
    total: usize,
    task: &Task,
    mut launch: impl FnMut(usize, usize) -> Result<(), CudaError>,
) -> Result<(), OperatorError> {
    let mut under_way = None;
    for first in (0..total).step_by(THREADS_AT_ONCE) {
        task.check()?;
        launch(first, THREADS_AT_ONCE.min(total - first))?;
        let event = guarded("mark a launch", || backend.stream.record_event(None))?;
        if let Some(before) = under_way.replace(event) {
            guarded("compute", || before.synchronize())?;
        }
    }
    Ok(())
}

impl LinearOperator<CudaBackend> for PaperTubes {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let num_bins = self.views.len(subset);
        check_lengths([x.len(), self.voxels.len()], [out.len(), num_bins])?;
        let mut image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        image.fill(&x.0)?;
        let (head, tubes, image) = (self.head(subset), self.tubes.object(), image.object());
        in_pieces(backend, num_bins, task, |first, count| {
            let (shape, first, count) = (one_each(count), first as u64, count as u64);
            launch!(
                backend.stream,
                self.project,
                shape,
                &head,
                &self.in_planes,
                &self.groups,
                &self.group_of_plane,
                &tubes,
                &image,
                &mut out.0,
                &first,
                &count
            )
        })
    }

    fn adjoint(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        _: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.voxels.len()], [q.len(), self.views.len(subset)])?;
        let (head, tubes, num_voxels) = (self.head(subset), self.tubes.object(), self.voxels.len());
        let mut fixed_point = self.fixed_point.lock().unwrap_or_else(PoisonError::into_inner);
        fixed_point.backproject(
            backend,
            subset,
            q,
            self.views.len(subset),
            out,
            |backend, ones, image| {
                in_pieces(backend, num_voxels, task, |first, count| {
                    let (shape, first, count) = (one_each(count), first as u64, count as u64);
                    launch!(
                        backend.stream,
                        self.backproject,
                        shape,
                        &head,
                        &self.in_planes,
                        &self.groups,
                        &tubes,
                        &ones.0,
                        &self.fov_rows,
                        &mut image.0,
                        &first,
                        &count
                    )
                })
            },
            |backend, image, scale| {
                in_pieces(backend, num_voxels, task, |first, count| {
                    let (shape, first, count) = (one_each(count), first as u64, count as u64);
                    launch!(
                        backend.stream,
                        self.backproject_fixed,
                        shape,
                        &head,
                        &self.in_planes,
                        &self.groups,
                        &tubes,
                        &q.0,
                        &self.fov_rows,
                        &mut *image,
                        &scale,
                        &first,
                        &count
                    )
                })
            },
        )
    }

    /// Each voxel is the sum of one thread, in integers.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic]
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        // (The textures are there already.)
        scratch_bytes(self.voxels.len(), self.views.len(subset), accumulation)
    }
}

impl ViewProjector<CudaBackend> for PaperTubes {
    fn for_team(self, team: &Team) -> Result<OwnShare<CudaBackend>, OperatorError> {
        let views = self.views.clone();
        Ok(OfShare::of(self, views, team.share()))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }
}
