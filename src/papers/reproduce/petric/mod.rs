//! PETRIC, the image reconstruction challenge of SyneRBI: time and epochs of each algorithm to the thresholds of its measures, for a
//! data set in its folder ([`crate::io::PetricFolder`]).
//!
//! All algorithms begin at the start image of the folder. A threshold counts from the first of ten successive updates that meet it;
//! measuring takes no time. Without a reference image in the folder the reference is the end of a long run of SVRG, whose objective is
//! the maximum Φ*.

use clap::Args;
use std::path::PathBuf;

use crate::data::Study;
use crate::io::PetricFolder;
use crate::plan::{self as planning, Data, StudyFiles};
use crate::reproduce::prelude::*;

mod course;
mod plan;
mod reference;
mod stages;
mod tables;

pub use reference::petric_reference;

#[derive(Clone, Copy)]
pub(super) struct Petric;

type Context = super::paper::Context<Petric>;

/// Options of the challenge.
#[derive(Args)]
pub struct Options {
    /// Folder of the data set, with prompts.hs (tomoscope simulate --petric makes one).
    data: PathBuf,
}

/// Data that several measurements need.
#[derive(Default)]
pub(super) struct Caches {
    study: Cache<(), Arc<Study<Data>>>,
}

impl Context {
    fn study(&self) -> Result<Arc<Study<Data>>, ReproduceError> {
        let path = &self.options.data;
        self.cache.study.only((), || {
            PetricFolder::of(path).ok_or_else(|| ReproduceError::NotPetric(path.clone()))?;
            let (study, _) = StudyFiles::File(path.clone()).read(&planning::Cache::of_the_user(), &Task::new())?;
            Ok(Arc::new(study))
        })
    }
}

impl Paper for Petric {
    type Options = Options;
    type Plan = plan::Plan;
    type Work = stages::Work;
    type Cache = Caches;

    const STAGES: &'static [Stage<Self>] = &stages::STAGES;

    fn info(self) -> PaperInfo {
        PaperInfo {
            name: "petric",
            citation: "PETRIC, image reconstruction challenge of SyneRBI, github.com/SyneRBI/PETRIC",
            about: "PETRIC (SyneRBI): time and epochs of each algorithm to the challenge's thresholds, for a data set in its folder",
            remarks: ["QUICK: few epochs, one setting of BSREM.\n", ""],
        }
    }

    fn plan(self, quick: bool, options: &Options) -> plan::Plan {
        plan::Plan::new(quick, &options.data)
    }

    fn heading(context: &Context) -> Result<String, ReproduceError> {
        let reference = match context.folder.load::<reference::Made>(&stages::Work::Reference.key())? {
            Some(made) if made.is_given => "the folder's".to_owned(),
            Some(made) => format!("the end of {} epochs of SVRG (the folder has none)", made.maximum.epochs),
            None => "to be made".to_owned(),
        };
        Ok(format!(
            "PETRIC: {}\nThresholds: RMSE of the whole object and of the background at most 1 %, error of the mean of each VOI at most 0.5 %,\n\
             all of the background's mean, for 10 updates. Reference image: {reference}.",
            context.options.data.display()
        ))
    }

    fn add_tables(context: &Context, tables: &mut Tables) -> Result<Vec<String>, ReproduceError> {
        tables.without_paper = false;
        tables::add(context, tables)?;
        Ok(Vec::new())
    }
}
