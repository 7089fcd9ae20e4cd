//! The measurements, in stages that can be run one by one.

use super::implementation::Implementation;
use super::measure::{Extent, reconstruct};
use super::plan::{Image, VIEW_STEP};
use super::studies::{CylinderCounts, Scan, cylinder_of_nsr};
use super::warps::warps;
use super::{Belzunce, Context};
use crate::data::{Counts, Study};
use crate::plan::ProjectorChoice;
use crate::reproduce::device::limits;
use crate::reproduce::prelude::*;

#[derive(Clone)]
pub enum Work {
    Limits(DeviceChoice),
    Warps(Image),
    Times(Image, Implementation),
    CylinderCounts,
    Image(Scan, Image, Implementation),
}

impl Measurement<Belzunce> for Work {
    fn names(&self) -> (String, String) {
        match self {
            Work::Limits(device) => (limits_key(*device), "limits of the device".into()),
            Work::Warps(image) => (format!("warps.{}", image.name), format!("lanes of warps, {}", image.title)),
            Work::Times(image, one) => {
                (format!("times.{}.{}", image.name, one.key()), format!("times, {}: {}", image.title, one.title()))
            }
            Work::CylinderCounts => {
                ("cylinder-counts".into(), "search for the counts that give the cylinder the paper's noise".into())
            }
            Work::Image(scan, image, one) => (
                format!("{}.{}.{}", scan.name(), image.name, one.key()),
                format!("{}, {}: {}", scan.title(), image.title, one.title()),
            ),
        }
    }

    fn make(&self, context: &Context) -> Result<&'static str, ReproduceError> {
        let (plan, folder, key) = (&context.plan, &context.folder, self.key());
        let (scan, image, implementation, extent) = match self {
            Work::Limits(device) => return folder.store(&key, &limits(*device)).map(|()| ""),
            Work::Warps(image) => return folder.store(&key, &warps(&plan.geometry()?, image)?).map(|()| ""),
            Work::CylinderCounts => return folder.store(&key, &cylinder_of_nsr(plan)?).map(|()| ""),
            Work::Times(image, one) => {
                let is_slow = one.device == DeviceChoice::Cpu && one.projector == ProjectorChoice::PER_LOR;
                let view_step = if is_slow && !plan.per_lor_is_affordable { VIEW_STEP } else { 1 };
                let num_steps = 1 + if view_step > 1 { 1 } else { plan.num_timed };
                (Scan::Iq, image, one, Extent { num_steps, view_step })
            }
            Work::Image(scan, image, one) => (*scan, image, one, Extent { num_steps: plan.num_iterations, view_step: 1 }),
        };
        let study = context.study(scan)?;
        let (run, volume) = reconstruct(scan.title(), &study, image, implementation, extent)?.unzip();
        if let (Work::Image(..), Some(volume)) = (self, &volume) {
            folder.store_image(&key, volume)?;
        }
        folder.store(&key, &run)?;
        Ok(if run.is_some() { "" } else { "not offered by this projector, " })
    }
}

/// Returns the images of a scan by several implementations.
fn images_of(scan: Scan, image: &Image, all: Vec<Implementation>) -> Vec<Work> {
    all.into_iter().map(|one| Work::Image(scan, image.clone(), one)).collect()
}

/// Returns the images of a scan in which quality is measured.
fn quality_images(context: &Context, scan: Scan) -> Vec<Work> {
    images_of(scan, context.plan.quality_image(), Implementation::of_images(&context.plan, context.device))
}

pub const STAGES: [Stage<Belzunce>; 8] = [
    // Table 1 and figure 9.
    ("limits", |context| {
        [Work::Limits(context.device)].into_iter().chain(context.plan.images.iter().cloned().map(Work::Warps)).collect()
    }),
    // Tables 2, 3, 4 and 7 and figure 6.
    ("times", |context| {
        let all = Implementation::of_times(context.device);
        context.plan.images.iter().flat_map(|image| all.iter().map(|one| Work::Times(image.clone(), *one))).collect()
    }),
    // The image-quality phantom without noise: tables 5 and 6, figure 8.
    ("iq", |context| quality_images(context, Scan::Iq)),
    // The same phantom with noise.
    ("iq-noisy", |context| quality_images(context, Scan::IqNoisy)),
    // The cylinder: table 5, figure 7.
    ("cylinder", |context| [vec![Work::CylinderCounts], quality_images(context, Scan::Cylinder)].concat()),
    // The image-quality phantom in the other images.
    ("sizes", |context| {
        let further = || Implementation::of_further_images(&context.plan, context.device);
        context.plan.images[..2].iter().rev().flat_map(|image| images_of(Scan::Iq, image, further())).collect()
    }),
    // The image-quality phantom made of large voxels.
    ("voxels", |context| {
        let images = [context.plan.quality_image(), context.plan.full_image()];
        images.into_iter().flat_map(|image| images_of(Scan::IqVoxels, image, vec![Implementation::reference()])).collect()
    }),
    // The brain: figure 10.
    ("brain", |context| {
        let further = Implementation::of_further_images(&context.plan, context.device);
        images_of(Scan::Brain, context.plan.full_image(), further)
    }),
];

impl Context {
    /// Returns a scan; the cylinder has the number of counts in the folder.
    fn study(&self, scan: Scan) -> Result<Arc<Study<Counts>>, ReproduceError> {
        self.cache.only(scan, || {
            let found: Option<CylinderCounts> = if scan == Scan::Cylinder { self.load(&Work::CylinderCounts)? } else { None };
            scan.simulate(&self.plan, found.map_or(self.plan.counts, |found| found.counts))
        })
    }
}
