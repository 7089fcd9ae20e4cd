//! Films as animated PNG, with texts on their content.

use std::path::Path;

use crate::io::bytes::write_whole;
use crate::io::error::IoError;

/// Animated PNG that is being encoded, picture by picture.
pub struct FilmWriter {
    writer: ::png::Writer<FilmBytes>,
    bytes: FilmBytes,
}

/// Encoded bytes, shared with the encoder.
#[derive(Clone, Default)]
struct FilmBytes(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for FilmBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut all = self.0.lock().map_err(|_| std::io::Error::other("the encoder of the film failed"))?;
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl FilmWriter {
    /// Begins a film without end of `num_pictures` pictures of width × height pixels, each shown for some milliseconds. Keywords of
    /// the texts have 1 to 79 Latin letters.
    ///
    /// # Errors
    /// No pictures, or no pixels.
    pub fn new(
        [width, height]: [u32; 2],
        num_pictures: u32,
        picture_ms: u16,
        texts: Vec<(&'static str, String)>,
    ) -> Result<Self, ::png::EncodingError> {
        let bytes = FilmBytes::default();
        let mut encoder = ::png::Encoder::new(bytes.clone(), width, height);
        encoder.set_color(::png::ColorType::Rgb);
        encoder.set_depth(::png::BitDepth::Eight);
        encoder.set_source_srgb(::png::SrgbRenderingIntent::Perceptual);
        encoder.set_animated(num_pictures, 0)?;
        encoder.set_frame_delay(picture_ms, 1000)?;
        for (keyword, text) in texts {
            encoder.add_itxt_chunk(keyword.to_owned(), text)?;
        }
        Ok(Self { writer: encoder.write_header()?, bytes })
    }

    /// Adds a picture: red, green and blue of each pixel, row by row from the top.
    ///
    /// # Errors
    /// A picture of another size, or one too many.
    pub fn add(&mut self, rgb: &[u8]) -> Result<(), ::png::EncodingError> {
        self.writer.write_image_data(rgb)
    }

    /// Writes the film.
    ///
    /// # Errors
    /// Missing pictures, or the write fails.
    pub fn finish(self, path: &Path) -> Result<(), IoError> {
        self.writer.finish().map_err(|error| IoError::write(path)(std::io::Error::other(error)))?;
        let content = self.bytes.0.lock().map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default();
        write_whole(path, &content)
    }
}
