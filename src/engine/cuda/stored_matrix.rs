//! A system matrix on a CUDA device (`kernels/matrix/stored_matrix.cuh`; the definition is [`crate::operator::StoredMatrix`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaSlice, LaunchConfig};

use super::backend::{CudaArray, CudaBackend};
use super::error::CudaError;
use super::kernel::one_each;
use super::launches::stored_matrix::{Kernels, OfLines, Plan as PlanHead};
use crate::algebra::{Data, Image};
use crate::data::ResponseMatrix;
use crate::operator::{
    Accumulation, CrystalPairs, DataSpace, LinearOperator, MatrixColumns, MatrixOrder, OperatorError, Residence,
    STORED_SYMMETRIES, Subset, check_lengths, check_symmetries,
};
use crate::random::{self, shuffled};
use crate::task::Task;

/// Seed of the random order of lines.
const ORDER_SEED: u64 = 2012;

/// Kernels for a number of symmetries, as in their files.
struct Variant {
    kernels: Kernels,
    /// Threads of a block of the fast pair.
    forward_threads: u32,
    gather_threads: u32,
}

fn variant(backend: &CudaBackend, num_symmetries: usize) -> Result<Variant, CudaError> {
    // Rows (and parts of each) times four symmetries a thread; columns times symmetries.
    Ok(if num_symmetries == STORED_SYMMETRIES[0] {
        let kernels = Kernels::load(&backend.context)?;
        Variant { kernels, forward_threads: 16 * 72 / 4, gather_threads: 4 * 72 }
    } else {
        let kernels = Kernels::load_cubes(&backend.context)?;
        Variant { kernels, forward_threads: 8 * 16 * 8 / 4, gather_threads: 32 * 8 }
    })
}

/// The elements that are on the device.
#[derive(Default)]
struct LoadedElements {
    lines: Option<CudaSlice<u32>>,
    /// Places and values.
    functions: Option<(CudaSlice<u32>, CudaSlice<u16>)>,
}

/// A system matrix. Images are `[basic][symmetry]`, data `[orbit][symmetry]`.
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
    loaded: Mutex<LoadedElements>,
    variant: Variant,
    /// Places in a random order, made when first needed.
    order: Mutex<Option<CudaSlice<u32>>>,
    /// True if projections have the paper's layout too.
    by_lor: bool,
}

impl StoredMatrix {
    /// Makes the operator of a matrix; `num_central` basic functions, the first ones, are those of the two central slices.
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
        let variant = variant(backend, num_symmetries)?;
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
            loaded: Mutex::default(),
            variant,
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

    /// Copies an order of the elements to the device, unless the device has it; if only one has room it replaces the other.
    ///
    /// # Errors
    /// Device failure.
    pub fn load(&self, backend: &CudaBackend, order: MatrixOrder) -> Result<(), OperatorError> {
        self.loaded(backend, order).map(drop)
    }

    fn loaded(&self, backend: &CudaBackend, order: MatrixOrder) -> Result<MutexGuard<'_, LoadedElements>, OperatorError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        match order {
            MatrixOrder::Lines if loaded.lines.is_none() => {
                if self.residence == Residence::OneOrder {
                    loaded.functions = None;
                }
                loaded.lines = Some(backend.table(bytemuck::cast_slice(&self.matrix.elements), 0)?);
            }
            MatrixOrder::Functions if loaded.functions.is_none() => {
                if self.residence == Residence::OneOrder {
                    loaded.lines = None;
                }
                loaded.functions = Some((backend.table(&self.columns.places, 0)?, backend.table(&self.columns.values, 0)?));
            }
            _ => {}
        }
        Ok(loaded)
    }

    /// Returns the bytes of a call without its arguments and the elements.
    pub fn scratch_bytes_of(pairs: &CrystalPairs, accumulation: Accumulation) -> u64 {
        if accumulation == Accumulation::RandomCentralAtomic { 4 * pairs.len(Subset::ALL) as u64 } else { 0 }
    }

    /// The same with the paper's layout for the projection, and for the backprojection from the elements of each function.
    pub fn by_lor(mut self) -> Self {
        self.by_lor = true;
        self
    }

    /// Returns the arguments of the kernels of lines.
    fn of_lines<'a>(&'a self, loaded: &'a LoadedElements) -> Result<OfLines<'a>, OperatorError> {
        let elements = loaded.lines.as_ref().ok_or_else(not_loaded)?.as_view();
        let [firsts, products, undone] = [&self.firsts, &self.products, &self.undone].map(CudaSlice::as_view);
        Ok(OfLines { lors: self.lors.as_view(), firsts, products, undone, first: self.first_of_lines.as_view(), elements })
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

fn not_loaded() -> OperatorError {
    CudaError::NotLoaded.into()
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
        let loaded = self.loaded(backend, MatrixOrder::Lines)?;
        let (stream, lines) = (&backend.stream, self.of_lines(&loaded)?);
        let Variant { kernels, forward_threads, .. } = &self.variant;
        if self.by_lor {
            kernels.forward_by_lor.launch(stream, one_each(self.num_places()), &self.head, &lines, &x.0, &mut out.0)?;
        } else {
            let each_orbit = shape(self.pairs.num_orbits(), *forward_threads);
            kernels.forward.launch(stream, each_orbit, &self.head, &lines, &x.0, &mut out.0)?;
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
        let Variant { kernels, gather_threads, .. } = &self.variant;
        let (stream, head, each_line) = (&backend.stream, &self.head, one_each(self.num_places()));
        if let Accumulation::Deterministic | Accumulation::Reload = accumulation {
            let loaded = self.loaded(backend, MatrixOrder::Functions)?;
            let Some((places, values)) = &loaded.functions else { return Err(not_loaded()) };
            let (firsts, products, first, q, out) = (&self.firsts, &self.products, &self.first_of_functions, &q.0, &mut out.0);
            if accumulation == Accumulation::Deterministic {
                let each_function = shape(self.head.num_basic as usize, *gather_threads);
                kernels.gather.launch(stream, each_function, head, firsts, products, first, places, values, q, out)?;
            } else {
                let each_value = one_each(self.image_len());
                kernels.gather_by_function.launch(stream, each_value, head, firsts, products, first, places, values, q, out)?;
            }
            return Ok(());
        }
        backend.clear(out)?;
        let loaded = self.loaded(backend, MatrixOrder::Lines)?;
        let lines = self.of_lines(&loaded)?;
        match accumulation {
            Accumulation::NonAtomic => {
                kernels.scatter_non_atomic.launch(stream, each_line, head, &lines, &q.0, &mut out.0)?;
            }
            Accumulation::RandomCentralAtomic => {
                let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
                let order = match &mut *order {
                    Some(order) => order,
                    none => {
                        let shuffled = shuffled(self.num_places() as u32, &mut random::stream(ORDER_SEED, 0));
                        none.insert(backend.table(&shuffled, 0)?)
                    }
                };
                kernels.scatter_central_atomic.launch(stream, each_line, head, &lines, order, &q.0, &mut out.0)?;
            }
            _ => kernels.scatter_atomic.launch(stream, each_line, head, &lines, &q.0, &mut out.0)?,
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
