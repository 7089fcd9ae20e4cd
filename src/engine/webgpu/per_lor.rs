//! Siddon's projector with one thread per bin (`shaders/compute/per_lor`; the definition is [`crate::operator::Siddon`]).

use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::adding::{Adder, AddingKernel, accumulations};
use super::array::{Segment, Segments, WebGpuArray};
use super::backend::WebGpuBackend;
use super::commands::Commands;
use super::error::WebGpuError;
use super::images::unseen::Unseen;
use super::kernel::Kernel;
use super::projecting::{Launches, Projecting, ProjectingViews, Target};
use crate::algebra::{FieldOfView, Image, Voxels};
use crate::data::TofBins;
use crate::geometry::Grid;
use crate::operator::{Accumulation, BinOrder, InPlanePath, InPlanePaths, OperatorError, PlaneLine, Subset, TofKernel, Views};
use crate::scanner::ScanGeometry;

/// Threads of a group, as in the kernels.
const THREADS: usize = 64;

/// `Path` of walk.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct PathRow {
    next: [f32; 2],
    pitch: [f32; 2],
    length_mm: f32,
    start_mm: f32,
    lor_mm: f32,
    column: i32,
    stride: [i32; 2],
    share: f32,
    padding: u32,
}

/// `Plan` of walk.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Plan {
    scale: f32,
    num_tangential: u32,
    num_planes: u32,
    num_rays: u32,
    first_view: u32,
    view_step: u32,
    num_views: u32,
    nz: u32,
    num_columns: u32,
    first_plane: u32,
    first: u32,
    count: u32,
    data_at: u32,
    image_first: u32,
    image_len: u32,
    adds: u32,
}

/// The projector with one thread per bin, those of time of flight included. Images are `[z, y, x]`, zero outside the field of view;
/// the data of a subset lie in the order [`BinOrder::Radial`].
pub struct PerLor {
    voxels: Voxels,
    views: Views,
    plan: Plan,
    paths: wgpu::Buffer,
    lor_paths: wgpu::Buffer,
    lines: wgpu::Buffer,
    unseen: Unseen,
    forward: Kernel,
    back: AddingKernel,
    accumulations: &'static [Accumulation],
    launches: Launches,
}

/// Returns the texts of the kernels that project and that backproject, the latter without an adder.
pub(super) fn sources(tof: Option<(TofBins, TofKernel)>) -> [String; 2] {
    let constants = tof_constants(tof);
    let of_tof = include_str!("../../../shaders/compute/per_lor/tof.wgsl");
    let walk = include_str!("../../../shaders/compute/per_lor/walk.wgsl");
    let forward = include_str!("../../../shaders/compute/per_lor/forward.wgsl");
    let back = include_str!("../../../shaders/compute/per_lor/back.wgsl");
    [forward, back].map(|entry| format!("{constants}\n{of_tof}\n{walk}\n{entry}"))
}

/// Returns the constants of tof.wgsl.
fn tof_constants(tof: Option<(TofBins, TofKernel)>) -> String {
    let mut text = format!("const HAS_TOF: bool = {};\nconst NUM_TOF: u32 = {}u;\n", tof.is_some(), num_tof(tof));
    let numbers = tof.map_or([1.0; 4], |(bins, kernel)| {
        let sigma_mm = kernel.sigma_mm();
        // Beyond 13 sigma there is nothing in single precision.
        let reach = (kernel.reach_mm([0.0; 2])[1] / sigma_mm).min(13.0);
        [bins.width_mm / sigma_mm, 1.0 / sigma_mm, reach, 1.0 / libm::erf(reach * FRAC_1_SQRT_2)]
    });
    for (name, value) in ["WIDTH", "PER_SIGMA", "REACH", "FACTOR"].into_iter().zip(numbers) {
        // A string takes everything.
        let _ = writeln!(text, "const {name}: f32 = {:e}f;", value as f32);
    }
    text
}

fn num_tof(tof: Option<(TofBins, TofKernel)>) -> usize {
    tof.map_or(1, |(bins, _)| bins.num)
}

impl PerLor {
    /// Makes the projector between a grid and a scan; `rays` = rays per LOR, tangential and axial.
    ///
    /// # Errors
    /// Tables longer than a binding of the device, device failure.
    pub fn new(
        backend: &mut WebGpuBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
    ) -> Result<Self, OperatorError> {
        Self::of(backend, &geometry, grid, fov_radius_mm, rays, None)
    }

    /// The same with bins of the time of flight: the data of a subset are `[tof][plane][view][tangential_pos]`
    /// ([`crate::operator::Siddon::with_tof`]).
    ///
    /// # Errors
    /// As for [`PerLor::new`].
    pub fn with_tof(
        backend: &mut WebGpuBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
        tof: (TofBins, TofKernel),
    ) -> Result<Self, OperatorError> {
        Self::of(backend, &geometry, grid, fov_radius_mm, rays, Some(tof))
    }

