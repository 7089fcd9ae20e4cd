//! The measurements, in stages that can be run one by one. Each measurement is kept as soon as it is made, and what is
//! kept is not measured again.

use std::sync::Arc;

use super::Settings;
use super::implementation::Implementation;
use super::measure::{Extent, Run, reconstruct};
use super::plan::{Image, Plan, VIEW_STEP};
use super::studies::{Scan, cylinder_of_nsr};
use super::warps::warps;
use crate::data::{Counts, Study};
use crate::plan::{DeviceChoice, ProjectorChoice};
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::limits::limits;
use crate::reproduce::schedule::{Measurement, measure_missing, not_a_stage};

/// A part of the measurements, in the order in which they are made; the command line has these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_stage::<Item>)]
pub enum Item {
    /// Table 1 and figure 9.
    Limits,
    /// Tables 2, 3, 4 and 7 and figure 6.
    Times,
    /// The image-quality phantom without noise: tables 5 and 6, figure 8.
    Iq,
    /// The same phantom with noise.
    IqNoisy,
    /// The cylinder: table 5, figure 7.
    Cylinder,
    /// The image-quality phantom in the other images.
    Sizes,
    /// The image-quality phantom made of large voxels.
    Voxels,
    /// The brain: figure 10.
    Brain,
}

/// One measurement.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Limits(DeviceChoice),
    Warps(Image),
    Times(Image, Implementation),
    CylinderCounts,
    Image(Scan, Image, Implementation),
}

impl Measurement for Work {
    fn key(&self) -> String {
        match self {
            Work::Limits(device) => format!("limits.{device:?}").to_lowercase().replace(['(', ')'], ""),
            Work::Warps(image) => format!("warps.{}", image.name),
            Work::Times(image, implementation) => format!("times.{}.{}", image.name, implementation.key()),
            Work::CylinderCounts => "cylinder-counts".into(),
            Work::Image(scan, image, implementation) => format!("{}.{}.{}", scan.name(), image.name, implementation.key()),
        }
    }

    fn title(&self) -> String {
        match self {
            Work::Limits(_) => "limits of the device".into(),
            Work::Warps(image) => format!("lanes of warps, {}", image.title),
            Work::Times(image, implementation) => format!("times, {}: {}", image.title, implementation.title()),
            Work::CylinderCounts => "search for the counts that give the cylinder the paper's noise".into(),
            Work::Image(scan, image, implementation) => {
                format!("{}, {}: {}", scan.title(), image.title, implementation.title())
            }
        }
    }
}

/// The measurements of a stage, in order.
pub(super) fn work(stage: Item, plan: &Plan, device: DeviceChoice) -> Vec<Work> {
    let images_of = |scan: Scan, image: &Image, all: Vec<Implementation>| -> Vec<Work> {
        all.into_iter().map(|implementation| Work::Image(scan, image.clone(), implementation)).collect()
    };
    let all = || Implementation::of_images(plan, device);
    let further = || Implementation::of_further_images(plan, device);
    let quality = plan.quality_image();
    match stage {
        Item::Limits => {
            let warps = plan.images.iter().cloned().map(Work::Warps);
            std::iter::once(Work::Limits(device)).chain(warps).collect()
        }
        Item::Times => {
            let of_image = |image: &Image| {
                let image = image.clone();
                Implementation::of_times(device).into_iter().map(move |one| Work::Times(image.clone(), one))
            };
            plan.images.iter().flat_map(of_image).collect()
        }
        Item::Iq => images_of(Scan::Iq, quality, all()),
        Item::IqNoisy => images_of(Scan::IqNoisy, quality, all()),
        Item::Cylinder => [vec![Work::CylinderCounts], images_of(Scan::Cylinder, quality, all())].concat(),
        Item::Sizes => plan.images[..2].iter().rev().flat_map(|image| images_of(Scan::Iq, image, further())).collect(),
        Item::Voxels => [quality, plan.full_image()]
            .into_iter()
            .flat_map(|image| images_of(Scan::IqVoxels, image, vec![Implementation::reference()]))
            .collect(),
        Item::Brain => images_of(Scan::Brain, plan.full_image(), further()),
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
    let mut runner = Runner { plan, folder, study: None };
    measure_missing(stages, folder, settings.budget_secs, say, |work| runner.measure(work))
}

/// Does measurements; keeps the last scan, which the next one mostly needs too.
struct Runner<'a> {
    plan: &'a Plan,
    folder: &'a Folder,
    study: Option<(Scan, Arc<Study<Counts>>)>,
}

impl Runner<'_> {
    /// Does one measurement; what to say about it.
    fn measure(&mut self, work: &Work) -> Result<&'static str, ReproduceError> {
        let key = work.key();
        match work {
            Work::Limits(device) => self.folder.store(&key, &limits(*device))?,
            Work::Warps(image) => self.folder.store(&key, &warps(&self.plan.geometry()?, image)?)?,
            Work::CylinderCounts => {
                let found = cylinder_of_nsr(self.plan)?;
                self.study = None;
                self.folder.store(&key, &found)?;
            }
            Work::Times(image, implementation) => {
                let slow = implementation.device == DeviceChoice::Cpu && implementation.projector == ProjectorChoice::PER_LOR;
                let view_step = if slow && !self.plan.per_lor_is_affordable { VIEW_STEP } else { 1 };
                let num_steps = 1 + if view_step > 1 { 1 } else { self.plan.num_timed };
                return self.reconstruct(&key, Scan::Iq, image, implementation, Extent { num_steps, view_step }, false);
            }
            Work::Image(scan, image, implementation) => {
                let extent = Extent { num_steps: self.plan.num_iterations, view_step: 1 };
                return self.reconstruct(&key, *scan, image, implementation, extent, true);
            }
        }
        Ok("")
    }

    fn reconstruct(
        &mut self,
        key: &str,
        scan: Scan,
        image: &Image,
        implementation: &Implementation,
        extent: Extent,
        keep_image: bool,
    ) -> Result<&'static str, ReproduceError> {
        let study = self.study(scan)?;
        let found = reconstruct(scan.title(), &study, image, implementation, extent)?;
        if let Some((_, volume)) = found.as_ref().filter(|_| keep_image) {
            self.folder.store_image(key, volume)?;
        }
        let run: Option<Run> = found.map(|(run, _)| run);
        self.folder.store(key, &run)?;
        Ok(if run.is_some() { "" } else { "not offered by this projector, " })
    }

    fn study(&mut self, scan: Scan) -> Result<Arc<Study<Counts>>, ReproduceError> {
        if let Some((_, study)) = self.study.as_ref().filter(|(kept, _)| *kept == scan) {
            return Ok(Arc::clone(study));
        }
        self.study = None;
        let study = scan.simulate(self.plan, self.folder)?;
        self.study = Some((scan, Arc::clone(&study)));
        Ok(study)
    }
}
