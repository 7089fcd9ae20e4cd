//! What is measured and what is reconstructed: volumes, michelograms, EPRI sweeps, tubes of response, regions of interest, studies.

mod attenuation;
mod count_rates;
mod counts;
mod event_histogram;
mod events;
mod fingerprint;
mod frames;
mod isocontour;
mod masked_rois;
mod michelogram;
pub mod nema;
pub mod nema_nu4;
mod notice;
mod origin;
mod pair_counts;
mod response_matrix;
mod roi;
mod roi_figure;
mod roi_mask;
mod roi_oblique;
mod roi_outline;
mod roi_shape;
mod scan_time;
mod study;
mod super_lors;
mod sweep;
mod tubes;
mod volume;

pub use attenuation::{Attenuation, AttenuationMap};
pub use count_rates::CountRates;
pub use counts::{Counts, CountsError};
pub use event_histogram::EventHistogram;
pub use events::{
    EventChunk, EventList, EventNumbers, Events, LIGHT_MM_PER_PS, ListFacts, ListSampling, PairEfficiency, TofException,
    TofFacts, tof_mm,
};
pub use fingerprint::Fingerprint;
pub use frames::{Frames, frame_ms, frame_words};
pub use isocontour::{Isocontour, IsocontourRecipe};
pub use masked_rois::MaskedRois;
pub use michelogram::{Michelogram, MichelogramError};
pub use notice::{Notice, Severity};
pub use origin::Origin;
pub use pair_counts::{PairCounts, PairCountsError};
pub use response_matrix::{BasisKind, BasisSettings, MatrixElement, MatrixError, MatrixMade, ResponseMatrix};
pub use roi::{ActivityRatioError, Roi, RoiRole, checked_activity_ratio};
pub use roi_mask::{RoiMask, RoiSums};
pub use roi_oblique::CutPlane;
pub use roi_outline::CutLine;
pub use roi_shape::{RoiPlane, RoiShape};
pub use scan_time::{FrameTime, ScanTime, middle_ms, moved_limits};
pub use study::Study;
pub use super_lors::{SharingDeviation, SuperLorError, SuperLors};
pub use sweep::{Direction, GradientAxis, Phase, Projection, ReferenceSpectrum, Sweep, SweepFacts, SweepKind, SweepSpace};
pub use tubes::{SharedTubes, TubeSampling, TubeSet, TubeSetError, TubesMade};
pub use volume::{Extremes, NotFinite, Unit, ValueScale, Volume};
