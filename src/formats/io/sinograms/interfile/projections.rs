//! Projection data in and out.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::header::{CHECKSUM, CONTENTS, DataSource, Header, OF_SCAN};
use super::layout::{AxisOrder, Layout};
use super::scan_facts::{fact_lines, one_line, scan_facts};
use super::scanner;
use super::tof;
use crate::data::{CorrectionContent, Michelogram, Notice, ScanFacts, TofValues};
use crate::io::bytes::{BlockReader, Checksum, PendingPair, write_f32_le, zeroed};
use crate::io::error::IoError;
use crate::scanner::{InPlane, ScanGeometry, Segment};

/// Views of one task of the reader if a file holds sinograms: enough that each read is some ten kilobytes, few enough that the
/// result stays in a core's cache.
const VIEWS_PER_SINOGRAM_READ: usize = 4;

/// Views of a segment that the writer gathers at a time.
const VIEWS_PER_WRITE: usize = 64;

/// One segment within the file and within the michelogram.
pub struct FileSegment {
    /// Bins of the file before the segment.
    first_bin: u64,
    num_axial_pos: usize,
    /// Plane of the segment's first axial position.
    first_plane: usize,
}

/// Reads the projection data of an Interfile header, the facts of their scan, and their notices.
///
/// # Errors
/// An invalid header, one that lacks a key or describes unsupported data (generic geometry, even numbers of segments); figures that make no scanner; a data file that is missing or too short.
pub fn read_projections(path: &Path) -> Result<(Michelogram, ScanFacts, Vec<Notice>), IoError> {
    let header = Header::read(path)?;
    let mut notices = Vec::new();
    let layout = layout_of(&header)?;
    let source = header.data_source(&mut notices)?;
    let (sampling, sorted_index) = layout.sorted();
    let geometry = scanner::geometry(&header, sampling, &mut notices)?;
    let num_tof = layout.tof.map_or(1, |bins| bins.num);
    let what = format!(
        "{}{} views × {} tangential positions × {} planes of {} bytes",
        layout.tof.map_or_else(String::new, |bins| format!("{} time-of-flight bins × ", bins.num)),
        geometry.num_views,
        geometry.num_tangential,
        geometry.num_planes(),
        source.format.number_type.num_bytes()
    );
    source.check(&header, geometry.num_bins() * num_tof, &what, &mut notices)?;
    header.patient_position(&mut notices);
    let facts = scan_facts(&header, &mut notices);
    let segments = file_segments(&layout, &geometry, &sorted_index);
    let data = match layout.tof {
        None => {
            let counts = read_counts(&source, layout.order, &segments, &geometry)?;
            Michelogram { geometry: Arc::new(geometry), counts: Arc::new(counts), tof: None }
        }
        Some(bins) => {
            let values = Arc::new(read_tof(&source, bins.num, layout.order, &segments, &geometry)?);
            let tof = TofValues { bins, values };
            let counts = Arc::new(tof.sums(geometry.num_planes(), bins.num));
            Michelogram { geometry: Arc::new(geometry), counts, tof: Some(tof) }
        }
    };
    if let Some((index, value)) = data.first_unusable_bin() {
        notices.push(header.warning(unusable_bin(&data, index, value)));
    }
    notices.extend(header.remarks());
    Ok((data, facts, notices))
}

/// Reads the sampling of projection data from its header alone, with notices.
///
/// # Errors
/// As [`read_projections`], but for the data file, which may be missing.
pub fn read_geometry(path: &Path) -> Result<(ScanGeometry, Vec<Notice>), IoError> {
    let header = Header::read(path)?;
    let mut notices = Vec::new();
    let (sampling, _) = layout_of(&header)?.sorted();
    let geometry = scanner::geometry(&header, sampling, &mut notices)?;
    notices.extend(header.remarks());
    Ok((geometry, notices))
}

fn layout_of(header: &Header) -> Result<Layout, IoError> {
    let layout = Layout::from_header(header)?;
    header.refuse_several()?;
    Ok(layout)
}

/// Returns the reason why a bin's value is no count.
pub fn unusable_bin(data: &Michelogram, index: usize, value: f32) -> String {
    // As the refusal of a reconstruction names it.
    let (view, tangential_pos, plane) = data.bin_of_index(index);
    format!(
        "some bins are negative or not a number; the first holds {value} (view {view}, tangential position {tangential_pos}, plane \
         {plane}). MLEM and OSEM need at least 0 in every bin"
    )
}

