//! The pair of kernels of Herraiz et al. 2011 for tubes of response (`kernels/tubes/paper_tubes.cu`; the definition is
//! [`crate::operator::PlainTubes`]).

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaSlice;

use crate::algebra::{FieldOfView, Voxels};
use crate::cuda::backend::CudaBackend;
use crate::cuda::device::texture::Texture;
use crate::cuda::error::CudaError;
use crate::cuda::fixed_point::Sum;
use crate::cuda::in_plane::fov_rows;
use crate::cuda::kernel::one_each;
use crate::cuda::launches::paper_tubes::{Group as GroupRow, InPlane as InPlaneRow, Kernels, Lors, Plan as PlanHead};
use crate::cuda::projecting::{Adder, Direction, Launches, Piece, Projecting, ProjectingViews};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{Accumulation, BinOrder, InPlaneTube, OperatorError, PlainTubes, Subset, Views};
use crate::scanner::ScanGeometry;

/// Threads of a launch: a few for every lane of a large GPU. Each of them takes milliseconds whether there are few or many, so
/// that the time of a small launch does not show the number that fills the device.
const THREADS_AT_ONCE: usize = 1 << 18;

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
    kernels: Kernels,
    launches: Launches,
    /// The largest coefficient of a tube, times the volume of a voxel over that of a sample.
    largest_element: f64,
    /// The image as the kernels read it.
    image: Mutex<Texture>,
}

impl PaperTubes {
    /// Makes the projector between a grid and a scan.
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
        let [num_along, num_across, num_axial] = sampling.num.map(|n| n as i32);
        let [along_mm, across_mm, axial_mm] = sampling.spacing_mm.map(|mm| mm as f32);
        let [nx, ny, nz] = grid.size.map(|n| n as i32);
        let [origin_x, origin_y, origin_z] = grid.origin_mm.map(|mm| mm as f32);
        let [voxel_x, voxel_y, voxel_z] = grid.voxel_mm.map(|mm| mm as f32);
        let head = PlanHead {
            num_tangential: geometry.num_tangential as i32,
            num_planes: geometry.num_planes() as i32,
            num_groups: groups.len() as i32,
            num_along,
            num_across,
            num_axial,
            nx,
            ny,
            nz,
            along_mm,
            across_mm,
            axial_mm,
            origin_x,
            origin_y,
            origin_z,
            voxel_x,
            voxel_y,
            voxel_z,
            ring_mm: geometry.ring_spacing_mm as f32,
            volumes: (grid.voxel_mm.iter().product::<f64>() / sampling.spacing_mm.iter().product::<f64>()) as f32,
            by_hardware: 1,
            ..PlanHead::default()
        };
        Ok(Self {
            in_planes: backend.table(&in_planes, InPlaneRow::default())?,
            groups: backend.table(&groups, GroupRow::default())?,
            group_of_plane: backend.table(&group_of_plane, 0)?,
            fov_rows: fov_rows(backend, &grid, &fov)?,
            tubes: texture_of(backend, tubes)?,
            kernels: Kernels::load(&backend.context)?,
            launches: Launches::default(),
            largest_element: f64::from(head.volumes) * f64::from(tubes.largest()),
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

    /// Returns the plan for the views of a subset.
    fn plan(&self, subset: Subset) -> PlanHead {
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
        let [[middle_x, middle_y], [along_x, along_y], [across_x, across_y]] =
            [tube.middle, tube.along, tube.across].map(|vector| vector.map(|v| v as f32));
        let (half_mm, radial) = (tube.half_mm as f32, tube.radial as i32);
        Self { middle_x, middle_y, along_x, along_y, across_x, across_y, half_mm, radial }
    }
}

/// Returns all tubes in a texture, a sample of zeros between any two.
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

/// Returns the threads of some units out of `total` threads: for each launch the first, and how many there are.
fn pieces(units: Range<usize>, total: usize) -> impl Iterator<Item = [usize; 2]> {
    units.map(|unit| unit * THREADS_AT_ONCE).map(move |first| [first, THREADS_AT_ONCE.min(total - first)])
}

impl Projecting for PaperTubes {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.views.len(subset)
    }

    fn largest_element(&self) -> f64 {
        self.largest_element
    }

    /// Each voxel is the sum of one thread, in integers.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic]
    }

    /// [`THREADS_AT_ONCE`], a bin each or a voxel each.
    fn num_units(&self, _: &CudaBackend, subset: Subset, direction: Direction) -> Result<usize, CudaError> {
        let threads = match direction {
            Direction::Forward => self.views.len(subset),
            Direction::Back => self.voxels.len(),
        };
        Ok(threads.div_ceil(THREADS_AT_ONCE))
    }

    fn launch_forward(&self, piece: &Piece<'_>, x: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let (stream, plan) = (&backend.stream, self.plan(subset));
        let mut image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        // The launches that follow read the same image.
        if units.start == 0 {
            image.fill(x)?;
        }
        let Self { in_planes, groups, group_of_plane, tubes, .. } = self;
        pieces(units.clone(), self.views.len(subset)).try_for_each(|[first, count]| {
            let (shape, first, count) = (one_each(count), first as u64, count as u64);
            let project = &self.kernels.project;
            project.launch(stream, shape, &plan, in_planes, groups, group_of_plane, tubes, &image, out, first, count)
        })
    }

    fn launch_add(&self, piece: &Piece<'_>, q: &CudaSlice<f32>, _: Adder, mut to: Sum<'_>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let (stream, plan) = (&backend.stream, self.plan(subset));
        let lors = Lors {
            plan: &plan,
            in_planes: self.in_planes.as_view(),
            groups: self.groups.as_view(),
            tubes: &self.tubes,
            bins: q.as_view(),
            fov_rows: self.fov_rows.as_view(),
        };
        pieces(units.clone(), self.voxels.len()).try_for_each(|[first, count]| {
            let (shape, first, count) = (one_each(count), first as u64, count as u64);
            match &mut to {
                Sum::Values(image) => self.kernels.backproject.launch(stream, shape, &lors, *image, first, count),
                Sum::Units(image, scale) => {
                    self.kernels.backproject_fixed.launch(stream, shape, &lors, *image, *scale, first, count)
                }
            }
        })
    }
}

impl ProjectingViews for PaperTubes {
    fn views(&self) -> &Views {
        &self.views
    }
}
