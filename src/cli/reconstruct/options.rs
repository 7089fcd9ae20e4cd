//! Options of `tomoscope reconstruct`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgGroup, Args};

use super::epri_options::{EpriOptions, ExperimentFiles};
use super::follow_list::follow_list;
use super::parts::PartOptions;
use super::replicates::of_deviation;
use super::stop_options::StopOptions;
use super::uptake::options::UptakeOptions;
use crate::algebra::{Host, ImageSpace};
use crate::cli::shared::ct_options::CtArguments;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::given::Given;
use crate::cli::shared::image_options::{ImageOptions, ReadImage};
use crate::cli::shared::list_options::ListArguments;
use crate::cli::shared::notices;
use crate::cli::shared::options::{ProjectorOptions, TalkOptions, calibration, count, positive};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{is_numbered, of_frame, of_input};
use crate::cli::shared::progress::with_bar;
use crate::cli::shared::setting_options::SettingOptions;
use crate::data::{CtSettings, Fingerprint, Frames, MuUnit, Notice, Psf, Unit, frame_ms};
use crate::geometry::Grid;
use crate::io::list_mode::ListOptions;
use crate::io::psf;
use crate::io::saved_matrix::read_matrix;
use crate::io::{OutputLock, PetricFolder, before_ending, read_epri_volume, read_pair_study, read_volume};
use crate::plan::{
    AS_IF_SECS, AlgorithmChoice, Cache, DataKind, Job, ListSelection, REPLICATES, RunInputs, RunSettings, SCAN_SECS,
    SPECTRAL_SAMPLES, ScanFiles, ScanWithNeighbours, SubsetRule, TofSettings, check_basis, data_kind_of, default_list_settings,
    default_num_iterations, default_settings, list_study, ring_basis,
};

/// Options of `tomoscope reconstruct`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("use_of_rois").multiple(true).arg(REPLICATES.key))]
#[command(group = ArgGroup::new("use_of_duration").multiple(true).arg(AS_IF_SECS.key))]
pub struct ReconstructOptions {
    /// Input; each of several inputs has its copy of these options.
    #[arg(skip)]
    pub input: PathBuf,

    /// Fingerprint of the request, which identifies images that are up to date ([`super::up_to_date`]); `None` if it is not
    /// needed.
    #[arg(skip)]
    pub request: Option<String>,

    /// True if another process writes all files.
    #[arg(skip)]
    pub is_helper: bool,

    /// Image to write. (Commands that write no image share the other options.)
    #[arg(skip)]
    pub output: PathBuf,

    /// Options that were set.
    #[command(flatten)]
    pub given: Given,

    /// Algorithm: mlem, osem, svrg, bsrem, or for EPRI fbp, fbp-multistage (two stages) or tv (total variation).
    ///
    /// fbp-multistage resamples directions that are not at equal linear angles. Default: osem, or fbp.
    #[arg(long, help_heading = "Algorithm")]
    pub algorithm: Option<AlgorithmChoice>,

    #[command(flatten)]
    pub parameters: SettingOptions,

    #[command(flatten)]
    pub epri: EpriOptions,

    /// Number of full iterations.
    ///
    /// Default: subsets × iterations is about 56, that is 4 with 14 subsets and 56 with one.
    #[arg(long, value_name = "N", value_parser = count::<u32>, help_heading = "Algorithm", group = "steps")]
    pub iterations: Option<u32>,

    /// Number of subsets.
    ///
    /// Default of svrg and bsrem: the divisor of the number of views nearest to 25 (list-mode data: 25). Of osem: at most 14, with at least 50 000 counts net of the expected background and at least 4 views each (list-mode
    /// data have no views), and if possible a divisor of the number of views.
    #[arg(long, value_name = "N", value_parser = count::<u32>, help_heading = "Algorithm", group = "for_lines")]
    pub subsets: Option<u32>,

    #[command(flatten)]
    pub stop: StopOptions,

    #[command(flatten)]
    pub list_arguments: ListArguments,

    /// Time frame in seconds, in the times of the list. They can begin later than 0: `info` prints their range.
    ///
    /// A limit inside a time block (PETSIRD) moves to the nearest block edge. Default: all events.
    #[arg(long, value_name = "FROM-TO", value_parser = frame_ms, help_heading = "List-mode data", group = "for_lists")]
    pub frame: Option<Range<u32>>,

