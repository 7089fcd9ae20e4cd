//! The one place that makes an algorithm of a forward model.

use std::sync::Arc;

use super::{
    Algorithm, AscentMethod, BsremSettings, EmKernels, EmSettings, ForwardModel, MlemOsem, PenaltySpec, ReconError, SubsetOrder,
    SvrgSettings,
};
use crate::algebra::ImageSpace;
use crate::data::Volume;
use crate::operator::Accumulation;

/// An algorithm that iterates with a forward model, with its own parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AlgorithmSpec {
    /// Expectation maximisation: MLEM, and OSEM where the model has subsets.
    Em {
        /// Order of the subsets.
        subset_order: SubsetOrder,
    },
    /// An algorithm that climbs to the maximum of a penalised likelihood.
    Ascent {
        /// Which one.
        method: AscentMethod,
        /// The penalty.
        penalty: PenaltySpec,
    },
}

impl AlgorithmSpec {
    /// Returns the images that a run has beyond those of expectation maximisation, for the forecast: directions, anchors, and the penalty's κ
    /// and sums. Below 0 where it has none in the place of the sensitivities of subsets.
    pub fn further_images(self, num_subsets: usize) -> i64 {
        match self {
            AlgorithmSpec::Em { .. } => 0,
            AlgorithmSpec::Ascent { method: AscentMethod::Svrg(settings), .. } => {
                23 + settings.num_parts(num_subsets) as i64 - num_subsets as i64
            }
            AlgorithmSpec::Ascent { method: AscentMethod::Bsrem(_), .. } => 23,
        }
    }

    /// Returns true if gradients of subsets are stored, in the place of the sensitivities of expectation maximisation.
    pub fn stores_gradients(self) -> bool {
        matches!(self, AlgorithmSpec::Ascent { method: AscentMethod::Svrg(SvrgSettings { stores_gradients: true, .. }), .. })
    }

    /// Returns the same with gradients of subsets that are computed again at each step, if they are stored.
    pub fn without_stored_gradients(mut self) -> Self {
        if let AlgorithmSpec::Ascent { method: AscentMethod::Svrg(settings), .. } = &mut self {
            settings.stores_gradients = false;
        }
        self
    }

    /// Returns the images of each replicate of a run, for the forecast.
    pub fn images_of_replicate(self, num_subsets: usize) -> u64 {
        match self {
            AlgorithmSpec::Em { .. } => 1,
            AlgorithmSpec::Ascent { method: AscentMethod::Bsrem(_), .. } => 1 + BsremSettings::IMAGES_OF_STATE,
            AlgorithmSpec::Ascent { method: AscentMethod::Svrg(settings), .. } => 1 + settings.images_of_state(num_subsets),
        }
    }
}

/// Accumulation of the backprojections of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Additions {
    /// Initial accumulation of the steps.
    pub accumulation: Accumulation,
    /// Accumulation of the sensitivity: free of race conditions.
    pub sensitivity_accumulation: Accumulation,
    /// True if steps with a race condition divide by a sensitivity that was made with it, too.
    pub racy_sensitivity: bool,
}

/// Images that a run begins with, volumes of the space's grid.
#[derive(Clone, Copy, Debug, Default)]
pub struct StartImages<'a> {
    /// Start image; `None` = the uniform image with the number of counts of the data.
    pub init: Option<&'a Volume>,
    /// κ of a penalty with [`Kappa::File`](super::Kappa::File).
    pub kappa: Option<&'a Arc<Volume>>,
}

/// Makes an algorithm that begins with these images.
///
/// # Errors
/// A start image with negative values, too little memory on the device.
pub fn algorithm<B, M, S>(
    spec: AlgorithmSpec,
    backend: B,
    space: S,
    model: M,
    additions: Additions,
    start: StartImages<'_>,
) -> Result<Box<dyn Algorithm>, ReconError>
where
    B: EmKernels + 'static,
    M: ForwardModel<B> + 'static,
    S: ImageSpace<B> + 'static,
{
    match spec {
        AlgorithmSpec::Em { subset_order } => {
            let Additions { accumulation, sensitivity_accumulation, racy_sensitivity } = additions;
            let settings = EmSettings { subset_order, accumulation, sensitivity_accumulation, racy_sensitivity };
            Ok(Box::new(MlemOsem::new(backend, space, model, settings, start.init)?))
        }
        AlgorithmSpec::Ascent { method, penalty } => method.begin(backend, space, model, penalty, additions, start),
    }
}
