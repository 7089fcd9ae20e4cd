//! The open study: sinograms, a crystal-pair histogram, list-mode data, or an EPRI acquisition.

use std::path::PathBuf;
use std::sync::Arc;

use super::open_counts::OpenCounts;
use super::open_images::OpenImages;
use super::open_kind::OpenKind;
use super::open_list::{Following, OpenList};
use super::open_oximetry::OpenOximetry;
use super::open_pairs::OpenPairs;
use super::open_sweep::{Arrivals, OpenSweep};
use crate::data::{Notice, Study};
use crate::plan::{Data, ListAcquisition, ListData, ListFiles, StudyFiles};
use crate::remote::RemoteStudy;
use crate::session::Feed;

pub struct OpenStudy {
    pub study: Arc<Study<Data>>,
    /// Voxels of its image along x, y, z; `None`: the default grid.
    pub size: Option<[usize; 3]>,
    /// State of the window for its kind of data.
    pub data: OpenData,
}

/// State of the window for each kind of data.
pub enum OpenData {
    /// Sinograms.
    Counts(Box<OpenCounts>),
    /// Crystal-pair histogram.
    Pairs(Box<OpenPairs>),
    /// List-mode data.
    Events(Box<OpenList>),
    /// EPRI acquisition.
    Sweep(Box<OpenSweep>),
    /// Acquisitions of pulse oximetry.
    Oximetry(Box<OpenOximetry>),
    /// Images of another program.
    Images(Box<OpenImages>),
}

impl OpenStudy {
    /// Returns the open study of these files; `None`: it was simulated.
    pub fn new(study: Study<Data>, files: Option<StudyFiles>) -> Self {
        let data = match (&study.measured, files) {
            (Data::Counts(counts), files) => {
                let files = files.and_then(|files| if let StudyFiles::Counts(files) = files { Some(files) } else { None });
                OpenData::Counts(Box::new(OpenCounts::new(counts.clone(), files)))
            }
            (Data::Pairs(pairs), files) => {
                OpenData::Pairs(Box::new(OpenPairs::new(pairs.clone(), files.map(|files| files.measured().to_owned()))))
            }
            (Data::Events(data), files) => {
                let files = match files {
                    Some(StudyFiles::Events(files)) => files,
                    files => ListFiles::of(&files.map_or_else(PathBuf::new, |files| files.measured().to_owned())),
                };
                OpenData::Events(Box::new(OpenList::new(data.list.clone(), files)))
            }
            (Data::Images(series), files) => {
                let path = files.map(|files| files.measured().to_owned());
                OpenData::Images(Box::new(OpenImages::new(Arc::clone(series), path)))
            }
            (Data::Oximetry(series), files) => {
                let (series, path) = (Arc::clone(series), files.map(|files| files.measured().to_owned()));
                OpenData::Oximetry(Box::new(OpenOximetry { series, path }))
            }
            (Data::Sweep(acquisition), files) => {
                let files = files.and_then(|files| if let StudyFiles::Sweep(files) = files { Some(files) } else { None });
                OpenData::Sweep(Box::new(OpenSweep::new(acquisition.clone(), files)))
            }
        };
        Self { study: Arc::new(study), size: None, data }
    }

    /// Returns an open study with its counts and events on the server.
    pub fn remote(RemoteStudy { study, files, counted, calibration }: RemoteStudy) -> Self {
        let mut open = Self::new(study, Some(files));
        if let (Some(open), Some(counted)) = (open.counts_mut(), counted) {
            (open.total, open.subset_rule) = counted;
            open.calibration_of_server = calibration;
        }
        open
    }

    /// Returns the data of the next run: during a replay the projections so far.
    pub fn to_reconstruct(&self) -> Arc<Study<Data>> {
        let replay = self.sweep().filter(|open| open.is_replay());
        replay.map_or_else(|| Arc::clone(&self.study), |open| self.study_with(Data::from(open.acquisition.clone())))
    }

    /// Follows a growing file of list-mode data.
    pub fn follow_list(&mut self, acquisition: ListAcquisition, feed: Feed) {
        if let Some(open) = self.list_mut() {
            let (list, growing) = (open.list.clone(), Some(acquisition.clone()));
            open.following = Some(Following { acquisition, feed });
            self.set_data(ListData { list, growing }.into());
        }
    }

    /// Receives new events of a growing file. Returns its notices once it is complete.
    pub fn update_list(&mut self) -> Option<Vec<Notice>> {
        let open = self.list_mut()?;
        let notices = open.update()?;
        let list = open.list.clone();
        self.set_data(Data::from(list));
        Some(notices)
    }

    /// Returns the state of the window for its kind of data.
    pub fn kind(&self) -> &dyn OpenKind {
        match &self.data {
            OpenData::Counts(open) => &**open,
            OpenData::Pairs(open) => &**open,
            OpenData::Events(open) => &**open,
            OpenData::Sweep(open) => &**open,
            OpenData::Oximetry(open) => &**open,
            OpenData::Images(open) => &**open,
        }
    }

    fn set_data(&mut self, data: Data) {
        self.study = self.study_with(data);
    }

    fn study_with(&self, data: Data) -> Arc<Study<Data>> {
        Arc::new(Study::clone(&self.study).map(|_| data))
    }

    pub fn arrivals(&self) -> Arrivals {
        self.sweep().map_or(Arrivals::Over, OpenSweep::arrivals)
    }

    pub fn title(&self) -> &str {
        &self.study.title
    }
}

/// Access to the open data by their kind.
macro_rules! open_data {
    ($($variant:ident($open:ty): $get:ident, $get_mut:ident;)*) => {
        impl OpenStudy {
            $(
                /// Returns the open data if they are of this kind.
                pub fn $get(&self) -> Option<&$open> {
                    if let OpenData::$variant(open) = &self.data { Some(open) } else { None }
                }

                /// Returns the open data for changes if they are of this kind.
                pub fn $get_mut(&mut self) -> Option<&mut $open> {
                    if let OpenData::$variant(open) = &mut self.data { Some(open) } else { None }
                }
            )*
        }
    };
}

open_data! {
    Counts(OpenCounts): counts, counts_mut;
    Pairs(OpenPairs): pairs, pairs_mut;
    Events(OpenList): list, list_mut;
    Sweep(OpenSweep): sweep, sweep_mut;
    Oximetry(OpenOximetry): oximetry, oximetry_mut;
    Images(OpenImages): images, images_mut;
}
