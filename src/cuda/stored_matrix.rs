//! A stored matrix on a CUDA device (`kernels/stored_matrix.cuh`; the definition is [`crate::operator::StoredMatrix`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};

use super::kernel::{Kernel, Module, launch, one_each};
use super::{CudaArray, CudaBackend};
use crate::algebra::{BackendError, Data, Image};
use crate::data::ResponseMatrix;
use crate::operator::{
    Accumulation, CrystalPairs, DataSpace, LinearOperator, MatrixColumns, MatrixOrder, OperatorError, Residence,
    STORED_SYMMETRIES, Subset, check_lengths, check_symmetries,
};
use crate::random::{shuffled, stream};
use crate::task::Task;

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

/// How kernels are made for a number of symmetries, as their files say.
struct Variant {
    ptx: &'static str,
    /// Threads of a block of the fast pair.
    forward_threads: u32,
    gather_threads: u32,
}

fn variant(num_symmetries: usize) -> Variant {
    // Rows (and parts of each) times four symmetries a thread; columns times symmetries.
    if num_symmetries == STORED_SYMMETRIES[0] {
        let ptx = include_str!("../../kernels/ptx/stored_matrix.ptx");
        Variant { ptx, forward_threads: 16 * 72 / 4, gather_threads: 4 * 72 }
    } else {
        let ptx = include_str!("../../kernels/ptx/stored_matrix_cubes.ptx");
        Variant { ptx, forward_threads: 8 * 16 * 8 / 4, gather_threads: 32 * 8 }
    }
}

/// The elements that are on the device.
#[derive(Default)]
struct Held {
    lines: Option<CudaSlice<u32>>,
    /// Places and values.
    functions: Option<(CudaSlice<u32>, CudaSlice<u16>)>,
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
    first_of_lines: CudaSlice<u64>,
    first_of_functions: CudaSlice<u64>,
    matrix: Arc<ResponseMatrix>,
    columns: MatrixColumns,
    residence: Residence,
    held: Mutex<Held>,
    variant: Variant,
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
    /// Another number of symmetries than [`STORED_SYMMETRIES`], device failure.
    pub fn new(
        backend: &CudaBackend,
        matrix: &Arc<ResponseMatrix>,
        pairs: CrystalPairs,
        num_central: usize,
        residence: Residence,
    ) -> Result<Self, OperatorError> {
        check_symmetries(&pairs)?;
        let num_symmetries = pairs.num_symmetries();
        let orbits = || 0..pairs.num_orbits();
        let own: Vec<u8> = (0..num_symmetries as u8).collect();
        let first_places =
            |orbit| pairs.firsts(orbit).map_or_else(|| own.clone(), |firsts| firsts.iter().map(|&f| f as u8).collect());
        let products: Vec<u8> = (0..num_symmetries).flat_map(|h| pairs.products(h)).map(|&gh| gh as u8).collect();
        let mut undone = vec![0u8; num_symmetries * num_symmetries];
        for h in 0..num_symmetries {
            for (g, &gh) in pairs.products(h).iter().enumerate() {
                undone[usize::from(gh) * num_symmetries + g] = h as u8;
            }
        }
        let head = PlanHead {
            num_orbits: pairs.num_orbits() as i32,
            num_basic: matrix.num_basic as i32,
            num_central: num_central as i32,
            scale: matrix.scale_mm3,
        };
        let variant = variant(num_symmetries);
        let module = Module::load(&backend.context, variant.ptx)?;
        let columns = MatrixColumns::new(matrix, &pairs);
        let new = Self {
            head,
            lors: backend.table(&orbits().flat_map(|orbit| pairs.orbit(orbit)).copied().collect::<Vec<u32>>(), 0)?,
            firsts: backend.table(&orbits().flat_map(first_places).collect::<Vec<u8>>(), 0)?,
            products: backend.table(&products, 0)?,
            undone: backend.table(&undone, 0)?,
            first_of_lines: backend.table(&matrix.first, 0)?,
            first_of_functions: backend.table(&columns.first, 0)?,
            matrix: Arc::clone(matrix),
            columns,
            residence,
            held: Mutex::default(),
            variant,
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
        };
        if residence == Residence::Both {
            new.load(backend, MatrixOrder::Functions)?;
        }
        new.load(backend, MatrixOrder::Lines)?;
        Ok(new)
    }

    /// Brings an order of the elements to the device, unless it is there; where only one has room the other leaves.
    ///
    /// # Errors
    /// Device failure.
    pub fn load(&self, backend: &CudaBackend, order: MatrixOrder) -> Result<(), OperatorError> {
        self.held(backend, order).map(drop)
    }

