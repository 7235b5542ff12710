//! What a board boots: boot configurations in, changed ones out; when a reboot is needed; what it must come back with.
//!
//! Every method edits the *original* configuration, which is kept on the board: changes never pile up.

mod arguments;
pub mod boot_script;
mod edit;
pub mod extlinux;
pub mod grub;
mod identity;
pub mod order;
pub mod raspberrypi;
mod script;
pub mod uboot_env;
pub mod uenv;

pub use arguments::{Arguments, split};
pub use edit::EditError;
pub use identity::{differs_from_before, runs_for_certain};

use crate::campaign::model::Boot;
use crate::target::{BootMethod, Kernel, Target, boot_method_name};
use std::collections::BTreeMap;

/// What shall be booted next, in the words of the target file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// Kernel variant by name; `None`: the one that the board boots by itself.
    pub kernel: Option<String>,
    /// Its `label`.
    pub label: Option<String>,
    /// Its `set`: variables of the boot loader.
    pub set: BTreeMap<String, String>,
    /// Kernel, initial RAM disk and device tree as the boot loader, or kexec, names them.
    pub files: Files,
    /// Kernel arguments.
    pub arguments: Arguments,
}

/// Files of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// Kernel image.
    pub image: Option<String>,
    /// Initial RAM disk.
    pub initrd: Option<String>,
    /// Device tree.
    pub device_tree: Option<String>,
}

impl Asked {
    /// What `boot` of a cell means on `target`. A variant that the target does not describe gives no label: the edit then says so.
    pub fn new(boot: &Boot, target: &Target) -> Self {
        let kernel = boot.kernel.as_ref().and_then(|name| target.kernels.get(name));
        let none = Kernel::default();
        let variant = kernel.unwrap_or(&none);
        Self {
            kernel: boot.kernel.clone(),
            label: variant.label.clone(),
            set: variant.set.clone(),
            files: Files {
                image: variant.image.clone(),
                initrd: variant.initrd.clone(),
                device_tree: variant.device_tree.clone(),
            },
            arguments: Arguments::new(boot, variant),
        }
    }

    /// With the files that latlab put there, as the boot loader names them; `{image}`, `{initrd}` and `{device_tree}` in
    /// the variant's variables stand for them.
    #[must_use]
    pub fn with_files(mut self, files: Files) -> Self {
        for value in self.set.values_mut() {
            for (mark, file) in
                [("{image}", &files.image), ("{initrd}", &files.initrd), ("{device_tree}", &files.device_tree)]
            {
                *value = value.replace(mark, file.as_deref().unwrap_or_default());
            }
        }
        self.files = files;
        self
    }

    /// The variant's name for messages.
    fn variant(&self) -> &str {
        self.kernel.as_deref().unwrap_or_default()
    }
}

/// What becomes of a board that does not come back with the new boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// The method's choice holds for one boot: after a reset or power cycle the board's own choice comes up by itself.
    OneShot,
    /// The boot loader counts failed boots, or a command of the target file brings the board's own choice up.
    Arranged,
    /// Somebody has to go there.
    NeedsHand,
}

/// How a target gets out of a boot that hangs.
pub fn fallback(target: &Target) -> Fallback {
    match target.boot_method {
        BootMethod::AsBooted | BootMethod::Grub | BootMethod::Raspberrypi | BootMethod::Kexec => Fallback::OneShot,
        BootMethod::Command if target.boot.one_shot => Fallback::OneShot,
        _ if target.boot.bootcount || target.boot.fallback.is_some() => Fallback::Arranged,
        _ => Fallback::NeedsHand,
    }
}

/// What keeps a hung board from coming back without a hand; `None`: nothing does.
pub fn needs_hand(target: &Target) -> Option<&'static str> {
    if target.boot_method == BootMethod::AsBooted {
        return None;
    }
    match (fallback(target), target.power_cycle.is_some() || target.power.is_some()) {
        (Fallback::NeedsHand, _) => Some(
            "a kernel that hangs would be booted again after a power cycle; name a way out with `boot.fallback` (a console command, TFTP) or `boot.bootcount`",
        ),
        (_, false) => Some("nothing can cut its power; name a command with `power.cycle`"),
        _ => None,
    }
}

/// What a boot method must know of a kernel variant and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// In plain words.
    pub what: String,
    /// What to write where.
    pub help: String,
}

/// What `target` does not say that its boot method needs for `boot`; `None`: nothing.
pub fn lacks(boot: &Boot, target: &Target) -> Option<Lack> {
    if *boot == Boot::default() {
        return None;
    }
    let method = boot_method_name(target.boot_method);
    let Some(name) = &boot.kernel else {
        return (target.boot_method == BootMethod::Kexec).then(|| Lack {
            what: "kexec needs the files of a kernel".to_owned(),
            help: "name a kernel variant with `boot.kernel`, and its `image` in the target file".to_owned(),
        });
    };
    let kernel = target.kernels.get(name)?;
    let installed = kernel.install.is_some();
    if installed && matches!(target.boot_method, BootMethod::Pxe | BootMethod::Command) {
        return Some(Lack {
            what: format!("method {method} installs no kernel"),
            help: format!("remove `[kernel.{name}.install]`, and put the kernel there by other means"),
        });
    }
    let (enough, key) = match target.boot_method {
        BootMethod::AsBooted | BootMethod::Command => (true, ""),
        BootMethod::Extlinux | BootMethod::Grub => (kernel.label.is_some() || installed, "label"),
        BootMethod::Pxe => (kernel.label.is_some(), "label"),
        BootMethod::Uenv => (!kernel.set.is_empty() || kernel.label.is_some(), "set"),
        BootMethod::BootScript | BootMethod::UbootEnv => (!kernel.set.is_empty(), "set"),
        BootMethod::Kexec | BootMethod::Raspberrypi => {
            (kernel.image.is_some() || kernel.label.is_some() || installed, "image")
        }
    };
    let what = format!("kernel variant `{name}` has no `{key}`, which method `{method}` needs");
    (!enough).then(|| Lack { what, help: format!("add `{key}` under `[kernel.{name}]` of the target file") })
}