    /// Time frames in seconds: 0-60,60-300, or 6x10,4x60 (six frames of ten seconds, four of sixty).
    ///
    /// Each frame is written as OUT_fNNN. Frames of equal duration without gaps are also written as one 4-D image if OUT ends
    /// in .nii or .nii.gz.
    #[arg(
        long,
        value_name = "FRAMES",
        conflicts_with = "frame",
        help_heading = "List-mode data",
        group = "for_lists",
        group = "reconstruct_only"
    )]
    pub frames: Option<Frames>,

    /// Keep frame limits inside time blocks (PETSIRD) and draw the events of a divided block at random.
    ///
    /// The value is the seed. Default: 1.
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1", require_equals = true, help_heading = "List-mode data", group = "for_lists")]
    pub split_blocks: Option<u64>,

    /// Attenuation map: linear attenuation coefficients at 511 keV ({read images}), on any grid.
    ///
    /// Factors of sinograms are multiplied by the attenuation factors of the map.
    #[arg(long, value_name = "FILE", group = "object_attenuation", help_heading = "Corrections", group = "for_lines")]
    pub attenuation: Option<PathBuf>,

    /// Further attenuation map to add, as of a bed or a holder, on any grid; also more than once.
    #[arg(long, value_name = "FILE", requires = "object_attenuation", help_heading = "Corrections", group = "for_lines")]
    pub add_attenuation: Vec<PathBuf>,

    /// Unit of the attenuation maps: per-cm or per-mm.
    ///
    /// Default: that of each file, else per-cm if its largest value is above 0.06, and per-mm if it is below 0.02.
    #[arg(long, value_name = "UNIT", requires = "attenuation", help_heading = "Corrections", group = "for_lines")]
    pub mu_unit: Option<MuUnit>,

    #[command(flatten)]
    pub ct: CtArguments,

    /// Ignore time-of-flight information.
    #[arg(long, help_heading = "Resolution and time of flight", group = "for_lines")]
    pub no_tof: bool,

    /// Add up N neighbouring time-of-flight bins of a sinogram; N divides their number.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u16>, conflicts_with = "no_tof", help_heading = "Resolution and time of flight", group = "for_scans")]
    pub tof_mash: u16,

    /// Standard deviations after which the time-of-flight kernel of a sinogram ends.
    #[arg(long, value_name = "SIGMAS", default_value_t = 3.0, value_parser = positive, conflicts_with = "no_tof", help_heading = "Resolution and time of flight", group = "for_scans")]
    pub tof_sigmas: f64,

    #[command(flatten)]
    pub image: ImageOptions,

    /// Start image; also sets the grid unless --image, --voxel-mm or --like is given.
    ///
    /// Default: a uniform image with the number of counts of the data.
    #[arg(long, value_name = "IMAGE", help_heading = "Algorithm", group = "steps")]
    pub init: Option<PathBuf>,

    /// Resolution model: FWHM of a Gaussian point spread function, mm, in one number or along x, y and z (4.5 or 4.5,4.5,6).
    ///
    /// It is a part of the projections, in both directions; --post-filter-mm only blurs the written images.
    #[arg(
        long,
        value_name = "FWHM",
        conflicts_with = "psf",
        help_heading = "Resolution and time of flight",
        group = "for_lines"
    )]
    pub psf_fwhm_mm: Option<Psf>,

    /// Resolution model that depends on the distance from the axis (TOML): radius_mm and, of the same length, radial_fwhm_mm,
    /// tangential_fwhm_mm and axial_fwhm_mm.
    #[arg(long, value_name = "FILE", help_heading = "Resolution and time of flight", group = "for_lines")]
    pub psf: Option<PathBuf>,

    /// System matrix of the ring of crystals (.matrix).
    #[arg(long, value_name = "FILE", help_heading = "Algorithm", group = "for_pairs", group = "reconstruct_only")]
    pub matrix: Option<PathBuf>,

    /// ROIs to measure on every iterate (.toml, .json), for --csv or a stopping rule.
    #[arg(long, value_name = "FILE", requires = "use_of_rois", help_heading = "Measurements")]
    pub rois: Option<PathBuf>,

    /// Table of measured values to write.
    ///
    /// Per ROI and iterate: mean, sd, min, max, num_voxels, volume, nsr (sd / mean), contrast_recovery, contrast_to_noise.
    /// Per step: log_likelihood_of_subset, for the image before the step. Per full iteration: log_likelihood, for the image
    /// before the iteration, and residual, Σ (y − e)² / Σ e for data y and expected counts e (1 for Poisson noise alone). Per
    /// step of svrg and bsrem: update, step_size, num_halved, and where it goes through all data objective, data_term, penalty. Per
    /// non-atomic step: lost, lost_of_ones, level. EPRI: one row per block of projections, with their number in the column
    /// subset. All values refer to the image without post-filter.
    #[arg(long, value_name = "FILE", group = "use_of_rois", help_heading = "Measurements", group = "reconstruct_only")]
    pub csv: Option<PathBuf>,

    /// Reference image on the same grid: print its correlation coefficient with each written iterate.
    ///
    /// The table contains it as correlation, and with a background ROI (--rois) the measures of convergence object_rmse,
    /// background_rmse and region_error. The values refer to the image without post-filter.
    #[arg(long, value_name = "IMAGE", help_heading = "Measurements", group = "reconstruct_only")]
    pub reference_image: Option<PathBuf>,

    /// Also write the image of every N-th iteration, as OUT_itNNN.
    #[arg(long, value_name = "N", value_parser = count::<u32>, help_heading = "Output", group = "steps", group = "reconstruct_only")]
    pub save_every: Option<u32>,

    /// FWHM of a Gaussian post-filter for the written images, mm.
    ///
    /// A uniform image stays uniform up to its faces. An object near a face gains activity: +1.8 % for 20 mm and +5.5 %
    /// for 50 mm (cylinder of 137 mm on 141 × 141 × 37.5 mm).
    #[arg(long, value_name = "FWHM", value_parser = positive, help_heading = "Output", group = "reconstruct_only")]
    pub post_filter_mm: Option<f64>,

    /// Calibration factor in Bq/mL per count/mm; written images are in Bq/mL.
    ///
    /// The factor gives the mean concentration during the whole scan; it is divided by the share of a frame in the scan's time.
    /// The table stays in counts/mm.
    #[arg(long, value_name = "FACTOR", value_parser = calibration, group = "use_of_duration", help_heading = "Output", group = "reconstruct_only")]
    pub calibration: Option<f64>,

    #[command(flatten)]
    pub uptake: UptakeOptions,

    /// Write no names of files and no dates into provenance records and DICOM series.
    ///
    /// The scan begins on 2000-01-01; its times keep their distances.
    #[arg(long, help_heading = "Output", group = "reconstruct_only")]
    pub anonymise: bool,

    /// Write a timeline as JSON lines.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,

    /// Reconstruct while the file is still being written.
    ///
    /// EPRI projections are used as soon as they are complete; list-mode events are read as they arrive and reconstructed
    /// when the file is complete. Ctrl-C ends it.
    #[arg(long, group = "for_growing", group = "reconstruct_only", help_heading = None::<&str>)]
    pub follow: bool,

    #[command(flatten)]
    pub projector: ProjectorOptions,

    /// Ignore FILE_mult.hs and FILE_add.hs in the folder of FILE.hs.
    ///
    /// By default they are used as --multiplicative and --additive.
    #[arg(long, help_heading = "Corrections", group = "for_scans")]
    pub no_corrections: bool,

    /// Use corrections that were written for another scan, as those of a replicate.
    ///
    /// By default FILE_mult.hs and other corrections with the checksum of another scan are refused.
    #[arg(long, help_heading = "Corrections", group = "for_scans")]
    pub corrections_of_another_scan: bool,

    /// Print only the provenance record, as JSON.
    ///
    /// Several inputs, or frames, have a line each, with `input` and `output`; a failed input has a line with `input` and `error`.
    /// The record is also written next to the image, as OUT.ENDING.json.
    #[arg(long, help_heading = "Output", group = "reconstruct_only")]
    pub json: bool,

    /// True if each record is one line of JSON among others.
    #[arg(skip)]
    pub has_json_lines: bool,

    #[command(flatten)]
    pub parts: PartOptions,

    #[command(flatten)]
    pub talk: TalkOptions,
}

