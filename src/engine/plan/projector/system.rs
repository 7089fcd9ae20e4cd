//! A system: an operator on its back end, with the spaces of its images and its data, behind one face.

use std::sync::Arc;

use super::inputs::ProjectorInputs;
use crate::algebra::{Host, ImageSpace, PeerGroup, Shard};
use crate::data::{Unit, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, AnyOperator, Composed, DataSpace, LinearOperator, OperatorError, Subset, ViewProjector};
use crate::plan::device::memory::{Arrays, FreeMemory};
use crate::plan::device::processes::process_team;
use crate::plan::device::trial;
use crate::recon::{
    self, Additions, Algorithm, AlgorithmSpec, EmKernels, MeasuredValues, ProjectionModel, ReconError, StartImages,
};
use crate::task::Task;
use crate::text::counted;

/// A system of any operator.
pub trait System: Send {
    /// Returns the device in words, as this operator uses it: threads, vector instructions.
    fn device(&self) -> &str;

    /// Returns the memory that is free where the arrays are.
    fn free_memory(&self) -> FreeMemory;

    /// Returns the grid of its images.
    fn grid(&self) -> &Grid;

    /// Returns the space of its data.
    fn data(&self) -> &dyn DataSpace;

    /// Returns the ways in which a backprojection can add.
    fn accumulations(&self) -> &'static [Accumulation];

    /// Returns its default accumulation.
    fn default_accumulation(&self) -> Accumulation;

    /// Returns the bytes of a reconstruction where its arrays are.
    /// `corrections_per_datum`: values of all corrections in parts of the number of data.
    fn memory_bytes(&self, corrections_per_datum: f64, num_subsets: usize, accumulation: Accumulation) -> u64;

    /// Returns the bytes of one [`System::project`] or [`System::backproject`] there.
    fn memory_bytes_once(&self, subset: Subset, accumulation: Accumulation) -> u64;

    /// Returns the seconds for a forward projection and a backprojection of all data, from a trial of a part; `None` where even
    /// that takes long.
    ///
    /// # Errors
    /// The operator failed.
    fn trial_secs(&mut self, num_subsets: usize, accumulation: Accumulation) -> Result<Option<f64>, OperatorError>;

    /// Makes an algorithm that reconstructs counts with it, that begins with these images.
    ///
    /// # Errors
    /// An unsuitable start image, too little memory on the device.
    fn algorithm(
        self: Box<Self>,
        spec: AlgorithmSpec,
        counts: MeasuredValues,
        num_subsets: usize,
        additions: Additions,
        start: StartImages<'_>,
    ) -> Result<Box<dyn Algorithm>, ReconError>;

    /// Returns a x for the data of a subset, in the order of [`System::data`].
    ///
    /// # Errors
    /// Stopped, device failure.
    fn project(&mut self, subset: Subset, image: &Volume, task: &Task) -> Result<Vec<f32>, OperatorError>;

    /// Returns Aᵀ q of such data.
    ///
    /// # Errors
    /// Stopped, device failure, another number of values than the subset has.
    fn backproject(
        &mut self,
        subset: Subset,
        data: Arc<Vec<f32>>,
        accumulation: Accumulation,
        task: &Task,
    ) -> Result<Volume, OperatorError>;

    /// Returns Aᵀ of data that are 1 for existing crystal pairs, and the number of pairs, in `num_subsets` subsets; `task`
    /// advances with each.
    ///
    /// # Errors
    /// Stopped, device failure, another number of pairs than a subset has data.
    fn backproject_pairs(&mut self, pairs: &Pairs<'_>, num_subsets: usize, task: &Task) -> Result<(Volume, u64), OperatorError>;
}

/// Which pairs of crystals there are, in the order of a system's data: those of each row and each column whose crystals
/// `is_there` has as 1, not 0 ([`EmKernels::pair_products`]).
pub struct Pairs<'a> {
    /// For each place of a crystal.
    pub is_there: Vec<f32>,
    /// Offsets of a subset's rows to a place: its transaxial LORs.
    pub rows: &'a dyn Fn(Subset) -> Vec<[u32; 2]>,
    /// Offsets of the columns: planes.
    pub columns: Vec<[u32; 2]>,
}

/// Default accumulation with a system matrix: the fastest, and it loses nothing.
pub(in crate::plan) const MATRIX_ACCUMULATION: Accumulation = Accumulation::Deterministic;

/// The parts of a system.
pub(in crate::plan) struct OperatorSystem<B, A, S, D> {
    pub backend: B,
    pub operator: A,
    pub image: S,
    pub data: D,
    pub device: String,
    pub default_accumulation: Accumulation,
    /// Memory that is free on the back end.
    pub free_memory: fn(&B) -> FreeMemory,
    /// With whom the data are shared; operator and data are those of its share.
    pub team: PeerGroup,
}

/// Combines a projector and a back end, for the shard of a member of a group, with the image model of the settings.
///
/// # Errors
/// The projector does not support shards, too little memory on the device.
pub(in crate::plan) fn view_system<B: EmKernels + 'static>(
    inputs: &ProjectorInputs,
    mut backend: B,
    projector: impl ViewProjector<B> + 'static,
    device: String,
    default_accumulation: Accumulation,
    free_memory: fn(&B) -> FreeMemory,
    team: PeerGroup,
) -> Result<Box<dyn System>, OperatorError> {
    let (image, model) = inputs.image_model(projector.voxels());
    let (operator, data, team): (AnyOperator<B>, Box<dyn DataSpace>, PeerGroup) = if team.shard() == Shard::WHOLE {
        let data = Box::new(projector.views().clone());
        (AnyOperator::any(projector), data, PeerGroup::ALONE)
    } else {
        let (operator, data) = Box::new(projector).for_group(&team)?;
        (operator, data, team)
    };
    let operator = match model {
        None => operator,
        Some(model) => AnyOperator::any(Composed::new(&mut backend, operator, &model)?),
    };
    Ok(Box::new(OperatorSystem { backend, operator, image, data, device, default_accumulation, free_memory, team }))
}

