//! The Monte Carlo of a ring's response on a CUDA device (`kernels/response_montecarlo.cu`; the definition is
//! [`crate::montecarlo::ResponseTally`]). The tallies stay on the device; what leaves it are the elements above 0.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};

use super::device::pacing::Pace;
use super::device::probe::guarded;
use super::kernel::{Kernel, one_each};
use super::launches::montecarlo_crystals::Crystals;
use super::launches::montecarlo_track::MaterialTables;
use super::launches::response_montecarlo::{Functions, Kernels, Ring, Simulation};
use super::{CudaBackend, CudaError};
use crate::algebra::RingBasis;
use crate::coded::PassedOn;
use crate::montecarlo::{
    FollowError, Response, ResponseElements, ResponseExtent, ResponsePart, ResponseStatistics, ResponseTotals, RingDetector,
    TALLY_LIMIT, WEIGHT_UNITS, scale_above,
};
use crate::operator::{Misfit, OperatorError};
use crate::random;
use crate::task::Task;

/// Threads of a block, as the kernel says.
const THREADS_PER_BLOCK: u32 = 128;
/// What a launch lasts.
const LAUNCH_SECS: f64 = 0.04;
/// Histories that are cut into launches together, so that the first launch on a device, a part of them, is a short one. After them it is
/// seen whether the tallies have room for more.
const HISTORIES_TOGETHER: u64 = 1 << 24;
/// Layers of modules that the kernel takes.
const MOST_LAYERS: usize = 4;

/// What the kernel reads beside its figures.
struct Tables {
    turns: CudaSlice<f64>,
    num_cells: CudaSlice<i32>,
    first_cell: CudaSlice<i32>,
    values: CudaSlice<f32>,
    undone: CudaSlice<u32>,
    per_mm: CudaSlice<f64>,
    squares: CudaSlice<f64>,
    cumulative: CudaSlice<f64>,
}

/// A simulation on a device.
pub struct ResponseMonteCarlo<'a> {
    backend: &'a CudaBackend,
    kernels: Kernels,
    pace: Pace,
    simulation: Simulation,
    tables: Tables,
    part: ResponsePart,
    num_symmetries: usize,
    sums: CudaSlice<u32>,
    squares: CudaSlice<u32>,
    /// Units of what is counted and of what is rejected as multiple, and how many are counted.
    totals: CudaSlice<u64>,
    num_histories: u64,
}

/// What is above 0 of the tallies.
struct Found {
    lens: Vec<u32>,
    largest: u32,
    effective: f64,
}

impl<'a> ResponseMonteCarlo<'a> {
    /// Nothing simulated yet.
    ///
    /// # Errors
    /// More layers than the kernel takes, device failure.
    pub fn new(
        backend: &'a CudaBackend,
        detector: &RingDetector,
        basis: &RingBasis,
        part: ResponsePart,
        seed: u64,
    ) -> Result<Self, OperatorError> {
        let (ring, cells) = (detector.ring(), basis.cells());
        if ring.num_layers() > MOST_LAYERS {
            return Err(Misfit::Layers(MOST_LAYERS).into());
        }
        let num_tallies = part.basics.len() * ring.num_lors();
        let (values, _) = basis.table();
        let material = detector.material();
        let [squares, cumulative] = material.form_factors();
        let turns = (0..ring.num_modules).flat_map(|module| {
            let (sin, cos) = ring.module_angle_rad(module).sin_cos();
            [cos, sin]
        });
        let (num_cells, first_cell) = cells.rings().unwrap_or_default();
        let ints = |numbers: &[usize]| -> Vec<i32> { numbers.iter().map(|&number| number as i32).collect() };
        let tables = Tables {
            turns: backend.table(&turns.collect::<Vec<f64>>(), 0.0)?,
            num_cells: backend.table(&ints(num_cells), 0)?,
            first_cell: backend.table(&ints(first_cell), 0)?,
            values: backend.table(values, 0.0)?,
            undone: backend.table(&ring.undone_crystals(), 0)?,
            per_mm: backend.table(material.table_per_mm().as_flattened(), 0.0)?,
            squares: backend.table(squares, 0.0)?,
            cumulative: backend.table(cumulative, 0.0)?,
        };
        let zeros = |len: usize| guarded("reserve memory", || backend.stream.alloc_zeros::<u32>(len));
        let (sums, squares) = (zeros(num_tallies)?, zeros(num_tallies)?);
        let totals = guarded("reserve memory", || backend.stream.alloc_zeros::<u64>(3))?;
        Ok(Self {
            simulation: Simulation::new(detector, basis, &part, seed),
            kernels: Kernels::load(&backend.context)?,
            pace: Pace::aiming_at(LAUNCH_SECS),
            tables,
            part,
            num_symmetries: ring.num_symmetries(),
            sums,
            squares,
            totals,
            num_histories: 0,
            backend,
        })
    }

