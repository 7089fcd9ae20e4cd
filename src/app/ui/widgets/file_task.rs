//! Tasks with a file that the user chooses.

use super::picture_area::PictureArea;
use crate::io::Correction;

/// Task with a file that the user chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTask {
    OpenStudy,
    /// Opens the second image.
    OpenLayer,
    /// Opens tubes of response for the open study.
    OpenTubes,
    /// Opens a system matrix for the open study.
    OpenMatrix,
    /// Opens an acquisition or list-mode data while the scanner writes the file.
    Follow,
    /// Sets the reference spectrum of the open acquisition.
    Reference,
    /// Adds a radical with this spectrum to the next run.
    Radical,
    /// Opens an image that those of the runs are compared with.
    ReferenceImage,
    /// Sets a correction of the open study.
    Correct(Correction),
    /// Sets a table for reading list-mode data.
    ListTable(ListTable),
    /// Sets the resolution model of the next run, by the distance from the axis.
    Psf,
    /// Sets the attenuation map of the open sinograms or list-mode data.
    Attenuation,
    /// Adds a map, as of a bed, to that of the open sinograms or list-mode data.
    AddAttenuation,
    SaveImage,
    /// Sends a saved DICOM series to a node of the network.
    SendSeries,
    LoadRois,
    SaveRois,
    /// Exports the numbers of every iterate.
    ExportCsv,
    SavePlot,
    SaveSession,
    /// Saves a picture of a part of the window.
    SavePicture(PictureArea),
    SaveFilm(Film),
    /// Reads or writes a file of a tool.
    OfTool(&'static ToolFile),
}

/// File of a tool: its dialog.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolFile {
    /// Key of the tool's pane.
    pub tool: &'static str,
    pub title: &'static str,
    /// Description of the formats.
    pub formats: &'static str,
    /// Name of the filter, and its endings.
    pub filter: (&'static str, &'static [&'static str]),
    /// Proposed name of a new file; `None`: the tool reads a file.
    pub new_file: Option<&'static str>,
}

/// Content of a film.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Film {
    /// A rotation of the maximum intensity projection.
    Rotation,
    /// The stored iterates, or images over time.
    Iterates,
    /// The frames of a dynamic list.
    Frames,
}

/// Table for reading list-mode data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListTable {
    /// Table of the scanner's crystals.
    Crystals,
    /// CASToR: detection efficiencies of all crystal pairs.
    Normalization,
}

/// Standard of NEMA, and its phantom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NemaStandard {
    /// NU 2: the body phantom.
    Body,
    /// NU 4: the small-animal phantom.
    SmallAnimal,
}
