//! Recipes of algorithms and operators on single events, and their assembly on any back end.

use std::sync::Arc;

use crate::algebra::{Backend, PeerGroup};
use crate::data::{Events, ListMetadata, Psf, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, AnyOperator, Composed, EventOrder, EventProjector, ImageModel, OperatorError, Subset};
use crate::plan::error::SetupError;
use crate::recon::{self, Additions, Algorithm, AlgorithmSpec, EmKernels, EventTerms, ListModel, StartImages};
use crate::scanner::PairRays;
use crate::task::Task;

/// Lines of single events.
#[derive(Clone)]
pub struct EventRecipe<'a> {
    /// The events.
    pub events: Arc<Events>,
    /// Facts about their list.
    pub facts: &'a ListMetadata,
    /// Image grid.
    pub grid: &'a Grid,
    /// Voxels whose centre lies farther than this from the axis stay zero, mm.
    pub fov_radius_mm: f64,
    /// Lines of an event.
    pub rays: PairRays,
    /// Order of the events.
    pub order: EventOrder,
}

/// An algorithm that reconstructs single events.
pub struct ListRecipe<'a> {
    /// Their lines.
    pub lines: EventRecipe<'a>,
    /// Factors and background.
    pub terms: EventTerms<'a>,
    /// Resolution model.
    pub psf: Option<&'a Psf>,
    /// Sensitivity image, without a resolution model.
    pub sensitivity: &'a Volume,
    /// Subsets of an iteration.
    pub num_subsets: usize,
    /// The algorithm.
    pub spec: AlgorithmSpec,
    /// Accumulations of the backprojections.
    pub additions: Additions,
    /// Start image and κ.
    pub start: StartImages<'a>,
}

impl ListRecipe<'_> {
    /// Puts the algorithm together on a back end.
    ///
    /// # Errors
    /// Events or settings do not suit, or the device failed.
    pub fn on<B: EmKernels + 'static, P: EventProjector<B> + 'static>(
        &self,
        mut backend: B,
        lines: P,
        team: PeerGroup,
    ) -> Result<Box<dyn Algorithm>, SetupError> {
        let (voxels, space) = (lines.voxels().clone(), lines.space().clone());
        let (operator, data) = Box::new(lines).for_group(&team)?;
        let mut sensitivity = voxels.coefficients(self.sensitivity);
        let operator = match ImageModel::new(&voxels, &voxels, self.psf) {
            None => operator,
            Some(model) => {
                let composed = Composed::new(&mut backend, operator, &model)?;
                sensitivity = seen_through(&mut backend, &composed, sensitivity)?;
                AnyOperator::any(composed)
            }
        };
        let model = ListModel::new(&mut backend, operator, data, space, self.terms, Arc::new(sensitivity), self.num_subsets)?;
        Ok(recon::algorithm(self.spec, backend, voxels, model.of_group(team), self.additions, self.start)?)
    }
}

/// Returns Gᵀ s of a sensitivity s.
fn seen_through<B: Backend, A>(
    backend: &mut B,
    composed: &Composed<B, A>,
    sensitivity: Vec<f32>,
) -> Result<Vec<f32>, OperatorError> {
    let mut seen = backend.zeros(sensitivity.len())?;
    let sensitivity = backend.upload(Arc::new(sensitivity))?;
    composed.image_adjoint(backend, &sensitivity, &mut seen)?;
    Ok(backend.read(&seen, <[f32]>::to_vec)?)
}

/// Returns Aᵀ q.
///
/// # Errors
/// Stopped, or the device failed.
pub fn backprojected<B: Backend>(
    backend: &mut B,
    lines: &impl EventProjector<B>,
    values: Vec<f32>,
    task: &Task,
) -> Result<Volume, OperatorError> {
    let voxels = lines.voxels();
    let values = backend.upload(Arc::new(values))?;
    let mut image = backend.zeros(voxels.len())?;
    lines.adjoint(backend, Subset::ALL, &values, Accumulation::Deterministic, &mut image, task)?;
    let mut volume = Volume::filled(voxels.grid().clone(), 0.0);
    backend.read(&image, |image| voxels.write(image, 1.0, &mut volume))?;
    Ok(volume)
}