    fn follow(&mut self, num: u64, task: &Task) -> Result<(), OperatorError> {
        let Self { backend, kernels, pace, simulation, tables: t, sums, squares, totals, num_histories, .. } = self;
        let stream = &backend.stream;
        let mut num_taken = guarded("reserve memory", || stream.alloc_zeros::<u64>(1))?;
        // Threads take histories until none is left: as many as are resident at once.
        let shape = resident(backend, &kernels.response)?;
        let begin = *num_histories;
        pace.run(backend, num as usize, task, |first, count| {
            guarded("clear memory", || stream.memset_zeros(&mut num_taken))?;
            let (first, count) = (begin + first as u64, count as u64);
            let end = first + count;
            kernels.response.launch(
                stream,
                shape,
                simulation,
                &t.turns,
                &t.num_cells,
                &t.first_cell,
                &t.values,
                &t.undone,
                &t.per_mm,
                &t.squares,
                &t.cumulative,
                first,
                end,
                &mut num_taken,
                sums,
                squares,
                totals,
            )?;
            task.advance(count);
            Ok(())
        })?;
        *num_histories += num;
        Ok(())
    }

    fn largest_sum(&self) -> Result<u32, CudaError> {
        let (stream, kernel, num) = (&self.backend.stream, &self.kernels.largest_sum, self.sums.len() as u64);
        let mut largest = guarded("reserve memory", || stream.alloc_zeros::<u32>(1))?;
        kernel.launch(stream, resident(self.backend, kernel)?, &self.sums, num, &mut largest)?;
        Ok(self.copied(&largest)?[0])
    }

    fn copied<T: DeviceRepr + Default + Clone>(&self, values: &CudaSlice<T>) -> Result<Vec<T>, CudaError> {
        guarded("copy from the device", || {
            let values = self.backend.stream.clone_dtoh(values)?;
            self.backend.stream.synchronize()?;
            Ok(values)
        })
    }

    fn found(&self) -> Result<Found, CudaError> {
        let stream = &self.backend.stream;
        let num_lors = self.simulation.num_lors;
        let mut lens = guarded("reserve memory", || stream.alloc_zeros::<u32>(num_lors as usize))?;
        let mut largest = guarded("reserve memory", || stream.alloc_zeros::<u32>(1))?;
        let mut effective = guarded("reserve memory", || stream.alloc_zeros::<f64>(1))?;
        let num_basic = self.part.basics.len() as i32;
        self.kernels.count_elements.launch(
            stream,
            one_each(num_lors as usize),
            &self.sums,
            &self.squares,
            num_lors,
            num_basic,
            self.simulation.units,
            &mut lens,
            &mut largest,
            &mut effective,
        )?;
        Ok(Found { lens: self.copied(&lens)?, largest: self.copied(&largest)?[0], effective: self.copied(&effective)?[0] })
    }

    fn written(&self) -> Result<ResponseElements, CudaError> {
        let stream = &self.backend.stream;
        let Found { lens, largest, .. } = self.found()?;
        let mut first = Vec::with_capacity(lens.len() + 1);
        first.push(0u64);
        for len in lens {
            first.push(first[first.len() - 1] + u64::from(len));
        }
        let num_elements = first[first.len() - 1] as usize;
        let of_device = self.backend.table(&first, 0)?;
        let mut elements = guarded("reserve memory", || stream.alloc_zeros::<u32>(num_elements.max(1)))?;
        let unit_mm3 = self.part.extent.mm3 / self.num_histories.max(1) as f64 / WEIGHT_UNITS;
        let scale_mm3 = scale_above(f64::from(largest) * unit_mm3);
        let unit = (unit_mm3 / f64::from(scale_mm3)) as f32;
        let Simulation { num_lors, functions: Functions { first_basic, num_basic, .. }, .. } = self.simulation;
        let (kernel, shape, sums) = (&self.kernels.write_elements, one_each(num_lors as usize), &self.sums);
        kernel.launch(stream, shape, sums, num_lors, first_basic, num_basic, unit, &of_device, &mut elements)?;
        let mut elements = self.copied(&elements)?;
        elements.truncate(num_elements);
        Ok(ResponseElements { first, elements: bytemuck::cast_vec(elements), scale_mm3 })
    }
}

