//! Images in and out.

use std::io::{self, Write};
use std::path::Path;

use super::header::{CHECKSUM, Header};
use crate::data::{Notice, Unit, Volume};
use crate::geometry::Grid;
use crate::io::bytes::{Checksum, PendingPair, read_contiguous, write_f32_le};
use crate::io::error::IoError;
use crate::io::image_problem::ImageProblem;
use crate::io::sinograms::interfile::problem::InterfileProblem;

/// A key of our own that names the unit of the values; other programs pass it over.
const UNIT_KEY: &str = "tomoscope image unit";

/// Keys of the distance of voxels, mm: STIR's and Interfile's, Siemens', and one that some programs write.
const PITCH: [&str; 3] = ["scaling factor (mm/pixel)", "scale factor (mm/pixel)", "scaling factor mmpixel"];

/// Words of transverse slices, and of unknown ones.
const TRANSVERSE: [&str; 5] = ["transverse", "transaxial", "axial", "unknown", "other"];

/// Keys of the number of slices, which the matrix size contains, too.
const NUM_IMAGES: [&str; 4] = ["total number of images", "number of images", "number of images/window", "number of slices"];

/// STIR writes six digits: an offset that is the default to that precision is the default, or rays that run along voxel
/// faces would miss them.
const SIX_DIGITS: f64 = 5e-6;

/// Reads the image of an Interfile header, and its notices.
///
/// # Errors
/// An invalid header, one that lacks a key or describes something else than one image of x, y, z; a data file that is missing or
/// too short.
pub fn read_image(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    let header = Header::read(path)?;
    let mut notices = Vec::new();
    let grid = grid(&header)?;
    header.refuse_several()?;
    let source = header.data_source(&mut notices)?;
    let [nx, ny, nz] = grid.size;
    let what = format!("{nx} × {ny} × {nz} voxels of {} bytes", source.format.number_type.num_bytes());
    source.check(&header, grid.num_voxels(), &what, &mut notices)?;
    header.patient_position(&mut notices);
    let values = read_contiguous(&source.path, source.format, source.offset, grid.num_voxels())?;
    let volume = Volume::from_vec(grid, values, unit(&header));
    let volume = volume.ok_or_else(|| header.unsupported(ImageProblem::Voxels))?;
    let num_images = NUM_IMAGES.iter().filter_map(|key| Some((key, header.text(key)?)));
    if let Some((key, text)) = num_images.into_iter().find(|(_, text)| text.parse() != Ok(nz)) {
        notices.push(header.warning(format!("'{key}' is {text}, but {nz} slices are read ('matrix size [3]')")));
    }
    notices.extend(volume.not_finite().map(|values| header.warning(values.to_string())));
    notices.extend(header.remarks());
    Ok((volume, notices))
}

fn grid(header: &Header) -> Result<Grid, IoError> {
    check_axes(header)?;
    let mut size = [1; 3];
    let mut voxel_mm = [1.0; 3];
    let mut origin_mm = [0.0; 3];
    for axis in 0..3 {
        size[axis] = header.count_at("matrix size", axis + 1)?;
        let mut pitch = None;
        for key in PITCH {
            let found = header.number_at(key, axis + 1)?;
            if let (Some(pitch), Some(found)) = (pitch, found.filter(|found| pitch.is_some_and(|pitch| pitch != *found))) {
                let expected = format!("{pitch}, as in '{} [{}]'", PITCH[0], axis + 1);
                return Err(header.invalid(&format!("{key} [{}]", axis + 1), &found.to_string(), &expected));
            }
            pitch = pitch.or(found);
        }
        let missing = || header.missing(&format!("{} [{}]", PITCH[0], axis + 1), "add the distance of voxels, mm");
        voxel_mm[axis] = pitch.ok_or_else(missing)?;
        let offset = header.number_at("first pixel offset (mm)", axis + 1)?;
        let default = -((size[axis] / 2) as f64) * voxel_mm[axis];
        origin_mm[axis] = match (axis, offset) {
            (2, offset) => offset.unwrap_or(0.0) - 0.5 * (size[2] as f64 - 1.0) * voxel_mm[2],
            (_, Some(offset)) if (offset - default).abs() <= SIX_DIGITS * default.abs() => default,
            (_, offset) => offset.unwrap_or(default),
        };
    }
    Grid::new(size, voxel_mm, origin_mm).map_err(|source| IoError::Grid(header.path.clone(), source))
}

