//! The measurements, in stages.

use super::measure::{Difference, Precision, image, times};
use super::plan::Data;
use super::program::{Angles, Program};
use super::{Context, Qiao};
use crate::reproduce::device::limits;
use crate::reproduce::prelude::*;

#[derive(Clone, Copy)]
pub enum Work {
    Limits(DeviceChoice),
    Times(usize, Program),
    Image(Program),
}

impl Measurement<Qiao> for Work {
    fn names(&self) -> (String, String) {
        match self {
            Work::Limits(device) => (limits_key(*device), "limits of the device".into()),
            Work::Times(size, program) => {
                (format!("times.{size}.{}", program.key()), format!("times, {size}³: {}", program.title()))
            }
            Work::Image(program) => (format!("image.{}", program.key()), format!("image: {}", program.title())),
        }
    }

    fn make(&self, context: &Context) -> Result<&'static str, ReproduceError> {
        let (plan, folder, key) = (&context.plan, &context.folder, self.key());
        match *self {
            Work::Limits(device) => folder.store(&key, &limits(device))?,
            Work::Times(size, program) => folder.store(&key, &times(plan, size, program, &*context.data()?)?)?,
            Work::Image(program) => {
                let image = image(plan, program, context.data()?.of(program.angles()))?;
                let truth: Vec<f64> = plan.truth(plan.image_size)?.as_slice().iter().map(|&value| value.into()).collect();
                let is_resampled = program.angles() == Angles::Linear;
                let resampled = if is_resampled { Some(context.plain(Angles::Linear)?) } else { None };
                let precision = Precision {
                    from_plain: Difference::between(&image, &context.plain(Angles::Solid)?),
                    of_stages: resampled.map(|plain| Difference::between(&image, &plain)),
                    from_truth: Difference::between(&image, &truth),
                };
                let mut volume = Volume::filled(plan.grid(plan.image_size)?, 0.0);
                volume.as_mut_slice().iter_mut().zip(&image).for_each(|(value, &wide)| *value = wide as f32);
                folder.store_image(&key, &volume)?;
                folder.store(&key, &precision)?;
            }
        }
        Ok("")
    }
}

pub const STAGES: [Stage<Qiao>; 3] = [
    // Table 2 and section 4.4.
    ("limits", |context| vec![Work::Limits(context.device)]),
    // Table 1 and figures 1 to 3.
    ("times", |context| {
        let all = Program::of_times(context.device);
        context.plan.sizes.iter().flat_map(|&size| all.iter().map(move |program| Work::Times(size, *program))).collect()
    }),
    // Figures 4 and 5.
    ("images", |context| Program::of_images(context.device).into_iter().map(Work::Image).collect()),
];

impl Context {
    fn data(&self) -> Result<Arc<Data>, ReproduceError> {
        self.cache.data.only((), || Ok(Arc::new(Data::new(&self.plan)?)))
    }

    /// Returns the object that the plain program makes of the projections at these angles.
    fn plain(&self, angles: Angles) -> Result<Arc<Vec<f64>>, ReproduceError> {
        let make = || Ok(Arc::new(image(&self.plan, Program::Plain, self.data()?.of(angles))?));
        self.cache.plain.get(angles, |_| true, make)
    }
}
