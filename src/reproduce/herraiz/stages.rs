//! The measurements, in stages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::measure::{Data, images, mean_square_difference, settings, times, with_lines};
use super::plan::{Implementation, Object, Paper, Plan};
use super::rods::{Resolved, Rods};
use super::scanner::ScannerFigures;
use super::sources::{LineWidths, PointWidths, line_widths, point_widths};
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
    /// With tubes, or with Siddon's lines; the others likewise.
    Rods(bool),
    /// Line sources.
    Lines(bool),
    Scanner,
    /// Point sources.
    Points(bool),
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
/// For each iteration the lines.
pub(super) type OfLines = Vec<LineWidths>;
/// For each iteration the points.
pub(super) type OfPoints = Vec<Vec<PointWidths>>;

fn projector_name(tubes: bool) -> &'static str {
    if tubes { "tubes" } else { "lines" }
}

impl Measurement for Work {
    fn key(&self) -> String {
        match self {
            Work::Times(implementation) => format!("times.{}", implementation.key()),
            Work::Difference(implementation) => format!("difference.{}", implementation.key()),
            Work::Rods(tubes) => format!("rods.{}", projector_name(*tubes)),
            Work::Lines(tubes) => format!("line-sources.{}", projector_name(*tubes)),
            Work::Scanner => "scanner".into(),
            Work::Points(tubes) => format!("points.{}", projector_name(*tubes)),
            Work::EdgeRings => "edge-rings".into(),
        }
    }

    fn title(&self) -> String {
        match self {
            Work::Times(implementation) => format!("one full iteration: {}", implementation.title()),
            Work::Difference(implementation) => format!("image: {}", implementation.title()),
            Work::Rods(tubes) => format!("rods, with {}", projector_name(*tubes)),
            Work::Lines(tubes) => format!("line sources, with {}", projector_name(*tubes)),
            Work::Scanner => "sensitivity and widths of tubes".into(),
            Work::Points(tubes) => format!("point sources, with {}", projector_name(*tubes)),
            Work::EdgeRings => "tubes at the edge rings".into(),
        }
    }
}

/// The measurements of a stage, in order.
pub(super) fn work(paper: Paper, stage: Item, device: DeviceChoice) -> Vec<Work> {
    match stage {
        Item::Times => Implementation::of_times(device).into_iter().map(Work::Times).collect(),
        Item::Difference => Implementation::of_gpu(device).into_iter().map(Work::Difference).collect(),
        Item::Rods => vec![Work::Rods(false), Work::Rods(true), Work::Lines(false), Work::Lines(true)],
        // The farthest point lies outside the field of view of 2010.
        Item::Scanner if paper == Paper::Report2010 => vec![Work::Scanner],
        Item::Scanner => vec![Work::Scanner, Work::Points(false), Work::Points(true)],
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
    let stages = settings.stages.iter().map(|&stage| (stage, work(plan.paper, stage, device)));
    let mut runner = Runner { plan, device, folder, tubes: None, scans: Vec::new(), reference: None };
    measure_missing(stages, folder, settings.budget_secs, say, |work| runner.measure(work))
}

/// Does measurements; keeps what several of them need.
struct Runner<'a> {
    plan: &'a Plan,
    device: DeviceChoice,
    folder: &'a Folder,
    tubes: Option<Arc<TubeSet>>,
    /// Those of one object, with the seeds of their counts.
    scans: Vec<(Object, u64, Data)>,
    /// The processor's image.
    reference: Option<Volume>,
}

impl Runner<'_> {
    fn measure(&mut self, work: &Work) -> Result<&'static str, ReproduceError> {
        let (plan, key) = (self.plan, work.key());
        match *work {
            Work::Times(implementation) => {
                self.folder.store(&key, &times(plan, &self.data(Object::Derenzo, 1)?, implementation)?)?
            }
            Work::Difference(implementation) => {
                let data = self.data(Object::Derenzo, 1)?;
                let image = |implementation| -> Result<Volume, ReproduceError> {
                    let images = images(&data, settings(&data, implementation, plan.num_subsets)?, 1)?;
                    images.into_iter().next().ok_or(ReproduceError::NoImage)
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
                let rods = Rods::of(&plan.phantom(Object::Derenzo)?);
                let (first, second) = (self.images(Object::Derenzo, 1, tubes)?, self.images(Object::Derenzo, 2, tubes)?);
                let resolved = first.iter().zip(&second).map(|(a, b)| rods.iter().map(|rods| rods.resolved([a, b])).collect());
                let resolved: OfRods = resolved.collect();
                self.store(&key, &resolved, &first)?;
            }
            Work::Lines(tubes) => {
                let (first, second) = (self.images(Object::Lines, 1, tubes)?, self.images(Object::Lines, 2, tubes)?);
                let widths: OfLines = first.iter().zip(&second).map(|(a, b)| line_widths([a, b])).collect();
                self.store(&key, &widths, &first)?;
            }
            Work::Points(tubes) => {
                let images = self.images(Object::Points, 1, tubes)?;
                let widths: OfPoints = images.iter().map(point_widths).collect();
                self.store(&key, &widths, &images)?;
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
    fn data(&mut self, object: Object, seed: u64) -> Result<Data, ReproduceError> {
        self.scans.retain(|(of, ..)| *of == object);
        if let Some((.., data)) = self.scans.iter().find(|(_, of, _)| *of == seed) {
            return Ok(data.clone());
        }
        let tubes = self.tubes()?;
        let data = Data { study: Arc::new(self.plan.scan(object, seed)?), tubes };
        self.scans.push((object, seed, data.clone()));
        Ok(data)
    }

    /// The images of a scan after each iteration, with tubes or with lines.
    fn images(&mut self, object: Object, seed: u64, tubes: bool) -> Result<Vec<Volume>, ReproduceError> {
        let [num_subsets, num_iterations] = if object == Object::Derenzo { self.plan.rods } else { self.plan.sources };
        let implementation = match self.device {
            DeviceChoice::Cuda(number) => Implementation::FastKernels(number),
            _ => Implementation::Cpu(0),
        };
        let data = self.data(object, seed)?;
        let with_tubes = settings(&data, implementation, num_subsets)?;
        images(&data, if tubes { with_tubes } else { with_lines(with_tubes) }, num_iterations)
    }

    /// Keeps what was measured, and the last of the images.
    fn store(&self, key: &str, found: &impl Serialize, images: &[Volume]) -> Result<(), ReproduceError> {
        if let Some(image) = images.last() {
            self.folder.store_image(key, image)?;
        }
        self.folder.store(key, found)
    }
}
