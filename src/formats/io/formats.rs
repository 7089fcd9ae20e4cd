//! The formats of files: one table, from which endings, dialogs, `--help`, error messages, the labels of `info` and the table of
//! `docs/formats.md` follow. A new format is a module with its reader, and a row of [`FORMATS`].

use std::path::{Path, PathBuf};

use crate::io::epri::{bes3t, numpy_sweep, saved_sweep};
use crate::io::error::IoError;
use crate::io::foreign::foreign;
use crate::io::images::{dicom, nifti, numpy_image};
use crate::io::list_mode::{castor, petsird, siemens, yrt};
use crate::io::own::{oximetry, saved_matrix, saved_pairs, saved_tubes};
use crate::io::readers::{
    CheckFacts, Folder, ListReader, Measured, ProjectionReader, Reader, SweepReader, WriteSeries, Writer, one_image,
    without_phase,
};
use crate::io::sinograms::interfile;
use crate::io::sinograms::siemens::{SiemensSinograms, read_siemens_geometry, read_siemens_sinograms};
use crate::text::either;

pub use crate::io::readers::ListLack;

/// A format of files.
pub struct Format {
    /// Name of the format in the program.
    pub kind: FileKind,
    /// Content of its files.
    pub content: Content,
    /// Name of the format, as `docs/formats.md` has it.
    pub name: &'static str,
    /// Endings as texts and dialogs show them.
    pub shown: &'static [&'static str],
    /// All endings that are accepted, in small letters.
    endings: &'static [&'static str],
    /// Returns true if a file with such an ending has this format: several formats can share an ending.
    claims: fn(&Path) -> bool,
    /// Its reader.
    pub(super) reader: Reader,
    /// Its writer.
    pub(super) writer: Writer,
    /// Data files that a header names; `None`: that of `data_file`.
    named_data: Option<fn(&Path) -> Vec<PathBuf>>,
    /// Data file that is written with a header.
    data_file: Option<fn(&Path) -> PathBuf>,
    /// Further files that are read with it: a reference spectrum, the arrays of a set.
    companions: fn(&Path) -> Vec<PathBuf>,
    /// Its files, if a name is that of a folder.
    folder: Option<Folder>,
    /// Writer of several images into one file, if the format has a fourth dimension.
    pub(super) series: Option<WriteSeries>,
    /// True if images have directions of their axes, so that they can be oblique.
    pub has_directions: bool,
    /// True if images have a patient.
    pub has_patient: bool,
    /// Returns true of an image on the axes of the gradients, if images have a world; else they are on those of a patient.
    pub(super) on_gradient_axes: Option<OfHeader>,
    /// Check of an image's unit and facts before long work, if the format needs some.
    pub(super) facts: Option<CheckFacts>,
}

/// Question about the header of a file.
type OfHeader = fn(&Path) -> Result<bool, IoError>;

/// Kind of a file, by the ending of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Projection data, Interfile.
    InterfileProjections,
    /// Projection data, Interfile of Siemens.
    SiemensSinograms,
    /// List-mode data, PETSIRD.
    Petsird,
    /// List-mode data, CASToR.
    Castor,
    /// List-mode data, Siemens.
    SiemensList,
    /// List-mode data, YRT-PET.
    YrtList,
    /// An EPRI acquisition, or its reference spectrum, Bruker BES3T.
    Bes3t,
    /// An EPRI acquisition as a set of NumPy arrays, or its reference spectrum.
    NumpySweep,
    /// An EPRI acquisition in the program's own form.
    SavedSweep,
    /// An image, Interfile.
    InterfileImage,
    /// An image, NIfTI.
    NiftiImage,
    /// An image, NumPy array of three dimensions.
    NumpyImage,
    /// Lesions, a DICOM segmentation.
    DicomSegmentation,
    /// A DICOM series of images: a folder.
    DicomSeries,
    /// Crystal-pair histograms.
    Pairs,
    /// A system matrix.
    Matrix,
    /// Tubes of response.
    Tubes,
    /// The crystals of a scanner.
    Crystals,
    /// The calibration of a scan.
    Calibration,
    /// Acquisitions of pulse oximetry.
    Oximetry,
    /// A provenance record.
    Provenance,
    /// Regions of interest.
    Rois,
    /// A session of the window.
    Session,
    /// Measured numbers.
    Measurements,
}

