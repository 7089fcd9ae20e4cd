//! What is asked of one of several images of an input, as a number.

use crate::data::Fingerprint;

/// Returns the number of one image (`piece`) of an input whose own number is `asked`.
pub fn asked_of_piece(asked: &str, piece: &str) -> String {
    let mut of_piece = Fingerprint::default();
    of_piece.text(asked);
    of_piece.text(piece);
    of_piece.digits()
}
