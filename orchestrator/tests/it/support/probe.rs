//! The probe for this machine, statically linked so that it also runs in a root without libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A `LATLAB_PROBE_DIR` that holds it.
pub(crate) fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let target = workspace.join("target/it-probe");
        let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "latprobe", "--target", &triple, "--target-dir"])
            .arg(&target)
            .current_dir(workspace)
            .env(flags, "-C target-feature=+crt-static -C strip=symbols")
            .status()
            .unwrap();
        assert!(built.success(), "latprobe does not build");
        target.join(triple).join("debug")
    })
}
