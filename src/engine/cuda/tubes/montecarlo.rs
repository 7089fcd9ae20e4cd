//! The Monte Carlo of tubes of response on a CUDA device (`kernels/montecarlo/tubes_montecarlo.cu`; the definition is
//! [`crate::montecarlo`]). It adds to the same [`TubeTally`] as the host, in the same integers.

use cudarc::driver::CudaSlice;

use crate::cuda::backend::CudaBackend;
use crate::cuda::device::driver::{clear, copied, zeros};
use crate::cuda::device::pacing::Pace;
use crate::cuda::error::CudaError;
use crate::cuda::launches::montecarlo_crystals::Crystals;
use crate::cuda::launches::montecarlo_start::{HeadPair, Pose, Source};
use crate::cuda::launches::montecarlo_track::{MaterialTables, Readout};
use crate::cuda::launches::tubes_montecarlo::{Kernels, Simulation, Tubes};
use crate::montecarlo::{
    Coincidences, CrystalHead, HistoryError, HistorySimulator, Material, RangeProfile, STEPS_PER_KEV, TallySums, TubeTally,
};
use crate::operator::OperatorError;
use crate::random;
use crate::scanner::HeadPose;
use crate::task::Task;

/// Threads of a block, as in the kernel.
const THREADS_PER_BLOCK: u32 = 128;
/// Duration of a launch: long against the one history that each thread may still simulate at its end.
const LAUNCH_SECS: f64 = 0.04;
/// Histories that are cut into launches together, so that the first launch on a device, a part of them, is a short one.
const HISTORIES_TOGETHER: u64 = 1 << 26;

impl Pose {
    fn new(pose: &HeadPose) -> Self {
        let [towards, across] = pose.axes();
        Self { towards, across, distance_mm: pose.distance_mm }
    }
}

impl Source {
    fn new(coincidences: &Coincidences) -> Self {
        let (physics, heads) = (&coincidences.physics, &coincidences.heads);
        // With a share below 0 the kernel annihilates positrons at once.
        let at_once = RangeProfile { share: -1.0, per_mm: [1.0; 2] };
        let RangeProfile { share, per_mm } = physics.range_of.map_or(at_once, |isotope| isotope.profile());
        Self {
            range_share: share,
            range_per_mm: per_mm,
            noncollinearity_rad: physics.noncollinearity_rad(),
            object_radius_mm: coincidences.object_radius_mm(),
            face_mm: coincidences.face_mm(),
            ring_mm: heads.crystals.pitch_mm,
            num_rings: coincidences.num_face_rings() as i32,
            num_pairs: heads.coincidences.len() as i32,
        }
    }
}

impl Crystals {
    pub(in crate::cuda) fn new(head: &CrystalHead) -> Self {
        let array = &head.array;
        Self {
            pitch_mm: array.pitch_mm,
            crystal_mm: array.crystal_mm,
            half_head_mm: head.half_head_mm,
            num: array.num.map(|num| num as i32),
        }
    }
}

impl MaterialTables {
    pub(in crate::cuda) fn new(material: &Material) -> Self {
        Self {
            lowest_kev: material.lowest_kev,
            steps_per_kev: STEPS_PER_KEV,
            num_energies: material.per_mm.len() as i32,
            num_squares: material.form_factors()[0].len() as i32,
        }
    }
}

impl Tubes {
    fn new(tally: &TubeTally) -> Self {
        let (geometry, sampling) = (&tally.coincidences.geometry, &tally.sampling);
        let [unit_mm3, largest_mm3] = tally.units_mm3();
        Self {
            spacing_mm: sampling.spacing_mm,
            bin_mm: geometry.central_bin_mm(),
            ring_spacing_mm: geometry.ring_spacing_mm,
            diameter_mm: 2.0 * geometry.radius_mm(),
            depth_of_interaction_mm: geometry.depth_of_interaction_mm,
            unit_mm3,
            largest_mm3,
            num: sampling.num.map(|num| num as i32),
            num_radial: sampling.num_radial as i32,
            num_ring_differences: sampling.num_ring_differences as i32,
        }
    }
}

