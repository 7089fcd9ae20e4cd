//! Session of the last time in the window's storage.

use std::path::Path;

use super::saved_session::SavedSession;
use crate::data::Notice;

/// Key in the window's storage.
pub(super) const KEY: &str = "last session";

/// Returns the last session, if any. An unreadable one, perhaps of another version, is stored as a file in `folder`, because
/// the current session would overwrite it; the notice contains the path.
///
/// # Errors
/// The session is unreadable, and storing it as a file failed.
pub fn last_session(
    storage: Option<&dyn eframe::Storage>,
    folder: Option<&Path>,
) -> Result<(Option<SavedSession>, Option<Notice>), Notice> {
    let Some(text) = storage.and_then(|storage| storage.get_string(KEY)) else { return Ok((None, None)) };
    let reason = match SavedSession::parse(&text) {
        Ok(session) => return Ok((Some(session), None)),
        Err(reason) => reason,
    };
    let failed = |why: String| {
        Notice::error(format!(
            "Reading the last session failed: {reason}. Storing it as a file failed, too ({why}): the current work is therefore not \
             stored for the next time. Save it with 'Save session…'"
        ))
    };
    let folder = folder.ok_or_else(|| failed("there is no cache folder".to_owned()))?;
    let path = folder.join(format!("last-session-{}.session.bak", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S")));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| failed(format!("{}: {error}", path.display())))?;
    let text = format!("Reading the last session failed: {reason}. It is stored as {}", path.display());
    Ok((None, Some(Notice::warning(text))))
}
