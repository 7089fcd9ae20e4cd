//! A stored matrix on a CUDA device (`kernels/stored_matrix.cu`; the definition is [`crate::operator::StoredMatrix`]).

use std::sync::{Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};

use super::kernel::{Kernel, Module, launch, one_each};
use super::{CudaArray, CudaBackend};
use crate::algebra::{Data, Image};
use crate::data::ResponseMatrix;
use crate::operator::{Accumulation, CrystalPairs, DataSpace, LinearOperator, OperatorError, Subset, check_lengths};
use crate::random::stream;
use crate::task::Task;

/// Symmetries that the kernels are made for.
const SYMMETRIES: usize = 72;
/// Rows of an orbit, and elements of a column, that a block works on at once.
const ROWS_AT_ONCE: u32 = 16;
const COLUMNS_AT_ONCE: u32 = 4;
/// Seed of the random order of lines.
const ORDER_SEED: u64 = 2012;

/// `Plan` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PlanHead {
    num_orbits: i32,
    num_basic: i32,
    num_central: i32,
    scale: f32,
}

#[allow(unsafe_code)]
// SAFETY: `repr(C)` with fields of plain numbers, laid out as the struct of the kernels.
unsafe impl DeviceRepr for PlanHead {}

/// The elements in the order of the basic functions.
struct Columns {
    first: CudaSlice<u64>,
    places: CudaSlice<u32>,
    values: CudaSlice<u16>,
}

struct Kernels {
    forward: Kernel,
    gather: Kernel,
    forward_by_lor: Kernel,
    gather_by_function: Kernel,
    scatter_atomic: Kernel,
    scatter_non_atomic: Kernel,
    scatter_central_atomic: Kernel,
}

/// A stored matrix. Images are `[basic][symmetry]`, data `[orbit][symmetry]`.
pub struct StoredMatrix {
    head: PlanHead,
    pairs: CrystalPairs,
    lors: CudaSlice<u32>,
    firsts: CudaSlice<u8>,
    products: CudaSlice<u8>,
    undone: CudaSlice<u8>,
    first: CudaSlice<u64>,
    elements: CudaSlice<u32>,
    columns: Columns,
    kernels: Kernels,
    /// Places in a random order, made when first needed.
    order: Mutex<Option<CudaSlice<u32>>>,
    /// Whether projections are made with the paper's layout too.
    by_lor: bool,
}

impl StoredMatrix {
    /// The operator of a matrix; `num_central` basic functions, the first ones, are those of the two central slices.
    ///
    /// # Errors
    /// A ring with another number of symmetries than 72, device failure.
    pub fn new(
        backend: &CudaBackend,
        matrix: &ResponseMatrix,
        pairs: CrystalPairs,
        num_central: usize,
    ) -> Result<Self, OperatorError> {
        if pairs.num_symmetries() != SYMMETRIES {
            let text = format!("stored matrices are used with {SYMMETRIES} symmetries; this ring has {}", pairs.num_symmetries());
            return Err(OperatorError::Unsuitable(text));
        }
        let orbits = || 0..pairs.num_orbits();
        let own: Vec<u8> = (0..SYMMETRIES as u8).collect();
        let first_places =
            |orbit| pairs.firsts(orbit).map_or_else(|| own.clone(), |firsts| firsts.iter().map(|&f| f as u8).collect());
        let products: Vec<u8> = (0..SYMMETRIES).flat_map(|h| pairs.products(h)).map(|&gh| gh as u8).collect();
        let mut undone = vec![0u8; SYMMETRIES * SYMMETRIES];
        for h in 0..SYMMETRIES {
            for (g, &gh) in pairs.products(h).iter().enumerate() {
                undone[usize::from(gh) * SYMMETRIES + g] = h as u8;
            }
        }
        let head = PlanHead {
            num_orbits: pairs.num_orbits() as i32,
            num_basic: matrix.num_basic as i32,
            num_central: num_central as i32,
            scale: matrix.scale_mm3,
        };
        let module = Module::load(&backend.context, include_str!("../../kernels/ptx/stored_matrix.ptx"))?;
        Ok(Self {
            head,
            lors: backend.table(&orbits().flat_map(|orbit| pairs.orbit(orbit)).copied().collect::<Vec<u32>>(), 0)?,
            firsts: backend.table(&orbits().flat_map(first_places).collect::<Vec<u8>>(), 0)?,
            products: backend.table(&products, 0)?,
            undone: backend.table(&undone, 0)?,
            first: backend.table(&matrix.first, 0)?,
            elements: backend.table(bytemuck::cast_slice(&matrix.elements), 0)?,
            columns: columns(backend, matrix, &pairs)?,
            kernels: Kernels {
                forward: module.kernel("forward")?,
                gather: module.kernel("gather")?,
                forward_by_lor: module.kernel("forward_by_lor")?,
                gather_by_function: module.kernel("gather_by_function")?,
                scatter_atomic: module.kernel("scatter_atomic")?,
                scatter_non_atomic: module.kernel("scatter_non_atomic")?,
                scatter_central_atomic: module.kernel("scatter_central_atomic")?,
            },
            order: Mutex::default(),
            by_lor: false,
            pairs,
        })
    }

