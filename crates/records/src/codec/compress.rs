//! Streaming compression with reused contexts.

use flate2::{Compress, Crc, FlushCompress, Status};
use lz4_flex::block::CompressTable;

use super::{CodecError, gzip, lz4, lz4hc, snappy};
use crate::batch::Compression;

/// A level outside of what Kafka's `compression.<codec>.level` allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} level {level} is not in {allowed}", codec.name())]
pub struct InvalidLevel {
    /// The codec.
    pub codec: Compression,
    /// The level asked for.
    pub level: i32,
    /// What is allowed, in words.
    pub allowed: &'static str,
}

/// A codec and its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompressionSpec {
    codec: Compression,
    level: i32,
}

const GZIP_DEFAULT: i32 = -1;
const LZ4_DEFAULT: i32 = 9;
const ZSTD_DEFAULT: i32 = 3;

impl CompressionSpec {
    /// No compression.
    pub const NONE: CompressionSpec = CompressionSpec { codec: Compression::None, level: 0 };

    /// A codec at Kafka's default level: gzip -1 (zlib's own), lz4 9 (its fast compressor), zstd 3.
    pub const fn new(codec: Compression) -> CompressionSpec {
        let level = match codec {
            Compression::Gzip => GZIP_DEFAULT,
            Compression::Lz4 => LZ4_DEFAULT,
            Compression::Zstd => ZSTD_DEFAULT,
            Compression::None | Compression::Snappy => 0,
        };
        CompressionSpec { codec, level }
    }

    /// A codec at a level within Kafka's bounds: gzip 1 to 9 or -1, lz4 1 to 17, zstd -131072 to
    /// 22. None and snappy have no levels; theirs is ignored, as they have no such config.
    pub fn with_level(codec: Compression, level: i32) -> Result<CompressionSpec, InvalidLevel> {
        let (ok, allowed) = match codec {
            Compression::Gzip => (level == GZIP_DEFAULT || (1..=9).contains(&level), "1..9 or -1"),
            Compression::Lz4 => ((1..=17).contains(&level), "1..17"),
            Compression::Zstd => ((-131_072..=22).contains(&level), "-131072..22"),
            Compression::None | Compression::Snappy => return Ok(CompressionSpec::new(codec)),
        };
        if ok {
            Ok(CompressionSpec { codec, level })
        } else {
            Err(InvalidLevel { codec, level, allowed })
        }
    }

    /// The codec.
    pub const fn codec(self) -> Compression {
        self.codec
    }

    /// The level; 0 where the codec has none.
    pub const fn level(self) -> i32 {
        self.level
    }
}

/// Compression contexts. Keep one per worker or producer: after warm-up only the output grows.
///
/// What comes out has the block sizes and flags that Kafka's Java producer writes: 64 KiB blocks
/// without checksums for lz4, xerial framing with 32 KiB blocks for snappy.
pub struct Compressor {
    spec: CompressionSpec,
    /// Bytes not compressed yet; at most one block.
    stage: Vec<u8>,
    gzip: Option<(i32, Compress)>,
    gzip_crc: Crc,
    snappy: snap::raw::Encoder,
    lz4_fast: Option<CompressTable>,
    lz4_high: Option<lz4hc::HighCompressor>,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd_safe::CCtx<'static>>,
}

impl Default for Compressor {
    fn default() -> Compressor {
        Compressor::new()
    }
}

impl Compressor {
    /// Fresh contexts; each codec's own is made when it is first used.
    pub fn new() -> Compressor {
        Compressor {
            spec: CompressionSpec::NONE,
            stage: Vec::new(),
            gzip: None,
            gzip_crc: Crc::new(),
            snappy: snap::raw::Encoder::new(),
            lz4_fast: None,
            lz4_high: None,
            #[cfg(feature = "zstd")]
            zstd: None,
        }
    }

    /// Compresses all of `input` onto the end of `out`.
    pub fn compress(
        &mut self,
        spec: CompressionSpec,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.begin(spec, out)?;
        self.write(input, out)?;
        self.finish(out)
    }