impl Simulation {
    fn new(detector: &RingDetector, basis: &RingBasis, part: &ResponsePart, seed: u64) -> Self {
        let (ring, cells, (values, _)) = (detector.ring(), basis.cells(), basis.table());
        let num_rings = cells.rings().map(|(num_cells, _)| num_cells.len());
        let (num_squares, squares_radius_mm) = cells.squares().unwrap_or_default();
        let ResponseExtent { radius_mm, heights_mm: [low_mm, high_mm], .. } = part.extent;
        let crystals: Vec<(Crystals, f64)> = detector.layers().map(|(head, front_mm)| (Crystals::new(head), front_mm)).collect();
        // What is not there is never looked at.
        let layer = |number: usize| crystals[number.min(crystals.len() - 1)];
        Self {
            ring: Ring {
                layers: std::array::from_fn(|number| layer(number).0),
                front_mm: std::array::from_fn(|number| layer(number).1),
                radius_mm: ring.radius_mm,
                half_length_mm: ring.half_length_mm(),
                energy_resolution: ring.energy_resolution_percent / 100.0,
                threshold_kev: ring.threshold_kev,
                num_modules: ring.num_modules as i32,
                num_layers: ring.num_layers() as i32,
            },
            functions: Functions {
                spacing_mm: cells.spacing_mm(),
                reach_mm: basis.reach_mm(),
                squares_radius_mm,
                // The last value ends the last step.
                num_steps: values.len().saturating_sub(2) as i32,
                num_half_slices: cells.num_half_slices() as i32,
                num_rings: num_rings.unwrap_or(0) as i32,
                num_in_slice: cells.num_in_slice() as i32,
                num_squares: num_squares as i32,
                first_basic: part.basics.start as i32,
                num_basic: part.basics.len() as i32,
            },
            tables: MaterialTables::new(detector.material()),
            extent_mm: [radius_mm, low_mm, high_mm],
            units: WEIGHT_UNITS,
            num_lors: ring.num_lors() as u64,
            num_crystals: ring.num_crystals() as i32,
            key: random::key(seed),
        }
    }
}

/// As many blocks as are resident at once.
fn resident(backend: &CudaBackend, kernel: &Kernel) -> Result<LaunchConfig, CudaError> {
    let num_blocks = kernel.resident_blocks(THREADS_PER_BLOCK, 0)? * backend.info().limits.num_multiprocessors;
    Ok(LaunchConfig { grid_dim: (num_blocks.max(1), 1, 1), block_dim: (THREADS_PER_BLOCK, 1, 1), shared_mem_bytes: 0 })
}

fn told(error: OperatorError) -> FollowError {
    match error {
        OperatorError::Stopped(stopped) => FollowError::Stopped(stopped),
        error => FollowError::Device(PassedOn::of(&error)),
    }
}

impl Response for ResponseMonteCarlo<'_> {
    fn add(&mut self, num: u64, task: &Task) -> Result<(), FollowError> {
        let mut left = num;
        while left > 0 {
            let together = left.min(HISTORIES_TOGETHER);
            self.follow(together, task).map_err(told)?;
            if self.largest_sum().map_err(|error| told(error.into()))? >= TALLY_LIMIT {
                return Err(FollowError::TallyFull);
            }
            left -= together;
        }
        Ok(())
    }

    fn statistics(&mut self) -> Result<ResponseStatistics, FollowError> {
        let found = self.found().map_err(|error| told(error.into()))?;
        let totals = self.copied(&self.totals).map_err(|error| told(error.into()))?;
        let totals = ResponseTotals {
            num_histories: self.num_histories,
            num_counted: totals[2],
            counted: totals[0],
            multiple: totals[1],
            num_elements: found.lens.iter().map(|&len| u64::from(len)).sum(),
            effective: found.effective,
        };
        Ok(totals.statistics(self.num_symmetries))
    }

    fn elements(&mut self, task: &Task) -> Result<ResponseElements, FollowError> {
        task.check()?;
        self.written().map_err(|error| told(error.into()))
    }
}