    fn of(
        backend: &mut WebGpuBackend,
        geometry: &ScanGeometry,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
        tof: Option<(TofBins, TofKernel)>,
    ) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let in_plane = InPlanePaths::of_all(geometry, &grid, &fov, rays[0].max(1));
        let paths: Vec<PathRow> = in_plane.paths.iter().map(path_row).collect();
        let num_rays = rays[1].max(1);
        let lines = PlaneLine::of_all(geometry, &grid, num_rays);
        let plan = Plan {
            num_tangential: geometry.num_tangential as u32,
            num_planes: geometry.num_planes() as u32,
            num_rays: num_rays as u32,
            nz: grid.size[2] as u32,
            num_columns: (grid.size[0] * grid.size[1]) as u32,
            ..Plan::default()
        };
        let [forward, back] = sources(tof);
        Ok(Self {
            paths: backend.table(&paths)?,
            lor_paths: backend.table(&in_plane.first)?,
            lines: backend.table(&lines)?,
            unseen: Unseen::new(backend, &grid, &fov, 1)?,
            forward: backend.gpu().kernel("forward", &forward)?,
            back: AddingKernel::new("back", back),
            accumulations: accumulations(backend.gpu()),
            views: Views::by_subset(geometry, BinOrder::Radial).with_tof(num_tof(tof)),
            voxels: Voxels::new(grid, fov),
            plan,
            launches: Launches::default(),
        })
    }

    /// Dispatches a kernel for some bins of a subset: once for each buffer of the data and each buffer of the image.
    fn record(
        &self,
        commands: &mut Commands,
        kernel: &Kernel,
        (subset, bins): (Subset, Range<usize>),
        [(data_binding, data), (image_binding, image)]: [(u32, &Segments); 2],
        scale: f32,
    ) {
        let num_views = self.views.of(subset).len();
        // (There can be more than 2³² bins with time of flight.)
        let plane_len = self.views.num_tangential() * num_views;
        for (Segment { buffer, places }, bins) in data.of(bins) {
            for (number, of_image) in image.all().enumerate() {
                let plan = Plan {
                    scale,
                    first_view: subset.index as u32,
                    view_step: subset.count.max(1) as u32,
                    num_views: num_views as u32,
                    first_plane: (bins.start / plane_len) as u32,
                    first: (bins.start % plane_len) as u32,
                    count: bins.len() as u32,
                    data_at: (bins.start - places.start) as u32,
                    image_first: of_image.places.start as u32,
                    image_len: of_image.places.len() as u32,
                    adds: u32::from(number > 0),
                    ..self.plan
                };
                let tables = [(3, &self.paths), (4, &self.lor_paths), (5, &self.lines)];
                let [data, image] = [(data_binding, buffer), (image_binding, of_image.buffer)];
                let buffers = [data, image, tables[0], tables[1], tables[2]];
                commands.dispatch_bound(kernel, bins.len().div_ceil(THREADS), &plan, &buffers);
            }
        }
    }
}

fn path_row((path, share): &(InPlanePath, f32)) -> PathRow {
    PathRow {
        next: path.next_f32(),
        pitch: path.pitch.map(|pitch| pitch as f32),
        length_mm: path.length_mm as f32,
        start_mm: path.start_mm as f32,
        lor_mm: path.lor_mm as f32,
        column: path.column as i32,
        stride: path.stride.map(|stride| stride as i32),
        share: *share,
        padding: 0,
    }
}

impl Projecting for PerLor {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.views.len(subset)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.accumulations
    }

    fn prepare(&self, backend: &mut WebGpuBackend, _: Subset, adder: Option<Adder>) -> Result<(), OperatorError> {
        if let Some(adder) = adder {
            self.back.get(backend.gpu(), adder)?;
        }
        Ok(())
    }

    fn record_forward(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        x: &Segments,
        out: &Segments,
    ) -> Result<(), WebGpuError> {
        self.record(commands, &self.forward, (subset, units), [(2, out), (1, x)], 1.0);
        Ok(())
    }

    fn record_add(
        &self,
        commands: &mut Commands,
        subset: Subset,
        units: Range<usize>,
        q: &Segments,
        to: &Target<'_>,
    ) -> Result<(), WebGpuError> {
        let kernel = self.back.get(commands.gpu(), to.adder)?;
        self.record(commands, &kernel, (subset, units), [(2, q), (6, to.sums)], to.scale);
        Ok(())
    }

    /// Sets the image to zero outside the field of view.
    fn finish(&self, backend: &mut WebGpuBackend, image: &mut WebGpuArray<Image>) {
        self.unseen.clear(backend, image);
    }
}

impl ProjectingViews for PerLor {
    fn views(&self) -> &Views {
        &self.views
    }
}
