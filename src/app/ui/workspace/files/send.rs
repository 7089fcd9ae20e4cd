//! Transfer of a saved DICOM series to a node of the network, in the background.

use std::path::{Path, PathBuf};

use super::anonymous::anonymous_series;
use crate::data::Notice;
use crate::pacs::{self, Instance, Node};
use crate::task::Task;
use crate::text::counted;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::Workspace;

/// Largest number of failed objects that an error names.
const MAX_NAMED: usize = 3;

impl Workspace {
    /// Sends the series of the form in the background, and stores its node in the preferences.
    pub fn send_series(&mut self) {
        let Some(form) = self.files.dialogs.send.take() else { return };
        let Ok(node) = form.node() else { return };
        let calling = form.calling.clone();
        (self.preferences.node, self.preferences.calling) = (Some(node.clone()), Some(calling.clone()));
        let is_anonymous = self.is_anonymous();
        self.write_in_background(FileTask::SendSeries, &form.folder, move |folder| match is_anonymous {
            true => send_anonymous(folder, &node, &calling),
            false => send(&[folder.to_owned()], &node, &calling),
        });
    }
}

/// Sends the images of a folder without the patient's identity: copies, which are removed afterwards.
fn send_anonymous(folder: &Path, node: &Node, calling: &str) -> Result<Vec<Notice>, String> {
    let copies = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (series, mut notices) = anonymous_series(folder, copies.path())?;
    notices.extend(send(&series, node, calling)?);
    Ok(notices)
}

/// Sends all DICOM files of folders.
fn send(folders: &[PathBuf], node: &Node, calling: &str) -> Result<Vec<Notice>, String> {
    let (instances, _) = Instance::find(folders).map_err(|error| error.to_string())?;
    let transfer = pacs::send(&instances, node, calling, &Task::new()).map_err(|error| error.to_string())?;
    let stored = format!("{} of {} stored in {node}", transfer.num_stored, counted(transfer.num_objects, "object"));
    if transfer.not_stored.is_empty() {
        let warnings = transfer.warnings.iter().map(|(path, status)| Notice::warning(format!("{}: {status}", path.display())));
        return Ok(warnings.chain([Notice::info(stored)]).collect());
    }
    let named: Vec<String> = transfer.not_stored.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let others = if transfer.not_stored.len() > MAX_NAMED { "; …" } else { "" };
    Err(format!("{stored}; the files are unchanged. Not stored: {}{others}", named.join("; ")))
}
