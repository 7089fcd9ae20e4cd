//! The measurements, in stages.

use super::course::Course;
use super::plan::Method;
use super::reference::{Made, by_svrg};
use super::{Context, Petric};
use crate::reproduce::prelude::*;

#[derive(Clone, Copy)]
pub enum Work {
    Reference,
    Run(Method),
}

pub const STAGES: [Stage<Petric>; 4] = [
    ("reference", |_| vec![Work::Reference]),
    ("osem", |_| vec![Work::Run(Method::Osem)]),
    ("svrg", |_| [Method::SvrgTable, Method::SvrgBarzilaiBorwein].map(Work::Run).into()),
    ("bsrem", |context| context.plan.bsrem().map(Work::Run).collect()),
];

impl Measurement<Petric> for Work {
    fn names(&self) -> (String, String) {
        match self {
            Work::Reference => ("reference".into(), "reference image".into()),
            Work::Run(method) => (method.key(), method.title()),
        }
    }

    fn make(&self, context: &Context) -> Result<&'static str, ReproduceError> {
        let (study, plan, folder) = (context.study()?, &context.plan, &context.folder);
        match *self {
            Work::Reference => {
                let given = study.preset.as_ref().and_then(|preset| preset.reference.clone());
                let (image, maximum) = by_svrg(&study, context.device, plan.reference_epochs, &Task::new())?;
                let made = Made { is_given: given.is_some(), maximum };
                let image = given.map_or(image, |given| (*given).clone());
                folder.store_image(&self.key(), &image)?;
                folder.store(&self.key(), &made)?;
            }
            Work::Run(method) => {
                // A run that is asked for alone needs it too.
                if !folder.has(&Work::Reference.key()) {
                    Work::Reference.make(context)?;
                }
                let made = folder.load::<Made>(&Work::Reference.key())?.ok_or(ReproduceError::NoImage)?;
                let reference = context.load_image(&Work::Reference)?.ok_or(ReproduceError::NoImage)?;
                let epochs = if matches!(method, Method::Bsrem { .. }) { plan.bsrem_epochs } else { plan.epochs };
                folder.store(&self.key(), &Course::run(&study, method, (&reference, made.maximum), context.device, epochs)?)?;
            }
        }
        Ok("")
    }
}
