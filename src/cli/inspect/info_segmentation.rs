//! `tomoscope info` of DICOM segmentations: their segments, with number and volume of the voxels.

use std::path::Path;

use serde_json::json;

use super::info_image::name_lines;
use super::info_text::{Described, decimal};
use crate::cli::shared::error::CliResult;
use crate::io::dicom::{SegmentFigures, SegmentationKind, read_segmentation};
use crate::text::counted;

pub fn read(path: &Path) -> CliResult<Described> {
    let segmentation = read_segmentation(path)?;
    let (segments, notices) = segmentation.figures()?;
    let kind = match segmentation.kind {
        SegmentationKind::Binary => "binary".to_owned(),
        SegmentationKind::Fractional(max) => format!("fractional, inside from half of {max}"),
        SegmentationKind::Labels => "label map".to_owned(),
    };
    let mut lines = name_lines("SEG", &segmentation.names);
    lines.push(("type", kind));
    lines.extend(segments.iter().map(|SegmentFigures { head, num_voxels, volume_ml }| {
        let text = format!("{}: '{}', {}, {} mL", head.number, head.label, counted(*num_voxels, "voxel"), decimal(*volume_ml));
        ("segment", text)
    }));
    let facts = segments.iter().map(|SegmentFigures { head, num_voxels, volume_ml }| {
        json!({
            "number": head.number,
            "label": head.label,
            "colour": head.colour,
            "num_voxels": num_voxels,
            "volume_ml": volume_ml,
        })
    });
    let names = &segmentation.names;
    let facts = json!({
        "kind": "segmentation",
        "names": names,
        "type": segmentation.kind.name(),
        "segments": facts.collect::<Vec<_>>(),
    });
    Ok((lines, facts, notices))
}
