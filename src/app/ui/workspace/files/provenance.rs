//! Provenance of the displayed image, as text below the slices and in files next to saved ones.

use std::path::Path;
use std::sync::Arc;

use crate::data::Volume;
use crate::io::check_image_unit;
use crate::measure::oximetry::MASK_FRACTION;
use crate::plan::{ImageKind, OximetryRecord, Provenance};
use crate::ui::layer::run_map::RunMap;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::Workspace;

impl Workspace {
    /// Returns the provenance of the displayed image: its run, iterate and filter.
    pub fn provenance(&self) -> Option<Provenance> {
        self.run().provenance()
    }

    /// Starts writing the displayed image, in the unit that is shown, and its provenance record.
    ///
    /// # Errors
    /// No image is displayed. A notice reports later failures.
    pub fn save_image(&mut self, path: &Path) -> Result<(), String> {
        let (Some(mut volume), Some(mut provenance)) = (self.run().shown.image().cloned(), self.provenance()) else {
            return Err("there is no image to save yet".to_owned());
        };
        if !self.run().live.radical_names().is_empty() {
            return self.save_radicals(path);
        }
        let map = self.covering_map();
        let line_map = self.covering_line_map();
        let is_map = map.is_some() || line_map.is_some();
        if let Some((of_map, making)) = line_map {
            (volume, provenance) = (of_map, making);
        }
        if let Some((of_map, oximetry)) = map {
            volume = of_map;
            provenance.data.title = self.study.open.as_ref().map_or_else(String::new, |open| open.title().to_owned());
            (provenance.made, provenance.oximetry) = (ImageKind::Oximetry, Some(oximetry));
            (provenance.progress, provenance.post_filter_fwhm_mm) = (None, None);
        }
        let open = self.study.images();
        if let (Some(pet), Some(scan)) = (&mut provenance.pet, open.and_then(|open| open.pet.clone())) {
            pet.scan = scan;
        }
        let (context, provenance) = (self.context_to_write(), self.record_to_write(provenance));
        let conversion = self.conversion_shown().filter(|_| !is_map);
        let unit = conversion.map_or(volume.unit, |scale| scale.unit);
        check_image_unit(path, unit, provenance.pet.as_ref()).map_err(|error| error.to_string())?;
        self.write_in_background(FileTask::SaveImage, path, move |path| {
            let converted = conversion.map(|scale| volume.converted(scale));
            let volume = converted.as_ref().unwrap_or(&volume);
            let provenance = match conversion {
                Some(scale) => provenance.converted(scale),
                None => provenance,
            };
            let provenance = provenance.of_image(volume).beside([path]);
            let notice = provenance.write_image_in(path, volume, &context).map_err(|error| error.to_string())?;
            Ok(notice.into_iter().collect())
        });
        Ok(())
    }

    /// Returns the map of pulse oximetry that hides the displayed image, and its making.
    fn covering_map(&self) -> Option<(Arc<Volume>, OximetryRecord)> {
        let RunMap::Oxygen(map) = self.hiding_map()? else { return None };
        let (live, open) = (&self.run().live, self.study.oximetry()?);
        let (num_images, images) = live.oxygen_images.as_ref()?;
        let times_us: Vec<f64> = open.series.times_us.iter().take(*num_images).copied().collect();
        let record = OximetryRecord {
            images: times_us
                .iter()
                .map(|time| format!("{}, {time} µs", self.study.open.as_ref().map_or("", OpenStudy::title)))
                .collect(),
            times_us,
            calibration: open.series.calibration.clone(),
            mask_fraction: MASK_FRACTION,
            is_magnitude: false,
            iterations: live.oxygen.as_ref()?.iterations.iter().take(*num_images).copied().collect(),
            explained: Vec::new(),
            draws: None,
            chi_square: None,
            noise_trend: None,
        };
        Some((Arc::clone(map.of(images)?), record))
    }

    /// Writes the provenance record of a table of the run's numbers: of the displayed image if it belongs to the run, else of
    /// the newest image.
    pub fn save_provenance_of_table(&mut self, path: &Path) {
        let shown = self.run().shown_of().filter(|(_, run)| run.run == self.run().live.run).and(self.run().shown.volume());
        let provenance = match shown {
            Some(volume) => self.provenance().map(|provenance| provenance.of_image(volume)),
            None => self.run().live.provenance(self.run().live.progress().0, None),
        };
        let conversion = self.conversion_of_run(&self.run().live);
        let provenance = provenance.map(|record| match conversion {
            Some(scale) => record.converted(scale),
            None => record,
        });
        let provenance = provenance.map(|record| self.record_to_write(record));
        let notice = provenance.and_then(|provenance| provenance.beside([path]).write_beside(path));
        self.notify_all(notice);
    }
}