/// Content of files; in the templates of help pages it has the serialised names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter, strum::EnumString)]
pub enum Content {
    /// Projection data.
    #[strum(serialize = "projections")]
    Projections,
    /// List-mode data.
    #[strum(serialize = "lists")]
    ListMode,
    /// Projections of an EPRI acquisition.
    #[strum(serialize = "acquisitions")]
    Sweep,
    /// An image.
    #[strum(serialize = "images")]
    Image,
    /// Crystal-pair histograms.
    Pairs,
    /// A system matrix.
    Matrix,
    /// Tubes of response.
    Tubes,
    /// The crystals of a scanner.
    Crystals,
    /// The calibration of a scan.
    Calibration,
    /// Acquisitions of pulse oximetry.
    Oximetry,
    /// A provenance record.
    Provenance,
    /// Regions of interest.
    Rois,
    /// Voxels of lesions.
    #[strum(serialize = "segmentations")]
    Segmentation,
    /// A session of the window.
    Session,
    /// Measured numbers.
    Measurements,
}

/// All formats. Of those with the same ending the first that claims a file has it.
pub static FORMATS: [Format; 24] = [
    Format {
        reader: Reader::Projections(ProjectionReader {
            counts: |path| {
                let (prompts, facts, notices) = interfile::read_projections(path)?;
                Ok(Measured { prompts, randoms: None, facts, notices })
            },
            geometry: interfile::read_geometry,
        }),
        writer: Writer::Own,
        named_data: Some(interfile::data_files),
        data_file: Some(|path| path.with_extension("s")),
        ..Format::new(FileKind::InterfileProjections, Content::Projections, "Interfile", &[".hs"], &[".hs"])
    },
    Format {
        reader: Reader::Projections(ProjectionReader {
            counts: |path| {
                let (SiemensSinograms { prompts, randoms, facts }, notices) = read_siemens_sinograms(path)?;
                Ok(Measured { prompts, randoms, facts, notices })
            },
            geometry: read_siemens_geometry,
        }),
        named_data: Some(interfile::data_files),
        ..Format::new(FileKind::SiemensSinograms, Content::Projections, "Siemens Interfile", &[".s.hdr"], &[".s.hdr"])
    },
    Format {
        reader: Reader::ListMode(ListReader { open: |path, _| petsird::open(path), can_follow: true, lacks: ListLack::Nothing }),
        writer: Writer::Own,
        ..Format::new(FileKind::Petsird, Content::ListMode, "PETSIRD", &[".petsird"], &[".petsird"])
    },
    Format {
        reader: Reader::ListMode(ListReader { open: castor::open, can_follow: true, lacks: ListLack::Efficiencies }),
        writer: Writer::Own,
        named_data: Some(castor::data_files),
        data_file: Some(|path| path.with_extension("Cdf")),
        ..Format::new(FileKind::Castor, Content::ListMode, "CASToR", &[".Cdh"], &[".cdh"])
    },
    Format {
        reader: Reader::ListMode(ListReader { open: siemens::open, can_follow: true, lacks: ListLack::Nothing }),
        named_data: Some(interfile::data_files),
        ..Format::new(FileKind::SiemensList, Content::ListMode, "Siemens 32-bit", &[".l.hdr"], &[".l.hdr", ".l.hdr.stir"])
    },
    Format {
        reader: Reader::ListMode(ListReader { open: yrt::open, can_follow: false, lacks: ListLack::Scanner }),
        ..Format::new(FileKind::YrtList, Content::ListMode, "YRT-PET", &[".lmDat"], &[".lmdat"])
    },
    Format {
        reader: Reader::Sweep(SweepReader {
            projections: bes3t::read_projections,
            reference: Some(bes3t::REFERENCE),
            header: Some(bes3t::sweep_header),
        }),
        named_data: Some(bes3t::pair),
        companions: |path| bes3t::reference_path(path).iter().flat_map(|reference| bes3t::pair(reference)).collect(),
        ..Format::new(FileKind::Bes3t, Content::Sweep, "Bruker BES3T", &[".DSC"], &[".dsc", ".dta"])
    },
    Format {
        claims: numpy_sweep::is_of_a_set,
        reader: Reader::Sweep(SweepReader {
            projections: |path, phase| without_phase(path, numpy_sweep::read_projections(path)?, phase),
            reference: Some(numpy_sweep::REFERENCE),
            header: None,
        }),
        companions: numpy_sweep::set,
        ..Format::new(FileKind::NumpySweep, Content::Sweep, "NumPy set", &["-proj.npy"], &[".npy"])
    },
    Format {
        reader: Reader::Sweep(SweepReader {
            projections: |path, phase| without_phase(path, saved_sweep::read_projections(path)?, phase),
            reference: None,
            header: Some(saved_sweep::sweep_header),
        }),
        writer: Writer::Own,
        data_file: Some(saved_sweep::data_file),
        ..Format::new(FileKind::SavedSweep, Content::Sweep, "tomoscope", &[".sweep"], &[".sweep"])
    },
    Format {
        claims: interfile::is_image,
        reader: Reader::Image(|path, choice| one_image(path, choice, interfile::read_image)),
        writer: Writer::Image(|path, volume, _, _| interfile::write_image(path, volume)),
        named_data: Some(interfile::data_files),
        data_file: Some(|path| path.with_extension("v")),
        ..Format::new(FileKind::InterfileImage, Content::Image, "Interfile", &[".hv"], &[".hv", ".v.hdr", ".h33", ".hdr"])
    },
    Format {
        claims: nifti::is_nifti,
        reader: Reader::Image(nifti::read_images),
        writer: Writer::Image(|path, volume, description, context| {
            nifti::write_image(path, volume, &description.text, context.placement.as_ref())
        }),
        series: Some(nifti::write_series),
        named_data: Some(nifti::other_files),
        has_directions: true,
        on_gradient_axes: Some(nifti::is_on_gradient_axes),
        ..Format::new(FileKind::NiftiImage, Content::Image, "NIfTI", &[".nii", ".nii.gz"], nifti::ENDINGS)
    },
    Format {
        reader: Reader::Image(|path, choice| one_image(path, choice, numpy_image::read_image)),
        writer: Writer::Image(|path, volume, _, _| numpy_image::write_image(path, volume)),
        ..Format::new(FileKind::NumpyImage, Content::Image, "NumPy", &[".npy"], &[".npy"])
    },
    Format::own(FileKind::DicomSegmentation, Content::Segmentation, "DICOM SEG", &[".seg.dcm"]),
    Format {
        reader: Reader::Image(dicom::read_images),
        // The folder of a slice contains the others.
        companions: |path| path.parent().filter(|_| path.is_file()).map(Path::to_owned).into_iter().collect(),
        writer: Writer::Image(dicom::write_series),
        folder: Some(Folder { check_place: dicom::check_place, files: dicom::files_of_series }),
        has_directions: true,
        has_patient: true,
        facts: Some(dicom::check_image),
        ..Format::new(FileKind::DicomSeries, Content::Image, "DICOM", &[".dcm"], &[".dcm", ".ima"])
    },
    Format { data_file: Some(saved_pairs::data_file), ..Format::own(FileKind::Pairs, Content::Pairs, "tomoscope", &[".pairs"]) },
    Format {
        data_file: Some(saved_matrix::data_file),
        ..Format::own(FileKind::Matrix, Content::Matrix, "tomoscope", &[".matrix"])
    },
    Format { data_file: Some(saved_tubes::data_file), ..Format::own(FileKind::Tubes, Content::Tubes, "tomoscope", &[".tubes"]) },
    Format { writer: Writer::None, ..Format::own(FileKind::Crystals, Content::Crystals, "TOML", &[".crystals.toml"]) },
    Format::own(FileKind::Calibration, Content::Calibration, "TOML", &[".calibration.toml"]),
    Format {
        named_data: Some(oximetry::acquisitions),
        ..Format::own(FileKind::Oximetry, Content::Oximetry, "TOML", &[oximetry::ENDING])
    },
    // A record has the name of its file, with .json behind it.
    Format { claims: is_of_a_file, ..Format::own(FileKind::Provenance, Content::Provenance, "JSON", &[".json"]) },
    Format::own(FileKind::Rois, Content::Rois, "TOML, JSON", &[".toml", ".json"]),
    Format::own(FileKind::Session, Content::Session, "TOML", &[".session"]),
    Format::own(FileKind::Measurements, Content::Measurements, "CSV", &[".csv"]),
];

