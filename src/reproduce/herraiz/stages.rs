//! The measurements, in stages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::measure::{Data, images, mean_square_difference, settings, times, with_lines};
use super::plan::{Implementation, Plan};
use super::rods::{Resolved, Rods};
use super::scanner::ScannerFigures;
use super::{Settings, edge_rings};
use crate::data::{TubeSet, Volume};
use crate::plan::DeviceChoice;
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::schedule::{Measurement, measure_missing, not_a_stage};

/// A part of the measurements, in the order in which they are made; the command line has these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_stage::<Item>)]
pub enum Item {
    /// Table 1 of 2011, table 2 of 2010.
    Times,
    /// Section 3.1: the images of GPU and processor.
    Difference,
    /// What tubes resolve that lines do not, both on the same scan.
    Rods,
    /// The scanner beside its published figures (Lage et al. 2009).
    Scanner,
    /// Axial translation: tubes at the edge rings beside those inside.
    EdgeRings,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Times(Implementation),
    Difference(Implementation),
    /// With tubes, or with lines.
    Rods(bool),
    Scanner,
    EdgeRings,
}

/// How far the image of a GPU is from the processor's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Difference {
    /// Σ (a − b)² / Σ b², %.
    pub mean_square_percent: f64,
}

/// For each iteration the rods of each diameter.
pub(super) type OfRods = Vec<Vec<Resolved>>;

impl Measurement for Work {
    fn key(&self) -> String {
        match self {
            Work::Times(implementation) => format!("times.{}", implementation.key()),
            Work::Difference(implementation) => format!("difference.{}", implementation.key()),
            Work::Rods(tubes) => format!("rods.{}", if *tubes { "tubes" } else { "lines" }),
            Work::Scanner => "scanner".into(),
            Work::EdgeRings => "edge-rings".into(),
        }
    }

    fn title(&self) -> String {
        match self {
            Work::Times(implementation) => format!("one full iteration: {}", implementation.title()),
            Work::Difference(implementation) => format!("image: {}", implementation.title()),
            Work::Rods(tubes) => format!("rods, with {}", if *tubes { "tubes" } else { "lines" }),
            Work::Scanner => "sensitivity and widths of tubes".into(),
            Work::EdgeRings => "tubes at the edge rings".into(),
        }
    }
}

/// The measurements of a stage, in order.
pub(super) fn work(stage: Item, device: DeviceChoice) -> Vec<Work> {
    match stage {
        Item::Times => Implementation::of_times(device).into_iter().map(Work::Times).collect(),
        Item::Difference => Implementation::of_gpu(device).into_iter().map(Work::Difference).collect(),
        Item::Rods => [false, true].map(Work::Rods).to_vec(),
        Item::Scanner => vec![Work::Scanner],
        Item::EdgeRings => vec![Work::EdgeRings],
    }
}

/// Does the measurements that the folder does not hold; `false` if the time did not suffice for all.
pub(super) fn run(
    plan: &Plan,
    device: DeviceChoice,
    settings: &Settings,
    folder: &Folder,
    say: &mut dyn FnMut(&str),
) -> Result<bool, ReproduceError> {
    let stages = settings.stages.iter().map(|&stage| (stage, work(stage, device)));
    let mut runner = Runner { plan, device, folder, tubes: None, scans: [None, None], reference: None };
    measure_missing(stages, folder, settings.budget_secs, say, |work| runner.measure(work))
}

/// Does measurements; keeps what several of them need.
struct Runner<'a> {
    plan: &'a Plan,
    device: DeviceChoice,
    folder: &'a Folder,
    tubes: Option<Arc<TubeSet>>,
    /// Of the same object, with other counts.
    scans: [Option<Data>; 2],
    /// The processor's image.
    reference: Option<Volume>,
}

impl Runner<'_> {
    fn measure(&mut self, work: &Work) -> Result<&'static str, ReproduceError> {
        let (plan, key) = (self.plan, work.key());
        match *work {
            Work::Times(implementation) => self.folder.store(&key, &times(plan, &self.data(0)?, implementation)?)?,
            Work::Difference(implementation) => {
                let data = self.data(0)?;
                let image = |implementation| -> Result<Volume, ReproduceError> {
                    let images = images(&data, settings(&data, implementation, plan.num_subsets)?, 1)?;
                    images.into_iter().next().ok_or(ReproduceError::Photons("there is no image".into()))
                };
                let reference = match self.reference.take() {
                    Some(reference) => reference,
                    None => image(Implementation::Cpu(0))?,
                };
                let found = image(implementation)?;
                let mean_square_percent = mean_square_difference(&found, &reference);
                self.reference = Some(reference);
                self.folder.store_image(&key, &found)?;
                self.folder.store(&key, &Difference { mean_square_percent })?;
            }
            Work::Rods(tubes) => {
                let rods = Rods::of(&plan.phantom()?);
                let [num_subsets, num_iterations] = plan.rods;
                let implementation = match self.device {
                    DeviceChoice::Cuda(number) => Implementation::FastKernels(number),
                    _ => Implementation::Cpu(0),
                };
                let mut of = |scan: usize| {
                    let data = self.data(scan)?;
                    let with_tubes = settings(&data, implementation, num_subsets)?;
                    images(&data, if tubes { with_tubes } else { with_lines(with_tubes) }, num_iterations)
                };
                let (first, second) = (of(0)?, of(1)?);
                let resolved = first.iter().zip(&second).map(|(a, b)| rods.iter().map(|rods| rods.resolved([a, b])).collect());
                let resolved: OfRods = resolved.collect();
                if let Some(image) = first.last() {
                    self.folder.store_image(&key, image)?;
                }
                self.folder.store(&key, &resolved)?;
            }
            Work::Scanner => {
                let tubes = self.tubes()?;
                self.folder.store(&key, &ScannerFigures::new(plan, &tubes)?)?;
            }
            Work::EdgeRings => self.folder.store(&key, &edge_rings::measure(plan)?)?,
        }
        Ok("")
    }

    fn tubes(&mut self) -> Result<Arc<TubeSet>, ReproduceError> {
        let tubes = match self.tubes.take() {
            Some(tubes) => tubes,
            None => self.plan.tubes()?,
        };
        Ok(Arc::clone(self.tubes.insert(tubes)))
    }

    /// A scan with the tubes.
    fn data(&mut self, scan: usize) -> Result<Data, ReproduceError> {
        if let Some(data) = &self.scans[scan] {
            return Ok(data.clone());
        }
        let tubes = self.tubes()?;
        let data = Data { study: Arc::new(self.plan.scan(1 + scan as u64)?), tubes };
        self.scans[scan] = Some(data.clone());
        Ok(data)
    }
}
