use super::*;

const S: u64 = 1_000_000_000;

fn machine(state: State) -> Machine {
    let patience = Patience {
        poll_ns: 60 * S,
        ending_ns: 3 * S,
        retry_first_ns: S,
        retry_longest_ns: 60 * S,
        margin_ns: 600 * S,
        setup_ns: 300 * S,
        deadline_ns: 3600 * S,
        resets: 2,
    };
    Machine::new(state, patience)
}

fn answer(complete: bool, more: bool, remaining_s: u64, due_s: u64) -> Event {
    Event::Answered { complete, more, remaining_ns: remaining_s * S, due_ns: due_s * S }
}

#[test]
fn a_run_from_plan_to_judgement() {
    let mut m = machine(State::Planned);
    for (event, action) in [
        (Event::Begin, Action::Prepare),
        (Event::Prepared, Action::Submit),
        (Event::Submitted, Action::Poll { after_ns: 0 }),
        (answer(false, true, 3600, 1000), Action::Poll { after_ns: 0 }),
        (answer(false, false, 3600, 1000), Action::Poll { after_ns: 60 * S }),
        (answer(false, false, 3000, 20), Action::Poll { after_ns: 20 * S }),
        (answer(false, false, 2980, 0), Action::Poll { after_ns: 3 * S }),
        (answer(true, false, 2977, 0), Action::Collect),
        (Event::Done, Action::Judge),
        (Event::Done, Action::Remove),
        (Event::Done, Action::Nothing),
    ] {
        assert_eq!(m.step(event, 0), action, "{event:?}");
    }
    assert_eq!(m.state(), State::Over(Outcome::Judged));
}

#[test]
fn silence_is_not_loss_until_deadline_and_margin() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    m.step(answer(false, false, 1000, 900), 100 * S);
    assert_eq!(m.lost_at_ns(), Some(1700 * S));
    let pauses: Vec<Action> = (0..8).map(|i| m.step(Event::Silent, (160 + i) * S)).collect();
    let seconds = [1, 2, 4, 8, 16, 32, 60, 60];
    assert_eq!(pauses, seconds.map(|s| Action::Reconnect { after_ns: s * S }));
    assert_eq!(m.silent_since_ns(), Some(160 * S));
    // The last attempt is made at the limit, not beyond it.
    assert_eq!(m.step(Event::Silent, 1690 * S), Action::Reconnect { after_ns: 10 * S });
    assert_eq!(m.step(Event::Silent, 1700 * S), Action::Judge);
    assert!(m.may_come_back());
    assert_eq!(m.step(Event::Done, 1700 * S), Action::Nothing);
    assert_eq!(m.state(), State::Over(Outcome::Lost));
}

#[test]
fn an_answer_ends_the_silence() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    m.step(Event::Silent, S);
    m.step(Event::Silent, 2 * S);
    m.step(answer(false, false, 100, 90), 3 * S);
    assert_eq!(m.silent_since_ns(), None);
    assert_eq!(m.step(Event::Silent, 4 * S), Action::Reconnect { after_ns: S });
}

#[test]
fn a_submission_without_an_answer_is_looked_for_not_repeated() {
    let mut m = machine(State::Submitting);
    assert_eq!(m.step(Event::Silent, 0), Action::Reconnect { after_ns: S });
    assert_eq!(m.current(), Action::Search);
    let mut found = m;
    assert_eq!(found.step(Event::Submitted, S), Action::Poll { after_ns: 0 });
    assert_eq!(m.step(Event::Unknown, S), Action::Prepare);
}

#[test]
fn a_board_that_is_never_there_is_given_up_soon() {
    let mut m = machine(State::Preparing);
    m.step(Event::Silent, 0);
    assert_eq!(m.step(Event::Silent, 300 * S), Action::Nothing);
    assert_eq!(m.state(), State::Over(Outcome::Lost));
}

#[test]
fn cleaning_up_does_not_hold_a_judged_run_until_its_deadline() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    m.step(answer(true, false, 3600, 0), 0);
    m.step(Event::Done, 0);
    assert_eq!(m.step(Event::Done, 0), Action::Remove);
    m.step(Event::Silent, 0);
    assert_eq!(m.step(Event::Silent, 300 * S), Action::Nothing);
    assert_eq!(m.state(), State::Over(Outcome::Judged));
}

