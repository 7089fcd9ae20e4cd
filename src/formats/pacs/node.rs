//! Addresses of DICOM nodes.

use std::fmt;
use std::str::FromStr;

/// Application entity title of this program, unless the user sets another.
pub const CALLING_TITLE: &str = "TOMOSCOPE";

/// Characters of an application entity title (PS3.5, AE).
const TITLE_LENGTH: usize = 16;

/// A DICOM node: `AET@HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// Application entity title.
    pub title: String,
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// Refuses a text that is no application entity title.
///
/// # Errors
/// An empty text, more than 16 characters, control characters, a backslash, other than ASCII.
pub fn check_title(text: &str) -> Result<(), String> {
    let is_title = !text.trim().is_empty()
        && text.len() <= TITLE_LENGTH
        && text.bytes().all(|byte| (b' '..0x7f).contains(&byte) && byte != b'\\');
    is_title.then_some(()).ok_or_else(|| format!("'{text}' is no AE title: 1 to {TITLE_LENGTH} ASCII characters"))
}

impl FromStr for Node {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no DICOM node; expected AET@HOST:PORT, as in ARCHIVE@pacs.example:104");
        let (title, address) = text.split_once('@').ok_or_else(wrong)?;
        let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
        check_title(title)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(wrong());
        }
        Ok(Self { title: title.trim().to_owned(), host: host.to_owned(), port })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, host, port } = self;
        if host.contains(':') { write!(f, "{title}@[{host}]:{port}") } else { write!(f, "{title}@{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_printed() {
        for text in ["ARCHIVE@pacs.example:104", "A B@10.0.0.1:11112", "X@[::1]:104"] {
            assert_eq!(text.parse::<Node>().map(|node| node.to_string()), Ok(text.to_owned()));
        }
        let wrong = [
            "",
            "pacs:104",
            "A@pacs",
            "A@:104",
            "A@pacs:0",
            "A@pacs:70000",
            "@pacs:104",
            "SEVENTEEN-LETTERS@pacs:104",
            "Ä@pacs:104",
        ];
        for text in wrong {
            assert!(text.parse::<Node>().is_err(), "{text}");
        }
    }
}
