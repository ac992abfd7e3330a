//! Contents that are not in rows: one zstd-compressed file each, named by the digest of its bytes.

mod staging;

use std::io::Read;

pub use staging::Staging;

use crate::digest::Digest;
use crate::event::ObjectRef;
use crate::layout;
use crate::storage::{
    Durability, OpenMode, PRIVATE_DIR, Storage, StorageError, create_dirs, read_file,
    write_atomically,
};

/// Compression level of objects.
const LEVEL: i32 = 3;

/// The largest object that is read: what claims to be larger is taken for hostile.
pub const OBJECT_MAX: u64 = 1 << 30;

/// An object cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The disk failed, or the object is not there.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Its bytes are not what its name says.
    #[error("object {hash} is damaged: {why}")]
    Damaged {
        /// The object.
        hash: Digest,
        /// What is wrong.
        why: String,
    },
}

/// Keeps `bytes` as an object; durable when it returns.
pub fn put(storage: &dyn Storage, bytes: &[u8], token: u64) -> Result<ObjectRef, StorageError> {
    let hash = Digest::of(bytes);
    let object = ObjectRef {
        hash,
        bytes: bytes.len() as u64,
    };
    let path = layout::object(&hash);
    // What is there already may be from a writer that was killed before it was durable: an object is
    // only taken for kept when it reads back right, and is then synced once more.
    if get(storage, object).is_ok() {
        storage.open(&path, OpenMode::Read)?.sync()?;
        storage.sync_dir(&path.parent())?;
        return Ok(object);
    }
    create_dirs(storage, &path.parent(), PRIVATE_DIR, Durability::Durable)?;
    let compressed =
        compress(bytes).map_err(|source| StorageError::new("compress", &path, source))?;
    write_atomically(storage, &path, &compressed, token, Durability::Durable)?;
    Ok(object)
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    std::io::Write::write_all(&mut encoder, bytes)?;
    encoder.finish()
}

/// Reads an object, checked against its digest; never decodes more bytes than it should have.
pub fn get(storage: &dyn Storage, object: ObjectRef) -> Result<Vec<u8>, ObjectError> {
    let damaged = |why: String| ObjectError::Damaged {
        hash: object.hash,
        why,
    };
    if object.bytes > OBJECT_MAX {
        return Err(damaged(format!("it would have {} bytes", object.bytes)));
    }
    let compressed = read_file(storage, &layout::object(&object.hash))?;
    let decoder = zstd::stream::Decoder::with_buffer(&compressed[..])
        .map_err(|error| damaged(error.to_string()))?;
    let mut bytes = Vec::new();
    decoder
        .take(object.bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| damaged(error.to_string()))?;
    if bytes.len() as u64 != object.bytes {
        return Err(damaged(format!("it does not have {} bytes", object.bytes)));
    }
    let actual = Digest::of(&bytes);
    if actual != object.hash {
        return Err(damaged(format!("its bytes have digest {actual}")));
    }
    Ok(bytes)
}
