//! Pages of a report: drawn as SVG, written as PDF with searchable text.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use krilla::Document;
use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use usvg::fontdb;

use super::plot::escaped;
use crate::coded::coded;

/// Width and height of a page (A4), points.
pub(super) const PAGE: [f64; 2] = [595.0, 842.0];
/// Margins of a page, points.
pub(super) const MARGIN: f64 = 42.0;
/// Family of the font, the same as in the window (Ubuntu Light).
const FAMILY: &str = "Ubuntu";
/// Colour of rules and small print.
const GREY: &str = "#666666";

/// Failure of writing a report as PDF.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "pdf.")]
pub enum PdfError {
    /// Invalid SVG of a page.
    #[error("drawing page {page} of the report failed: {source}")]
    Page {
        /// Number of the page, from 1.
        page: usize,
        /// Cause.
        source: usvg::Error,
    },
    /// Invalid size or content of the document.
    #[error("writing the report as PDF failed: {0}")]
    Document(String),
}

coded!(PdfError);

/// Alignment of a text relative to its position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Page that is being drawn; positions are in points from its upper left corner.
#[derive(Default)]
pub(super) struct Page {
    elements: String,
}

impl Page {
    /// Adds an SVG element.
    pub(super) fn put(&mut self, element: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.elements, "{element}");
    }

    /// Draws a line of text on a base line.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], size: f64, anchor: Anchor, text: &str) {
        self.coloured_text([x, y], size, anchor, "black", text);
    }

    /// Draws a line of small print.
    pub(super) fn small(&mut self, at: [f64; 2], anchor: Anchor, text: &str) {
        self.coloured_text(at, 8.0, anchor, GREY, text);
    }

    pub(super) fn coloured_text(&mut self, [x, y]: [f64; 2], size: f64, anchor: Anchor, colour: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.put(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{text}</text>"#
        ));
    }

    /// Draws the heading of a part of the page, with a rule below it.
    pub(super) fn heading(&mut self, y: f64, text: &str) {
        self.text([MARGIN, y], 12.0, Anchor::Start, text);
        self.rule(y + 4.0, [MARGIN, PAGE[0] - MARGIN], 0.8);
    }

    /// Draws a horizontal line.
    pub(super) fn rule(&mut self, y: f64, [from, to]: [f64; 2], width: f64) {
        self.put(&format!(
            r#"<line x1="{from:.1}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}" stroke="{GREY}" stroke-width="{width}"/>"#
        ));
    }

    /// Draws an SVG document in a box of the page.
    pub(super) fn drawing(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], svg: &str) {
        let placed = format!(r#"<svg x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" "#);
        self.put(&svg.replacen("<svg ", &placed, 1));
    }

    /// Returns the page as an SVG document.
    fn svg(&self) -> String {
        let [width, height] = PAGE;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif">
<rect width="{width}" height="{height}" fill="white"/>
{}</svg>"#,
            self.elements
        )
    }
}

/// Font of reports. Fonts of the system are not used, so that reports are the same everywhere.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Returns pages as a PDF document with a title.
///
/// # Errors
/// Drawing a page failed.
pub(super) fn pdf(title: &str, pages: &[Page]) -> Result<Vec<u8>, PdfError> {
    let options = usvg::Options { fontdb: FONTS.clone(), font_family: FAMILY.into(), ..usvg::Options::default() };
    let no_size = || PdfError::Document("it has pages without a size".into());
    let size = Size::from_wh(PAGE[0] as f32, PAGE[1] as f32).ok_or_else(no_size)?;
    let mut document = Document::new();
    document
        .set_metadata(Metadata::new().title(title.to_owned()).creator(concat!("tomoscope ", env!("CARGO_PKG_VERSION")).into()));
    for (number, page) in (1..).zip(pages) {
        let tree = usvg::Tree::from_str(&page.svg(), &options).map_err(|source| PdfError::Page { page: number, source })?;
        let mut drawn = document.start_page_with(PageSettings::new(size));
        let mut surface = drawn.surface();
        surface.draw_svg(&tree, size, SvgSettings::default());
        surface.finish();
        drawn.finish();
    }
    document.finish().map_err(|error| PdfError::Document(format!("{error:?}")))
}
