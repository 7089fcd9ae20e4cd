//! Grey pictures of slices, as PNG files.

use std::io::Cursor;

use image::{GenericImage as _, GrayImage, ImageFormat};
use ndarray::{ArrayView1, s};

use super::ReproduceError;
use super::folder::{Folder, failed};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::report::{Plot, pixels};

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
/// Writing the file failed.
pub(super) fn write_slices(folder: &Folder, file: &str, panels: &[Panel], z: usize) -> Result<(), ReproduceError> {
    folder.write(file, &slices(panels, z).map_err(failed(&folder.path(file), "written"))?)
}

/// Writes plots as SVG files, except those without points; returns a description of each.
///
/// # Errors
/// Writing a file failed.
pub(super) fn write_plots<'a>(
    folder: &Folder,
    plots: impl IntoIterator<Item = (&'a str, Plot)>,
) -> Result<Vec<String>, ReproduceError> {
    let mut written = Vec::new();
    for (name, plot) in plots {
        let Some(svg) = plot.svg() else { continue };
        let file = format!("figures/{name}.svg");
        folder.write(&file, svg.as_bytes())?;
        written.push(format!("{file}: {}", plot.title));
    }
    Ok(written)
}

/// Returns the central values along y of an image, in a view along y; see [`coronal`].
///
/// # Errors
/// Invalid grid.
pub(super) fn middle_coronal(volume: &Volume) -> Result<Volume, ReproduceError> {
    coronal(volume, |along_y| along_y[along_y.len() / 2])
}

/// Returns the transverse slices `z` of several images, from left to right, as the bytes of a PNG file.
fn slices(panels: &[Panel], z: usize) -> Result<Vec<u8>, image::ImageError> {
    let width: usize = panels.iter().map(|panel| panel.volume.grid.size[0] + GAP).sum();
    let height = panels.iter().map(|panel| panel.volume.grid.size[1]).max().unwrap_or(0);
    let mut picture = GrayImage::new(width.saturating_sub(GAP) as u32, height as u32);
    let mut left = 0;
    for panel in panels {
        let [nx, ny, nz] = panel.volume.grid.size;
        let value = |at: [usize; 3]| {
            let minus = panel.minus.and_then(|volume| volume.values.get(at)).map_or(0.0, |v| f64::from(*v));
            f64::from(panel.volume.values[at]) - minus
        };
        let values = (0..ny).flat_map(|y| (0..nx).map(move |x| [z.min(nz - 1), y, x])).map(value);
        let greys = pixels(values, [panel.low, panel.high], |part| (255.0 * part).round() as u8);
        let slice = GrayImage::from_raw(nx as u32, ny as u32, greys);
        slice.into_iter().try_for_each(|slice| picture.copy_from(&slice, left as u32, 0))?;
        left += nx + GAP;
    }
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

/// Returns a view of an image along y, as a volume of one slice with +z up. `project` reduces the values of each line to one.
///
/// # Errors
/// Invalid grid.
pub(super) fn coronal(volume: &Volume, project: impl Fn(ArrayView1<f32>) -> f32) -> Result<Volume, ReproduceError> {
    let [nx, _, nz] = volume.grid.size;
    let [dx, dy, dz] = volume.grid.voxel_mm;
    let mut slice = Volume::filled(Grid::centred([nx, nz, 1], [dx, dz, dy])?, 0.0);
    for (z, x) in (0..nz).flat_map(|z| (0..nx).map(move |x| (z, x))) {
        slice.values[[0, nz - 1 - z, x]] = project(volume.values.slice(s![z, .., x]));
    }
    Ok(slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_along_y_are_upright() {
        let mut volume = Volume::filled(Grid::centred([3, 5, 4], [1.0, 2.0, 3.0]).unwrap(), 0.0);
        volume.values[[3, 2, 1]] = 1.0;
        volume.values[[0, 4, 2]] = 2.0;
        let middle = coronal(&volume, |along_y| along_y[2]).unwrap();
        assert_eq!((middle.grid.size, middle.grid.voxel_mm), ([3, 4, 1], [1.0, 3.0, 2.0]));
        assert_eq!((middle.values[[0, 0, 1]], middle.sum()), (1.0, 1.0));
        let largest = coronal(&volume, |along_y| along_y.fold(0.0, |a: f32, b| a.max(*b))).unwrap();
        assert_eq!((largest.values[[0, 3, 2]], largest.sum()), (2.0, 3.0));
    }

    #[test]
    fn panels_are_side_by_side_in_their_windows() {
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
