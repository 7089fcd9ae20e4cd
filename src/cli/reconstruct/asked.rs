//! Numbers that tell what is asked of an input or of one of its images.

use crate::data::Fingerprint;

/// The same of one of several images of an input.
pub fn asked_of_piece(asked: &str, piece: &str) -> String {
    let mut of_piece = Fingerprint::default();
    of_piece.text(asked);
    of_piece.text(piece);
    of_piece.digits()
}
