//! The device on which all processes of a team compute.

use super::open::available_devices;
use crate::plan::device::choice::{DeviceChoice, GpuSet};
use crate::plan::device::processes::process_team;
use crate::plan::error::SetupError;
use crate::recon::ReconError;

/// Returns where all of them compute, if that is left open: on the GPUs if each process has one, else on the processors. All call
/// it.
///
/// # Errors
/// A process has ended.
pub fn device_of_all(choice: DeviceChoice) -> Result<DeviceChoice, SetupError> {
    let team = process_team();
    let (DeviceChoice::Auto, Some(meeting)) = (choice, team.place()) else { return Ok(choice) };
    let is_gpu = |choice| matches!(choice, DeviceChoice::Cuda(_));
    let has_gpu = available_devices().iter().any(|device| is_gpu(device.choice) && device.why_not.is_none());
    let have = meeting.gather(&[f64::from(u8::from(has_gpu))]).map_err(ReconError::from)?;
    Ok(if have.iter().all(|has| *has == 1.0) { DeviceChoice::Gpus(GpuSet::ALL) } else { DeviceChoice::Cpu })
}
