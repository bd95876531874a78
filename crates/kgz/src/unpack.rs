//! One block back to what it was, and the check that it is that.

use crate::Flaw;
use crate::format::{bgzf, gzip, u32_at};
use libdeflater::{DecompressionError, Decompressor};

/// What decompresses BGZF blocks.
pub(crate) struct Unpacker {
    inflate: Decompressor,
}

impl Unpacker {
    pub(crate) fn new() -> Self {
        Self { inflate: Decompressor::new() }
    }

    /// Decompresses a whole BGZF block, whose header has `header` bytes.
    pub(crate) fn block(
        &mut self,
        block: &[u8],
        header: usize,
        plain: &mut Vec<u8>,
    ) -> Result<(), Flaw> {
        let end = block
            .len()
            .checked_sub(gzip::TRAILER)
            .filter(|end| *end >= header)
            .ok_or(Flaw::Size)?;
        let length = u32_at(block, end + 4) as usize;
        if length > bgzf::LARGEST {
            return Err(Flaw::Size);
        }
        // All of it is overwritten, or it is not used.
        plain.resize(length, 0);
        match self.inflate.deflate_decompress(&block[header..end], plain) {
            Ok(written) if written == length => {}
            Ok(_) | Err(DecompressionError::InsufficientSpace) => return Err(Flaw::Length),
            Err(DecompressionError::BadData) => return Err(Flaw::Data),
        }
        if libdeflater::crc32(plain) == u32_at(block, end) { Ok(()) } else { Err(Flaw::Checksum) }
    }
}

/// Decompresses a whole zstd frame with a checksum, of which `length` bytes must come.
pub(crate) fn unpack_frame(frame: &[u8], length: usize, plain: &mut Vec<u8>) -> Result<(), Flaw> {
    plain.clear();
    plain.reserve_exact(length);
    let mut context = zstd_safe::DCtx::create();
    let written = context.decompress(plain, frame).map_err(zstd_flaw)?;
    if written == length { Ok(()) } else { Err(Flaw::Length) }
}

/// What zstd's number of an error says of a frame.
pub(crate) fn zstd_flaw(code: usize) -> Flaw {
    use zstd_safe::zstd_sys::ZSTD_ErrorCode::{
        ZSTD_error_checksum_wrong, ZSTD_error_dictionary_wrong, ZSTD_error_dstSize_tooSmall,
        ZSTD_error_frameParameter_unsupported, ZSTD_error_srcSize_wrong,
    };
    let is = |kind| zstd_safe::is_error_kind(code, kind);
    if is(ZSTD_error_checksum_wrong) {
        Flaw::Checksum
    } else if is(ZSTD_error_dstSize_tooSmall) {
        Flaw::Length
    } else if is(ZSTD_error_srcSize_wrong) {
        Flaw::Cut
    } else if is(ZSTD_error_dictionary_wrong) {
        Flaw::Dictionary
    } else if is(ZSTD_error_frameParameter_unsupported) {
        Flaw::Method
    } else {
        Flaw::Data
    }
}