impl Simulation {
    fn new(tally: &TubeTally) -> Self {
        let coincidences = &tally.coincidences;
        let (array, readout) = (&coincidences.head.array, &coincidences.head.readout);
        Self {
            source: Source::new(coincidences),
            crystals: Crystals::new(&coincidences.head),
            readout: Readout { energy_resolution: readout.energy_resolution, window_kev: readout.window_kev },
            tables: MaterialTables::new(array.material),
            tubes: Tubes::new(tally),
            key: random::key(tally.seed),
        }
    }
}

/// The arrays of a simulation on the device.
struct Tables {
    poses: CudaSlice<Pose>,
    pairs: CudaSlice<HeadPair>,
    per_mm: CudaSlice<f64>,
    squares: CudaSlice<f64>,
    cumulative: CudaSlice<f64>,
}

impl Tables {
    fn new(backend: &CudaBackend, coincidences: &Coincidences) -> Result<Self, CudaError> {
        let heads = &coincidences.heads;
        let poses: Vec<Pose> = heads.poses.iter().map(Pose::new).collect();
        let pairs: Vec<HeadPair> =
            heads.coincidences.iter().map(|pair| HeadPair { heads: pair.map(|head| head as i32) }).collect();
        let material = coincidences.head.array.material;
        let [squares, cumulative] = material.form_factors();
        Ok(Self {
            poses: backend.table(&poses, Pose::default())?,
            pairs: backend.table(&pairs, HeadPair::default())?,
            per_mm: backend.table(material.per_mm.as_flattened(), 0.0)?,
            squares: backend.table(squares, 0.0)?,
            cumulative: backend.table(cumulative, 0.0)?,
        })
    }
}

/// A device that follows the histories of tubes of response.
pub struct TubesMonteCarlo {
    backend: CudaBackend,
    kernels: Kernels,
    pace: Pace,
}

impl TubesMonteCarlo {
    /// Loads the kernel.
    ///
    /// # Errors
    /// Device failure.
    pub fn new(backend: CudaBackend) -> Result<Self, CudaError> {
        Ok(Self { kernels: Kernels::load(&backend.context)?, backend, pace: Pace::aiming_at(LAUNCH_SECS) })
    }

    /// Returns the sums of the `num` histories that follow those of the tally.
    fn sums_of_next(&mut self, tally: &TubeTally, num: u64, task: &Task) -> Result<TallySums, OperatorError> {
        let Self { backend, kernels, pace } = self;
        let stream = &backend.stream;
        let (sampling, simulation) = (&tally.sampling, Simulation::new(tally));
        let Tables { poses, pairs, per_mm, squares, cumulative } = Tables::new(backend, &tally.coincidences)?;
        let num_tubes = sampling.num_radial * sampling.num_ring_differences;
        let (mut sums, mut sums_of_squares) =
            (zeros(stream, num_tubes * sampling.tube_len())?, zeros(stream, num_tubes * sampling.num[0])?);
        let (mut totals, mut num_taken) = (zeros(stream, 2)?, zeros(stream, 1)?);
        // Threads take histories until none is left: as many as are resident at once.
        let shape = kernels.tubes.resident_grid(&backend.info().limits, THREADS_PER_BLOCK)?;
        let end = tally.num_histories + num;
        for begin in (tally.num_histories..end).step_by(HISTORIES_TOGETHER as usize) {
            let together = HISTORIES_TOGETHER.min(end - begin);
            pace.run(backend, together as usize, task, |first, count| {
                clear(stream, &mut num_taken)?;
                let (first, count) = (begin + first as u64, count as u64);
                let end = first + count;
                kernels.tubes.launch(
                    stream,
                    shape,
                    &simulation,
                    &poses,
                    &pairs,
                    &per_mm,
                    &squares,
                    &cumulative,
                    first,
                    end,
                    &mut num_taken,
                    &mut sums,
                    &mut sums_of_squares,
                    &mut totals,
                )?;
                task.advance(count);
                Ok(())
            })?;
        }
        let copy = |sums: &CudaSlice<u64>| copied(stream, "copy sums from the device", sums);
        let totals = copy(&totals)?;
        Ok(TallySums { sums: copy(&sums)?, squares: copy(&sums_of_squares)?, totals: [totals[0], totals[1]] })
    }
}

impl HistorySimulator for TubesMonteCarlo {
    fn simulate(&mut self, tally: &mut TubeTally, num: u64, task: &Task) -> Result<(), HistoryError> {
        let sums = self.sums_of_next(tally, num, task)?;
        tally.add_sums(num, &sums);
        Ok(())
    }
}
