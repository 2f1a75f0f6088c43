//! What the fuzz targets share.

pub mod permission;
pub mod replies;