impl Format {
    /// Returns a format that is neither read nor written, of files without others.
    const fn new(
        kind: FileKind,
        content: Content,
        name: &'static str,
        shown: &'static [&'static str],
        endings: &'static [&'static str],
    ) -> Self {
        Self {
            kind,
            content,
            name,
            shown,
            endings,
            claims: |_| true,
            reader: Reader::None,
            writer: Writer::None,
            named_data: None,
            data_file: None,
            companions: |_| Vec::new(),
            folder: None,
            series: None,
            has_directions: false,
            has_patient: false,
            on_gradient_axes: None,
            facts: None,
        }
    }

    /// Returns a format that only the program has, or that is the only one of its content.
    const fn own(kind: FileKind, content: Content, name: &'static str, endings: &'static [&'static str]) -> Self {
        Self { reader: Reader::Own, writer: Writer::Own, ..Self::new(kind, content, name, endings, endings) }
    }

    /// Returns the data file that is written with a header.
    pub(super) fn data_written(&self, header: &Path) -> Option<PathBuf> {
        self.data_file.map(|data_file| data_file(header))
    }

    /// Returns the data files of a header, whether they exist or not.
    pub(super) fn data_read(&self, header: &Path) -> Vec<PathBuf> {
        self.named_data.map_or_else(|| self.data_written(header).into_iter().collect(), |named| named(header))
    }

    /// Returns all files that are read with a file, whether they exist or not.
    pub(super) fn files_read(&self, path: &Path) -> Vec<PathBuf> {
        [self.data_read(path), (self.companions)(path)].concat()
    }

    /// Returns whether the program can do this with the format.
    pub fn allows(&self, access: Access) -> bool {
        match access {
            Access::Read => !matches!(self.reader, Reader::None),
            Access::Write => !matches!(self.writer, Writer::None),
            Access::Follow => match &self.reader {
                Reader::Sweep(reader) => reader.header.is_some(),
                Reader::ListMode(reader) => reader.can_follow,
                _ => false,
            },
        }
    }

    /// Returns true if a name is that of a folder of files.
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns true if one file can contain several images.
    pub fn holds_series(&self) -> bool {
        self.series.is_some()
    }

    /// Returns true if an image needs a unit and facts that the format holds.
    pub fn needs_facts(&self) -> bool {
        self.facts.is_some()
    }

    /// Returns the facts that a list-mode file lacks.
    pub fn lacks(&self) -> ListLack {
        match &self.reader {
            Reader::ListMode(reader) => reader.lacks,
            _ => ListLack::Nothing,
        }
    }

    /// Refuses an existing path that an output would not replace.
    ///
    /// # Errors
    /// A file in the place of a folder, a folder with other files.
    pub fn check_place(&self, path: &Path) -> Result<(), IoError> {
        self.folder.as_ref().map_or(Ok(()), |folder| (folder.check_place)(path))
    }

    /// Returns the files of a folder that belong to a file; `None` of a format without folders, and of unreadable files.
    pub fn files_of_folder(&self, path: &Path) -> Option<Vec<PathBuf>> {
        (self.folder.as_ref()?.files)(path).ok()
    }

    /// Returns the format of a file by its name, if its ending is known.
    pub fn of(path: &Path) -> Option<&'static Self> {
        Self::with_ending(path).map(|(format, _)| format)
    }

    /// Returns the format of an existing file or folder: by its name, else DICOM, whose files often have no ending. DICOM files
    /// of segmentations have their own.
    pub fn of_file(path: &Path) -> Option<&'static Self> {
        let format = Self::of(path).or_else(|| FileKind::DicomSeries.format().filter(|_| dicom::is_dicom(path)));
        let is_series = format.is_some_and(|format| format.kind == FileKind::DicomSeries);
        if is_series && dicom::is_segmentation(path) { FileKind::DicomSegmentation.format() } else { format }
    }

    /// Returns the format of a name, and its ending in small letters.
    fn with_ending(path: &Path) -> Option<(&'static Self, &'static str)> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let ending = |format: &Self| format.endings.iter().copied().find(|ending| name.ends_with(ending));
        FORMATS.iter().find_map(|format| ending(format).filter(|_| (format.claims)(path)).map(|ending| (format, ending)))
    }
}

