//! Frames on a backend without a terminal.

use super::*;
use crate::limit::tests::view;
use crate::terminal::state::Asked;
use kahn_observe::sample::Part;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn frame(state: &mut State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is no terminal");
    terminal.draw(|frame| draw(frame, state)).expect("it is no terminal");
    terminal.backend().to_string()
}

fn state() -> State {
    let mut state = State::new("pack".to_owned());
    state.show(view());
    state
}

fn press(state: &mut State, code: KeyCode) -> Asked {
    state.press(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn before_the_run_it_says_so() {
    let shown = frame(&mut State::new("pack".to_owned()), 40, 3);
    assert!(shown.contains("pack: it has not begun"), "{shown}");
}

#[test]
fn processes_come_by_what_limits_them_and_what_is_stuck_comes_first() {
    insta::assert_snapshot!(frame(&mut state(), 132, 20));
}

#[test]
fn channels_change_places_with_processes() {
    let mut state = state();
    assert_eq!(press(&mut state, KeyCode::Tab), Asked::Nothing);
    insta::assert_snapshot!(frame(&mut state, 132, 20));
    press(&mut state, KeyCode::Tab);
    assert_eq!(state.table, Which::Processes);
}

#[test]
fn an_explanation_takes_the_place_of_the_tables_and_goes_again() {
    let mut state = state();
    assert_eq!(press(&mut state, KeyCode::Char('e')), Asked::Explanation);
    state.explain("`read` waits for room\nin `blocks`".to_owned());
    insta::assert_snapshot!(frame(&mut state, 60, 10));
    assert_eq!(press(&mut state, KeyCode::Char('e')), Asked::Nothing);
    assert!(state.explanation.is_none());
}

#[test]
fn a_part_says_that_it_is_one() {
    let mut part = view();
    part.of_processes = Part { first: 2000, count: 2000, all: 10_000 };
    let mut state = State::new("pack".to_owned());
    state.show(part);
    let shown = frame(&mut state, 132, 20);
    assert!(shown.contains("these are processes 2001 to 4000 of 10000, in turn"), "{shown}");
}

#[test]
fn q_and_ctrl_c_ask_for_the_end() {
    assert_eq!(press(&mut state(), KeyCode::Char('q')), Asked::Stop);
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(state().press(ctrl_c), Asked::Stop);
    assert_eq!(press(&mut state(), KeyCode::Char('c')), Asked::Nothing);
}

#[test]
fn no_size_and_no_scrolling_breaks_it() {
    for (width, height) in [(1, 1), (10, 4), (80, 6), (300, 100)] {
        let mut state = state();
        for _ in 0..100 {
            press(&mut state, KeyCode::PageDown);
        }
        frame(&mut state, width, height);
        assert_eq!(state.scrolled, 4, "the last of five processes");
        state.explain("a\nb".to_owned());
        press(&mut state, KeyCode::PageDown);
        frame(&mut state, width, height);
        assert_eq!(state.scrolled, 1);
    }
}

#[test]
fn the_cells_of_a_bar_make_up_the_bar() {
    for parts in 1..50_u32 {
        let part = 1.0 / f64::from(parts);
        let shares = Shares {
            busy: part,
            empty: 0.5 * (1.0 - part),
            full: 0.5 * (1.0 - part),
            ..Shares::default()
        };
        assert_eq!(cells(&shares).iter().sum::<u16>(), BAR, "{shares:?}");
    }
}
