//! Raspberry Pi: `tryboot.txt` in place of config.txt for one boot (`reboot '0 tryboot'`), with a command line of its own.

use super::Asked;

/// The command line that [`tryboot`] names.
pub const COMMAND_LINE: &str = "cmdline-latlab.txt";
/// First line of a tryboot.txt that latlab made.
pub const MARK: &str = "# Made by latlab for one boot.";

/// `tryboot.txt`: the board's config.txt, then what differs.
pub fn tryboot(config: &str, asked: &Asked) -> String {
    let mut text = format!("{MARK}\n{}\n[all]\ncmdline={COMMAND_LINE}\n", config.trim_end());
    let image = asked.files.image.as_ref().or(asked.label.as_ref());
    for (key, value) in [("kernel", image), ("device_tree", asked.files.device_tree.as_ref())] {
        if let Some(value) = value {
            text += &format!("{key}={value}\n");
        }
    }
    if let Some(initrd) = &asked.files.initrd {
        text += &format!("initramfs {initrd} followkernel\n");
    }
    text
}

/// [`COMMAND_LINE`]: the firmware reads the first line only.
pub fn command_line(original: &str, asked: &Asked) -> String {
    asked.arguments.edit(original.lines().next().unwrap_or_default()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Files};
    use super::*;

    #[test]
    fn one_boot_with_another_kernel_and_arguments() {
        let asked = Asked {
            kernel: Some("rt".into()),
            label: Some("kernel8-rt.img".into()),
            files: Files { initrd: Some("initramfs8-rt".into()), ..Files::default() },
            arguments: Arguments { isolcpus: Some("3".into()), append: vec![] },
            ..Asked::default()
        };
        let text = tryboot("arm_64bit=1\n[cm4]\notg_mode=1\n\n", &asked);
        assert_eq!(
            text,
            "# Made by latlab for one boot.\narm_64bit=1\n[cm4]\notg_mode=1\n[all]\ncmdline=cmdline-latlab.txt\nkernel=kernel8-rt.img\ninitramfs initramfs8-rt followkernel\n"
        );
        let line = command_line("console=tty1 root=PARTUUID=1-02 rootwait\nnever read\n", &asked);
        assert_eq!(line, "console=tty1 root=PARTUUID=1-02 rootwait isolcpus=3\n");
    }
}
