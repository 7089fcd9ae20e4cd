//! Qiao Z, Redler G, Epel B, Qian Y, Halpern H (2015) *Implementation of GPU-accelerated back projection for EPR imaging*,
//! J X-Ray Sci Technol 23(4), doi:10.3233/XST-150498: filtered backprojection in three dimensions on a GPU (GS), compared
//! with a plain loop (CS) and with two stages of two dimensions (CM) on a processor.
//!
//! The object sizes, the number of projections and the programs are the paper's; its bottle was measured, here it is
//! simulated. The paper gives neither the number of samples of a projection nor the threads of its programs for the
//! processor: here there are 128 samples, and CS and CM have one thread. Filtering and resampling are not part of any time,
//! as in the paper.

use crate::reproduce::prelude::*;

mod figures;
mod limits;
mod measure;
mod plan;
mod program;
mod published;
mod ready;
mod stages;
mod tables;
mod times;

#[derive(Clone, Copy)]
pub(super) struct Qiao;

type Context = super::paper::Context<Qiao>;

/// Data that several measurements need.
#[derive(Default)]
pub(super) struct Caches {
    data: Cache<(), Arc<plan::Data>>,
    /// Images of the plain program.
    plain: Cache<program::Angles, Arc<Vec<f64>>>,
}

impl Paper for Qiao {
    type Options = ();
    type Plan = plan::Plan;
    type Work = stages::Work;
    type Cache = Caches;

    const STAGES: &'static [Stage<Self>] = &stages::STAGES;

    fn info(self) -> PaperInfo {
        PaperInfo {
            name: "qiao-2015",
            citation: "Qiao et al. 2015, J X-Ray Sci Technol 23(4), doi:10.3233/XST-150498",
            about: "Qiao et al. 2015, J X-Ray Sci Technol 23(4): filtered backprojection for EPR imaging on a GPU",
            remarks: [
                "QUICK: of the paper's objects only the smallest, and no averages.\n",
                "NO CUDA DEVICE: GS is not measured here; its columns hold the paper's numbers alone.\n",
            ],
        }
    }

    fn plan(self, quick: bool, (): &()) -> plan::Plan {
        plan::Plan::new(quick)
    }

    fn heading(context: &Context) -> Result<String, ReproduceError> {
        let ([num_polar, num_azimuth], num_projections) = (context.plan.equal_angles(), context.plan.num_projections());
        Ok(format!(
            "Qiao et al. 2015, J X-Ray Sci Technol 23(4), measured again; a bottle, {num_projections} projections of equal solid angle\n\
GS: one stage on the GPU, the paper's kernel in double precision. CS: the plain loop in double precision, one thread.\n\
CM: two stages, one thread, from the projections resampled to {num_polar} x {num_azimuth} equal linear angles."
        ))
    }

    fn add_tables(context: &Context, tables: &mut Tables) -> Result<Vec<String>, ReproduceError> {
        // The paper's smallest object is one of a quick run's too.
        tables.without_paper = false;
        let times = times::AllTimes::load(context)?;
        tables::add_times(context, &times, tables);
        if let Some(limits) = &context.folder.load::<Limits>(&limits_key(context.device))? {
            tables.text.push(limits::table(limits));
            limits::add_resident_threads(&context.plan, limits, tables);
        }
        tables::add_precision(&context.plan, &tables::precision(context)?, tables)?;
        figures::write(context, &times)
    }

    fn details(context: &Context) -> Result<impl Serialize, ReproduceError> {
        let precision = tables::precision(context)?.into_iter().map(|(program, precision)| (program.title(), precision));
        Ok(json!({
            "times": times::AllTimes::load(context)?.iter().collect::<Vec<_>>(),
            "precision": precision.collect::<Vec<_>>(),
            "limits": context.folder.load::<Limits>(&limits_key(context.device))?,
        }))
    }
}