impl ReconstructOptions {
    pub(in crate::cli) fn files_to_read(&self) -> impl Iterator<Item = PathBuf> {
        let lists = &self.list_arguments;
        let ScanFiles { measured, multiplicative, additive, .. } = match data_kind_of(&self.input) {
            Some(DataKind::Projections) => self.scan().files,
            _ => ScanFiles::uncorrected(&self.input),
        };
        let of_petric = PetricFolder::of(&measured).map(|folder| folder.files());
        let own = [
            &self.matrix,
            &self.psf,
            &self.rois,
            &self.init,
            &self.image.like,
            &self.reference_image,
            &self.attenuation,
            &self.ct.ct,
        ];
        let others = [&lists.crystals, &lists.normalization, &self.projector.tubes];
        let named = own
            .into_iter()
            .chain(others)
            .flatten()
            .chain(&self.add_attenuation)
            .chain(&self.epri.reference)
            .chain(&self.epri.mask)
            .chain(self.epri.sources.iter().map(|source| &source.file))
            .chain(self.epri.experiment.iter().flat_map(ExperimentFiles::files))
            .cloned()
            .chain(self.parameters.kappa());
        [measured].into_iter().chain(multiplicative).chain(additive).chain(of_petric.into_iter().flatten()).chain(named)
    }

