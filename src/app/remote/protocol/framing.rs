//! Messages as bytes: the length (32 bits, little endian), the message as `postcard` writes it, and its payload. Before the first
//! message each end sends a line with the version of the protocol and of the program.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{MAX_MESSAGE, NAME, RemoteError};

const VERSION: u32 = 13;

/// Maximum length of the first line, bytes.
const MAX_LINE: usize = 200;

/// Memory reserved for a message before it arrives, bytes: the size of a piece of an image.
const RESERVED: u32 = 1 << 19;

/// Returns the first line.
fn greeting() -> String {
    format!("{NAME} {VERSION}, program {}", env!("CARGO_PKG_VERSION"))
}

/// Sends the first line.
///
/// # Errors
/// Writing fails.
pub fn greet(output: &mut impl Write) -> Result<(), RemoteError> {
    output.write_all(format!("{}\n", greeting()).as_bytes())?;
    Ok(output.flush()?)
}

/// Reads the first line of the other end.
///
/// # Errors
/// The other end is another program, or another version of this one.
pub fn read_greeting(input: &mut impl Read) -> Result<(), RemoteError> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        match input.read_exact(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && line.is_empty() => return Err(RemoteError::Closed),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            outcome => outcome?,
        }
        if byte[0] == b'\n' || line.len() == MAX_LINE {
            break;
        }
        line.push(byte[0]);
    }
    let found: String = String::from_utf8_lossy(&line).chars().filter(|c| !c.is_control()).collect();
    let expected = greeting();
    match found {
        found if found == expected => Ok(()),
        found if found.starts_with(NAME) => Err(RemoteError::Version { found, expected }),
        found => Err(RemoteError::NotThis { found }),
    }
}

/// Returns a message with its payload as bytes.
///
/// # Errors
/// Serialisation failed, or the message is too long.
pub fn encode(message: &impl Serialize, payload: &[u8]) -> Result<Vec<u8>, RemoteError> {
    let mut bytes = postcard::to_extend(message, vec![0; 4]).map_err(RemoteError::invalid)?;
    bytes.extend_from_slice(payload);
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if length > MAX_MESSAGE {
        return Err(RemoteError::Length { found: length });
    }
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads the bytes of the next message. Memory for a long one is reserved as they arrive, not by the announced length.
///
/// # Errors
/// The connection ended, or the length exceeds the maximum.
pub fn read_message(input: &mut impl Read) -> Result<Vec<u8>, RemoteError> {
    let mut length = Vec::with_capacity(4);
    input.take(4).read_to_end(&mut length)?;
    let length = match *length {
        [] => return Err(RemoteError::Closed),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => return Err(RemoteError::Cut),
    };
    if length > MAX_MESSAGE {
        return Err(RemoteError::Length { found: length });
    }
    let mut bytes = Vec::with_capacity(RESERVED.min(length) as usize);
    input.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize { Err(RemoteError::Cut) } else { Ok(bytes) }
}

/// Returns the message in some bytes, and its payload.
///
/// # Errors
/// The bytes are no such message.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<(M, &[u8]), RemoteError> {
    postcard::take_from_bytes(bytes).map_err(RemoteError::invalid)
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
        assert!(matches!(read_message(&mut &bytes[..0]), Err(RemoteError::Closed)));
        for length in 1..bytes.len() {
            assert!(matches!(read_message(&mut &bytes[..length]), Err(RemoteError::Cut)), "{length}");
        }
        assert!(matches!(read_message(&mut &[0xff; 9][..]), Err(RemoteError::Length { .. })));
    }

    #[test]
    fn the_first_line_tells_another_program_and_another_version() {
        let mut line = Vec::new();
        greet(&mut line).unwrap();
        read_greeting(&mut &line[..]).unwrap();
        let error = |line: &str| read_greeting(&mut line.as_bytes()).unwrap_err();
        let other = error("Welcome to the cluster!\nNews");
        assert!(matches!(&other, RemoteError::NotThis { found } if found == "Welcome to the cluster!"), "{other}");
        let version = error("tomoscope wire 1, program 9.9\n");
        assert!(matches!(&version, RemoteError::Version { found, .. } if found == "tomoscope wire 1, program 9.9"), "{version}");
        assert!(matches!(error(""), RemoteError::Closed));
        assert!(error(&"x".repeat(10_000)).to_string().len() < 2 * MAX_LINE + 200);
    }
}
