//! The measurements, in stages.

use std::collections::HashMap;

use super::Settings;
use super::measure::{Difference, Precision, image, plain_image, times};
use super::plan::{Data, Plan};
use super::program::{Angles, Program};
use crate::data::Volume;
use crate::plan::DeviceChoice;
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::limits::limits;
use crate::reproduce::schedule::{Measurement, measure_missing, not_a_stage};

/// A part of the measurements, in the order in which they are made; the command line has these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_stage::<Item>)]
pub enum Item {
    /// Table 2 and section 4.4.
    Limits,
    /// Table 1 and figures 1 to 3.
    Times,
    /// Figures 4 and 5.
    Images,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Limits(DeviceChoice),
    Times(usize, Program),
    Image(Program),
}

impl Measurement for Work {
    fn key(&self) -> String {
        match self {
            Work::Limits(device) => format!("limits.{device:?}").to_lowercase().replace(['(', ')'], ""),
            Work::Times(size, program) => format!("times.{size}.{}", program.key()),
            Work::Image(program) => format!("image.{}", program.key()),
        }
    }

    fn title(&self) -> String {
        match self {
            Work::Limits(_) => "limits of the device".into(),
            Work::Times(size, program) => format!("times, {size}³: {}", program.title()),
            Work::Image(program) => format!("image: {}", program.title()),
        }
    }
}

/// The measurements of a stage, in order.
pub(super) fn work(stage: Item, plan: &Plan, device: DeviceChoice) -> Vec<Work> {
    match stage {
        Item::Limits => vec![Work::Limits(device)],
        Item::Times => {
            let of_size = |&size: &usize| Program::of_times(device).into_iter().map(move |program| Work::Times(size, program));
            plan.sizes.iter().flat_map(of_size).collect()
        }
        Item::Images => Program::of_images(device).into_iter().map(Work::Image).collect(),
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
    let stages = settings.stages.iter().map(|&stage| (stage, work(stage, plan, device)));
    let mut runner = Runner { plan, folder, data: None, plain: HashMap::new() };
    measure_missing(stages, folder, settings.budget_secs, say, |work| runner.measure(work))
}

/// Does measurements; keeps what several of them need.
struct Runner<'a> {
    plan: &'a Plan,
    folder: &'a Folder,
    data: Option<Data>,
    /// The plain program's images.
    plain: HashMap<Angles, Vec<f64>>,
}

impl Runner<'_> {
    fn measure(&mut self, work: &Work) -> Result<&'static str, ReproduceError> {
        let (plan, key) = (self.plan, work.key());
        match work {
            Work::Limits(device) => self.folder.store(&key, &limits(*device))?,
            Work::Times(size, program) => self.folder.store(&key, &times(plan, *size, *program, self.data()?)?)?,
            Work::Image(program) => {
                let image = image(plan, *program, self.data()?)?;
                let truth = plan.truth(plan.image_size)?;
                let of_stages = match program.angles() {
                    Angles::Linear => Some(Difference::between(&image, self.plain(Angles::Linear)?)),
                    Angles::Solid => None,
                };
                let precision = Precision {
                    from_plain: Difference::between(&image, self.plain(Angles::Solid)?),
                    of_stages,
                    from_truth: Difference::between(&image, &truth.as_slice().iter().map(|&v| v.into()).collect::<Vec<_>>()),
                };
                let mut volume = Volume::filled(plan.grid(plan.image_size)?, 0.0);
                volume.as_mut_slice().iter_mut().zip(&image).for_each(|(value, &wide)| *value = wide as f32);
                self.folder.store_image(&key, &volume)?;
                self.folder.store(&key, &precision)?;
            }
        }
        Ok("")
    }

    fn data(&mut self) -> Result<&Data, ReproduceError> {
        let data = match self.data.take() {
            Some(data) => data,
            None => Data::new(self.plan)?,
        };
        Ok(self.data.insert(data))
    }

    /// What the plain program makes of the projections at these angles.
    fn plain(&mut self, angles: Angles) -> Result<&[f64], ReproduceError> {
        let image = match self.plain.remove(&angles) {
            Some(image) => image,
            None => plain_image(self.plan, angles, self.data()?)?,
        };
        Ok(self.plain.entry(angles).or_insert(image))
    }
}