    /// Returns the file of the standard deviations; `None` without replicates.
    pub(super) fn deviation_path(&self) -> Option<PathBuf> {
        self.num_replicates().map(|_| of_deviation(&self.output))
    }

    /// Returns the number of replicates; `None` = none.
    pub(super) fn num_replicates(&self) -> Option<usize> {
        self.parameters.values().number(&REPLICATES).map(|num| num as usize)
    }

    /// Returns the file of the spectra in each voxel, if they are requested.
    pub(in crate::cli) fn spectra_path(&self) -> Option<PathBuf> {
        let has_spectra = self.parameters.values().count(&SPECTRAL_SAMPLES) > 0;
        has_spectra.then(|| before_ending(&self.output, "_spectra"))
    }

    /// Adds the files to read and to write.
    pub(in crate::cli) fn add_files(&self, files: Files) -> CliResult<Files> {
        let files = files.read(&self.files_to_read().collect::<Vec<_>>());
        let files = files
            .write("-o", [&self.output])
            .write("--replicates", &self.deviation_path())
            .write("--spectral-samples", &self.spectra_path())
            .write_lines("--csv", &self.csv)
            .write_lines("--trace", &self.trace);
        // Frames have separate names.
        let of_frames: Vec<Self> =
            self.frames.iter().flat_map(|frames| (1..=frames.as_slice().len()).map(|k| self.of_frame(k))).collect();
        let mut files = of_frames
            .iter()
            .fold(files, |files, frame| files.write("--frames", [&frame.output]).write_lines("--frames", &frame.csv))
            .write("--replicates", &of_frames.iter().filter_map(Self::deviation_path).collect::<Vec<_>>());
        if let Some(every) = self.save_every {
            for output in of_frames.iter().chain([self]).map(|options| &options.output) {
                files = files.check_numbered("--save-every", |path| is_numbered(path, output, every as usize))?;
            }
        }
        Ok(files)
    }

    /// Locks the output of a run, unless this process leaves it to another.
    ///
    /// # Errors
    /// A process that does not belong to this command writes it.
    pub(super) fn lock_output(&self) -> CliResult<Option<OutputLock>> {
        Ok((!self.is_helper).then(|| OutputLock::acquire(&self.output)).transpose()?)
    }

    /// Leaves all files to another process.
    pub(in crate::cli) fn help(&mut self) {
        (self.is_helper, self.csv, self.trace, self.json) = (true, None, None, false);
    }

    /// Returns the options of one of several inputs.
    pub(in crate::cli) fn of_input(&self, input: &Path) -> Self {
        let name = |path: &PathBuf| of_input(path, input);
        let (output, csv, trace) = (name(&self.output), self.csv.as_ref().map(name), self.trace.as_ref().map(name));
        Self { input: input.to_owned(), output, csv, trace, ..self.clone() }
    }

    /// Refuses a calibration that does not suit an image in this unit.
    pub fn check_calibration(&self, unit: Unit) -> CliResult {
        if self.calibration.is_some() && unit != Unit::CountsPerMm {
            return Err(CliError::arguments(format!(
                "--calibration is for images in counts/mm, and this one will be in {}",
                unit.label()
            )));
        }
        Ok(())
    }

    /// Returns the job of projection data.
    pub fn counts(&self) -> CliResult<Job> {
        let study = with_bar("reading", |task| self.scan().read(&Cache::of_the_user(), task))??;
        notices::print(&study.notices);
        let geometry = study.measured.geometry();
        let num_views = geometry.num_views;
        if let Some(num_subsets) = self.subsets.filter(|n| *n as usize > num_views) {
            return Err(CliError::arguments(format!(
                "--subsets {num_subsets}: {} has {num_views} views; use 1 to {num_views}",
                self.input.display()
            )));
        }
        if study.measured.tof_bins().is_none()
            && let Some(option) = self.given.first_of(["no_tof", "tof_mash", "tof_sigmas"])
        {
            return Err(CliError::arguments(format!("{option}: {} has no time-of-flight bins", self.input.display())));
        }
        let base = default_settings(&study.measured)?.with_preset(&study);
        let mut settings = self.settings_from(base, |image, _| image.grid(geometry))?;
        notices::print(&self.notices_of_field(&settings));
        settings.inputs.tubes = self.projector.tubes(geometry)?;
        Ok(Job::of(&study, settings))
    }

