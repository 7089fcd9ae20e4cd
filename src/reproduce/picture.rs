//! Grey pictures of slices, as PNG files.

use std::io::Cursor;

use image::{GrayImage, ImageFormat, Luma};

use super::ReproduceError;
use super::folder::Folder;
use crate::data::Volume;

/// One slice in a window: `low` is black, `high` white.
pub(super) struct Panel<'a> {
    /// Shows this image,
    pub volume: &'a Volume,
    /// less this one.
    pub minus: Option<&'a Volume>,
    pub low: f64,
    pub high: f64,
}

/// Pixels of black between panels.
const GAP: usize = 4;

/// Writes the transverse slices `z` of some images, from left to right; +y points down.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_slices(folder: &Folder, file: &str, panels: &[Panel], z: usize) -> Result<(), ReproduceError> {
    let failed =
        |error: image::ImageError| ReproduceError::File { path: folder.path(file), doing: "written", reason: error.to_string() };
    folder.write(file, &slices(panels, z).map_err(failed)?)
}

/// The transverse slices `z` of some images, from left to right, as the bytes of a PNG file.
fn slices(panels: &[Panel], z: usize) -> Result<Vec<u8>, image::ImageError> {
    let width: usize = panels.iter().map(|panel| panel.volume.grid.size[0] + GAP).sum();
    let height = panels.iter().map(|panel| panel.volume.grid.size[1]).max().unwrap_or(0);
    let mut picture = GrayImage::new(width.saturating_sub(GAP) as u32, height as u32);
    let mut left = 0;
    for panel in panels {
        let [nx, ny, nz] = panel.volume.grid.size;
        for (x, y) in (0..ny).flat_map(|y| (0..nx).map(move |x| (x, y))) {
            let at = [z.min(nz - 1), y, x];
            let value = f64::from(panel.volume.values[at]);
            let minus = panel.minus.and_then(|volume| volume.values.get(at)).map_or(0.0, |v| f64::from(*v));
            let grey = 255.0 * (value - minus - panel.low) / (panel.high - panel.low);
            picture.put_pixel((left + x) as u32, y as u32, Luma([grey.round().clamp(0.0, 255.0) as u8]));
        }
        left += nx + GAP;
    }
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    #[test]
    fn panels_stand_side_by_side_in_their_windows() {
        let mut volume = Volume::filled(Grid::centred([3, 2, 1], [1.0; 3]).unwrap(), 1.0);
        volume.values[[0, 1, 2]] = 3.0;
        let same = volume.clone();
        let panels = [
            Panel { volume: &volume, minus: None, low: 0.0, high: 2.0 },
            Panel { volume: &volume, minus: Some(&same), low: -1.0, high: 1.0 },
        ];
        let picture = image::load_from_memory(&slices(&panels, 0).unwrap()).unwrap().into_luma8();
        assert_eq!(picture.dimensions(), (3 + GAP as u32 + 3, 2));
        assert_eq!(picture.get_pixel(0, 0).0, [128]);
        assert_eq!(picture.get_pixel(2, 1).0, [255]);
        assert_eq!(picture.get_pixel(2 + GAP as u32 + 3, 1).0, [128]);
    }
}
