//! The devices of this machine that a run can be asked for, and why one of them cannot compute it.

use super::Platform;
#[cfg(feature = "cuda")]
use super::cuda::CudaPlatform;
use super::host::HostPlatform;
use super::webgpu::WebGpuPlatform;
use crate::algebra::PeerGroup;
#[cfg(feature = "cuda")]
use crate::cuda::{CudaBackend, CudaError, DeviceInfo};
use crate::data::Notice;
use crate::plan::device::choice::{DeviceChoice, GpuSet};
#[cfg(feature = "cuda")]
use crate::plan::device::processes::own_gpus;
use crate::plan::device::processes::{are_several, num_processes, process_team};
use crate::plan::error::SetupError;
use crate::plan::problem::SetupProblem;
#[cfg(feature = "cuda")]
use crate::recon::ReconError;
use crate::webgpu::WebGpuBackend;

/// A device of this machine.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Device {
    /// Choice that requests it.
    pub choice: DeviceChoice,
    /// Its name for people.
    pub name: String,
    /// Reason why it cannot reconstruct, as the end of a sentence; `None` where it can.
    pub why_not: Option<String>,
}

/// Returns the choices that every machine has: known at once.
pub fn host_devices() -> Vec<Device> {
    let device = |choice, name: &str| Device { choice, name: name.into(), why_not: None };
    vec![device(DeviceChoice::Auto, "auto"), device(DeviceChoice::Cpu, "CPU")]
}

/// Returns all choices: those of every machine, each CUDA device that is found and all of them together, and each GPU through wgpu.
/// Looking for them takes a fraction of a second each.
pub fn available_devices() -> Vec<Device> {
    let mut devices = host_devices();
    let gpus = cuda_devices();
    let num_usable = gpus.iter().filter(|gpu| gpu.why_not.is_none()).count();
    devices.extend(gpus);
    if num_usable > 1 && num_usable == devices.len() - host_devices().len() {
        let name = format!("all {num_usable} GPUs");
        devices.push(Device { choice: DeviceChoice::Gpus(GpuSet::ALL), name, why_not: None });
    }
    devices.extend(webgpu_devices());
    devices
}

/// A platform that was opened.
pub type Opened = Box<dyn Platform>;

/// Opens the requested device. "Auto" is the first CUDA device if it is usable, else the processor; a notice gives the reason
/// if a GPU exists that is not usable.
///
/// # Errors
/// A requested CUDA device is not usable; there is no silent fallback.
pub fn choose_device(choice: DeviceChoice) -> Result<(Opened, Vec<Notice>), SetupError> {
    let cpu = || Box::new(HostPlatform);
    match choice {
        DeviceChoice::Cpu => Ok((cpu(), Vec::new())),
        DeviceChoice::Cuda(number) => match open_cuda(number) {
            Ok(device) => Ok((device, Vec::new())),
            Err(DeviceUnavailable { text: reason, names_the_cpu, .. }) => {
                Err(SetupProblem::Device { device: Some(format!("CUDA device {number}")), reason, names_the_cpu }.into())
            }
        },
        DeviceChoice::WebGpu(_) if are_several() => Err(SetupProblem::OneProcess.into()),
        DeviceChoice::WebGpu(number) => match WebGpuBackend::open(number) {
            Ok(backend) => Ok((Box::new(WebGpuPlatform::new(backend)), Vec::new())),
            Err(error) => {
                let (reason, names_the_cpu) = (error.to_string(), error.names_the_cpu());
                Err(SetupProblem::Device { device: Some(format!("GPU {number}")), reason, names_the_cpu }.into())
            }
        },
        DeviceChoice::Auto => match open_cuda(0) {
            Ok(device) => Ok((device, Vec::new())),
            Err(DeviceUnavailable { is_there: false, .. }) => Ok((cpu(), Vec::new())),
            Err(DeviceUnavailable { text, .. }) => Ok((cpu(), vec![cpu_instead(&text)])),
        },
        DeviceChoice::Gpus(_) => Err(SetupProblem::OneGpu.into()),
    }
}

/// Devices with their places in their group, and notices.
pub(in crate::plan) type Members = (Vec<(Opened, PeerGroup)>, Vec<Notice>);

/// Opens the requested devices, for list-mode data.
///
/// # Errors
/// Those of [`choose_device`]; of several GPUs all are used or none.
pub(in crate::plan) fn choose_members(choice: DeviceChoice) -> Result<Members, SetupError> {
    match gpus_of_team(choice) {
        #[cfg(feature = "cuda")]
        Some(set) => open_gpus(set),
        _ => choose_device(for_several_processes(choice)).map(|(chosen, notices)| (vec![(chosen, process_team())], notices)),
    }
}

