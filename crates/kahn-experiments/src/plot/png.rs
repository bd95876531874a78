//! The picture as PNG.
//!
//! The SVG is rendered with a font that is part of this program: a machine without fonts draws the
//! same picture as any other.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::draw::FONT;

/// Renders an SVG of ours, twice as large, so that it can be looked at closely.
///
/// # Errors
///
/// Returns what the rendering library said.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FONT);
    let options =
        Options { fontdb: Arc::new(fonts), font_family: FONT.to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size().scale_by(2.0).ok_or("a picture without a size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("no memory for the picture")?;
    resvg::render(&tree, Transform::from_scale(2.0, 2.0), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}
