//! Cells in an order that needs few reboots, and where the reboots are.

use crate::campaign::model::{Boot, Cell};

/// Indices of the cells: those that boot the same stand together, both they and the groups in the order of the file.
pub fn grouped(cells: &[Cell]) -> Vec<usize> {
    let mut boots: Vec<&Boot> = Vec::new();
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let boot = &cell.settings.boot;
        let group = boots.iter().position(|known| *known == boot).unwrap_or_else(|| {
            boots.push(boot);
            boots.len() - 1
        });
        order.push((group, index));
    }
    order.sort_unstable();
    order.into_iter().map(|(_, index)| index).collect()
}

/// Before which of these a reboot is due. What the board runs at the start is not known: the first counts as one.
pub fn reboots<'a>(boots: impl IntoIterator<Item = &'a Boot>) -> Vec<bool> {
    let mut booted: Option<&Boot> = None;
    boots.into_iter().map(|boot| booted.replace(boot) != Some(boot)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{self, Overrides};

    #[test]
    fn cells_of_one_boot_stand_together() {
        let text =
            "name = 'a'\nduration = '1s'\n[matrix]\nmeasure.priority = [80, 90]\nboot.isolcpus = ['1', 'none']\n";
        let cells = campaign::load("c.toml", text, &Overrides::default()).unwrap().campaign.cells;
        let order = grouped(&cells);
        let names: Vec<&str> = order.iter().map(|index| cells[*index].name.as_str()).collect();
        assert_eq!(
            names,
            [
                "priority=80,isolcpus=1",
                "priority=90,isolcpus=1",
                "priority=80,isolcpus=none",
                "priority=90,isolcpus=none"
            ]
        );
        let due = reboots(order.iter().map(|index| &cells[*index].settings.boot));
        assert_eq!(due, [true, false, true, false]);
    }
}