/// Access to files; in the templates of help pages it has these names in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Access {
    /// They are read.
    Read,
    /// They are written.
    Write,
    /// They are read while another program writes them.
    Follow,
}

/// Returns the formats of a content that allow an access.
pub fn formats(content: Content, access: Access) -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(move |format| format.content == content && format.allows(access))
}

/// Returns their endings, as in `.hv, .nii, .nii.gz, .npy`.
pub fn endings(content: Content, access: Access) -> String {
    formats(content, access).flat_map(|format| format.shown).copied().collect::<Vec<_>>().join(", ")
}

/// Returns their endings after the last point, for the filters of a dialog, as written, in small and in capital letters.
pub fn extensions(content: Content, access: Access) -> Vec<String> {
    let shown = formats(content, access).flat_map(|format| format.shown);
    let last = shown.filter_map(|ending| ending.rsplit('.').next());
    let mut all: Vec<String> = last.flat_map(|name| [name.to_owned(), name.to_lowercase(), name.to_uppercase()]).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns their names with endings, as in `Interfile (.hv), NIfTI (.nii, .nii.gz) or NumPy (.npy)`.
pub fn names(content: Content, access: Access) -> String {
    let names: Vec<String> =
        formats(content, access).map(|format| format!("{} ({})", format.name, format.shown.join(", "))).collect();
    either(&names)
}

/// Returns a content with its endings, as in `list-mode data (.petsird, .Cdh, .l.hdr, .lmDat)`.
pub fn described(content: Content, access: Access) -> String {
    format!("{} ({})", content.one(), endings(content, access))
}

/// Replaces `{read images}`, `{write lists}` and the like in a text by the endings: what help pages are written with.
pub fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, (inside, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        filled.push_str(before);
        match inside.split_once(' ').map(|(access, content)| (access.parse(), content.parse())) {
            Some((Ok(access), Ok(content))) => filled.push_str(&endings(content, access)),
            _ => filled.extend(["{", inside, "}"]),
        }
        rest = after;
    }
    filled + rest
}

