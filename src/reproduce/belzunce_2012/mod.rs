//! Belzunce MA, Verrastro CA, Venialgo E, Cohen IM (2012) *Cuda Parallel Implementation of Image Reconstruction Algorithm
//! for Positron Emission Tomography*, Open Med Imaging J 6:108: MLEM with Siddon's projector on a GPU, one thread per
//! bin, with and without atomic additions in the backprojection.
//!
//! The scanner, the images and the number of iterations are the paper's. Its cylinder and its brain were measured; here
//! they are simulated, the cylinder with so many counts that its noise is the paper's. Times of a projector that is too
//! slow here are taken from every 28th view and marked.

mod figures;
mod implementation;
mod limits;
mod measure;
mod plan;
mod published;
mod quality;
mod stages;
mod studies;
mod tables;
mod warps;

use crate::data::{Counts, Study};
use crate::reproduce::prelude::*;

/// The paper.
#[derive(Clone, Copy)]
pub(super) struct Belzunce;

type Context = super::paper::Context<Belzunce>;

impl Paper for Belzunce {
    type Options = quality::Readings;
    type Plan = plan::Plan;
    type Work = stages::Work;
    /// The last scan, which the next measurement mostly needs too.
    type Cache = Cache<studies::Scan, Arc<Study<Counts>>>;

    const STAGES: &'static [Stage<Self>] = &stages::STAGES;

    fn info(self) -> PaperInfo {
        PaperInfo {
            name: "belzunce-2012",
            citation: "Belzunce et al. 2012, Open Med Imaging J 6:108",
            about: "Belzunce et al. 2012, Open Med Imaging J 6:108: MLEM on GPUs with and without atomic additions",
            remarks: ["QUICK: a small scanner and small images. The numbers are not comparable with the paper's.\n", ""],
        }
    }

    fn plan(self, quick: bool, _: &Self::Options) -> plan::Plan {
        plan::Plan::new(quick)
    }

    fn heading(context: &Context) -> Result<String, ReproduceError> {
        let (citation, num_iterations) = (context.paper.info().citation, context.plan.num_iterations);
        Ok(format!("{citation}, measured again; MLEM, {num_iterations} iterations, exact line lengths, one line per bin"))
    }

    fn add_tables(context: &Context, tables: &mut Tables) -> Result<Vec<String>, ReproduceError> {
        tables.text.extend(context.folder.load(&limits_key(context.device))?.as_ref().map(limits::table));
        tables::times::add(context, tables)?;
        tables::images::add(context, tables)?;
        tables::readings::add(context, tables)?;
        warps::add(context, tables)?;
        figures::write(context)
    }

    fn details(context: &Context) -> Result<impl Serialize, ReproduceError> {
        Ok(Details {
            readings: context.options,
            runs: context.runs()?,
            limits: context.folder.load(&limits_key(context.device))?,
            cylinder: context.load(&stages::Work::CylinderCounts)?,
        })
    }
}

/// Measurements of the JSON file.
#[derive(Serialize)]
struct Details {
    readings: quality::Readings,
    runs: Vec<measure::Run>,
    limits: Option<Limits>,
    cylinder: Option<studies::CylinderCounts>,
}