    /// Begins a stream at the end of `out`; the same `out` goes to [`Self::write`] and
    /// [`Self::finish`]. A stream begun before is dropped.
    pub fn begin(&mut self, spec: CompressionSpec, out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.spec = spec;
        self.stage.clear();
        match spec.codec {
            Compression::None => {}
            Compression::Gzip => {
                let level = flate2::Compression::new(match spec.level {
                    GZIP_DEFAULT => 6,
                    level => level.clamp(1, 9) as u32,
                });
                match &mut self.gzip {
                    Some((of, context)) if *of == spec.level => context.reset(),
                    other => *other = Some((spec.level, Compress::new(level, false))),
                }
                self.gzip_crc.reset();
                out.extend_from_slice(&gzip::HEADER);
            }
            Compression::Snappy => {
                out.extend_from_slice(&snappy::MAGIC);
                out.extend_from_slice(&snappy::VERSION.to_be_bytes());
                out.extend_from_slice(&snappy::VERSION.to_be_bytes());
            }
            Compression::Lz4 => {
                let descriptor = [lz4::WRITTEN_FLAGS, lz4::WRITTEN_BLOCK_DESCRIPTOR];
                out.extend_from_slice(&lz4::MAGIC.to_le_bytes());
                out.extend_from_slice(&descriptor);
                out.push(lz4::descriptor_checksum(&descriptor));
            }
            #[cfg(feature = "zstd")]
            Compression::Zstd => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    none => none.insert(zstd_safe::CCtx::try_create().ok_or_else(zstd_failed)?),
                };
                context
                    .reset(zstd_safe::ResetDirective::SessionAndParameters)
                    .and_then(|_| {
                        context.set_parameter(zstd_safe::CParameter::CompressionLevel(spec.level))
                    })
                    .map_err(|_| zstd_failed())?;
            }
            #[cfg(not(feature = "zstd"))]
            Compression::Zstd => return Err(CodecError::Unsupported { codec: "zstd" }),
        }
        Ok(())
    }

    /// Bytes that are collected before the codec sees them.
    fn stage_len(&self) -> usize {
        match self.spec.codec {
            Compression::Snappy => snappy::BLOCK,
            _ => lz4::BLOCK,
        }
    }

    /// Adds `bytes` to the stream.
    pub fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if self.spec.codec == Compression::None {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let stage_len = self.stage_len();
        while self.stage.len() + bytes.len() > stage_len {
            let (head, tail) = bytes.split_at(stage_len - self.stage.len());
            self.stage.extend_from_slice(head);
            self.flush_stage(false, out)?;
            bytes = tail;
        }
        self.stage.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the stream.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.spec.codec {
            Compression::None => {}
            Compression::Gzip | Compression::Zstd => self.flush_stage(true, out)?,
            Compression::Snappy | Compression::Lz4 if self.stage.is_empty() => {}
            Compression::Snappy | Compression::Lz4 => self.flush_stage(true, out)?,
        }
        match self.spec.codec {
            Compression::Gzip => {
                let size = self.gzip.as_ref().map_or(0, |(_, context)| context.total_in());
                out.extend_from_slice(&self.gzip_crc.sum().to_le_bytes());
                out.extend_from_slice(&(size as u32).to_le_bytes());
            }
            Compression::Lz4 => out.extend_from_slice(&0u32.to_le_bytes()),
            _ => {}
        }
        Ok(())
    }

    fn flush_stage(&mut self, last: bool, out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.spec.codec {
            Compression::None => {}
            Compression::Gzip => self.flush_gzip(last, out)?,
            Compression::Snappy => {
                let at = out.len();
                let most = snap::raw::max_compress_len(self.stage.len());
                out.resize(at + 4 + most, 0);
                let n = self.snappy.compress(&self.stage, &mut out[at + 4..]).map_err(|_| {
                    CodecError::Corrupt { codec: "snappy", what: "cannot compress" }
                })?;
                out[at..at + 4].copy_from_slice(&(n as i32).to_be_bytes());
                out.truncate(at + 4 + n);
            }
            Compression::Lz4 => self.flush_lz4(out)?,
            #[cfg(feature = "zstd")]
            Compression::Zstd => self.flush_zstd(last, out)?,
            #[cfg(not(feature = "zstd"))]
            Compression::Zstd => return Err(CodecError::Unsupported { codec: "zstd" }),
        }
        self.stage.clear();
        Ok(())
    }

    fn flush_gzip(&mut self, last: bool, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let failed = || CodecError::Corrupt { codec: "gzip", what: "cannot compress" };
        let Some((_, context)) = &mut self.gzip else { return Err(failed()) };
        self.gzip_crc.update(&self.stage);
        let mut input = self.stage.as_slice();
        let flush = if last { FlushCompress::Finish } else { FlushCompress::None };
        loop {
            out.reserve(input.len() / 2 + 1024);
            let before = context.total_in();
            let status = context.compress_vec(input, out, flush).map_err(|_| failed())?;
            input = &input[(context.total_in() - before) as usize..];
            match status {
                Status::StreamEnd => return Ok(()),
                _ if !last && input.is_empty() => return Ok(()),
                _ => {}
            }
        }
    }

    fn flush_lz4(&mut self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        if self.spec.level == LZ4_DEFAULT {
            // Kafka's default level means the fast compressor; all others the thorough one.
            let table = self.lz4_fast.get_or_insert_with(CompressTable::large);
            let most = lz4_flex::block::get_maximum_output_size(self.stage.len());
            out.resize(at + 4 + most, 0);
            let n =
                lz4_flex::block::compress_into_with_table(&self.stage, &mut out[at + 4..], table)
                    .map_err(|_| CodecError::Corrupt { codec: "lz4", what: "cannot compress" })?;
            out.truncate(at + 4 + n);
        } else {
            let high = self.lz4_high.get_or_insert_with(lz4hc::HighCompressor::new);
            high.compress(&self.stage, self.spec.level, out);
        }
        let mut len = (out.len() - at - 4) as u32;
        if len as usize >= self.stage.len() {
            out.truncate(at + 4);
            out.extend_from_slice(&self.stage);
            len = self.stage.len() as u32 | lz4::STORED;
        }
        out[at..at + 4].copy_from_slice(&len.to_le_bytes());
        Ok(())
    }

    #[cfg(feature = "zstd")]
    fn flush_zstd(&mut self, last: bool, out: &mut Vec<u8>) -> Result<(), CodecError> {
        use zstd_safe::zstd_sys::ZSTD_EndDirective::{ZSTD_e_continue, ZSTD_e_end};
        let context = self.zstd.as_mut().ok_or_else(zstd_failed)?;
        let mut source = zstd_safe::InBuffer::around(&self.stage);
        let end = if last { ZSTD_e_end } else { ZSTD_e_continue };
        loop {
            out.reserve(self.stage.len() / 4 + 1024);
            let at = out.len();
            let mut target = zstd_safe::OutBuffer::around_pos(out, at);
            let left = context
                .compress_stream2(&mut target, &mut source, end)
                .map_err(|_| zstd_failed())?;
            let taken = source.pos() == self.stage.len();
            if taken && (!last || left == 0) {
                return Ok(());
            }
        }
    }
}

#[cfg(feature = "zstd")]
fn zstd_failed() -> CodecError {
    CodecError::Corrupt { codec: "zstd", what: "cannot compress" }
}
