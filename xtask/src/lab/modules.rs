//! Kernel modules in load order, from what each module says it depends on.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of the wanted modules and their dependencies, each after what it needs. Those built into the kernel are left out.
pub(crate) fn in_load_order(tree: &Path, wanted: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    collect(tree, &mut files)?;
    let mut ordered = Vec::new();
    for module in wanted {
        add(module, &files, &mut ordered)?;
    }
    Ok(ordered)
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".ko")) {
            files.insert(name.replace('-', "_"), path);
        }
    }
    Ok(())
}

fn add(module: &str, files: &BTreeMap<String, PathBuf>, ordered: &mut Vec<PathBuf>) -> Result<()> {
    let Some(file) = files.get(&module.replace('-', "_")) else { return Ok(()) };
    if ordered.contains(file) {
        return Ok(());
    }
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    for dependency in dependencies(&bytes) {
        add(&dependency, files, ordered)?;
    }
    ordered.push(file.clone());
    Ok(())
}

/// `depends=a,b` in the module's information section.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(start) = module.windows(KEY.len()).position(|window| window == KEY) else { return Vec::new() };
    let value = module[start + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(value).split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, depends: &str| {
            std::fs::write(folder.path().join(format!("{name}.ko")), format!("\0license=GPL\0depends={depends}\0"))
                .unwrap();
        };
        write("virtio-net", "net_failover,virtio");
        write("net_failover", "failover");
        write("failover", "");
        let order = in_load_order(folder.path(), &["virtio_net", "failover", "ext4"]).unwrap();
        let names: Vec<_> = order.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["failover", "net_failover", "virtio-net"]);
    }
}
