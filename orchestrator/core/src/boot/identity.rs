use super::Asked;
use crate::campaign::model::Boot;
use crate::facts::Facts;
use crate::resolve;
use crate::target::Target;

/// Whether what runs is what `boot` asks for, with nothing unknown: only then a reboot can be saved.
pub fn runs_for_certain(boot: &Boot, target: &Target, facts: &Facts) -> bool {
    let asked = Asked::new(boot, target);
    // Arguments that nobody asked for are those of the board's own choice; of another variant nobody knows them.
    let told_apart = asked.kernel.as_ref().and_then(|name| target.kernels.get(name)).is_none_or(|kernel| {
        kernel.release.is_some() || kernel.build.is_some() || kernel.preemption.is_some() || kernel.not_preempt_rt
    });
    told_apart && resolve::boot_conditions(boot, target, facts).iter().all(|condition| condition.holds == Some(true))
}

/// How a board that was put back differs from what it was before the campaign; `None`: it does not.
pub fn differs_from_before(before: &Facts, after: &Facts) -> Option<String> {
    let line = |facts: &Facts| facts.cmdline.clone().unwrap_or_default().join(" ");
    let releases = (before.release.clone().unwrap_or_default(), after.release.clone().unwrap_or_default());
    if releases.0 != releases.1 {
        return Some(format!("it ran {} before, and runs {} now", releases.0, releases.1));
    }
    let (before, after) = (line(before), line(after));
    (before != after).then(|| format!("its command line was `{before}` before, and is `{after}` now"))
}