impl Content {
    /// Returns the name of one file of this content.
    pub fn one(self) -> &'static str {
        match self {
            Content::Projections => "projection data",
            Content::ListMode => "list-mode data",
            Content::Sweep => "an EPRI acquisition",
            Content::Image => "an image",
            Content::Pairs => "a crystal-pair histogram",
            Content::Matrix => "a system matrix",
            Content::Tubes => "tubes of response",
            Content::Crystals => "crystals of a scanner",
            Content::Calibration => "a calibration of a scan",
            Content::Oximetry => "a study of pulse oximetry",
            Content::Provenance => "a provenance record",
            Content::Rois => "regions of interest",
            Content::Segmentation => "voxels of lesions",
            Content::Session => "a session of the window",
            Content::Measurements => "measured numbers",
        }
    }

    /// Returns the same without an article, for a label.
    pub fn label(self) -> &'static str {
        let one = self.one();
        one.strip_prefix("an ").or_else(|| one.strip_prefix("a ")).unwrap_or(one)
    }
}

impl FileKind {
    /// Returns the kind of a file of this name, if its ending is known.
    pub fn of(path: &Path) -> Option<Self> {
        Format::of(path).map(|format| format.kind)
    }

    /// Returns its format.
    pub fn format(self) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.kind == self)
    }

    /// Returns true if its files have this content.
    pub fn has(self, content: Content) -> bool {
        self.format().is_some_and(|format| format.content == content)
    }

    /// Returns true if a file of this kind can be read as an image.
    pub fn is_image(self) -> bool {
        self.format().is_some_and(|format| format.content == Content::Image && format.allows(Access::Read))
    }

    /// Returns true if a file of this kind contains projection data.
    pub fn is_scan(self) -> bool {
        self.has(Content::Projections)
    }

    /// Returns true if a file of this kind contains list-mode data.
    pub fn is_list(self) -> bool {
        self.has(Content::ListMode)
    }

    /// Returns true if a file of this kind can be an EPRI acquisition.
    pub fn is_sweep(self) -> bool {
        self.has(Content::Sweep)
    }

    /// Returns the name of a file without its ending: "scan" for `folder/scan.l.hdr`. An unknown ending begins at the last point.
    pub fn stem(path: &Path) -> String {
        let known = Format::with_ending(path).zip(path.file_name());
        let without = known.and_then(|((_, ending), name)| {
            let name = name.to_string_lossy();
            Some(name.get(..name.len().checked_sub(ending.len())?)?.to_owned())
        });
        without.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
    }
}

