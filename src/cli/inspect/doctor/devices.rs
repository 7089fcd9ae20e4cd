//! CUDA devices and graphics adapters. Drivers are loaded on separate threads, since a driver may hang.

use std::thread::Builder;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::private::Private;
use super::problem::{Findings, Problem};
use super::section::{Field, Section};
#[cfg(feature = "window")]
use crate::render::AdapterSummary;
#[cfg(feature = "window")]
use crate::ui::graphics_adapters;

/// Time after which a driver counts as hanging.
const DRIVER_LIMIT: Duration = Duration::from_secs(15);

/// Label of the first field of both sections.
const AVAILABLE: &str = "Available";

/// Probes the graphics adapters, and the choice of the window. Runs after [`cuda`].
#[cfg(feature = "window")]
pub fn graphics(_: &Private, findings: &mut Findings) -> Section {
    let adapters = match within(DRIVER_LIMIT, "graphics driver", graphics_adapters) {
        Ok(adapters) => adapters,
        Err(problem) => {
            let reason = problem.to_string();
            findings.problems.push(problem);
            return unavailable("Graphics", "adapters", reason);
        }
    };
    match adapters.iter().find(|adapter| adapter.is_of_window) {
        _ if adapters.is_empty() => findings.problems.push(Problem::NoAdapter),
        None => findings.problems.push(Problem::UnsuitableAdapter),
        Some(adapter) if adapter.is_software => findings.problems.push(Problem::SoftwareRenderer(adapter.name.clone())),
        Some(_) => {}
    }
    if let Some(gpu) = adapters.iter().find(|adapter| adapter.is_nvidia && findings.lacks_cuda_driver) {
        findings.problems.push(Problem::NoCudaDriver(gpu.name.clone()));
    }
    if adapters.is_empty() {
        return unavailable("Graphics", "adapters", "no driver has an adapter".to_owned());
    }
    let devices = adapters.iter().map(adapter).collect();
    Section::of_devices("Graphics", vec![Field::flag(AVAILABLE, true)], "adapters", devices)
}

/// Returns a section without devices.
fn unavailable(title: &'static str, name: &'static str, reason: String) -> Section {
    Section::of_devices(title, vec![Field::flag(AVAILABLE, false), Field::text("Reason", reason)], name, Vec::new())
}

#[cfg(feature = "window")]
fn adapter(adapter: &AdapterSummary) -> Vec<Field> {
    vec![
        Field::text("Adapter", adapter.name.as_str()),
        Field::flag("Used by the window", adapter.is_of_window),
        Field::text("Backend", adapter.backend.as_str()),
        Field::text("Driver", adapter.driver.as_str()),
        Field::flag("Software renderer", adapter.is_software),
        Field::number("Max 2D texture", Some(adapter.max_texture_2d as usize)),
        Field::number("Max 3D texture", Some(adapter.max_texture_3d as usize)),
        Field::bytes("Max buffer", Some(adapter.max_buffer_bytes)),
    ]
}

/// Probes the CUDA driver and its devices.
#[cfg(feature = "cuda")]
pub fn cuda(_: &Private, findings: &mut Findings) -> Section {
    use crate::cuda::{CudaError, devices};
    let failed = |reason| unavailable("CUDA", "devices", reason);
    let found = match within(DRIVER_LIMIT, "CUDA driver", devices) {
        Ok(Ok(found)) => found,
        // A computer without an NVIDIA GPU has no problem.
        Ok(Err(error @ CudaError::NoDriver)) => {
            findings.lacks_cuda_driver = true;
            return failed(error.to_string());
        }
        Ok(Err(error)) => {
            findings.problems.push(Problem::NoCuda(error.to_string()));
            return failed(error.to_string());
        }
        Err(problem) => {
            let reason = problem.to_string();
            findings.problems.push(problem);
            return failed(reason);
        }
    };
    for device in &found {
        if let Some(error) = device.why_not() {
            findings.problems.push(Problem::BrokenDevice(device.number, error.to_string()));
        }
    }
    let mut fields = vec![Field::flag(AVAILABLE, true)];
    // CUDA reports only its own version; the kernel reports the driver's, on Linux.
    let driver = std::fs::read_to_string("/sys/module/nvidia/version");
    fields.extend(driver.ok().map(|text| Field::text("NVIDIA driver", text.trim())));
    fields.extend(found.first().map(|device| version("Driver for CUDA", device.driver_cuda_version)));
    Section::of_devices("CUDA", fields, "devices", found.iter().map(cuda_device).collect())
}

/// Reports that CUDA is not a part of this build.
#[cfg(not(feature = "cuda"))]
pub fn cuda(_: &Private, _: &mut Findings) -> Section {
    unavailable("CUDA", "devices", "not built in (feature cuda)".to_owned())
}

#[cfg(feature = "cuda")]
fn cuda_device(device: &crate::cuda::DeviceInfo) -> Vec<Field> {
    let known = device.trouble.is_none();
    vec![
        Field::text("Device", format!("cuda:{}", device.number)),
        Field::text("Name", device.name.as_str()),
        Field::choice("Usable", device.why_not().is_none(), ["yes", "no (see problems)"]),
        version("Compute capability", device.compute_capability),
        Field::bytes("Memory", known.then_some(device.memory_bytes as u64)),
        Field::bytes("Free memory", known.then_some(device.free_memory_bytes as u64)),
        Field::number("Multiprocessors", known.then_some(device.limits.num_multiprocessors as usize)),
    ]
}

#[cfg(feature = "cuda")]
fn version(label: &'static str, (major, minor): (u32, u32)) -> Field {
    Field::text(label, format!("{major}.{minor}"))
}

/// Calls a driver on a separate thread.
///
/// # Errors
/// No answer in time, no thread, or a panic, whose message the thread prints.
fn within<T: Send + 'static>(
    limit: Duration,
    name: &'static str,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let (sender, answer) = bounded(1);
    let thread = Builder::new().name(name.to_owned()).spawn(move || sender.send(call()));
    let thread = thread.map_err(|error| Problem::Fails(name, error.to_string()))?;
    let answer = answer.recv_timeout(limit);
    if !matches!(answer, Err(RecvTimeoutError::Timeout)) {
        // A driver that still takes down its thread while the program exits can abort it. (A panic has its own answer.)
        let _ = thread.join();
    }
    answer.map_err(|error| match error {
        RecvTimeoutError::Timeout => Problem::Hangs(name, limit),
        RecvTimeoutError::Disconnected => Problem::Fails(name, "an internal error of its library".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_hangs_or_fails_is_a_problem_and_no_end() {
        assert!(matches!(within(DRIVER_LIMIT, "driver", || 3), Ok(3)));
        let (hold, held) = bounded::<()>(1);
        let hangs = within(Duration::from_millis(20), "driver", move || held.recv());
        assert!(matches!(hangs, Err(Problem::Hangs("driver", _))));
        drop(hold);
        #[allow(clippy::panic)]
        let fails = within(DRIVER_LIMIT, "driver", || -> i32 { panic!("in the driver") });
        assert!(matches!(fails, Err(Problem::Fails("driver", _))));
    }
}
