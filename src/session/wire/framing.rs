//! Messages as bytes: each is its length (32 bits, the low byte first), the message as `postcard` writes it, and what it brings.
//! Before the first each end says a line: what it speaks, and the program's version.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::coded::coded;

/// The version of the protocol.
const VERSION: u32 = 7;

/// How the first line begins.
const NAME: &str = "tomoscope wire";

/// Longest first line.
const MAX_LINE: usize = 200;

/// Longest message: a study's regions with their voxels, or an image to compare with.
const MAX_MESSAGE: u32 = 256 << 20;

/// Memory that a message may take before it comes: what a piece of an image has.
const AT_ONCE: u32 = 1 << 19;

/// Why a connection is over.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "remote.")]
pub enum WireError {
    /// The other end closed it between two messages.
    #[error("the connection was closed by the other end")]
    Closed,
    /// It ended inside a message.
    #[error("the connection ended in the middle of a message")]
    Cut,
    /// It cannot be read or written.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// A message is longer than any.
    #[error(
        "a message of {found} bytes was announced, and none has more than {MAX_MESSAGE}: the other end is not a tomoscope, or a broken one"
    )]
    Length {
        /// Bytes announced.
        found: u32,
    },
    /// Bytes that are no message, or a message that cannot be.
    #[error("protocol error of the remote program: {0}")]
    NoMessage(String),
    /// The other end is not this program.
    #[error(
        "the other end began with '{found}' instead of '{NAME}': see that its shell prints nothing when it is logged in to, and that the program called there is tomoscope"
    )]
    NotThis {
        /// What was read.
        found: String,
    },
    /// The other end is another version of this program.
    #[error("the two ends are different versions: '{found}' there, '{expected}' here; install the same tomoscope at both")]
    Version {
        /// Its line.
        found: String,
        /// Ours.
        expected: String,
    },
    /// The other end will not go on, and said why.
    #[error("{0}")]
    Refused(String),
}

coded!(WireError);

impl WireError {
    /// A message that cannot be.
    pub fn cannot_be(why: impl ToString) -> Self {
        WireError::NoMessage(why.to_string())
    }
}

/// The first line.
fn greeting() -> String {
    format!("{NAME} {VERSION}, program {}", env!("CARGO_PKG_VERSION"))
}

/// Says the first line.
///
/// # Errors
/// It cannot be written.
pub fn greet(output: &mut impl Write) -> Result<(), WireError> {
    output.write_all(format!("{}\n", greeting()).as_bytes())?;
    Ok(output.flush()?)
}

/// Reads the first line of the other end.
///
/// # Errors
/// It is another program, or another version of this one.
pub fn read_greeting(input: &mut impl Read) -> Result<(), WireError> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) if line.is_empty() => return Err(WireError::Closed),
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' || line.len() == MAX_LINE => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let found: String = String::from_utf8_lossy(&line).chars().filter(|c| !c.is_control()).collect();
    let expected = greeting();
    match found {
        found if found == expected => Ok(()),
        found if found.starts_with(NAME) => Err(WireError::Version { found, expected }),
        found => Err(WireError::NotThis { found }),
    }
}

/// A message with what it brings, as bytes.
///
/// # Errors
/// It cannot be written so, or is too long.
pub fn encode(message: &impl Serialize, brings: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut bytes = postcard::to_extend(message, vec![0; 4]).map_err(WireError::cannot_be)?;
    bytes.extend_from_slice(brings);
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if length > MAX_MESSAGE {
        return Err(WireError::Length { found: length });
    }
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads the bytes of the next message. Memory for a long one is taken only as they arrive, whatever length was announced.
///
/// # Errors
/// The connection is over, or the length cannot be.
pub fn read_message(input: &mut impl Read) -> Result<Vec<u8>, WireError> {
    let mut length = [0; 4];
    let mut read = 0;
    while read < length.len() {
        match input.read(&mut length[read..]) {
            Ok(0) if read == 0 => return Err(WireError::Closed),
            Ok(0) => return Err(WireError::Cut),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_MESSAGE {
        return Err(WireError::Length { found: length });
    }
    let mut bytes = Vec::with_capacity(AT_ONCE.min(length) as usize);
    input.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize { Err(WireError::Cut) } else { Ok(bytes) }
}

/// The message that bytes are, and what it brings.
///
/// # Errors
/// They are none.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<(M, &[u8]), WireError> {
    postcard::take_from_bytes(bytes).map_err(WireError::cannot_be)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_cut_ones_say_so() {
        let bytes = encode(&(7u32, "seven"), &[1, 2, 3]).unwrap();
        let whole = read_message(&mut &bytes[..]).unwrap();
        let ((number, word), brings) = decode::<(u32, String)>(&whole).unwrap();
        assert_eq!((number, word.as_str(), brings), (7, "seven", &[1, 2, 3][..]));
        assert!(matches!(read_message(&mut &bytes[..0]), Err(WireError::Closed)));
        for length in 1..bytes.len() {
            assert!(matches!(read_message(&mut &bytes[..length]), Err(WireError::Cut)), "{length}");
        }
        assert!(matches!(read_message(&mut &[0xff; 9][..]), Err(WireError::Length { .. })));
    }

    #[test]
    fn the_first_line_tells_another_program_and_another_version() {
        let mut line = Vec::new();
        greet(&mut line).unwrap();
        read_greeting(&mut &line[..]).unwrap();
        let error = |line: &str| read_greeting(&mut line.as_bytes()).unwrap_err();
        let other = error("Welcome to the cluster!\nNews");
        assert!(matches!(&other, WireError::NotThis { found } if found == "Welcome to the cluster!"), "{other}");
        let version = error("tomoscope wire 1, program 9.9\n");
        assert!(matches!(&version, WireError::Version { found, .. } if found == "tomoscope wire 1, program 9.9"), "{version}");
        assert!(matches!(error(""), WireError::Closed));
        assert!(error(&"x".repeat(10_000)).to_string().len() < 2 * MAX_LINE + 200);
    }
}
