//! `tomoscope histogram LIST -o OUT.hs`: the sinogram of list-mode data.

use std::ops::Range;
use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::error::CliResult;
use crate::cli::shared::list_options::ListArguments;
use crate::cli::shared::notices;
use crate::cli::shared::options::{TalkOptions, count, positive};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{file_of, of_frame};
use crate::cli::shared::printed::{ContentsOf, write_counts};
use crate::cli::shared::progress::with_bar;
use crate::data::{CorrectionContent, Frames};
use crate::io::Correction;
use crate::io::formats::Content;
use crate::plan::{HistogramSettings, TofRequest, histogram};

/// Options of `tomoscope histogram`.
#[derive(Args)]
pub struct HistogramOptions {
    /// List-mode data ({read lists}).
    list: PathBuf,

    /// Header of the sinogram to write ({write projections}).
    ///
    /// The normalisation is written as OUT_mult.hs, the expected randoms as OUT_add.hs.
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Projections))]
    output: PathBuf,

    /// Time frames in seconds: 0-60,60-300, or 6x10,4x60 (six frames of ten seconds, four of sixty).
    ///
    /// Each frame is written as OUT_fNNN.hs. A limit inside a time block (PETSIRD) moves to the nearest block edge. Default:
    /// all events, as OUT.hs.
    #[arg(long, value_name = "FRAMES")]
    frames: Option<Frames>,

    /// Keep frame limits inside time blocks (PETSIRD) and draw the events of a divided block at random.
    ///
    /// The value is the seed. Default: 1.
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1", require_equals = true, requires = "frames")]
    split_blocks: Option<u64>,

    /// Number of ring differences per segment.
    ///
    /// Default: 1, one plane per ring pair.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = odd)]
    span: usize,

    /// Number of tangential positions.
    ///
    /// Default: that of the file's format, else half the number of detectors per ring.
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    tangential: Option<usize>,

    /// Maximum ring difference.
    ///
    /// Default: that of the file's format, else all.
    #[arg(long, value_name = "N")]
    max_ring_difference: Option<u32>,

    /// Sort the events by their time of flight.
    ///
    /// The bins are a little narrower than the resolution and cover the image, within the coincidence window.
    #[arg(long)]
    tof: bool,

    /// Number of time-of-flight bins. Default: as many as cover the image.
    #[arg(long, value_name = "N", requires = "tof", value_parser = count::<u16>)]
    tof_bins: Option<u16>,

    /// Width of a time-of-flight bin, mm along the line.
    ///
    /// Default: 0.9 of the resolution, or less in whole bins of the file.
    #[arg(long, value_name = "MM", requires = "tof", value_parser = positive)]
    tof_bin_mm: Option<f64>,

    #[command(flatten)]
    list_arguments: ListArguments,

    #[command(flatten)]
    talk: TalkOptions,
}

fn odd(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n: &usize| n % 2 == 1).ok_or_else(|| format!("'{text}' is not an odd number of ring differences"))
}

pub fn run(options: &HistogramOptions) -> CliResult {
    options.talk.apply();
    let frames: Vec<(Option<Range<u32>>, PathBuf)> = match &options.frames {
        None => vec![(None, options.output.clone())],
        Some(frames) => {
            let frames = frames.as_slice();
            let name = |number: usize| of_frame(&options.output, number, frames.len());
            (1..).zip(frames).map(|(number, frame)| (Some(frame.clone()), name(number))).collect()
        }
    };
    let scans: Vec<PathBuf> = frames.iter().map(|(_, path)| path.clone()).collect();
    let corrections = [Correction::Multiplicative, Correction::Additive];
    let corrections: Vec<PathBuf> =
        scans.iter().flat_map(|path| corrections.map(|correction| correction.path_beside(path))).collect();
    let list = options.list_arguments.list_options();
    let files = Files::new().read([&options.list]).read(&list.scanner).read(&list.normalization);
    files.write_scans("-o", &scans).write("-o", &corrections).check()?;
    for (frame_ms, path) in frames {
        let settings = HistogramSettings {
            num_tangential: options.tangential,
            max_ring_difference: options.max_ring_difference.map(|n| n as usize),
            span: options.span,
            frame_ms,
            split_seed: options.split_blocks,
            tof: options.tof.then_some(TofRequest { num: options.tof_bins.map(usize::from), width_mm: options.tof_bin_mm }),
        };
        let study = with_bar("counting", |task| histogram(&options.list, &list, &settings, task))??;
        notices::print(&study.notices);
        let prompts = &study.measured.prompts;
        let content = format!("{:.0} prompts in {} bins", prompts.total(), prompts.geometry.num_bins());
        let contents = ContentsOf { factors: &[CorrectionContent::Efficiency], background: &[CorrectionContent::Randoms] };
        write_counts(&path, &study.measured, contents, content, |correction, data| {
            let name = if correction == Correction::Additive { "expected randoms" } else { "normalisation" };
            format!("{name}, {:.1} in all", data.total())
        })?;
    }
    Ok(())
}