    /// Returns the numbers of subsets and iterations: the requested ones, or those that suit the data.
    pub(in crate::cli) fn subsets_and_iterations(&self, rule: Option<SubsetRule>, algorithm: AlgorithmChoice) -> [usize; 2] {
        let rule = rule.filter(|_| algorithm.entry().has_subsets);
        let suited = rule.map_or(1, |rule| rule.num_subsets_of(algorithm));
        let num_subsets = self.subsets.map_or(suited, |n| n as usize);
        let suited = || algorithm.default_iterations().unwrap_or_else(|| default_num_iterations(num_subsets));
        [num_subsets, self.iterations.map_or_else(suited, |n| n as usize)]
    }

    pub(in crate::cli) fn of_frame(&self, number: usize) -> Self {
        let last = self.frames.as_ref().map_or(number, |frames| frames.as_slice().len());
        let name = |path: &PathBuf| of_frame(path, number, last);
        let request = self.request.as_deref().map(|request| {
            let mut of_frame = Fingerprint::default();
            of_frame.text(request);
            of_frame.text(&format!("frame {number}"));
            of_frame.digits()
        });
        Self { output: name(&self.output), csv: self.csv.as_ref().map(name), frames: None, request, ..self.clone() }
    }

    /// Returns the job of list-mode data.
    pub(in crate::cli) fn list(&self) -> CliResult<Job> {
        if self.split_blocks.is_some() && self.frame.is_none() && self.frames.is_none() {
            return Err(CliError::arguments(
                "--split-blocks needs --frame or --frames: a list without frames divides no time block",
            ));
        }
        let selection = ListSelection { frame_ms: self.frame.clone(), without_tof: self.no_tof, split_seed: self.split_blocks };
        let (attenuation, ct) = self.attenuation_and_conversion();
        let (added_attenuation, mu_unit) = (self.add_attenuation.clone(), self.mu_unit);
        let options = ListOptions { attenuation, added_attenuation, ct, mu_unit, ..self.list_arguments.list_options() };
        let study = match self.follow {
            true => follow_list(&self.input, &options, selection)?,
            false => with_bar("reading", |task| list_study(&self.input, &options, &selection, task))??,
        };
        notices::print(&study.notices);
        let base = default_list_settings(&study.measured)?;
        let settings = self.settings_from(base, |image, base| image.grid_about(base))?;
        notices::print(&self.notices_of_field(&settings));
        Ok(Job::of(&study, settings))
    }

    /// Returns the job of a crystal-pair histogram.
    pub fn pairs(&self) -> CliResult<Job> {
        let Some(matrix) = &self.matrix else {
            return Err(CliError::arguments(
                "a crystal-pair histogram needs the system matrix of its ring: simulate it (tomoscope matrix) and set --matrix",
            ));
        };
        let study = read_pair_study(&self.input)?;
        let matrix = Arc::new(read_matrix(matrix)?);
        check_basis(&study.measured.ring, &matrix)?;
        let shown = ring_basis(&study.measured.ring, &matrix.basis, None)?;
        let base = RunSettings::new(AlgorithmChoice::MLEM, ImageSpace::<Host>::grid(&shown).clone());
        let mut settings = self.settings_from(base, |image, base| image.grid_about(base))?;
        settings.inputs.matrix = Some(matrix);
        Ok(Job::of(&study, settings))
    }

    /// Returns the file of the attenuation and, if it is CT, its conversion.
    fn attenuation_and_conversion(&self) -> (Option<PathBuf>, Option<CtSettings>) {
        (self.attenuation.clone().or_else(|| self.ct.ct.clone()), self.ct.settings())
    }

