//! Which device an automatic choice is where there is no CUDA: a GPU through wgpu if it beats the processor in a trial with the
//! data of the run, else the processor.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::data_setup::DataSetup;
use crate::data::{Fingerprint, Notice};
use crate::io::IoError;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::processes::are_several;
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::platform::open::has_cuda;
use crate::plan::simulation::cache::{Cache, Recipe};
use crate::plan::simulation::device_result::DeviceResult;
use crate::task::Task;
use crate::webgpu::{self, DeviceInfo};

/// Beginning of the names of stored trials.
const BEGINNING: &str = "gpu-trial-";
/// Maximum number of stored trials.
const MAX_STORED: usize = 64;

/// Seconds of the same part of a reconstruction; `None` where it took too long, or is not possible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    /// Fingerprint of the GPU, its driver, the processor's threads, and the shape of the run.
    of: String,
    cpu_secs: Option<f64>,
    gpu_secs: Option<f64>,
}

impl Trial {
    fn gpu_is_faster(&self) -> bool {
        self.gpu_secs.is_some_and(|gpu| self.cpu_secs.is_none_or(|cpu| gpu < cpu))
    }
}

/// A trial of a GPU with the data and settings of a job.
struct GpuTrial<'a> {
    gpu: &'a DeviceInfo,
    job: &'a Job,
    setup: &'a dyn DataSetup,
    of: String,
}

impl<'a> GpuTrial<'a> {
    fn new(gpu: &'a DeviceInfo, job: &'a Job, setup: &'a dyn DataSetup) -> Self {
        let mut of = Fingerprint::default();
        [&gpu.name, &gpu.interface, &gpu.driver].into_iter().for_each(|text| of.text(text));
        of.whole(rayon::current_num_threads() as u64);
        let settings = &job.settings;
        of.grid(&settings.grid);
        of.whole(settings.num_subsets as u64);
        of.text(settings.algorithm.key());
        of.text(&format!("{:?} {:?}", settings.projector, settings.accumulation));
        of.text(&setup.trial_size(settings).unwrap_or_default());
        Self { gpu, job, setup, of: of.digits() }
    }

    /// Returns the seconds on a device. Something that a device does not do takes no seconds that could be compared.
    fn secs_on(&self, device: DeviceChoice, task: &Task) -> Result<Option<f64>, SetupError> {
        self.setup.trial_secs(device, &self.job.settings, task)
    }
}

