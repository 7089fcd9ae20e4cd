//! Measured data and reconstructed images: volumes, michelograms, EPRI sweeps, tubes of response, regions of interest, studies.

mod attenuation;
mod epri;
mod events;
mod fingerprint;
mod image_series;
mod iterate;
pub mod nema;
pub mod nema_nu4;
mod notice;
mod origin;
mod pair_counts;
mod pet;
mod psf;
mod recovery;
mod response_matrix;
mod rois;
mod sinogram;
mod study;
mod super_lors;
mod tube_sharing;
mod tubes;
mod volume;

pub use attenuation::{Attenuation, AttenuationMap, CtConversion, CtSettings, MU_PER_CM, MissingSide, MuUnit};
pub use epri::{
    Direction, Experiment, FieldAxis, FieldShift, GradientAxis, MILLIGAUSS_PER_RATE, MIN_GRADIENT, OxygenCalibration,
    OxygenSeries, Phase, Projection, Radical, ReferenceSpectrum, RelaxationRate, SeriesProblem, Sweep, SweepKind, SweepMetadata,
    SweepSpace, lorentzian_derivative, not_of_a_series, rate_of_linewidth, voigt_derivative,
};
pub use events::chunk::{
    EventChunk, Events, LIGHT_MM_PER_PS, ListMetadata, ListSampling, PairEfficiency, TofException, TofMeasurement, tof_mm,
};
pub use events::count_rates::CountRates;
pub use events::frames::{Frames, frame_ms, frame_text};
pub use events::histogram::EventHistogram;
pub use events::list::{EventList, EventNumbers};
pub use events::scan_time::{FrameTime, ScanTime, middle_ms, moved_limits};
pub use fingerprint::Fingerprint;
pub use image_series::{FoundSeries, ImageChoice, ImageSeries, ImageSpace, Modality, Placement, SeriesImage, SeriesNames};
pub use iterate::{IterateId, RunId};
pub use notice::{Notice, Severity};
pub use origin::Origin;
pub use pair_counts::{PairCounts, PairCountsError};
pub use pet::decay::mean_decay;
pub use pet::exam::{Exam, ScanFacts};
pub use pet::nuclide::{NUCLIDES, Nuclide};
pub use pet::plausible;
pub use pet::scan::{DecayReference, PetImage, PetScan, PetValues, Sex, Sourced};
pub use pet::suv::{NoSuv, SuvDefinition, activity_bq, check_half_life, suv_factor};
pub use psf::{Psf, PsfAtRadius, PsfError};
pub use recovery::{RecoveryBand, RecoveryQuantity, RecoveryStandard};
pub use response_matrix::{BasisKind, BasisSettings, MatrixElement, MatrixError, MatrixMade, ResponseMatrix};
pub use rois::isocontour::{ContourThreshold, Isocontour, IsocontourRecipe};
pub use rois::mask::{RoiMask, RoiSums};
pub use rois::masked::MaskedRois;
pub use rois::oblique::CutPlane;
pub use rois::outline::CutLine;
pub use rois::roi::{ActivityRatioError, Roi, RoiRole, validate_activity_ratio};
pub use rois::shape::{RoiPlane, RoiShape};
pub use rois::voxels::Voxels;
pub use sinogram::contents::CorrectionContent;
pub use sinogram::counts::{Counts, CountsError, TofBackground};
pub use sinogram::michelogram::{Michelogram, MichelogramError};
pub use sinogram::row::SinogramRow;
pub use sinogram::tof::{TofBins, TofBinsError, TofValues};
pub use study::{Preset, Study};
pub use super_lors::{SharingDeviation, SuperLorError, SuperLors};
pub use tubes::{SharedTubes, TubeSampling, TubeSet, TubeSetError, TubesMade};
pub use volume::compact::{CompactValues, CompactVolume};
pub use volume::{Extremes, NotFinite, Unit, ValueScale, Volume};
