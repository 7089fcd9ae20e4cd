//! Cabello J, Gillam JE, Rafecas M (2012) *High performance 3D PET reconstruction using spherical basis functions on a polar grid*,
//! Int J Biomed Imaging 452910: MLEM with a Monte-Carlo system matrix of blobs on a GPU, and four accumulations of the
//! backprojection.
//!
//! Scanner, blobs, phantoms and iterations are the paper's, as far as it gives them. The matrix is simulated until it has the
//! paper's number of elements, the scans until they have its number of counts. The mouse is replaced by ellipsoids. The paper
//! compares with one core of a CPU. Here images are compared with those of the same device with deterministic accumulation; the
//! CPU makes the first iterations.

mod figures;
mod implementation;
mod matrix;
mod measure;
mod mouse;
mod plan;
mod published;
mod stages;
mod tables;

use crate::data::{BasisKind, PairCounts, ResponseMatrix, Study};
use crate::reproduce::prelude::*;
use crate::text;

#[derive(Clone, Copy)]
pub(super) struct Cabello;

type Context = super::paper::Context<Cabello>;

/// Options of the command line.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Number of matrix elements to simulate for the blobs, instead of 704 million as in the paper.
    #[arg(long, value_name = "N", value_parser = text::count::<u64>)]
    elements: Option<u64>,
}

/// Data that several measurements need.
#[derive(Default)]
pub(super) struct Caches {
    matrix: Cache<BasisKind, Arc<ResponseMatrix>>,
    study: Cache<plan::Scan, Arc<Study<PairCounts>>>,
    /// Reference images of a scan.
    reference: Cache<plan::Scan, Arc<Vec<Volume>>>,
}

impl Paper for Cabello {
    type Options = Options;
    type Plan = plan::Plan;
    type Work = stages::Work;
    type Cache = Caches;

    const STAGES: &'static [Stage<Self>] = &stages::STAGES;

    fn info(self) -> PaperInfo {
        PaperInfo {
            name: "cabello-2012",
            citation: "Cabello et al. 2012, Int J Biomed Imaging 452910",
            about: "Cabello et al. 2012, Int J Biomed Imaging 452910: blobs and a stored Monte-Carlo matrix on a GPU (MADPET-II)",
            remarks: [
                "QUICK: a reduced ring and few counts. The numbers are not comparable with the paper's.\n",
                "NO CUDA DEVICE: GPU rows contain only the paper's numbers, and accumulation modes are compared on the CPU.\n",
            ],
        }
    }

    fn plan(self, quick: bool, options: &Options) -> plan::Plan {
        plan::Plan::new(quick, options.elements)
    }

    fn heading(context: &Context) -> Result<String, ReproduceError> {
        let (citation, ring) = (context.paper.info().citation, &context.plan.ring()?.title);
        Ok(format!("{citation}, measured again; {ring}, MLEM, {} iterations", context.plan.num_iterations))
    }

    fn add_tables(context: &Context, tables: &mut Tables) -> Result<Vec<String>, ReproduceError> {
        matrix::add(context, tables)?;
        tables::times::add(context, tables)?;
        tables::images::add_rods(context, tables)?;
        tables::images::add_points(context, tables)?;
        tables::mouse::add(context, tables)?;
        figures::write_curves(context)?;
        figures::write(context)
    }

    fn details(context: &Context) -> Result<impl Serialize, ReproduceError> {
        let matrix = |kind| context.load::<matrix::MatrixFigures>(&stages::Work::Matrix(kind));
        Ok(json!({
            "matrix": matrix(BasisKind::Blobs)?,
            "matrix_of_cubes": matrix(BasisKind::Cubic)?,
            "times": tables::times::all(context)?.into_iter().map(|(_, times)| times).collect::<Vec<_>>(),
            "runs": context.load_all::<measure::Run>(|work| matches!(work, stages::Work::Image(..)))?,
        }))
    }
}
