//! Images of another program as a run.

use std::sync::Arc;

use super::prepared::Prepared;
use crate::algebra::Simd;
use crate::data::ImageSeries;
use crate::operator::Accumulation;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast, MemoryNeeds};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::platform::open::choose_device;
use crate::recon::AsRead;

/// Name in place of a projector.
const PROJECTOR: &str = "none";

/// Makes the algorithm that shows the images.
pub(in crate::plan) fn prepare(job: &Job, series: &Arc<ImageSeries>) -> Result<Prepared, SetupError> {
    let (platform, _) = choose_device(DeviceChoice::Cpu)?;
    let needs = MemoryNeeds::of([(image_bytes(series), platform.free_memory())]);
    needs.check()?;
    let names = [platform.text(Simd::detect()), PROJECTOR.to_owned()];
    let algorithm = Box::new(AsRead::new(Arc::clone(series)));
    Ok(Prepared::new(job, algorithm, names, Accumulation::Deterministic, &needs, None))
}

/// Returns the memory forecast of a run that shows the images, after the end of a run that uses `given_back`.
pub(in crate::plan) fn forecast(series: &ImageSeries, given_back: &[DeviceMemory]) -> Result<Forecast, SetupError> {
    let (platform, _) = choose_device(DeviceChoice::Cpu)?;
    let needs = MemoryNeeds::of([(image_bytes(series), platform.free_memory())]).with_given_back(given_back);
    needs.check()?;
    Ok(Forecast::of(&needs, [platform.text(Simd::detect()), PROJECTOR.to_owned()]))
}

/// Returns the bytes of one image.
fn image_bytes(series: &ImageSeries) -> u64 {
    series.grid().map_or(0, |grid| 4 * grid.num_voxels() as u64)
}
