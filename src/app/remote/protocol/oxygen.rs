//! Maps of pulse oximetry on their way from the server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{MAX_MESSAGE, RemoteError};
use crate::data::{Unit, Volume};
use crate::geometry::Grid;
use crate::measure::FitCounts;
use crate::measure::oximetry::OxygenFigures;
use crate::session::{OxygenImages, OxygenUpdate};

/// Maps of oxygen ([`OxygenUpdate`]).
#[derive(Debug, Serialize, Deserialize)]
pub struct OxygenMessage {
    num_images: usize,
    iterations: Vec<usize>,
    /// Maps, `None` for those that were sent before, or the reason why there are none.
    maps: Result<Option<MapValues>, String>,
    branch: u64,
    all: Option<OxygenFigures>,
    regions: Vec<Option<OxygenFigures>>,
}

/// Values of the maps ([`OxygenImages`]).
#[derive(Debug, Serialize, Deserialize)]
struct MapValues {
    rate: Vec<f32>,
    po2: Vec<f32>,
    po2_sd: Option<Vec<f32>>,
    counts: FitCounts,
}

impl OxygenMessage {
    /// Returns the message of an update; `is_known` if the maps were sent before.
    pub fn of(update: OxygenUpdate, is_known: bool) -> Self {
        let OxygenUpdate { num_images, iterations, maps, branch, all, regions } = update;
        let maps = maps.and_then(|maps| if is_known { Ok(None) } else { MapValues::of(&maps).map(Some) });
        Self { num_images, iterations, maps, branch, all, regions }
    }

    /// Returns the update on the grid of the run; `known` = the maps that were sent before.
    ///
    /// # Errors
    /// Maps of another size, or that were not sent before.
    pub fn update(self, grid: &Grid, known: Option<&OxygenUpdate>) -> Result<OxygenUpdate, RemoteError> {
        let Self { num_images, iterations, maps, branch, all, regions } = self;
        let maps = match maps {
            Err(reason) => Err(reason),
            Ok(Some(values)) => Ok(values.images(grid)?),
            Ok(None) => match known.filter(|known| known.num_images == num_images).map(|known| &known.maps) {
                Some(Ok(maps)) => Ok(maps.clone()),
                _ => return Err(RemoteError::invalid("figures of unknown maps of oxygen")),
            },
        };
        Ok(OxygenUpdate { num_images, iterations, maps, branch, all, regions })
    }
}

impl MapValues {
    fn of(maps: &OxygenImages) -> Result<Self, String> {
        if 16 * maps.po2.grid.num_voxels() as u64 > u64::from(MAX_MESSAGE) {
            return Err("they are too large to be sent: choose fewer voxels".to_owned());
        }
        let values = |map: &Arc<Volume>| map.as_slice().to_vec();
        let OxygenImages { rate, po2, po2_sd, counts } = maps;
        Ok(Self { rate: values(rate), po2: values(po2), po2_sd: po2_sd.as_ref().map(values), counts: *counts })
    }

    fn images(self, grid: &Grid) -> Result<OxygenImages, RemoteError> {
        let map = |values: Vec<f32>, unit: Unit| {
            let volume = Volume::from_vec(grid.clone(), values, unit);
            volume.map(Arc::new).ok_or_else(|| RemoteError::invalid("a map of oxygen on another grid"))
        };
        let Self { rate, po2, po2_sd, counts } = self;
        Ok(OxygenImages {
            rate: map(rate, Unit::PerMicrosecond)?,
            po2: map(po2, Unit::Torr)?,
            po2_sd: po2_sd.map(|values| map(values, Unit::Torr)).transpose()?,
            counts,
        })
    }
}
