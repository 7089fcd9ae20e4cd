//! Penalties on a GPU (`shaders/compute/penalty.wgsl`; the definition is [`Penalty::terms`]).

use bytemuck::{Pod, Zeroable};

use crate::algebra::{BackendError, Image, VoxelPlaces};
use crate::recon::{PairWeights, Penalty, PenaltyKernels};
use crate::webgpu::array::{Segment, Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::kernel::{Kernel, THREADS};

/// `Penalty` of penalty.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Numbers {
    weights: [f32; 8],
    nx: u32,
    ny: u32,
    nz: u32,
    z_is_fastest: u32,
    potential: u32,
    has_kappa: u32,
    scale: f32,
    first: f32,
    second: f32,
    own_first: u32,
    own_len: u32,
    other_first: u32,
    other_len: u32,
    padding: [u32; 3],
}

/// The voxels of an image with their κ on a GPU.
pub struct WebGpuNeighbours {
    /// Values of an array.
    len: usize,
    /// Voxel sizes, order and weights.
    voxels: Numbers,
    places: wgpu::Buffer,
    fov_rows: wgpu::Buffer,
    /// κ in the order of an array; a single value where it is 1 everywhere.
    kappa: Segments,
    add_slopes: Kernel,
    add_curvatures: Kernel,
    sum_values: Kernel,
}

/// Voxels of one buffer and neighbours of one.
struct Part<'a> {
    own: &'a wgpu::Buffer,
    other: &'a wgpu::Buffer,
    own_kappa: &'a wgpu::Buffer,
    other_kappa: &'a wgpu::Buffer,
    /// Where the voxels' sums go.
    out: Option<&'a wgpu::Buffer>,
    numbers: Numbers,
}

impl WebGpuNeighbours {
    fn num_voxels(&self) -> usize {
        (self.voxels.nx * self.voxels.ny * self.voxels.nz) as usize
    }

    /// Returns the parts of a penalty's sums, with this factor; `out` has the buffers of x.
    fn parts<'a>(&'a self, penalty: &Penalty, scale: f64, x: &'a Segments, out: Option<&'a Segments>) -> Vec<Part<'a>> {
        let (potential, [first, second]) = penalty.potential.numbers();
        let numbers = Numbers { potential, first, second, scale: scale as f32, ..self.voxels };
        let of_own = |own: Segment<'a>| {
            x.all().map(move |other| Part {
                own: own.buffer,
                other: other.buffer,
                own_kappa: self.kappa.buffer_of(own.places.start),
                other_kappa: self.kappa.buffer_of(other.places.start),
                out: out.map(|out| out.buffer_of(own.places.start)),
                numbers: Numbers {
                    own_first: own.places.start as u32,
                    own_len: own.places.len() as u32,
                    other_first: other.places.start as u32,
                    other_len: other.places.len() as u32,
                    ..numbers
                },
            })
        };
        x.all().flat_map(of_own).collect()
    }

    /// `out` += scale · the sums of a kernel.
    fn add(
        &self,
        backend: &mut WebGpuBackend,
        kernel: &Kernel,
        (penalty, scale): (&Penalty, f64),
        x: &WebGpuArray<Image>,
        out: &WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        x.expect_len(self.len)?;
        out.expect_len(self.len)?;
        for Part { own, other, own_kappa, other_kappa, out, numbers } in self.parts(penalty, scale, &x.0, Some(&out.0)) {
            let Some(out) = out else { continue };
            let buffers = [out, own, other, own_kappa, other_kappa, &self.places, &self.fov_rows];
            backend.commands.dispatch(kernel, self.num_voxels().div_ceil(THREADS), &numbers, &buffers);
        }
        Ok(())
    }
}

impl PenaltyKernels for WebGpuBackend {
    type Neighbours = WebGpuNeighbours;

    fn neighbours(
        &mut self,
        penalty: &Penalty,
        places: VoxelPlaces,
        voxel_mm: [f64; 3],
    ) -> Result<WebGpuNeighbours, BackendError> {
        let kappa = penalty.kappa_of(&places)?.map(|kappa| places.arranged(kappa));
        let [nx, ny, nz] = places.size.map(|num| num as u32);
        let gpu = self.gpu().clone();
        let kernel = |entry| gpu.kernel(entry, include_str!("../../../../shaders/compute/penalty.wgsl"));
        let [add_slopes, add_curvatures, sum_values] = [kernel("add_slopes")?, kernel("add_curvatures")?, kernel("sum_values")?];
        Ok(WebGpuNeighbours {
            len: places.len,
            voxels: Numbers {
                weights: PairWeights::new(voxel_mm).table(),
                nx,
                ny,
                nz,
                z_is_fastest: u32::from(places.z_is_fastest()),
                has_kappa: u32::from(kappa.is_some()),
                ..Numbers::default()
            },
            places: self.table(&places.along.concat())?,
            fov_rows: self.table(&places.fov_rows)?,
            kappa: self.copied(&kappa.unwrap_or_else(|| vec![1.0]))?,
            add_slopes,
            add_curvatures,
            sum_values,
        })
    }

    fn subtract_penalty_gradient(
        &mut self,
        penalty: &Penalty,
        neighbours: &WebGpuNeighbours,
        x: &WebGpuArray<Image>,
        out: &mut WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        neighbours.add(self, &neighbours.add_slopes, (penalty, -penalty.strength), x, out)
    }

    fn penalty_value(
        &mut self,
        penalty: &Penalty,
        neighbours: &WebGpuNeighbours,
        x: &WebGpuArray<Image>,
    ) -> Result<f64, BackendError> {
        x.expect_len(neighbours.len)?;
        let parts = neighbours.parts(penalty, 1.0, &x.0, None);
        let lens = vec![neighbours.num_voxels(); parts.len()];
        let found = self.reduce::<1>(&lens, |commands, part, num_groups, partial| {
            let Part { own, other, own_kappa, other_kappa, numbers, .. } = &parts[part];
            let buffers = [partial, *own, *other, *own_kappa, *other_kappa, &neighbours.places];
            commands.dispatch(&neighbours.sum_values, num_groups, numbers, &buffers);
        })?;
        // Each pair is met from both sides.
        Ok(0.5 * penalty.strength * found.into_iter().map(|[sum]| f64::from(sum)).sum::<f64>())
    }

    fn add_penalty_curvature(
        &mut self,
        penalty: &Penalty,
        neighbours: &WebGpuNeighbours,
        x: &WebGpuArray<Image>,
        out: &mut WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        neighbours.add(self, &neighbours.add_curvatures, (penalty, penalty.strength), x, out)
    }
}
