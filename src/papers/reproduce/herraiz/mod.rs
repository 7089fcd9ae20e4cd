//! Herraiz JL et al. (2011) *GPU-based fast iterative reconstruction of fully 3-D PET sinograms* and its predecessor of 2010:
//! OSEM with tubes of response from a Monte-Carlo simulation, on one and more threads of a processor and on GPUs.
//!
//! Sampling and number of subsets are those of 2011. The paper's tubes came from another program, its rat was measured. Here
//! tubes and scan are simulated (a Derenzo phantom, photon by photon), so that the data are independent of the model of the
//! tubes. The report of 2010 does not contain the subsets, iterations and field of view of its times. They are printed next to
//! times with ours.

mod edge_rings;
mod measure;
mod plan;
mod published;
mod rods;
mod scanner;
mod sources;
mod stages;
mod tables;

use crate::data::TubeSet;
use crate::reproduce::prelude::*;

/// One of the two papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Edition {
    /// The report of 2010: one pair of parallel heads.
    Report2010,
    /// Nucl Instrum Meth A 2011: the VrPET.
    Nima2011,
}

type Context = super::paper::Context<Edition>;

/// Data that several measurements need.
#[derive(Default)]
pub(super) struct Caches {
    tubes: Cache<(), Arc<TubeSet>>,
    /// Scans of an object with the seeds of their counts.
    scans: Cache<(plan::Object, u64), measure::Data>,
    /// The image of the processor.
    reference: Cache<(), Arc<Volume>>,
}

impl Paper for Edition {
    type Options = ();
    type Plan = plan::Plan;
    type Work = stages::Work;
    type Cache = Caches;

    const STAGES: &'static [Stage<Self>] = &stages::STAGES;

    fn info(self) -> PaperInfo {
        let (name, citation, about) = match self {
            Edition::Nima2011 => (
                "herraiz-2011",
                "Herraiz et al. 2011, Nucl Instrum Meth A, doi:10.1016/j.nima.2010.09.083",
                "Herraiz et al. 2011, Nucl Instrum Meth A: OSEM with Monte-Carlo tubes of response on GPUs (VrPET)",
            ),
            Edition::Report2010 => (
                "herraiz-2010",
                "Herraiz et al. 2010 (in Spanish)",
                "Herraiz et al. 2010, its predecessor (one pair of parallel heads; settings of its times unknown)",
            ),
        };
        let remarks = [
            "QUICK: a few views and rings. The numbers are not comparable with the paper's.\n",
            "NO CUDA DEVICE: the rows of GPUs hold the paper's numbers alone.\n",
        ];
        PaperInfo { name, citation, about, remarks }
    }

    fn plan(self, quick: bool, (): &()) -> plan::Plan {
        plan::Plan::new(self, quick)
    }

    fn heading(context: &Context) -> Result<String, ReproduceError> {
        let (scanner, citation) = (context.plan.scanner()?, context.paper.info().citation);
        let (title, num_lors, num_subsets) = (&scanner.title, scanner.geometry.num_bins(), context.plan.num_subsets);
        let unknown = match context.paper {
            Edition::Report2010 => {
                "\nThe report's subsets, iterations and field of view are not published: its times are listed with unknown settings."
            }
            Edition::Nima2011 => "",
        };
        Ok(format!(
            "{citation}, measured again; {title}, {num_lors} LORs, OSEM, one full iteration of {num_subsets} subsets{unknown}"
        ))
    }

    fn add_tables(context: &Context, tables: &mut Tables) -> Result<Vec<String>, ReproduceError> {
        tables::add_times(context, tables)?;
        tables::add_differences(context, tables)?;
        tables::add_rods(context, tables)?;
        tables::widths::add_lines(context, tables)?;
        tables::scanner::add(context, tables)?;
        tables::widths::add_points(context, tables)?;
        tables::scanner::add_edge_rings(context, tables)?;
        Ok(Vec::new())
    }
}