    fn held(&self, backend: &CudaBackend, order: MatrixOrder) -> Result<MutexGuard<'_, Held>, OperatorError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match order {
            MatrixOrder::Lines if held.lines.is_none() => {
                if self.residence == Residence::OneOrder {
                    held.functions = None;
                }
                held.lines = Some(backend.table(bytemuck::cast_slice(&self.matrix.elements), 0)?);
            }
            MatrixOrder::Functions if held.functions.is_none() => {
                if self.residence == Residence::OneOrder {
                    held.lines = None;
                }
                held.functions = Some((backend.table(&self.columns.places, 0)?, backend.table(&self.columns.values, 0)?));
            }
            _ => {}
        }
        Ok(held)
    }

    /// Bytes that a call needs beside its arguments and the elements.
    pub fn scratch_bytes_of(pairs: &CrystalPairs, accumulation: Accumulation) -> u64 {
        if accumulation == Accumulation::RandomCentralAtomic { 4 * pairs.len(Subset::ALL) as u64 } else { 0 }
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
        self.head.num_basic as usize * self.pairs.num_symmetries()
    }
}

fn shape(num_blocks: usize, threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (num_blocks as u32, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// Launches a kernel of lines: `launch_lines!(self, backend, kernel, shape, argument, …)` with the arguments behind the tables.
macro_rules! launch_lines {
    ($self:expr, $backend:expr, $kernel:expr, $shape:expr, $($argument:expr),+) => {{
        let held = $self.held($backend, MatrixOrder::Lines)?;
        let Some(elements) = &held.lines else { return Err(not_loaded()) };
        launch!(
            $backend.stream, $kernel, $shape, &$self.head, &$self.lors, &$self.firsts, &$self.products, &$self.undone,
            &$self.first_of_lines, elements, $($argument),+
        )
    }};
}

fn not_loaded() -> OperatorError {
    BackendError::Device("the system matrix is not on the device".into()).into()
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
        let kernels = &self.kernels;
        if self.by_lor {
            launch_lines!(self, backend, kernels.forward_by_lor, one_each(self.num_places()), &x.0, &mut out.0)?;
        } else {
            let each_orbit = shape(self.pairs.num_orbits(), self.variant.forward_threads);
            launch_lines!(self, backend, kernels.forward, each_orbit, &x.0, &mut out.0)?;
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
        let kernels = &self.kernels;
        let each_line = one_each(self.num_places());
        match accumulation {
            Accumulation::Deterministic | Accumulation::Reload => {
                let (kernel, shape) = if accumulation == Accumulation::Deterministic {
                    (&kernels.gather, shape(self.head.num_basic as usize, self.variant.gather_threads))
                } else {
                    (&kernels.gather_by_function, one_each(self.image_len()))
                };
                let held = self.held(backend, MatrixOrder::Functions)?;
                let Some((places, values)) = &held.functions else { return Err(not_loaded()) };
                let (firsts, products, first) = (&self.firsts, &self.products, &self.first_of_functions);
                launch!(backend.stream, kernel, shape, &self.head, firsts, products, first, places, values, &q.0, &mut out.0)?;
            }
            Accumulation::Atomic => {
                backend.clear(out)?;
                launch_lines!(self, backend, kernels.scatter_atomic, each_line, &q.0, &mut out.0)?;
            }
            Accumulation::NonAtomic => {
                backend.clear(out)?;
                launch_lines!(self, backend, kernels.scatter_non_atomic, each_line, &q.0, &mut out.0)?;
            }
            Accumulation::RandomCentralAtomic => {
                backend.clear(out)?;
                let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
                let order = match &mut *order {
                    Some(order) => order,
                    none => {
                        let shuffled = shuffled(self.num_places() as u32, &mut stream(ORDER_SEED, 0));
                        none.insert(backend.table(&shuffled, 0)?)
                    }
                };
                launch_lines!(self, backend, kernels.scatter_central_atomic, each_line, &*order, &q.0, &mut out.0)?;
            }
        }
        Ok(())
    }

    /// Gathered from each function's elements, which is the fastest; and the paper's four, which scatter each line's elements but
    /// for `reload`.
    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_MATRICES
    }

    fn scratch_bytes(&self, _: Subset, accumulation: Accumulation) -> u64 {
        Self::scratch_bytes_of(&self.pairs, accumulation)
    }
}
