//! Images of another program as a run.

use std::sync::Arc;

use super::data_setup::DataSetup;
use super::prepared::Prepared;
use crate::algebra::Simd;
use crate::data::ImageSeries;
use crate::operator::Accumulation;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast, MemoryNeeds};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::settings::RunSettings;
use crate::plan::platform::open::choose_device;
use crate::plan::simulation::cache::Cache;
use crate::recon::AsRead;
use crate::task::Task;

/// Name in place of a projector.
const PROJECTOR: &str = "none";

impl DataSetup for Arc<ImageSeries> {
    fn prepare_on(&self, _: &Cache, _: DeviceChoice, job: &Job, _: &Task) -> Result<Prepared, SetupError> {
        let (needs, names) = needs_of(self, &[])?;
        let algorithm = Box::new(AsRead::new(Arc::clone(self)));
        Ok(Prepared::new(job, algorithm, names, Accumulation::Deterministic, &needs, None))
    }

    fn forecast_on(&self, _: DeviceChoice, _: &RunSettings, given_back: &[DeviceMemory]) -> Result<Forecast, SetupError> {
        let (needs, names) = needs_of(self, given_back)?;
        Ok(Forecast::of(&needs, names))
    }
}

/// Returns the memory of a run that shows the images, with the names of device and projector.
fn needs_of(series: &ImageSeries, given_back: &[DeviceMemory]) -> Result<(MemoryNeeds, [String; 2]), SetupError> {
    let (platform, _) = choose_device(DeviceChoice::Cpu)?;
    let needs = MemoryNeeds::of([(image_bytes(series), platform.free_memory())]).with_given_back(given_back);
    needs.check()?;
    Ok((needs, [platform.text(Simd::detect()), PROJECTOR.to_owned()]))
}

/// Returns the bytes of one image.
fn image_bytes(series: &ImageSeries) -> u64 {
    series.grid().map_or(0, |grid| 4 * grid.num_voxels() as u64)
}