#[test]
fn a_run_that_the_board_no_longer_knows_is_judged_by_what_is_at_home() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    assert_eq!(m.step(Event::Unknown, S), Action::Judge);
    assert!(!m.may_come_back());
    m.step(Event::Done, S);
    assert_eq!(m.state(), State::Over(Outcome::Lost));
}

#[test]
fn a_board_that_was_reset_measures_again_but_not_without_end() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    for _ in 0..2 {
        assert_eq!(m.step(Event::Reset, S), Action::Revive);
        // It boots: silence is waited out, and the same is tried again.
        assert_eq!(m.step(Event::Silent, 2 * S), Action::Reconnect { after_ns: S });
        assert_eq!(m.current(), Action::Revive);
        assert_eq!(m.step(Event::Submitted, 3 * S), Action::Poll { after_ns: 0 });
        assert_eq!(m.lost_at_ns(), Some((3 + 3600 + 600) * S));
    }
    assert_eq!(m.step(Event::Reset, 4 * S), Action::Collect);
}

#[test]
fn what_a_reset_leads_to() {
    for (event, action, then) in [
        (Event::Submitted, Action::Poll { after_ns: 0 }, State::Measuring),
        (Event::Refused, Action::Collect, State::Collecting),
        (Event::Failed, Action::Collect, State::Collecting),
        (Event::Unknown, Action::Prepare, State::Preparing),
        (Event::Wished(Wish::Leave), Action::Nothing, State::Over(Outcome::Detached)),
        (Event::Wished(Wish::Fetch), Action::Nothing, State::Over(Outcome::Detached)),
        (Event::Wished(Wish::Stop), Action::Collect, State::Collecting),
    ] {
        let mut m = machine(State::Measuring);
        m.step(Event::Begin, 0);
        m.step(Event::Reset, S);
        assert_eq!(m.step(event, S), action, "{event:?}");
        assert_eq!(m.state(), then, "{event:?}");
    }
    let mut stopped = machine(State::Measuring);
    stopped.step(Event::Wished(Wish::Stop), 0);
    assert_eq!(stopped.step(Event::Reset, 0), Action::Collect);
}

#[test]
fn the_journal_remembers_resets() {
    use Mark::*;
    let mut entries = vec![(Step::Submit, Done), (Step::Continue, Intent)];
    assert_eq!(replay(entries.iter().copied()), State::Reviving);
    entries.push((Step::Continue, Done));
    assert_eq!((replay(entries.iter().copied()), resets(entries.iter().copied())), (State::Measuring, 1));
    let mut refused = entries.clone();
    refused.extend([(Step::Continue, Intent), (Step::Continue, Failed)]);
    assert_eq!(replay(refused), State::Collecting);
    entries.extend([(Step::Restart, Intent), (Step::Restart, Done)]);
    assert_eq!((replay(entries.iter().copied()), resets(entries.iter().copied())), (State::Planned, 2));
}

#[test]
fn wishes() {
    use State::*;
    for (state, wish, action, then) in [
        (Planned, Wish::Stop, Action::Nothing, Over(Outcome::Skipped)),
        (Preparing, Wish::Leave, Action::Nothing, Over(Outcome::Skipped)),
        (Measuring, Wish::Leave, Action::Nothing, Over(Outcome::Detached)),
        (Collecting, Wish::Leave, Action::Nothing, Over(Outcome::Detached)),
        (Measuring, Wish::Stop, Action::Stop, Measuring),
        (Planned, Wish::Fetch, Action::Nothing, Over(Outcome::Skipped)),
        (Measuring, Wish::Fetch, Action::Poll { after_ns: 0 }, Measuring),
        (Measuring, Wish::Finish, Action::Poll { after_ns: 0 }, Measuring),
        (Collecting, Wish::Stop, Action::Collect, Collecting),
        (Judging, Wish::Leave, Action::Judge, Judging),
    ] {
        let mut m = machine(state);
        assert_eq!(m.step(Event::Wished(wish), 0), action, "{state:?} {wish:?}");
        assert_eq!(m.state(), then, "{state:?} {wish:?}");
    }
}

