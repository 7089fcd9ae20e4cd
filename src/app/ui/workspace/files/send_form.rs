//! Form of a DICOM series to send: its folder, and the typed node.

use std::path::{Path, PathBuf};

use crate::pacs::{CALLING_TITLE, Node, check_title};
use crate::ui::workspace::persistence::prefs::Preferences;

/// Series to send, and the typed node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendForm {
    pub folder: PathBuf,
    /// Application entity title of the node.
    pub title: String,
    pub host: String,
    pub port: String,
    /// Application entity title of this program.
    pub calling: String,
}

impl SendForm {
    /// Returns the form of a series, by its folder or one of its files, with the last node.
    pub fn new(path: &Path, preferences: &Preferences) -> Self {
        let folder = path.parent().filter(|_| path.is_file()).unwrap_or(path).to_owned();
        let calling = preferences.calling.clone().unwrap_or_else(|| CALLING_TITLE.to_owned());
        let (title, host, port) = match preferences.node.clone() {
            Some(Node { title, host, port }) => (title, host, port.to_string()),
            None => (String::new(), String::new(), "104".to_owned()),
        };
        Self { folder, title, host, port, calling }
    }

    /// Returns the node.
    ///
    /// # Errors
    /// Invalid titles, host or port.
    pub fn node(&self) -> Result<Node, String> {
        check_title(&self.calling)?;
        let host = self.host.trim();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!("{}@{host}:{}", self.title.trim(), self.port.trim()).parse()
    }
}
