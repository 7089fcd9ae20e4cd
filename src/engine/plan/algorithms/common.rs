//! Settings that several algorithms share.

use super::setting::{Choice, Setting};
use super::traits::DataKind;
use strum::VariantArray as _;

use crate::named::named;

/// Settings of the algorithms that carry replicates along.
pub(super) static REPLICATE_SETTINGS: &[&Setting] = &[&REPLICATES, &REPLICATE_SEED, &AS_IF_SECS, &SCAN_SECS];

/// Settings of the algorithms that iterate along lines.
pub(super) static LINES: &[&Setting] = &[&RACY_SENSITIVITY];

/// Setting of replicates. (A standard deviation needs two.)
pub static REPLICATES: Setting = Setting::count("replicates", "Replicates", "replicates", 2, 1000)
    .usual(20.0)
    .absent("no replicates")
    .option("Replicates", "bootstrap")
    .help(
        "Number of replicates for error bars (Poisson bootstrap): the run carries them along and writes OUT_sd",
        "Each has counts drawn as if the scan were repeated, and takes the same steps. OUT_sd is the standard deviation of each voxel; \
         --csv has mean_sd for each ROI. A standard deviation of N replicates is known to 1/√(2(N − 1)): ± 16 % with 20. Randoms, \
         scatter, attenuation and detection efficiencies stay fixed: their own noise is not included. svrg and bsrem: with the penalty \
         of the run. OUT.dcm: the file is OUT_sd.nii.gz.",
    )
    .recorded_apart();

/// Setting of replicates.
pub static REPLICATE_SEED: Setting = Setting::count("replicate_seed", "Seed", "", 0, u32::MAX)
    .with_default(1.0)
    .option("Replicates", "bootstrap-seed")
    .help("Seed of the replicates", "Default: 1.")
    .needs(&REPLICATES, "")
    .recorded_apart();

/// Setting of replicates.
pub static AS_IF_SECS: Setting = Setting::number("as_if_secs", "As if scanned for", "s", 1e-3, 1e6)
    .usual(60.0)
    .absent("all of the scan")
    .option("Replicates", "")
    .help(
        "Image and replicates as if the scan had lasted for a shorter time, s",
        "The image has thinned counts; the background scales with the time. Values keep the scale of the whole scan. Needs the duration \
         of the scan: that of the data, else --duration-secs.",
    )
    .is_for(|data| data.kind != DataKind::Pairs)
    .needs(&REPLICATES, "")
    .recorded_apart();

/// Setting of replicates, for data that do not contain it. (On the command line it is one of the facts of the scan.)
pub static SCAN_SECS: Setting = Setting::number("scan_secs", "Scan duration", "s", 1e-3, 1e6)
    .usual(60.0)
    .absent("unknown")
    .help("Duration of the scan, which the data do not contain", "")
    .is_for(|data| data.kind != DataKind::Pairs && !data.has_duration)
    .needs(&AS_IF_SECS, "")
    .recorded_apart();

/// Setting of Belzunce et al. 2012.
pub static RACY_SENSITIVITY: Setting = Setting::switch("racy_sensitivity", "Non-atomic sensitivity")
    .help(
        "Compute the sensitivity image non-atomically, too (non-atomic runs only)",
        "Non-atomic backprojection alone scales the image down by the loss; in both, the losses mostly cancel and leave noise. Default: no.",
    )
    .is_for(|data| data.kind != DataKind::Pairs)
    .research()
    .recorded_apart();

/// Setting of Qiao et al. 2015.
pub static KERNEL: Setting = Setting::choice(
    "kernel",
    "Kernel",
    || {
        let help = [
            "Single precision, vector instructions or the GPU's shared memory",
            "Double precision, in the order of Qiao et al. 2015",
        ];
        let choice = |(kernel, help): (&PlaneKernel, _)| Choice { help, ..Choice::named(kernel.name()) };
        PlaneKernel::VARIANTS.iter().zip(help).map(choice).collect()
    },
    "fast",
)
.help(
    "Kernel of single-stage backprojection: fast, or paper (double precision in the order of Qiao et al. 2015)",
    "Default: fast.",
)
.research();

named! {
    "a kernel";
    /// Implementation of the single-stage backprojection of planes.
    #[derive(Default)]
    pub enum PlaneKernel {
        /// The fast one, in single precision.
        #[default]
        Fast,
        /// The published one (Qiao et al. 2015), in double precision and its order of operations.
        Paper,
    }
}
