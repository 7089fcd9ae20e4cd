//! Facts of images of another program.

use std::path::Path;

use super::open::open_images::OpenImages;
use super::open::open_kind::OpenKind;
use crate::ui::widgets::format;

impl OpenKind for OpenImages {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let (series, names) = (&self.series, &self.series.names);
        let name = names.patient_name.replace('^', " ");
        let patient = [name.trim(), &names.patient_id].into_iter().filter(|text| !text.is_empty());
        let grid = series.grid();
        let size = grid.map(|grid| {
            let [nx, ny, nz] = grid.size;
            let [dx, dy, dz] = grid.voxel_mm.map(format::short_number);
            format!("{nx} × {ny} × {nz} of {dx} × {dy} × {dz} mm")
        });
        let mut facts = vec![
            ("Modality", if names.series_uid.is_empty() { String::new() } else { series.modality.name().to_owned() }),
            ("Patient", patient.map(str::to_owned).collect::<Vec<_>>().join(", ")),
            ("Study", [format::date(&names.study_date).as_str(), &names.study].join(" ").trim().to_owned()),
            ("Series", [&*names.number, &names.description].join(" ").trim().to_owned()),
            ("Scanner", names.scanner.clone()),
            ("Voxels", size.unwrap_or_default()),
            ("Images", if series.num_images > 1 { format!("{} over time", series.num_images) } else { String::new() }),
        ];
        if let Some(placement) = &series.placement {
            facts.push(("Axes", format!("of the image, turned by {}", placement.angle_text())));
        }
        facts.retain(|(_, text)| !text.is_empty());
        facts
    }

    fn measured_file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn num_fitted(&self) -> usize {
        3
    }
}