impl<B, A, S, D> System for OperatorSystem<B, A, S, D>
where
    B: EmKernels + 'static,
    A: LinearOperator<B> + 'static,
    S: ImageSpace<B> + 'static,
    D: DataSpace + 'static,
{
    fn device(&self) -> &str {
        &self.device
    }

    fn free_memory(&self) -> FreeMemory {
        (self.free_memory)(&self.backend)
    }

    fn grid(&self) -> &Grid {
        self.image.grid()
    }

    fn data(&self) -> &dyn DataSpace {
        &self.data
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.operator.accumulations()
    }

    fn default_accumulation(&self) -> Accumulation {
        self.default_accumulation
    }

    fn memory_bytes(&self, corrections_per_datum: f64, num_subsets: usize, accumulation: Accumulation) -> u64 {
        let scratch_bytes = self.operator.scratch_bytes(Subset { index: 0, count: num_subsets }, accumulation);
        let (image_len, grid) = (self.image.len(), self.image.grid());
        let arrays = Arrays { are_copied: !B::SHARES_MEMORY, image_len, grid, data: &self.data, corrections_per_datum };
        arrays.bytes(num_subsets, accumulation, scratch_bytes)
    }

    fn memory_bytes_once(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        let (image_len, data_len) = (self.image.len() as u64, self.data.len(subset) as u64);
        self.operator.scratch_bytes(subset, accumulation) + 8 * image_len + 4 * data_len
    }

    fn trial_secs(&mut self, num_subsets: usize, accumulation: Accumulation) -> Result<Option<f64>, OperatorError> {
        trial::trial_secs(&mut self.backend, &self.operator, &self.image, &self.data, num_subsets, accumulation)
    }

    fn algorithm(
        self: Box<Self>,
        spec: AlgorithmSpec,
        counts: MeasuredValues,
        num_subsets: usize,
        additions: Additions,
        start: StartImages<'_>,
    ) -> Result<Box<dyn Algorithm>, ReconError> {
        let Self { mut backend, operator, image, data, team, .. } = *self;
        let model = ProjectionModel::new(&mut backend, operator, data, counts, num_subsets)?.of_group(team);
        recon::algorithm(spec, backend, image, model, additions, start)
    }

    fn project(&mut self, subset: Subset, image: &Volume, task: &Task) -> Result<Vec<f32>, OperatorError> {
        let backend = &mut self.backend;
        let x = backend.upload(Arc::new(self.image.coefficients(image)))?;
        let mut data = backend.zeros(self.data.len(subset))?;
        self.operator.apply(backend, subset, &x, &mut data, task)?;
        Ok(backend.read(&data, <[f32]>::to_vec)?)
    }

    fn backproject(
        &mut self,
        subset: Subset,
        data: Arc<Vec<f32>>,
        accumulation: Accumulation,
        task: &Task,
    ) -> Result<Volume, OperatorError> {
        let backend = &mut self.backend;
        let data = backend.upload(data)?;
        let mut coefficients = backend.zeros(self.image.len())?;
        self.operator.adjoint(backend, subset, &data, accumulation, &mut coefficients, task)?;
        let mut volume = Volume { unit: Unit::Mm, ..Volume::filled(self.image.grid().clone(), 0.0) };
        backend.read(&coefficients, |coefficients| self.image.write(coefficients, 1.0, &mut volume))?;
        Ok(volume)
    }

    fn backproject_pairs(&mut self, pairs: &Pairs<'_>, num_subsets: usize, task: &Task) -> Result<(Volume, u64), OperatorError> {
        let Self { backend, operator, image, .. } = self;
        let len = image.len();
        let (mut sum, mut part) = (backend.zeros(len)?, backend.zeros(len)?);
        let mut num_pairs = 0.0;
        for subset in Subset::all(num_subsets) {
            let rows = (pairs.rows)(subset);
            let num_data = rows.len() * pairs.columns.len();
            let data = backend.pair_products(&pairs.is_there, &rows, &pairs.columns)?;
            // Ones and zeros.
            num_pairs += backend.dot(&data, 0, &data, 0..num_data)?;
            operator.adjoint(backend, subset, &data, Accumulation::Deterministic, &mut part, task)?;
            backend.add_scaled(&mut sum, 0, 1.0, &part, 0..len)?;
            task.advance(1);
        }
        let mut volume = Volume { unit: Unit::Mm, ..Volume::filled(image.grid().clone(), 0.0) };
        backend.read(&sum, |sum| image.write(sum, 1.0, &mut volume))?;
        Ok((volume, num_pairs as u64))
    }
}

/// Returns the CPU with its threads: "CPU, 2 threads".
pub(in crate::plan) fn host_threads() -> String {
    format!("CPU, {}", counted(rayon::current_num_threads(), "thread"))
}

/// Combines a projector and the CPU, for the shard of this process.
///
/// # Errors
/// The projector does not support shards.
pub(in crate::plan) fn on_host(
    inputs: &ProjectorInputs,
    projector: impl ViewProjector<Host> + 'static,
    device: String,
) -> Result<Box<dyn System>, OperatorError> {
    view_system(inputs, Host, projector, device, Accumulation::Deterministic, |_| FreeMemory::of_the_computer(), process_team())
}
