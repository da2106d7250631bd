//! The files a browser needs besides markup: in the binary, so that a page asks nobody else.

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Its name, as in `/assets/NAME`.
    pub name: &'static str,
    /// For example `text/css`.
    pub media_type: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $type:literal) => {
        Asset {
            name: $name,
            media_type: $type,
            bytes: include_bytes!(concat!("../assets/", $name)),
        }
    };
}

/// All files.
pub const ASSETS: [Asset; 4] = [
    asset!("longboat.css", "text/css; charset=utf-8"),
    asset!("longboat.js", "text/javascript; charset=utf-8"),
    // Changes a page into another with what is open, focused and selected left alone. Its licence
    // lies beside it.
    asset!("idiomorph.min.js", "text/javascript; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
];

/// The file of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}
