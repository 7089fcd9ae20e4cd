//! The measurements, in stages.

use super::measure::{Data, images, settings, times, with_lines};
use super::plan::{Implementation, Object};
use super::rods::{Resolved, Rods};
use super::scanner::ScannerFigures;
use super::sources::{LineWidths, PointWidths, line_widths, point_widths};
use super::{Context, Edition, edge_rings};
use crate::data::TubeSet;
use crate::measure::relative_difference;
use crate::reproduce::prelude::*;

#[derive(Clone, Copy)]
pub enum Work {
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

/// Difference of the image of a GPU from the processor's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// Σ (a − b)² / Σ b², %.
    pub mean_square_percent: f64,
}

/// For each iteration the rods of each diameter.
pub type OfRods = Vec<Vec<Resolved>>;
/// For each iteration the lines.
pub type OfLines = Vec<LineWidths>;
/// For each iteration the points.
pub type OfPoints = Vec<Vec<PointWidths>>;

impl Measurement<Edition> for Work {
    fn names(&self) -> (String, String) {
        let by = |key: &str, title: &str, tubes: bool| {
            let projector = if tubes { "tubes" } else { "lines" };
            (format!("{key}.{projector}"), format!("{title}, with {projector}"))
        };
        match *self {
            Work::Times(one) => (format!("times.{}", one.key()), format!("one full iteration: {}", one.title())),
            Work::Difference(one) => (format!("difference.{}", one.key()), format!("image: {}", one.title())),
            Work::Rods(tubes) => by("rods", "rods", tubes),
            Work::Lines(tubes) => by("line-sources", "line sources", tubes),
            Work::Scanner => ("scanner".into(), "sensitivity and widths of tubes".into()),
            Work::Points(tubes) => by("points", "point sources", tubes),
            Work::EdgeRings => ("edge-rings".into(), "tubes at the edge rings".into()),
        }
    }

    fn make(&self, context: &Context) -> Result<&'static str, ReproduceError> {
        let (plan, folder, key) = (&context.plan, &context.folder, self.key());
        match *self {
            Work::Times(one) => folder.store(&key, &times(plan, &context.data(Object::Derenzo, 1)?, one)?)?,
            Work::Difference(implementation) => {
                let reference =
                    context.cache.reference.only((), || Ok(Arc::new(context.first_image(Implementation::Cpu(0))?)))?;
                let found = context.first_image(implementation)?;
                let mean_square_percent = 100.0 * relative_difference(found.as_slice(), reference.as_slice()).powi(2);
                context.store(&key, &Difference { mean_square_percent }, &[found])?
            }
            Work::Rods(tubes) => {
                let rods = Rods::of(&plan.phantom(Object::Derenzo)?);
                let (first, second) = (context.images(Object::Derenzo, 1, tubes)?, context.images(Object::Derenzo, 2, tubes)?);
                let resolved = first.iter().zip(&second).map(|(a, b)| rods.iter().map(|rods| rods.resolved([a, b])).collect());
                context.store(&key, &resolved.collect::<OfRods>(), &first)?
            }
            Work::Lines(tubes) => {
                let (first, second) = (context.images(Object::Lines, 1, tubes)?, context.images(Object::Lines, 2, tubes)?);
                let widths: OfLines = first.iter().zip(&second).map(|(a, b)| line_widths([a, b])).collect();
                context.store(&key, &widths, &first)?
            }
            Work::Points(tubes) => {
                let images = context.images(Object::Points, 1, tubes)?;
                context.store(&key, &images.iter().map(point_widths).collect::<OfPoints>(), &images)?
            }
            Work::Scanner => folder.store(&key, &ScannerFigures::new(plan, &*context.tubes()?)?)?,
            Work::EdgeRings => folder.store(&key, &edge_rings::measure(plan)?)?,
        }
        Ok("")
    }
}

pub const STAGES: [Stage<Edition>; 5] = [
    // Table 1 of 2011, table 2 of 2010.
    ("times", |context| Implementation::of_times(context.device).into_iter().map(Work::Times).collect()),
    // Section 3.1: the images of GPU and processor.
    ("difference", |context| Implementation::of_gpu(context.device).into_iter().map(Work::Difference).collect()),
    // Sources that tubes resolve and lines do not, both on the same scan.
    ("rods", |_| vec![Work::Rods(false), Work::Rods(true), Work::Lines(false), Work::Lines(true)]),
    // The scanner and its published figures (Lage et al. 2009). The farthest point lies outside the field of view of 2010.
    ("scanner", |context| match context.paper {
        Edition::Report2010 => vec![Work::Scanner],
        Edition::Nima2011 => vec![Work::Scanner, Work::Points(false), Work::Points(true)],
    }),
    // Axial translation: tubes at the edge rings and inside.
    ("edge-rings", |_| vec![Work::EdgeRings]),
];

impl Context {
    fn tubes(&self) -> Result<Arc<TubeSet>, ReproduceError> {
        self.cache.tubes.only((), || self.plan.tubes())
    }

    /// Returns a scan with the tubes.
    fn data(&self, object: Object, seed: u64) -> Result<Data, ReproduceError> {
        let make = || Ok(Data { tubes: self.tubes()?, study: Arc::new(self.plan.scan(object, seed)?) });
        self.cache.scans.get((object, seed), |(of, _)| *of == object, make)
    }

    /// Returns the image of the Derenzo phantom after one iteration.
    fn first_image(&self, implementation: Implementation) -> Result<Volume, ReproduceError> {
        let data = self.data(Object::Derenzo, 1)?;
        let images = images(&data, settings(&data, implementation, self.plan.num_subsets)?, 1)?;
        images.into_iter().next().ok_or(ReproduceError::NoImage)
    }

    /// Returns the images of a scan after each iteration, with tubes or with lines.
    fn images(&self, object: Object, seed: u64, tubes: bool) -> Result<Vec<Volume>, ReproduceError> {
        let [num_subsets, num_iterations] = if object == Object::Derenzo { self.plan.rods } else { self.plan.sources };
        let implementation = match self.device {
            DeviceChoice::Cuda(number) => Implementation::FastKernels(number),
            _ => Implementation::Cpu(0),
        };
        let data = self.data(object, seed)?;
        let with_tubes = settings(&data, implementation, num_subsets)?;
        images(&data, if tubes { with_tubes } else { with_lines(with_tubes) }, num_iterations)
    }

    /// Stores a measurement and the last of the images.
    fn store(&self, key: &str, found: &impl Serialize, images: &[Volume]) -> Result<(), ReproduceError> {
        if let Some(image) = images.last() {
            self.folder.store_image(key, image)?;
        }
        self.folder.store(key, found)
    }
}
