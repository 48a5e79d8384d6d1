//! The layers over the seam, and the seeds of the fuzz targets.

mod layers;
mod seeds;