#[test]
fn a_fetch_takes_what_is_there_and_waits_for_nothing() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    m.step(Event::Wished(Wish::Fetch), 0);
    let mut silent = m;
    assert_eq!(m.step(answer(false, true, 1000, 900), S), Action::Poll { after_ns: 0 });
    assert_eq!(m.step(answer(false, false, 1000, 900), S), Action::Nothing);
    assert_eq!(m.state(), State::Over(Outcome::Detached));
    assert_eq!(silent.step(Event::Silent, S), Action::Nothing);
    assert_eq!(silent.state(), State::Over(Outcome::Detached));
}

#[test]
fn a_stop_is_sent_once_and_survives_a_lost_link() {
    let mut m = machine(State::Measuring);
    m.step(Event::Begin, 0);
    assert_eq!(m.step(Event::Wished(Wish::Stop), 0), Action::Stop);
    m.step(Event::Silent, 0);
    assert_eq!(m.current(), Action::Stop);
    assert_eq!(m.step(Event::Done, S), Action::Poll { after_ns: S });
    assert_eq!(m.current(), Action::Poll { after_ns: 0 });
}

#[test]
fn a_wish_during_the_submission_is_heard_after_it() {
    let mut m = machine(State::Submitting);
    assert_eq!(m.step(Event::Wished(Wish::Leave), 0), Action::Submit);
    assert_eq!(m.step(Event::Submitted, 0), Action::Nothing);
    assert_eq!(m.state(), State::Over(Outcome::Detached));
}

#[test]
fn the_journal_says_where_a_run_stands() {
    use Mark::*;
    let whole = [
        (Step::Prepare, Intent, State::Planned),
        (Step::Prepare, Done, State::Planned),
        (Step::Submit, Intent, State::Searching),
        (Step::Submit, Done, State::Measuring),
        (Step::Stop, Intent, State::Measuring),
        (Step::Stop, Done, State::Measuring),
        (Step::Collect, Intent, State::Collecting),
        (Step::Collect, Done, State::Judging),
        (Step::Judge, Intent, State::Judging),
        (Step::Judge, Done, State::Removing),
        (Step::Remove, Intent, State::Removing),
        (Step::Remove, Done, State::Over(Outcome::Judged)),
    ];
    for n in 0..whole.len() {
        let entries = whole[..=n].iter().map(|(step, mark, _)| (*step, *mark));
        assert_eq!(replay(entries), whole[n].2, "after {:?}", whole[n]);
    }
    assert_eq!(replay([(Step::Prepare, Intent), (Step::Prepare, Failed)]), State::Planned);
    assert_eq!(replay([(Step::Submit, Intent), (Step::Submit, Failed)]), State::Planned);
    // What could not be removed is removed by the next process.
    assert_eq!(replay([(Step::Judge, Done), (Step::Remove, Intent), (Step::Remove, Failed)]), State::Removing);
}

#[test]
fn a_run_judged_while_its_board_was_silent_is_fetched_before_it_is_removed() {
    use Mark::*;
    let lost = [(Step::Submit, Done), (Step::Judge, Intent), (Step::Judge, Failed)];
    assert_eq!(replay(lost), State::Measuring);
    let back = [(Step::Collect, Done), (Step::Judge, Done)];
    assert_eq!(replay(lost.into_iter().chain(back)), State::Removing);
}

#[test]
fn the_journal_says_whether_a_board_is_held() {
    use Mark::*;
    let cases: [(&[(Step, Mark)], bool); 7] = [
        (&[], false),
        (&[(Step::Connect, Done), (Step::Deploy, Failed)], false),
        (&[(Step::Lock, Intent)], true),
        (&[(Step::Lock, Intent), (Step::Lock, Failed)], false),
        (&[(Step::Lock, Done), (Step::Remove, Done)], true),
        (&[(Step::Lock, Done), (Step::Unlock, Intent), (Step::Unlock, Failed)], true),
        (&[(Step::Lock, Done), (Step::Unlock, Intent), (Step::Unlock, Done)], false),
    ];
    for (entries, held) in cases {
        assert_eq!(holds_board(entries.iter().copied()), held, "{entries:?}");
    }
}
