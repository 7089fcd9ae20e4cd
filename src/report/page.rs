//! Pages of a report, with searchable text.

use super::drawing::{Anchor, Colour, Element, Text};
use crate::coded::coded;

/// Width and height of a page (A4), points.
pub(super) const PAGE: [f64; 2] = [595.0, 842.0];
/// Margins of a page, points.
pub(super) const MARGIN: f64 = 42.0;
/// Colour of rules and small print.
const GREY: Colour = [0x66; 3];

#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    /// Invalid size or content of the document.
    #[error("writing the report as PDF failed: {0}")]
    Document(String),
    /// A program without PDF.
    #[error("this program was built without reports as PDF (feature `pdf`)")]
    NotBuilt,
}

coded!(PdfError = "pdf");

/// Part of a page; positions are in points from its upper left corner.
#[cfg_attr(not(feature = "pdf"), allow(dead_code))]
pub(super) enum Part {
    /// Text, lines or a circle.
    Element(Element),
    /// Elements of a drawing with other coordinates, moved to a corner and scaled.
    Drawing { corner: [f64; 2], scale: f64, elements: Vec<Element> },
    /// Picture.
    Picture(Picture),
}

/// Picture of grey pixels, whose borders stay sharp.
#[cfg_attr(not(feature = "pdf"), allow(dead_code))]
pub(super) struct Picture {
    /// Upper left corner, points.
    pub corner: [f64; 2],
    /// Width and height, points.
    pub size: [f64; 2],
    /// Corner and size of the part that is shown; `None` = all.
    pub shown: Option<[[f64; 2]; 2]>,
    /// Columns and rows.
    pub pixels: [usize; 2],
    /// Values, row by row; 255 is white.
    pub greys: Vec<u8>,
}

/// Page that is being drawn.
#[derive(Default)]
pub(super) struct Page {
    pub(super) parts: Vec<Part>,
}

impl Page {
    /// Draws a line of text on a base line.
    pub(super) fn text(&mut self, at: [f64; 2], size: f64, anchor: Anchor, text: &str) {
        self.put(Element::Text(Text::new(at, size, anchor, text)));
    }

    /// Draws a line of small print.
    pub(super) fn small(&mut self, at: [f64; 2], anchor: Anchor, text: &str) {
        self.coloured_text(at, 8.0, anchor, GREY, text);
    }

    pub(super) fn coloured_text(&mut self, at: [f64; 2], size: f64, anchor: Anchor, colour: Colour, text: &str) {
        self.put(Element::Text(Text { colour, ..Text::new(at, size, anchor, text) }));
    }

    /// Draws the heading of a part of the page, with a rule below it.
    pub(super) fn heading(&mut self, y: f64, text: &str) {
        self.text([MARGIN, y], 12.0, Anchor::Start, text);
        self.rule(y + 4.0, [MARGIN, PAGE[0] - MARGIN], 0.8);
    }

    /// Draws a horizontal line.
    pub(super) fn rule(&mut self, y: f64, [from, to]: [f64; 2], width: f64) {
        self.put(Element::Lines { points: vec![[from, y], [to, y]], colour: GREY, width, is_dashed: false });
    }

    /// Draws a hollow circle.
    pub(super) fn circle(&mut self, middle: [f64; 2], radius: f64, colour: Colour, width: f64) {
        self.put(Element::Circle { middle, radius, fill: None, colour, width });
    }

    pub(super) fn put(&mut self, element: Element) {
        self.parts.push(Part::Element(element));
    }
}
