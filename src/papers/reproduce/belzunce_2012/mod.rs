//! Belzunce MA, Verrastro CA, Venialgo E, Cohen IM (2012) *Cuda Parallel Implementation of Image Reconstruction Algorithm
//! for Positron Emission Tomography*, Open Med Imaging J 6:108: MLEM with Siddon's projector on a GPU, one thread per
//! bin, with and without atomic additions in the backprojection.
//!
//! The scanner, the images and the number of iterations are the paper's. Its cylinder and its brain were measured. Here they are
//! simulated, the cylinder with the number of counts that gives the paper's noise. Times of a slow projector are measured on
//! every 28th view and marked.

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

#[derive(Clone, Copy)]
pub(super) struct Belzunce;

type Context = super::paper::Context<Belzunce>;

impl Paper for Belzunce {
    type Options = quality::Readings;
    type Plan = plan::Plan;
    type Work = stages::Work;
    /// The last scan, which the next measurement mostly needs, too.
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
        tables::warps::add(context, tables)?;
        figures::write(context)
    }

    fn details(context: &Context) -> Result<impl Serialize, ReproduceError> {
        let is_run = |work: &stages::Work| matches!(work, stages::Work::Times(..) | stages::Work::Image(..));
        Ok(json!({
            "readings": context.options,
            "runs": context.load_all::<measure::Run>(is_run)?,
            "limits": context.folder.load::<Limits>(&limits_key(context.device))?,
            "cylinder": context.load::<studies::CylinderCounts>(&stages::Work::CylinderCounts)?,
        }))
    }
}