/// Returns the GPUs of this host that are to work together, with each other or with those of other processes.
fn gpus_of_team(choice: DeviceChoice) -> Option<GpuSet> {
    match choice {
        DeviceChoice::Gpus(set) => Some(set),
        DeviceChoice::Cuda(number) if are_several() => GpuSet::of([number]),
        _ => None,
    }
}

/// Returns the same device for all of several processes; they agreed on an automatic choice before.
fn for_several_processes(choice: DeviceChoice) -> DeviceChoice {
    if are_several() && choice == DeviceChoice::Auto { DeviceChoice::Cpu } else { choice }
}

/// Opens the requested devices, each for a separate slab of the image.
///
/// # Errors
/// Those of [`choose_members`].
pub(in crate::plan) fn choose_slabs(choice: DeviceChoice) -> Result<(Vec<Opened>, Vec<Notice>), SetupError> {
    match choice {
        #[cfg(feature = "cuda")]
        DeviceChoice::Gpus(set) => Ok((open_each(set)?.into_iter().map(opened).collect(), Vec::new())),
        _ => choose_device(choice).map(|(chosen, notices)| (vec![chosen], notices)),
    }
}

/// Opens this process's of several GPUs and makes a team of them and those of other processes.
#[cfg(feature = "cuda")]
fn open_gpus(set: GpuSet) -> Result<Members, SetupError> {
    let mut backends = open_each(set)?;
    let (teams, why_not) = CudaBackend::join(&mut backends, &process_team()).map_err(ReconError::from)?;
    let slower = |reason| {
        let text = "the images of the GPUs are added in the memory of the computer, which is slower";
        Notice::warning(format!("{text}: NCCL is not available ({reason})"))
    };
    let members = backends.into_iter().map(opened).zip(teams).collect();
    Ok((members, why_not.map(slower).into_iter().collect()))
}

#[cfg(feature = "cuda")]
fn open_each(set: GpuSet) -> Result<Vec<CudaBackend>, SetupError> {
    let refuse = |number: Option<usize>, error: &CudaError| {
        let device = number.map(|number| format!("CUDA device {number}"));
        SetupProblem::Device { device, reason: error.to_string(), names_the_cpu: error.names_the_cpu() }.into()
    };
    let num_gpus = crate::cuda::devices().map_err(|error| refuse(None, &error))?.len();
    let open = |number| CudaBackend::open(number).map_err(|error| refuse(Some(number), &error));
    own_gpus(set.numbers(num_gpus).collect()).into_iter().map(open).collect()
}

/// Joins the device names of a group; `names` are those of this process.
pub(in crate::plan) fn join_device_names(names: &[String]) -> String {
    let own = match names {
        [first, others @ ..] if !others.is_empty() && others.iter().all(|name| name == first) => {
            format!("{} × {first}", names.len())
        }
        _ => names.join(" + "),
    };
    match num_processes() {
        1 => own,
        count => format!("{count} processes, each with {own}"),
    }
}

/// Does `work` on the requested device. For an automatic choice, it repeats the work on the processor, with a notice, if a GPU
/// has too little memory or fails.
///
/// # Errors
/// Those of the work.
pub fn with_cpu_fallback<T>(
    choice: DeviceChoice,
    mut work: impl FnMut(DeviceChoice) -> Result<T, SetupError>,
) -> Result<(T, Option<Notice>), SetupError> {
    match work(choice) {
        Err(error) if choice == DeviceChoice::Auto && error.is_of_a_gpu() => {
            Ok((work(DeviceChoice::Cpu)?, Some(cpu_instead(&error.to_string()))))
        }
        outcome => Ok((outcome?, None)),
    }
}

/// Returns the notice that the processor is used although a GPU exists.
fn cpu_instead(reason: &str) -> Notice {
    Notice::warning(format!("the CPU is used, because the GPU is not available: {reason}"))
}

/// Reason for which a CUDA device is not usable.
struct DeviceUnavailable {
    text: String,
    /// True if a GPU exists.
    is_there: bool,
    /// True if the text advises to use the processor.
    names_the_cpu: bool,
}

#[cfg(feature = "cuda")]
fn opened(backend: CudaBackend) -> Opened {
    Box::new(CudaPlatform::new(backend))
}