impl Recipe for GpuTrial<'_> {
    type Made = Trial;

    const NAME: [&'static str; 2] = ["the comparison of GPU and processor", "was"];

    const READ: fn(&Path) -> Result<Trial, IoError> = |path| {
        let bytes = std::fs::read(path).map_err(IoError::read(path))?;
        serde_json::from_slice(&bytes).map_err(|error| IoError::read(path)(error.into()))
    };

    const WRITE: fn(&Path, &Trial) -> Result<(), IoError> = |path, trial| {
        let text = serde_json::to_vec(trial).map_err(|error| IoError::write(path)(error.into()))?;
        std::fs::write(path, text).map_err(IoError::write(path))
    };

    const MAX_STORED: Option<(usize, &'static str)> = Some((MAX_STORED, BEGINNING));

    fn file_name(&self) -> String {
        format!("{BEGINNING}{}-v{}.json", self.of, env!("CARGO_PKG_VERSION"))
    }

    fn would_make(&self, made: &Trial) -> bool {
        made.of == self.of
    }

    fn make(&self, _: DeviceChoice, task: &Task) -> Result<DeviceResult<Trial>, SetupError> {
        let cpu_secs = self.secs_on(DeviceChoice::Cpu, task)?;
        let mut notices = Vec::new();
        let gpu = DeviceChoice::WebGpu(self.gpu.number);
        // The first time its driver compiles kernels.
        let gpu_secs = self.secs_on(gpu, task).and_then(|_| self.secs_on(gpu, task)).unwrap_or_else(|error| {
            notices.push(Notice::info(format!("{} is not used: {error}", self.gpu.name)));
            None
        });
        let result = Trial { of: self.of.clone(), cpu_secs, gpu_secs };
        Ok(DeviceResult { result, device: self.gpu.name.clone(), notices })
    }

    fn done(&self, made: &Trial) -> String {
        let secs = |secs: Option<f64>| secs.map_or("too long".to_owned(), |secs| format!("{secs:.3} s"));
        format!("made: {} on the GPU and {} on the processor", secs(made.gpu_secs), secs(made.cpu_secs))
    }
}

/// Returns the device of a job, in place of an automatic choice: the GPU that beat the processor in a trial, or the same choice.
/// Notices report the trial.
///
/// # Errors
/// The processor cannot do the work.
pub(super) fn device_of(
    cache: &Cache,
    job: &Job,
    setup: &dyn DataSetup,
    task: &Task,
) -> Result<(DeviceChoice, Vec<Notice>), SetupError> {
    let device = job.settings.device;
    match candidate(job, setup) {
        Some(gpu) => tried(cache, &GpuTrial::new(&gpu, job, setup), task),
        None => Ok((device, Vec::new())),
    }
}

/// Returns the device of a job as far as it is known without a trial.
pub(super) fn known_device_of(cache: &Cache, job: &Job, setup: &dyn DataSetup) -> DeviceChoice {
    let known = candidate(job, setup).and_then(|gpu| {
        let trial = cache.find(&GpuTrial::new(&gpu, job, setup))?;
        trial.gpu_is_faster().then_some(DeviceChoice::WebGpu(gpu.number))
    });
    known.unwrap_or(job.settings.device)
}

/// Returns the GPU to compare with the processor, where the choice is open and there is no CUDA.
fn candidate(job: &Job, setup: &dyn DataSetup) -> Option<DeviceInfo> {
    let is_open = job.settings.device == DeviceChoice::Auto && !are_several();
    let is_for_gpus = setup.trial_size(&job.settings).is_some();
    if !is_open || !is_for_gpus || !may_have_a_gpu() || has_cuda() {
        return None;
    }
    webgpu::devices().into_iter().find(|gpu| !gpu.is_software)
}

/// Returns false on a computer without the device files of a GPU: to load its graphics drivers would take time for nothing, and they
/// may print messages.
fn may_have_a_gpu() -> bool {
    !cfg!(target_os = "linux") || ["/dev/dri", "/dev/nvidia0", "/dev/dxg"].iter().any(|path| Path::new(path).exists())
}

fn tried(cache: &Cache, recipe: &GpuTrial, task: &Task) -> Result<(DeviceChoice, Vec<Notice>), SetupError> {
    let gpu = DeviceChoice::WebGpu(recipe.gpu.number);
    let (trial, notices) = cache.find_or_make(recipe, gpu, task)?;
    let device = if trial.gpu_is_faster() { gpu } else { DeviceChoice::Cpu };
    Ok((device, notices))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::setup_of;
    use super::*;
    use crate::data::Study;
    use crate::phantom;
    use crate::phantom::SimulationOptions;
    use crate::phantom::epri::{self, SweepOptions};
    use crate::plan::algorithms::registry::AlgorithmChoice;
    use crate::plan::job::acquisition::Acquisition;
    use crate::plan::job::defaults::{default_settings, default_sweep_settings};
    use crate::scanner::epri::Scheme;
    use crate::scanner::find;

    /// Runs on counts and on a sweep.
    fn jobs() -> [Job; 2] {
        let geometry = &find("small").unwrap().geometry;
        let phantom = phantom::by_name("cylinder", geometry).unwrap();
        let options = SimulationOptions::default();
        let study = phantom::simulate(&phantom, Arc::new(geometry.clone()), &options, &Task::new()).unwrap();
        let of_counts = default_settings(&study.measured).unwrap();
        let options = SweepOptions { scheme: Scheme::with_at_least(20).unwrap(), num_points: 32, ..SweepOptions::default() };
        let ball = epri::by_name("ball", options.half_extent_mm()).unwrap();
        let sweep = epri::simulate(&ball, &options, &Task::new()).unwrap().measured;
        let of_sweep = default_sweep_settings(&sweep).unwrap();
        let sweep = Arc::new(Study::new("ball", Acquisition::complete(sweep)));
        [Job::of(&Arc::new(study), of_counts), Job::of(&sweep, of_sweep)]
    }

    #[test]
    fn the_faster_one_is_used() {
        for (gpu_secs, cpu_secs, is_faster) in [
            (Some(0.1), Some(0.2), true),
            (Some(0.2), Some(0.1), false),
            (Some(0.1), None, true),
            (None, Some(0.1), false),
            (None, None, false),
        ] {
            let trial = Trial { of: String::new(), cpu_secs, gpu_secs };
            assert_eq!(trial.gpu_is_faster(), is_faster, "{trial:?}");
        }
    }

    #[test]
    fn a_trial_is_made_once_for_the_shape_of_a_run() {
        let Some(gpu) = webgpu::devices().into_iter().find(|gpu| gpu.why_not().is_none()) else {
            println!("skipped: no GPU");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        for job in jobs() {
            assert_eq!(cache.find(&GpuTrial::new(&gpu, &job, setup_of(job.data()))), None);
            let (first, made) = tried(&cache, &GpuTrial::new(&gpu, &job, setup_of(job.data())), &Task::new()).unwrap();
            assert!(made[0].text.contains("comparison of GPU and processor was made"), "{made:?}");
            let trial = cache.find(&GpuTrial::new(&gpu, &job, setup_of(job.data()))).unwrap();
            // (On a busy machine either may take too long.)
            let expected = if trial.gpu_is_faster() { DeviceChoice::WebGpu(gpu.number) } else { DeviceChoice::Cpu };
            assert_eq!(first, expected, "{trial:?}");
            let (second, read) = tried(&cache, &GpuTrial::new(&gpu, &job, setup_of(job.data())), &Task::new()).unwrap();
            assert!(read[0].text.contains("read from the cache"), "{read:?}");
            assert_eq!(second, first);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_a_gpu_refuses_stays_on_the_processor() {
        let Some(gpu) = webgpu::devices().into_iter().find(|gpu| gpu.why_not().is_none()) else {
            println!("skipped: no GPU");
            return;
        };
        let [_, mut job] = jobs();
        job.settings.algorithm = AlgorithmChoice::FBP_MULTISTAGE;
        let (device, notices) = tried(&Cache::nowhere(), &GpuTrial::new(&gpu, &job, setup_of(job.data())), &Task::new()).unwrap();
        assert_eq!(device, DeviceChoice::Cpu);
        assert!(notices.iter().any(|notice| notice.text.contains("is not used")), "{notices:?}");
    }
}