/// Returns true if the name of a record is that of an image or a table with `.json` at the end.
fn is_of_a_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let of = name.strip_suffix(".json").and_then(|of| Format::of(Path::new(of)));
    of.is_some_and(|format| matches!(format.content, Content::Image | Content::Measurements))
}

/// Returns the error of a file with another content, or of a format that does not allow an access.
pub(super) fn unsupported_format(path: &Path, content: Content, access: Access) -> IoError {
    let unknown = || IoError::Extension { path: path.to_owned(), what: content.one(), understood: names(content, access) };
    foreign(path).filter(|_| access == Access::Read).unwrap_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn every_kind_has_one_row_that_its_shown_endings_lead_to() {
        for format in &FORMATS {
            assert!(FORMATS.iter().filter(|other| other.kind == format.kind).count() == 1, "{:?}", format.kind);
            for ending in format.shown {
                let name = if format.kind == FileKind::Provenance { "a.hv.json".to_owned() } else { format!("a{ending}") };
                assert_eq!(FileKind::of(Path::new(&name)), Some(format.kind), "{name}");
            }
        }
        assert!(Content::iter().all(|content| FORMATS.iter().any(|format| format.content == content)));
    }

    #[test]
    fn names_that_several_formats_could_have_are_told_apart() {
        let kinds =
            ["a.npy", "a-proj.npy", "a.crystals.toml", "a.toml", "a.json", "a.csv.json", "A.L.HDR", "a.l.hdr.STIR", "a.txt"];
        use FileKind as K;
        let expected =
            [K::NumpyImage, K::NumpySweep, K::Crystals, K::Rois, K::Rois, K::Provenance, K::SiemensList, K::SiemensList];
        let found: Vec<_> = kinds.iter().filter_map(|name| FileKind::of(Path::new(name))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn texts_have_the_endings_that_they_ask_for() {
        assert_eq!(
            filled("Image ({read images}) or {} of {read what}."),
            "Image (.hv, .nii, .nii.gz, .npy, .dcm) or {} of {read what}."
        );
        assert_eq!(endings(Content::ListMode, Access::Follow), ".petsird, .Cdh, .l.hdr");
        assert_eq!(names(Content::Image, Access::Read), "Interfile (.hv), NIfTI (.nii, .nii.gz), NumPy (.npy) or DICOM (.dcm)");
    }
}