    /// Returns the scan and its corrections: the named ones, and those in its folder.
    pub fn scan(&self) -> ScanWithNeighbours {
        let ProjectorOptions { multiplicative, multiplicative_inverse, additive, additive_inside, .. } = self.projector.clone();
        let (attenuation, ct) = self.attenuation_and_conversion();
        let (measured, added_attenuation, mu_unit) = (self.input.clone(), self.add_attenuation.clone(), self.mu_unit);
        let of_another_scan = self.corrections_of_another_scan;
        let named = ScanFiles {
            measured,
            multiplicative,
            multiplicative_inverse,
            additive,
            additive_inside,
            attenuation,
            added_attenuation,
            ct,
            mu_unit,
            of_another_scan,
        };
        if self.no_corrections { named.alone() } else { named.with_neighbours() }
    }

    fn psf(&self) -> CliResult<Option<Psf>> {
        Ok(match &self.psf {
            Some(file) => Some(psf::read_file(file)?),
            None => self.psf_fwhm_mm.clone(),
        })
    }

    /// Returns notices about a grid off the axis and about the part of the start image outside the field of view.
    fn notices_of_field(&self, settings: &RunSettings) -> Vec<Notice> {
        let RunSettings { grid, fov_radius_mm, .. } = settings;
        let of_grid = grid.off_axis_mm().map(|off_mm| {
            let whose = if self.projector.fov_radius_mm.is_some() { "" } else { ", as the scanner's" };
            Notice::info(format!(
                "the image grid is off the axis by {off_mm:.1} mm: the field of view has a radius of {fov_radius_mm:.1} mm{whose}"
            ))
        });
        let share = settings.inputs.init.as_ref().map_or(0.0, |start| start.share_outside(*fov_radius_mm));
        let of_start = (share > 0.0).then(|| {
            let percent = 100.0 * share;
            Notice::warning(format!(
                "{percent:.2} % of the sum of the start image lies outside the field of view of {fov_radius_mm:.1} mm and is not used"
            ))
        });
        of_grid.into_iter().chain(of_start).collect()
    }

    /// Returns the reader of images that belong to the data.
    pub(super) fn read_image(&self) -> ReadImage {
        let is_epri = matches!(data_kind_of(&self.input), Some(DataKind::Sweep | DataKind::Oximetry));
        if is_epri { read_epri_volume } else { read_volume }
    }

    /// Returns default settings with the requested changes; `grid` returns the requested grid, from the default one.
    pub(super) fn settings_from(
        &self,
        base: RunSettings,
        grid: impl FnOnce(&ImageOptions, &Grid) -> CliResult<Option<Grid>>,
    ) -> CliResult<RunSettings> {
        let read = self.read_image();
        let init = self.init.as_deref().map(read).transpose()?;
        let kappa = self.parameters.kappa().map(|path| read_volume(&path)).transpose()?;
        let mask = self.epri.mask.as_deref().map(read).transpose()?;
        let grid = match (grid(&self.image, &base.grid)?, &init) {
            (Some(grid), _) => grid,
            (None, Some((init, _))) => init.grid.clone(),
            (None, None) => base.grid.clone(),
        };
        [&init, &kappa, &mask].into_iter().flatten().for_each(|(_, found)| notices::print(found));
        let projector = &self.projector;
        let algorithm = self.algorithm.unwrap_or(base.algorithm);
        let [num_subsets, num_iterations] = self.subsets_and_iterations(base.subset_rule, algorithm);
        let mut parameters = base.parameters;
        parameters.keep(&algorithm.settings());
        parameters.extend(self.parameters.values().with_number(&SCAN_SECS, self.uptake.duration_secs));
        Ok(RunSettings {
            algorithm,
            parameters,
            num_iterations,
            num_subsets,
            fov_radius_mm: projector.fov_radius_mm.unwrap_or_else(|| grid.field_of_view_mm(base.fov_radius_mm)),
            grid,
            rays: projector.rays,
            psf: self.psf()?,
            tof: TofSettings { is_used: !self.no_tof, mash: self.tof_mash.into(), sigmas: self.tof_sigmas },
            projector: projector.choice(),
            device: projector.device,
            accumulation: projector.accumulation,
            threads_per_block: projector.threads_per_block,
            num_threads: projector.threads.map(usize::from),
            inputs: RunInputs {
                init: init.map(|(volume, _)| Arc::new(volume)).or(base.inputs.init),
                radicals: self.epri.radicals()?,
                experiments: self.epri.experiments(&self.input)?,
                mask: mask.map(|(volume, _)| Arc::new(volume)),
                kappa: kappa.map(|(volume, _)| Arc::new(volume)).or(base.inputs.kappa),
                ..base.inputs
            },
            ..base
        })
    }
}