/// Returns the segments in the file's order; `sorted_index` holds the index of each in the geometry.
pub fn file_segments(layout: &Layout, geometry: &ScanGeometry, sorted_index: &[usize]) -> Vec<FileSegment> {
    let sizes = geometry.segments.iter().map(|segment| segment.num_axial_pos);
    let first_planes: Vec<usize> = sizes
        .scan(0, |planes, size| {
            *planes += size;
            Some(*planes - size)
        })
        .collect();
    let mut first_bin = 0;
    let in_file = layout.segments.iter().zip(sorted_index);
    in_file
        .map(|(segment, &sorted)| {
            let num_axial_pos = segment.num_axial_pos;
            let this = FileSegment { first_bin, num_axial_pos, first_plane: first_planes[sorted] };
            first_bin += (num_axial_pos * layout.num_views * layout.num_tangential) as u64;
            this
        })
        .collect()
}

/// Reads all bins of each time-of-flight bin, one of these at a time.
fn read_tof(
    source: &DataSource,
    num_tof: usize,
    order: AxisOrder,
    segments: &[FileSegment],
    geometry: &ScanGeometry,
) -> Result<Vec<f32>, IoError> {
    let num_planes = geometry.num_planes();
    let mut values = zeroed(&source.path, num_tof * geometry.num_bins())?;
    for tof in 0..num_tof {
        let bytes = (tof * geometry.num_bins() * source.format.number_type.num_bytes()) as u64;
        let of_bin = DataSource { path: source.path.clone(), offset: source.offset + bytes, format: source.format };
        let counts = read_counts(&of_bin, order, segments, geometry)?;
        let rows = values.par_chunks_mut(num_tof * num_planes).zip(counts.par_chunks(num_planes));
        rows.for_each(|(of_lor, counts)| of_lor[tof * num_planes..(tof + 1) * num_planes].copy_from_slice(counts));
    }
    Ok(values)
}

/// Reads all bins, in the michelogram's order. Each task has a block of views, and reads its part of every segment.
pub fn read_counts(
    source: &DataSource,
    order: AxisOrder,
    segments: &[FileSegment],
    geometry: &ScanGeometry,
) -> Result<Vec<f32>, IoError> {
    let views_per_task = if order == AxisOrder::Viewgrams { 1 } else { VIEWS_PER_SINOGRAM_READ };
    let per_view = geometry.num_tangential * geometry.num_planes();
    let mut counts = zeroed(&source.path, geometry.num_bins())?;
    counts.par_chunks_mut(per_view * views_per_task).enumerate().try_for_each_init(
        || (BlockReader::new(&source.path, source.format), Vec::new()),
        |(reader, values), (task, views)| {
            let first_view = task * views_per_task;
            let num_views = views.len() / per_view;
            for segment in segments {
                let row = |view: usize, axial: usize| match order {
                    AxisOrder::Viewgrams => (view - first_view) * segment.num_axial_pos + axial,
                    AxisOrder::Sinograms => axial * num_views + view - first_view,
                };
                values.resize(num_views * segment.num_axial_pos * geometry.num_tangential, 0.0);
                read_views(reader, source, order, segment, geometry, first_view, values)?;
                for (view, bins) in views.chunks_exact_mut(per_view).enumerate() {
                    let rows = |axial| row(first_view + view, axial);
                    scatter_planes(values, rows, segment, geometry, bins);
                }
            }
            Ok::<(), IoError>(())
        },
    )?;
    Ok(counts)
}

/// Reads the rows (one per view and axial position) of some views of one segment, in the file's order.
fn read_views(
    reader: &mut BlockReader<'_>,
    source: &DataSource,
    order: AxisOrder,
    segment: &FileSegment,
    geometry: &ScanGeometry,
    first_view: usize,
    values: &mut [f32],
) -> Result<(), IoError> {
    let (num_views, num_tangential) = (geometry.num_views, geometry.num_tangential);
    let offset = |row: usize| {
        let bin = segment.first_bin + (row * num_tangential) as u64;
        source.offset + bin * source.format.number_type.num_bytes() as u64
    };
    match order {
        AxisOrder::Viewgrams => reader.read(offset(first_view * segment.num_axial_pos), values),
        AxisOrder::Sinograms => {
            let per_axial = values.len() / segment.num_axial_pos;
            let mut sinograms = values.chunks_exact_mut(per_axial).enumerate();
            sinograms.try_for_each(|(axial, rows)| reader.read(offset(axial * num_views + first_view), rows))
        }
    }
}

