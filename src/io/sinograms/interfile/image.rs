//! Images in and out.

use std::io::{self, Write};
use std::path::Path;

use super::header::{CHECKSUM, Header};
use crate::data::{Notice, Unit, Volume};
use crate::geometry::Grid;
use crate::io::bytes::blocks::read_contiguous;
use crate::io::bytes::checksum::Checksum;
use crate::io::bytes::pair::PendingPair;
use crate::io::bytes::pending::write_f32_le;
use crate::io::error::{IoError, Unsupported};

/// A key of our own that names the unit of the values; other programs pass it over.
const UNIT_KEY: &str = "tomoscope image unit";

/// STIR writes six digits: an offset that is the default to that precision is the default, or rays that run along voxel
/// faces would miss them.
const SIX_DIGITS: f64 = 5e-6;

/// Reads the image that an Interfile header describes, and says what a user should know about it.
///
/// # Errors
/// A header that is not one, lacks a key, or describes something else than one image of x, y, z; a data file that is
/// missing or too short.
pub fn read_image(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    let header = Header::read(path)?;
    let mut notices = Vec::new();
    let grid = grid(&header, &mut notices)?;
    header.refuse_several()?;
    let source = header.data_source(&mut notices)?;
    let [nx, ny, nz] = grid.size;
    let what = format!("{nx} × {ny} × {nz} voxels of {} bytes", source.format.number_type.num_bytes());
    source.check(&header, grid.num_voxels(), &what, &mut notices)?;
    header.patient_position(&mut notices);
    let values = read_contiguous(&source.path, source.format, source.offset, grid.num_voxels())?;
    let volume = Volume::from_vec(grid, values, unit(&header));
    let volume = volume.ok_or_else(|| header.unsupported(Unsupported::Voxels))?;
    notices.extend(volume.not_finite().map(|values| header.warning(values.to_string())));
    Ok((volume, notices))
}

fn grid(header: &Header, notices: &mut Vec<Notice>) -> Result<Grid, IoError> {
    check_axes(header)?;
    let mut size = [1; 3];
    let mut voxel_mm = [1.0; 3];
    let mut origin_mm = [0.0; 3];
    for axis in 0..3 {
        size[axis] = header.count_at("matrix size", axis + 1)?;
        match header.number_at("scaling factor (mm/pixel)", axis + 1)? {
            Some(pitch) => voxel_mm[axis] = pitch,
            None => {
                let key = format!("scaling factor (mm/pixel) [{}]", axis + 1);
                notices.push(
                    header.warning(format!("the key '{key}' is missing; voxels are taken to be 1 mm wide along this axis")),
                );
            }
        }
        let offset = header.number_at("first pixel offset (mm)", axis + 1)?;
        origin_mm[axis] = match axis {
            2 => offset.unwrap_or(0.0) - 0.5 * (size[2] as f64 - 1.0) * voxel_mm[2],
            _ => {
                let default = -((size[axis] / 2) as f64) * voxel_mm[axis];
                match offset {
                    Some(offset) if (offset - default).abs() <= SIX_DIGITS * default.abs() => default,
                    Some(offset) => offset,
                    None => default,
                }
            }
        };
    }
    Grid::new(size, voxel_mm, origin_mm).map_err(|source| IoError::Grid { path: header.path.clone(), source })
}

fn check_axes(header: &Header) -> Result<(), IoError> {
    const KEY: &str = "number of dimensions";
    match header.count(KEY)? {
        Some(3) | None => {}
        Some(4 | 5) => {
            return Err(header.unsupported(Unsupported::ProjectionData));
        }
        Some(other) => return Err(header.value(KEY, &other.to_string(), "3 for an image")),
    }
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        if let Some(label) = header.text_at("matrix axis label", axis + 1)
            && !label.eq_ignore_ascii_case(name)
        {
            return Err(header.value(&format!("matrix axis label [{}]", axis + 1), label, name));
        }
    }
    Ok(())
}

fn unit(header: &Header) -> Unit {
    let written = header.text(UNIT_KEY).or(header.text("quantification units")).unwrap_or_default();
    match written.to_lowercase().as_str() {
        "bq/ml" | "bqml" => Unit::BqPerMl,
        label => Unit::of_label(label).unwrap_or(Unit::Unknown),
    }
}

/// Writes an image as STIR does: `path` is the header (`.hv`), the data goes beside it under the ending `.v`, as
/// little-endian 32-bit floats.
///
/// # Errors
/// A file cannot be written; what was there before then still is.
pub fn write_image(path: &Path, volume: &Volume) -> Result<(), IoError> {
    let data_path = path.with_extension("v");
    let data_name = super::data_file_name(path, &data_path)?;
    PendingPair::write(
        [path, &data_path],
        |writer| write_f32_le(writer, volume.as_slice()),
        |writer, checksum| write_header(writer, volume, &data_name, checksum),
    )?
    .commit()
}

fn write_header(w: &mut dyn Write, volume: &Volume, data_name: &str, checksum: Checksum) -> io::Result<()> {
    let grid = &volume.grid;
    writeln!(
        w,
        "!INTERFILE  :=\n; {CHECKSUM} := {checksum}\n!imaging modality := PT\n!version of keys := STIR6.0\nname of data file := {data_name}"
    )?;
    writeln!(w, "!GENERAL DATA :=\npatient orientation := head_in\npatient rotation := supine")?;
    writeln!(
        w,
        "!GENERAL IMAGE DATA :=\n!type of data := PET\nimagedata byte order := LITTLEENDIAN\nnumber of radionuclides := 1"
    )?;
    writeln!(w, "!PET STUDY (General) :=\n!PET data type := Image\nprocess status := Reconstructed")?;
    writeln!(w, "!number format := float\n!number of bytes per pixel := 4\nnumber of dimensions := 3")?;
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let number = axis + 1;
        writeln!(w, "matrix axis label [{number}] := {name}\n!matrix size [{number}] := {}", grid.size[axis])?;
        writeln!(w, "scaling factor (mm/pixel) [{number}] := {}", grid.voxel_mm[axis])?;
    }
    let middle_z = grid.origin_mm[2] + 0.5 * (grid.size[2] as f64 - 1.0) * grid.voxel_mm[2];
    // (−0 would be written with its sign.)
    for (axis, offset) in [grid.origin_mm[0], grid.origin_mm[1], middle_z].into_iter().enumerate() {
        writeln!(w, "first pixel offset (mm) [{}] := {}", axis + 1, offset + 0.0)?;
    }
    if volume.unit != Unit::Unknown {
        writeln!(w, "{UNIT_KEY} := {}", volume.unit.label())?;
    }
    writeln!(w, "number of time frames := 1\n!END OF INTERFILE :=")
}