    /// The same with the paper's layout for the projection, and for the backprojection from the elements of each function.
    pub fn by_lor(mut self) -> Self {
        self.by_lor = true;
        self
    }

    fn num_places(&self) -> usize {
        self.pairs.len(Subset::ALL)
    }

    fn image_len(&self) -> usize {
        self.head.num_basic as usize * SYMMETRIES
    }

    /// The places, shuffled.
    fn random_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.num_places() as u32).collect();
        let mut random = stream(ORDER_SEED, 0);
        for last in (1..order.len()).rev() {
            // Fisher and Yates; a bias of 2⁻³² does not matter here.
            order.swap(last, ((u64::from(random.next_u32()) * (last as u64 + 1)) >> 32) as usize);
        }
        order
    }
}

/// The elements sorted by basic function, with the first place of each one's line.
fn columns(backend: &CudaBackend, matrix: &ResponseMatrix, pairs: &CrystalPairs) -> Result<Columns, OperatorError> {
    let mut first = vec![0u64; matrix.num_basic + 1];
    matrix.elements.iter().for_each(|element| first[element.basic() + 1] += 1);
    (0..matrix.num_basic).for_each(|basic| first[basic + 1] += first[basic]);
    let mut next = first.clone();
    let (mut places, mut values) = (vec![0u32; matrix.elements.len()], vec![0u16; matrix.elements.len()]);
    for (place, lor) in pairs.places() {
        for element in matrix.row(lor) {
            let at = &mut next[element.basic()];
            places[*at as usize] = place as u32;
            values[*at as usize] = element.value_bits();
            *at += 1;
        }
    }
    Ok(Columns { first: backend.table(&first, 0)?, places: backend.table(&places, 0)?, values: backend.table(&values, 0)? })
}

fn shape(num_blocks: usize, threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (num_blocks as u32, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// Launches a kernel of lines: `launch_lines!(self, stream, kernel, shape, argument, …)` with the arguments behind the tables.
macro_rules! launch_lines {
    ($self:expr, $stream:expr, $kernel:expr, $shape:expr, $($argument:expr),+) => {
        launch!(
            $stream, $kernel, $shape, &$self.head, &$self.lors, &$self.firsts, &$self.products, &$self.undone, &$self.first,
            &$self.elements, $($argument),+
        )
    };
}

impl LinearOperator<CudaBackend> for StoredMatrix {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([x.len(), self.image_len()], [out.len(), self.pairs.len(subset)])?;
        task.check()?;
        let (kernels, stream) = (&self.kernels, &backend.stream);
        if self.by_lor {
            launch_lines!(self, stream, kernels.forward_by_lor, one_each(self.num_places()), &x.0, &mut out.0)?;
        } else {
            let each_orbit = shape(self.pairs.num_orbits(), ROWS_AT_ONCE * SYMMETRIES as u32 / 4);
            launch_lines!(self, stream, kernels.forward, each_orbit, &x.0, &mut out.0)?;
        }
        Ok(())
    }

    fn adjoint(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        accumulation: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.image_len()], [q.len(), self.pairs.len(subset)])?;
        task.check()?;
        let (kernels, stream) = (&self.kernels, &backend.stream);
        let each_line = one_each(self.num_places());
        match accumulation {
            Accumulation::Deterministic | Accumulation::Reload => {
                let Columns { first, places, values } = &self.columns;
                let (kernel, shape) = if accumulation == Accumulation::Deterministic {
                    (&kernels.gather, shape(self.head.num_basic as usize, COLUMNS_AT_ONCE * SYMMETRIES as u32))
                } else {
                    (&kernels.gather_by_function, one_each(self.image_len()))
                };
                let (firsts, products) = (&self.firsts, &self.products);
                launch!(stream, kernel, shape, &self.head, firsts, products, first, places, values, &q.0, &mut out.0)?;
            }
            Accumulation::Atomic => {
                backend.clear(out)?;
                launch_lines!(self, stream, kernels.scatter_atomic, each_line, &q.0, &mut out.0)?;
            }
            Accumulation::NonAtomic => {
                backend.clear(out)?;
                launch_lines!(self, stream, kernels.scatter_non_atomic, each_line, &q.0, &mut out.0)?;
            }
            Accumulation::RandomCentralAtomic => {
                backend.clear(out)?;
                let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
                let order = match &mut *order {
                    Some(order) => order,
                    none => none.insert(backend.table(&self.random_order(), 0)?),
                };
                launch_lines!(self, stream, kernels.scatter_central_atomic, each_line, &*order, &q.0, &mut out.0)?;
            }
        }
        Ok(())
    }

    /// Gathered from each function's elements, which is the fastest; and the paper's four, which scatter each line's elements but
    /// for `reload`.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[
            Accumulation::Deterministic,
            Accumulation::Atomic,
            Accumulation::NonAtomic,
            Accumulation::Reload,
            Accumulation::RandomCentralAtomic,
        ]
    }

    fn scratch_bytes(&self, _: Subset, accumulation: Accumulation) -> u64 {
        if accumulation == Accumulation::RandomCentralAtomic { 4 * self.num_places() as u64 } else { 0 }
    }
}