/// Puts the rows of one view of one segment where their planes are: `bins[tangential][plane]`.
fn scatter_planes(
    values: &[f32],
    row: impl Fn(usize) -> usize,
    segment: &FileSegment,
    geometry: &ScanGeometry,
    bins: &mut [f32],
) {
    let num_tangential = geometry.num_tangential;
    let (first, last) = (segment.first_plane, segment.first_plane + segment.num_axial_pos);
    for (tangential, planes) in bins.chunks_exact_mut(geometry.num_planes()).enumerate() {
        for (axial, bin) in planes[first..last].iter_mut().enumerate() {
            *bin = values[row(axial) * num_tangential + tangential];
        }
    }
}

/// Facts of projection data; other programs skip those in keys of the program's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnFacts {
    /// Checksum of the data of the scan of a correction, as text.
    pub of_scan: Option<String>,
    /// Contents of a correction; `None` = unknown.
    pub contents: Option<Vec<CorrectionContent>>,
    /// Facts of the scan.
    pub scan: ScanFacts,
}

/// Returns the facts of the program's own in a header, and the checksum of its data, if it has them.
///
/// # Errors
/// The header does not read.
pub fn read_own_facts(path: &Path) -> Result<(OwnFacts, Option<String>), IoError> {
    let header = Header::read(path)?;
    let of_scan = header.own(OF_SCAN).map(str::to_owned);
    let contents = header.own(CONTENTS).map(|text| text.split(',').filter_map(|word| word.trim().parse().ok()).collect());
    Ok((OwnFacts { of_scan, contents, ..OwnFacts::default() }, header.own(CHECKSUM).map(str::to_owned)))
}

/// Writes projection data as STIR does: `path` is the header (`.hs`), the data file has the ending `.s` and contains viewgrams of
/// little-endian 32-bit floats.
///
/// # Errors
/// A failed write; existing files then remain.
pub fn write_projections(path: &Path, data: &Michelogram, own: &OwnFacts) -> Result<(), IoError> {
    let data_path = path.with_extension("s");
    let data_name = super::data_file_name(path, &data_path)?;
    PendingPair::write(
        [path, &data_path],
        |writer| match &data.tof {
            None => write_counts(writer, &data.geometry, &data.counts),
            Some(TofValues { bins, values }) => {
                (0..bins.num).try_for_each(|tof| write_counts(writer, &data.geometry, &of_bin(data, values, [tof, bins.num])))
            }
        },
        |writer, checksum| write_header(writer, data, &data_name, &own_lines(own, checksum), &fact_lines(&own.scan)),
    )?
    .commit()
}

/// Returns the comment lines of a header with the checksum of its data and the facts.
fn own_lines(own: &OwnFacts, checksum: Checksum) -> String {
    let contents = own.contents.as_ref().map(|contents| {
        let words: Vec<String> = contents.iter().map(CorrectionContent::to_string).collect();
        words.join(", ")
    });
    let of_scan = own.of_scan.clone();
    let further = [(OF_SCAN, of_scan), (CONTENTS, contents)];
    let further = further.into_iter().filter_map(|(key, value)| Some(format!("; {key} := {}\n", value?)));
    std::iter::once(format!("; {CHECKSUM} := {checksum}\n")).chain(further).collect()
}

/// Returns the values of one time-of-flight bin in a michelogram's order.
fn of_bin(data: &Michelogram, values: &[f32], [tof, num_tof]: [usize; 2]) -> Vec<f32> {
    let num_planes = data.geometry.num_planes();
    values.chunks(num_tof * num_planes).flat_map(|of_lor| &of_lor[tof * num_planes..(tof + 1) * num_planes]).copied().collect()
}

fn write_counts(writer: &mut dyn Write, geometry: &ScanGeometry, counts: &[f32]) -> io::Result<()> {
    let (num_tangential, num_planes) = (geometry.num_tangential, geometry.num_planes());
    let per_view = num_tangential * num_planes;
    let mut viewgrams = Vec::new();
    let mut first_plane = 0;
    for segment in &geometry.segments {
        let num_axial_pos = segment.num_axial_pos;
        for views in counts.chunks(per_view * VIEWS_PER_WRITE) {
            viewgrams.resize(views.len() / per_view * num_axial_pos * num_tangential, 0.0);
            let pairs = viewgrams.par_chunks_exact_mut(num_axial_pos * num_tangential).zip(views.par_chunks_exact(per_view));
            pairs.for_each(|(viewgram, bins)| {
                for (tangential, planes) in bins.chunks_exact(num_planes).enumerate() {
                    for (axial, &bin) in planes[first_plane..first_plane + num_axial_pos].iter().enumerate() {
                        viewgram[axial * num_tangential + tangential] = bin;
                    }
                }
            });
            write_f32_le(writer, &viewgrams)?;
        }
        first_plane += num_axial_pos;
    }
    Ok(())
}