#[cfg(feature = "cuda")]
fn open_cuda(number: usize) -> Result<Opened, DeviceUnavailable> {
    CudaBackend::open(number).map(opened).map_err(|error| {
        let is_there = !matches!(error, CudaError::NoDriver | CudaError::NoDevice);
        DeviceUnavailable { text: error.to_string(), is_there, names_the_cpu: error.names_the_cpu() }
    })
}

/// Returns true if the first CUDA device is usable.
pub fn has_cuda() -> bool {
    open_cuda(0).is_ok()
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_: usize) -> Result<Opened, DeviceUnavailable> {
    let text = "this program was built without its feature `cuda`".into();
    Err(DeviceUnavailable { text, is_there: false, names_the_cpu: false })
}

/// Returns the CUDA devices that there are.
#[cfg(feature = "cuda")]
fn cuda_devices() -> Vec<Device> {
    let device = |info: DeviceInfo| Device {
        choice: DeviceChoice::Cuda(info.number),
        why_not: info.why_not().map(|error| error.to_string()),
        name: info.name,
    };
    crate::cuda::devices().unwrap_or_default().into_iter().map(device).collect()
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Vec<Device> {
    Vec::new()
}

/// Returns the GPUs that compute through wgpu. Software renderers, slower than the processor, are not listed unless they are
/// allowed.
fn webgpu_devices() -> Vec<Device> {
    let usable = crate::webgpu::devices().into_iter().filter(|info| info.why_not().is_none());
    let device = |info: crate::webgpu::DeviceInfo| Device {
        choice: DeviceChoice::WebGpu(info.number),
        name: format!("{} ({})", info.name, info.interface),
        why_not: None,
    };
    usable.map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::BackendError;
    use crate::coded::PassedOn;

    #[test]
    fn the_processor_replaces_a_gpu_only_for_an_automatic_device() {
        let too_much = |gpu: Option<&str>| SetupError::Memory {
            needed_bytes: 9 << 30,
            free_bytes: 5 << 20,
            gpu: gpu.map(str::to_owned),
            has_subsets: true,
            tof_mash: None,
        };
        let broken: SetupError = BackendError::Device(PassedOn::new("cuda.driver", "the GPU broke")).into();
        let settings = SetupError::from(SetupProblem::Iterations);
        let work = |error: &SetupError, choice: DeviceChoice| {
            let mut tried = Vec::new();
            let outcome = with_cpu_fallback(choice, |device| {
                tried.push(device);
                if device == DeviceChoice::Cpu { Ok(()) } else { Err(error.clone()) }
            });
            (outcome.map(|((), notice)| notice.map(|notice| notice.text)), tried)
        };
        let (outcome, tried) = work(&too_much(Some("Some GPU")), DeviceChoice::Auto);
        assert_eq!(tried, [DeviceChoice::Auto, DeviceChoice::Cpu]);
        let notice = outcome.unwrap().unwrap();
        for words in ["the CPU is used", "9.00 GiB", "5.0 MiB", "on Some GPU"] {
            assert!(notice.contains(words), "{notice}");
        }
        assert!(work(&broken, DeviceChoice::Auto).0.unwrap().unwrap().contains("the GPU broke"));
        // Asked for by name it is that or nothing; nor does the processor help where the GPU is not to blame.
        for (error, choice) in [
            (&broken, DeviceChoice::Cuda(0)),
            (&too_much(Some("Some GPU")), DeviceChoice::Cuda(1)),
            (&too_much(None), DeviceChoice::Auto),
            (&settings, DeviceChoice::Auto),
        ] {
            assert_eq!(work(error, choice), (Err(error.clone()), vec![choice]));
        }
        assert_eq!(work(&broken, DeviceChoice::Cpu), (Ok(None), vec![DeviceChoice::Cpu]));
    }

    #[test]
    fn every_listed_device_is_usable_or_has_a_reason() {
        let devices = available_devices();
        assert_eq!(devices[..2], host_devices());
        for device in &devices[1..] {
            match (&device.why_not, choose_device(device.choice)) {
                (None, outcome) => assert!(outcome.is_ok()),
                (Some(reason), outcome) => assert!(outcome.err().unwrap().to_string().contains(reason)),
            }
        }
        assert!(choose_device(DeviceChoice::Auto).is_ok(), "there is always the processor");
        let error = choose_device(DeviceChoice::Cuda(1000)).err().unwrap().to_string();
        assert!(error.contains("CUDA device 1000 is not usable") && error.contains("--device cpu"), "{error}");
    }
}
