//! What is measured and what is reconstructed: volumes, michelograms, EPRI sweeps, tubes of response, regions of interest, studies.

mod counts;
mod isocontour;
mod masked_rois;
mod michelogram;
mod notice;
mod origin;
mod pair_counts;
mod response_matrix;
mod roi;
mod roi_figure;
mod roi_mask;
mod roi_outline;
mod roi_shape;
mod study;
mod super_lors;
mod sweep;
mod tubes;
mod volume;

pub use counts::{Counts, CountsError};
pub use isocontour::{Isocontour, IsocontourRecipe};
pub use masked_rois::MaskedRois;
pub use michelogram::{Michelogram, MichelogramError};
pub use notice::{Notice, Severity};
pub use origin::Origin;
pub use pair_counts::{PairCounts, PairCountsError};
pub use response_matrix::{BasisKind, BasisSettings, MatrixElement, MatrixError, MatrixMade, ResponseMatrix};
pub use roi::{ActivityRatioError, Roi, RoiRole, checked_activity_ratio};
pub use roi_mask::{RoiMask, RoiSums};
pub use roi_outline::CutLine;
pub use roi_shape::{RoiPlane, RoiShape};
pub use study::Study;
pub use super_lors::{SharingDeviation, SuperLorError, SuperLors};
pub use sweep::{Direction, GradientAxis, Phase, Projection, ReferenceSpectrum, Sweep, SweepFacts, SweepKind, SweepSpace};
pub use tubes::{SharedTubes, TubeSampling, TubeSet, TubeSetError, TubesMade};
pub use volume::{Extremes, Unit, Volume};
