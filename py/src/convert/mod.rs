//! The only place where values cross between JSON text and Python.
//!
//! [`read`] makes Python values from text, [`plan`] turns them into what a function's annotations promise, [`write`]
//! makes text from Python values, and [`reply`] decides which text a function's return value becomes for the values
//! that are plain enough to be known here; the rest is decided in `ferromcp/_results.py`.

pub(crate) mod plan;
pub(crate) mod raw;
pub(crate) mod read;
pub(crate) mod reply;
pub(crate) mod write;
