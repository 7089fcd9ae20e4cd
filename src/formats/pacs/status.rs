//! Status of a response (PS3.4 table B.2-1, PS3.7 annex C).

use std::fmt;

/// Status code of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

impl Status {
    /// Returns true if the object is stored, with or without a warning.
    pub fn is_stored(self) -> bool {
        self.is_success() || matches!(self.0, 0x0001 | 0x0107 | 0x0116 | 0xb000..=0xbfff)
    }

    /// Returns true without a warning.
    pub fn is_success(self) -> bool {
        self.0 == 0
    }

    /// Returns its meaning.
    pub fn meaning(self) -> &'static str {
        match self.0 {
            0x0000 => "success",
            0x0105 => "no such attribute",
            0x0106 => "invalid attribute value",
            0x0107 => "attribute list error",
            0x0110 => "processing failure",
            0x0111 => "duplicate SOP instance",
            0x0112 => "no such SOP instance",
            0x0116 => "attribute value out of range",
            0x0117 => "invalid SOP instance",
            0x0118 => "no such SOP class",
            0x0119 => "class and instance contradict each other",
            0x0122 => "SOP class not supported",
            0x0124 => "not authorised",
            0x0210 => "duplicate invocation",
            0x0211 => "unrecognised operation",
            0x0212 => "mistyped argument",
            0x0213 => "resource limitation",
            0xa700..=0xa7ff => "out of resources",
            0xa900..=0xa9ff => "the data set does not match the SOP class",
            0xb000 => "data elements were coerced",
            0xb006 => "data elements were discarded",
            0xb007 => "the data set does not match the SOP class",
            0xb001..=0xbfff => "stored with a warning",
            0xc000..=0xcfff => "the node does not understand the object",
            0xfe00 => "cancelled",
            _ => "unknown status",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {:04X}H)", self.meaning(), self.0)
    }
}