fn write_header(
    w: &mut dyn Write,
    data: &Michelogram,
    data_name: &str,
    own_lines: &str,
    [of_study, of_frame]: &[String; 2],
) -> io::Result<()> {
    let geometry = &data.geometry;
    let [tof_axis, tof_of_scanner] = data.tof.as_ref().map_or_else(Default::default, |tof| tof::header_lines(&tof.bins));
    let scanner = one_line(&geometry.scanner);
    let segments = &geometry.segments;
    let list = |of: &dyn Fn(&Segment) -> String| segments.iter().map(of).collect::<Vec<_>>().join(",");
    let (corrections, bin_mm) = match geometry.in_plane {
        InPlane::ArcCorrected { bin_mm } | InPlane::Heads { bin_mm } => ("{arc correction}", bin_mm),
        InPlane::Detectors | InPlane::DetectorPairs => ("{None}", geometry.central_bin_mm()),
    };
    writeln!(w, "!INTERFILE  :=\n{own_lines}!imaging modality := PT")?;
    writeln!(w, "name of data file := {data_name}\noriginating system := {scanner}")?;
    writeln!(w, "!version of keys := STIR6.0\n!GENERAL DATA :=\n!GENERAL IMAGE DATA :=\n!type of data := PET")?;
    writeln!(w, "patient orientation := head_in\npatient rotation := supine\nimagedata byte order := LITTLEENDIAN")?;
    writeln!(w, "{of_study}!PET STUDY (General) :=")?;
    writeln!(w, "!PET data type := Emission\napplied corrections := {corrections}")?;
    writeln!(
        w,
        "!number format := float\n!number of bytes per pixel := 4\nnumber of dimensions := {}",
        if data.tof.is_some() { 5 } else { 4 }
    )?;
    write!(w, "{tof_axis}")?;
    writeln!(w, "matrix axis label [4] := segment\n!matrix size [4] := {}", segments.len())?;
    writeln!(w, "matrix axis label [3] := view\n!matrix size [3] := {}", geometry.num_views)?;
    writeln!(w, "matrix axis label [2] := axial coordinate")?;
    writeln!(w, "!matrix size [2] := {{ {}}}", list(&|s| s.num_axial_pos.to_string()))?;
    writeln!(w, "matrix axis label [1] := tangential coordinate\n!matrix size [1] := {}", geometry.num_tangential)?;
    writeln!(w, "minimum ring difference per segment := {{ {}}}", list(&|s| s.min_ring_difference.to_string()))?;
    writeln!(w, "maximum ring difference per segment := {{ {}}}", list(&|s| s.max_ring_difference.to_string()))?;
    writeln!(w, "Scanner parameters:=\n  Scanner type := {scanner}")?;
    writeln!(w, "  Number of rings                          := {}", geometry.num_rings)?;
    writeln!(w, "  Number of detectors per ring             := {}", geometry.num_detectors_per_ring)?;
    writeln!(w, "  Inner ring diameter (cm)                 := {}", geometry.inner_radius_mm / 5.0)?;
    writeln!(w, "  Average depth of interaction (cm)        := {}", geometry.depth_of_interaction_mm / 10.0)?;
    writeln!(w, "  Distance between rings (cm)              := {}", geometry.ring_spacing_mm / 10.0)?;
    writeln!(w, "  Default bin size (cm)                    := {}", bin_mm / 10.0)?;
    writeln!(w, "  View offset (degrees)                    := {}", geometry.view_offset_deg)?;
    writeln!(w, "  Maximum number of non-arc-corrected bins := {}", geometry.num_tangential)?;
    writeln!(w, "  Default number of arc-corrected bins     := {}", geometry.num_tangential)?;
    writeln!(w, "  Number of detector layers                := 1")?;
    write!(w, "{tof_of_scanner}")?;
    writeln!(w, "  Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic)  := Cylindrical\nEnd scanner parameters:=")?;
    writeln!(w, "effective central bin size (cm) := {}", bin_mm / 10.0)?;
    writeln!(w, "{of_frame}start vertical bed position (mm) := 0\nstart horizontal bed position (mm) := 0")?;
    writeln!(w, "!END OF INTERFILE :=")
}
