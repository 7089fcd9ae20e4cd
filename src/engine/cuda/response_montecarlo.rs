//! The Monte Carlo of a ring's response on a CUDA device (`kernels/montecarlo/response_montecarlo.cu`; the definition is
//! [`crate::montecarlo::ResponseTally`]). The tallies stay on the device; what leaves it are the elements above 0.

use cudarc::driver::{CudaSlice, DeviceRepr};

use super::backend::CudaBackend;
use super::device::driver::{clear, copied, zeros};
use super::device::pacing::Pace;
use super::error::CudaError;
use super::kernel::one_each;
use super::launches::montecarlo_crystals::Crystals;
use super::launches::montecarlo_track::MaterialTables;
use super::launches::response_montecarlo::{Functions, Kernels, Ring, Simulation};
use crate::algebra::RingBasis;
use crate::montecarlo::{
    HistoryError, Response, ResponseElements, ResponseExtent, ResponsePart, ResponseStatistics, ResponseTotals, RingDetector,
    TALLY_LIMIT, WEIGHT_UNITS, scale_above,
};
use crate::operator::{Misfit, OperatorError};
use crate::random;
use crate::task::Task;

/// Threads of a block, as in the kernel.
const THREADS_PER_BLOCK: u32 = 128;
/// Duration of a launch.
const LAUNCH_SECS: f64 = 0.04;
/// Histories that are cut into launches together, so that the first launch on a device, a part of them, is a short one. After
/// them it is seen whether the tallies have room for more.
const HISTORIES_TOGETHER: u64 = 1 << 24;
/// Layers of modules that the kernel takes.
const MAX_LAYERS: usize = 4;

/// Tables of the kernel.
struct Tables {
    turns: CudaSlice<f64>,
    num_cells: CudaSlice<i32>,
    first_cell: CudaSlice<i32>,
    values: CudaSlice<f32>,
    inverse_images: CudaSlice<u32>,
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
    /// Units counted, units rejected as multiple, and number of counted histories.
    totals: CudaSlice<u64>,
    num_histories: u64,
}

/// Statistics of the tallies above 0.
struct TallyStatistics {
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
        let (ring, cells) = (&detector.ring, basis.cells());
        if ring.num_layers() > MAX_LAYERS {
            return Err(Misfit::Layers(MAX_LAYERS).into());
        }
        let num_tallies = part.basics.len() * ring.num_lors();
        let (values, _) = basis.table();
        let material = detector.material;
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
            inverse_images: backend.table(&ring.inverse_images(), 0)?,
            per_mm: backend.table(material.per_mm.as_flattened(), 0.0)?,
            squares: backend.table(squares, 0.0)?,
            cumulative: backend.table(cumulative, 0.0)?,
        };
        let stream = &backend.stream;
        let (sums, squares, totals) = (zeros(stream, num_tallies)?, zeros(stream, num_tallies)?, zeros(stream, 3)?);
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
        let mut num_taken = zeros(stream, 1)?;
        // Threads take histories until none is left: as many as are resident at once.
        let shape = kernels.response.resident_grid(&backend.info().limits, THREADS_PER_BLOCK)?;
        let begin = *num_histories;
        pace.run(backend, num as usize, task, |first, count| {
            clear(stream, &mut num_taken)?;
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
                &t.inverse_images,
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
        let mut largest = zeros(stream, 1)?;
        kernel.launch(
            stream,
            kernel.resident_grid(&self.backend.info().limits, THREADS_PER_BLOCK)?,
            &self.sums,
            num,
            &mut largest,
        )?;
        Ok(self.copied(&largest)?[0])
    }

    fn copied<T: DeviceRepr + Default + Clone>(&self, values: &CudaSlice<T>) -> Result<Vec<T>, CudaError> {
        copied(&self.backend.stream, "copy from the device", values)
    }

    fn tally_statistics(&self) -> Result<TallyStatistics, CudaError> {
        let stream = &self.backend.stream;
        let num_lors = self.simulation.num_lors;
        let mut lens = zeros(stream, num_lors as usize)?;
        let mut largest = zeros(stream, 1)?;
        let mut effective = zeros(stream, 1)?;
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
        Ok(TallyStatistics {
            lens: self.copied(&lens)?,
            largest: self.copied(&largest)?[0],
            effective: self.copied(&effective)?[0],
        })
    }

    fn written(&self) -> Result<ResponseElements, CudaError> {
        let stream = &self.backend.stream;
        let TallyStatistics { lens, largest, .. } = self.tally_statistics()?;
        let mut first = Vec::with_capacity(lens.len() + 1);
        first.push(0u64);
        for len in lens {
            first.push(first[first.len() - 1] + u64::from(len));
        }
        let num_elements = first[first.len() - 1] as usize;
        let of_device = self.backend.table(&first, 0)?;
        let mut elements = zeros(stream, num_elements.max(1))?;
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
        let (ring, cells, (values, _)) = (&detector.ring, basis.cells(), basis.table());
        let num_rings = cells.rings().map(|(num_cells, _)| num_cells.len());
        let (num_squares, squares_radius_mm) = cells.squares().unwrap_or_default();
        let ResponseExtent { radius_mm, heights_mm: [low_mm, high_mm], .. } = part.extent;
        let crystals: Vec<(Crystals, f64)> = detector.layers().map(|(head, front_mm)| (Crystals::new(head), front_mm)).collect();
        // Missing layers are never read.
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
            tables: MaterialTables::new(detector.material),
            extent_mm: [radius_mm, low_mm, high_mm],
            units: WEIGHT_UNITS,
            num_lors: ring.num_lors() as u64,
            num_crystals: ring.num_crystals() as i32,
            key: random::key(seed),
        }
    }
}

impl Response for ResponseMonteCarlo<'_> {
    fn add(&mut self, num: u64, task: &Task) -> Result<(), HistoryError> {
        let mut left = num;
        while left > 0 {
            let together = left.min(HISTORIES_TOGETHER);
            self.follow(together, task)?;
            if self.largest_sum()? >= TALLY_LIMIT {
                return Err(HistoryError::TallyFull);
            }
            left -= together;
        }
        Ok(())
    }

    fn statistics(&mut self) -> Result<ResponseStatistics, HistoryError> {
        let found = self.tally_statistics()?;
        let totals = self.copied(&self.totals)?;
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

    fn elements(&mut self, task: &Task) -> Result<ResponseElements, HistoryError> {
        task.check()?;
        Ok(self.written()?)
    }
}
