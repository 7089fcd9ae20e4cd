//! Screenshots as PNG, with texts on their content.

use std::path::Path;

use crate::io::bytes::write_whole;
use crate::io::error::IoError;

/// A screenshot and its texts.
pub struct Picture<'a> {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Red, green and blue of each pixel, row by row from the top.
    pub rgb: &'a [u8],
    /// Keywords (of 1 to 79 Latin letters) with their texts, which are stored in iTXt chunks.
    pub texts: Vec<(&'static str, String)>,
}

/// Writes a screenshot.
///
/// # Errors
/// Size and pixels contradict each other, or the write fails.
pub fn write_png(path: &Path, picture: Picture) -> Result<(), IoError> {
    let content = encoded(picture).map_err(|error| IoError::write(path)(std::io::Error::other(error)))?;
    write_whole(path, &content)
}

fn encoded(Picture { size: [width, height], rgb, texts }: Picture) -> Result<Vec<u8>, ::png::EncodingError> {
    let mut content = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut content, width, height);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_source_srgb(::png::SrgbRenderingIntent::Perceptual);
    for (keyword, text) in texts {
        encoder.add_itxt_chunk(keyword.to_owned(), text)?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(content)
}