fn check_axes(header: &Header) -> Result<(), IoError> {
    const KEY: &str = "number of dimensions";
    match header.count(KEY)? {
        Some(3) | None => {}
        Some(4 | 5) => return Err(header.unsupported(InterfileProblem::ProjectionData)),
        Some(other) => return Err(header.invalid(KEY, &other.to_string(), "3 for an image")),
    }
    if let Some(orientation) = header.word("slice orientation").filter(|word| !TRANSVERSE.contains(&word.as_str())) {
        return Err(header.unsupported(InterfileProblem::SliceOrientation(orientation)));
    }
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        if let Some(label) = header.text_at("matrix axis label", axis + 1)
            && !label.eq_ignore_ascii_case(name)
        {
            return Err(header.invalid(&format!("matrix axis label [{}]", axis + 1), label, name));
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

/// Writes an image as STIR does: `path` is the header (`.hv`), the data file has the ending `.v` and contains little-endian
/// 32-bit floats.
///
/// # Errors
/// A failed write; existing files then remain.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const OLD: &str = "!INTERFILE :=\nname of data file := a.v\n!number format := float\n!number of bytes per pixel := 4\n\
                       imagedata byte order := LITTLEENDIAN\n!matrix size [1] := 1\n!matrix size [2] := 1\n!matrix size [3] := 1\n\
                       scaling factor (mm/pixel) := 1\n\
                       !END OF INTERFILE :=\n";

    #[test]
    fn the_old_pair_stays_where_the_data_cannot_take_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let [header, data] = ["a.hv", "a.v"].map(|name| folder.path().join(name));
        for exists in [true, false] {
            if exists {
                fs::write(&header, OLD).unwrap();
                fs::write(&data, [0; 4]).unwrap();
            }
            let pair =
                PendingPair::write([&header, &data], |writer| writer.write_all(b"new!"), |writer, _| write!(writer, "new"));
            let pair = pair.unwrap();
            // A folder takes the place of the data in the meantime.
            let _ = fs::remove_file(&data);
            fs::create_dir(&data).unwrap();
            assert!(pair.commit().is_err());
            assert_eq!(fs::read_to_string(&header).ok(), exists.then(|| OLD.to_owned()));
            fs::remove_dir(&data).unwrap();
            let _ = fs::remove_file(&header);
        }
    }

    #[test]
    fn a_pair_that_was_half_replaced_is_refused_also_over_another_programs() {
        let folder = tempfile::tempdir().unwrap();
        let [header, data] = ["a.hv", "a.v"].map(|name| folder.path().join(name));
        fs::write(&header, OLD).unwrap();
        fs::write(&data, [0; 4]).unwrap();
        read_image(&header).unwrap();
        let pair = PendingPair::write(
            [&header, &data],
            |writer| writer.write_all(&1f32.to_le_bytes()),
            |writer, checksum| {
                write!(writer, "{}", OLD.replacen('\n', &format!("\n; tomoscope data checksum := {checksum}\n"), 1))
            },
        );
        // Killed between the two.
        let PendingPair { header: new, data: unborn, .. } = pair.unwrap();
        new.commit().unwrap();
        drop(unborn);
        let error = read_image(&header).unwrap_err();
        assert!(
            matches!(&error, IoError::NotAPair { header: found, data: of, .. } if *found == header && *of == data),
            "{error}"
        );
    }
}
