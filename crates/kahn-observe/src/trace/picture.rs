//! A timeline as SVG: tracks of workers, processes and channels, a thousand pixels wide.
//!
//! The time is cut into columns of a pixel. In each, a track shows the share of every state, from below: a state
//! that lasts longer than a column fills it, and of thousands of short ones it is seen how much of the time each
//! took. What a process ran is never less than a line, however short it was.

use super::summary::{counted, place_of_wait, share, sums, time, waits};
use super::timeline::{Does, Process, Timeline, Wanted};
use kahn_report::Picture;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a process does in a column; the order in which they stand, from below.
const STATES: [(&str, &str); 6] = [
    ("runs", "runs"),
    ("ready", "ready, and no worker runs it"),
    ("message", "waits for a message"),
    ("room", "waits for room"),
    ("partner", "waits for a partner"),
    ("outside", "waits outside"),
];
const RUNS: usize = 0;

/// Where tracks begin and end, and what is left of the page for figures.
const LEFT: usize = 190;
const COLUMNS: usize = 690;
const WIDTH: usize = 1000;
/// A track, its bar, and the steps in which shares of the bar are told.
const ROW: usize = 19;
const BAR: usize = 13;
const STEPS: u64 = 26;

/// Tracks of one kind that are drawn; of the others it is said how many they are.
const MOST: usize = 40;
/// Characters of a name that are shown; all of it is in its title.
const LONGEST: usize = 26;

const STYLE: &str = "\
text{font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px;fill:#1f2933}
.title{font-size:14px;font-weight:bold}
.small{font-size:11px;fill:#52606d}
.name{text-anchor:end}
.tick{text-anchor:middle}
.page{fill:#fff}
.track{fill:#f8f9fb;fill-opacity:.5;stroke:#e4e7eb}
.grid{stroke:#cbd2d9;stroke-width:.6}
.runs{fill:#1971c2}
.ready{fill:#ffc94d}
.message{fill:#c5dbf0}
.room{fill:#f0883e}
.partner{fill:#b197fc}
.outside{fill:#b8bec6}
.holds{fill:#5c7c9c}
.stroke{stroke:#868e96;stroke-width:2}
@media (prefers-color-scheme: dark){
text{fill:#e4e7eb}
.small{fill:#b8c2cc}
.page{fill:#12181f}
.track{fill:#1b232c;stroke:#323f4b}
.grid{stroke:#52606d}
.runs{fill:#4dabf7}
.ready{fill:#e0a100}
.message{fill:#33506b}
.room{fill:#d9662a}
.partner{fill:#7950f2}
.outside{fill:#616e7c}
.holds{fill:#7d9cbc}
}
";

pub(super) fn svg(timeline: &Timeline) -> String {
    // Of a long time that is lost only its end is drawn.
    let begin = timeline.lost_until.min(timeline.until).saturating_sub(timeline.told() / 12);
    let mut drawing = Drawing { timeline, begin, text: String::new(), y: 0 };
    drawing.head();
    let top = drawing.y;
    drawing.workers();
    drawing.processes();
    drawing.channels();
    let mut grid = String::new();
    drawing.axis(&mut grid, top);
    let height = drawing.y + 14;
    // Writing to a string does not fail.
    let mut text = String::new();
    let _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
         <defs><pattern id=\"lost\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><path class=\"stroke\" d=\"M0 0V6\"/></pattern></defs>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{grid}{}</svg>\n",
        caption(timeline),
        drawing.text
    );
    text
}

fn caption(timeline: &Timeline) -> String {
    let processes = counted(timeline.processes.len(), "process", "processes");
    let workers = counted(timeline.workers.len(), "worker", "workers");
    format!("trace of {}: {processes}, {workers}", time(timeline.told()))
}

/// Of each column: the time of each state.
type Columns = Vec<[u64; STATES.len()]>;

struct Drawing<'a> {
    timeline: &'a Timeline,
    /// When the left end of the tracks is.
    begin: u64,
    text: String,
    y: usize,
}

impl Drawing<'_> {
    fn head(&mut self) {
        let timeline = self.timeline;
        self.words("title", 14, 24, &caption(timeline));
        let mut used = [false; STATES.len()];
        for process in &timeline.processes {
            for span in Timeline::spans(process) {
                used[state(&span.does)] = true;
            }
        }
        let mut x = 14;
        let mut entry = |this: &mut Self, fill: &str, words: &str| {
            let _ =
                writeln!(this.text, "<rect {fill} x=\"{x}\" y=\"36\" width=\"13\" height=\"13\"/>");
            this.words("small", x + 19, 46, words);
            x += 36 + 6 * words.chars().count();
        };
        for ((class, words), _) in STATES.iter().zip(used).filter(|(_, is_used)| *is_used) {
            entry(self, &format!("class=\"{class}\""), words);
        }
        if timeline.lost > 0 {
            entry(self, "fill=\"url(#lost)\"", &format!("{} events lost", timeline.lost));
        }
        self.y = 56;
    }

    fn workers(&mut self) {
        let timeline = self.timeline;
        if timeline.workers.is_empty() {
            return;
        }
        self.heading("workers, and how much of the time they run processes");
        for worker in timeline.workers.iter().take(MOST) {
            let mut columns = columns();
            let mut busy = 0;
            for &(from, until, process) in &worker.spans {
                if process.is_some() {
                    busy += until - from;
                    self.add(&mut columns, from, until, RUNS);
                }
            }
            let name = match &timeline.ranks[..] {
                [] => format!("worker {}", worker.number),
                _ => format!("worker {} (rank {})", worker.number, worker.rank),
            };
            let share = share(busy, timeline.told());
            self.row(&name, &format!("{name} runs processes {share} of the time"), &share);
            self.bars(&columns, 1);
        }
        self.more(timeline.workers.len(), "worker", "workers");
    }

    fn processes(&mut self) {
        let timeline = self.timeline;
        if timeline.processes.is_empty() {
            return;
        }
        self.heading(
            "processes, in the order in which they began, and how much of the time they run",
        );
        let mut shown: Vec<_> = timeline.processes.iter().enumerate().collect();
        shown.sort_by_key(|(_, process)| std::cmp::Reverse(sums(process).running));
        shown.truncate(MOST);
        let began = |process: &Process| Timeline::spans(process).map(|span| span.from).min();
        shown.sort_by_key(|&(place, process)| (began(process).unwrap_or(u64::MAX), place));
        let mut at = BTreeMap::<usize, Vec<String>>::new();
        for ((process, channel, wants), waits) in waits(timeline) {
            let place = place_of_wait(&timeline.channels[channel].name, wants);
            at.entry(process).or_default().push(format!("{} {place}", time(waits.time)));
        }
        for (place, process) in shown {
            let mut columns = columns();
            for span in Timeline::spans(process) {
                self.add(&mut columns, span.from, span.until, state(&span.does));
            }
            let running = sums(process).running;
            let share = share(running, timeline.told());
            let name = timeline.called(process);
            let mut title = format!("{name} runs for {}", time(running));
            for wait in at.get(&place).into_iter().flatten().take(6) {
                let _ = write!(title, ", waits {wait}");
            }
            self.row(&name, &title, &share);
            self.bars(&columns, process.parts.len() as u64);
        }
        self.more(timeline.processes.len(), "process", "processes");
    }

    fn channels(&mut self) {
        let timeline = self.timeline;
        let most = |holds: &[(u64, u64)]| holds.iter().map(|&(_, holds)| holds).max();
        let mut shown: Vec<_> = timeline
            .channels
            .iter()
            .filter_map(|channel| Some((most(&channel.holds)?, channel)))
            .collect();
        if shown.is_empty() {
            return;
        }
        self.heading("channels: messages that they hold, and the most of them");
        let all = shown.len();
        shown.sort_by_key(|&(most, _)| std::cmp::Reverse(most));
        shown.truncate(MOST);
        for (most, channel) in shown {
            let title = format!("{} holds {most} messages at most", channel.name);
            self.row(&channel.name, &title, &most.to_string());
            let y = self.y - ROW + BAR;
            let mut path = format!("M{LEFT} {y}");
            let mut holds = channel.holds.iter().peekable();
            let mut now = 0;
            for column in 0..COLUMNS {
                let end = self.begins(column + 1);
                // The most of the column, which a shorter moment would hide.
                let mut highest = now;
                while let Some(&(_, next)) = holds.next_if(|(at, _)| *at < end) {
                    (now, highest) = (next, highest.max(next));
                }
                let height = (BAR as u64 * highest).div_ceil(most.max(1));
                let _ = write!(path, "V{}h1", y as u64 - height);
            }
            let _ = writeln!(self.text, "<path class=\"holds\" d=\"{path}V{y}z\"/>");
        }
        self.more(all, "channel", "channels");
    }

    /// When a column begins.
    fn begins(&self, column: usize) -> u64 {
        let behind = u128::from(self.drawn()) * column as u128 / COLUMNS as u128;
        self.begin + u64::try_from(behind).unwrap_or(u64::MAX)
    }

    /// The time that is drawn.
    fn drawn(&self) -> u64 {
        self.timeline.until - self.begin
    }

    /// The column of a moment.
    fn column(&self, at: u64) -> usize {
        let at = u128::from(at.saturating_sub(self.begin));
        let column = at * COLUMNS as u128 / u128::from(self.drawn().max(1));
        usize::try_from(column).unwrap_or(COLUMNS).min(COLUMNS - 1)
    }

    fn add(&self, columns: &mut Columns, from: u64, until: u64, state: usize) {
        let (first, last) = (self.column(from), self.column(until));
        for (place, column) in columns.iter_mut().enumerate().take(last + 1).skip(first) {
            let (begins, ends) = (self.begins(place), self.begins(place + 1));
            column[state] += until.min(ends).saturating_sub(from.max(begins));
        }
    }

    fn words(&mut self, class: &str, x: usize, y: usize, words: &str) {
        let words = Picture::escaped(words);
        let _ = writeln!(self.text, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{words}</text>");
    }

    fn heading(&mut self, words: &str) {
        self.y += 24;
        self.words("small", 14, self.y - 7, words);
    }

    /// How many are not drawn.
    fn more(&mut self, all: usize, one: &str, many: &str) {
        if let Some(more @ 1..) = all.checked_sub(MOST) {
            self.y += ROW;
            let words = format!("and {} more", counted(more, one, many));
            self.words("small name", LEFT - 8, self.y - 8, &words);
        }
    }

    /// A track with its name, its figure, and what is hatched of it.
    fn row(&mut self, name: &str, title: &str, figure: &str) {
        let (x, y) = (LEFT - 8, self.y + 11);
        let (short, title) = (Picture::escaped(&shortened(name)), Picture::escaped(title));
        let _ = writeln!(
            self.text,
            "<text class=\"name\" x=\"{x}\" y=\"{y}\">{short}<title>{title}</title></text>\n\
             <rect class=\"track\" x=\"{LEFT}\" y=\"{}\" width=\"{COLUMNS}\" height=\"{BAR}\"/>",
            self.y
        );
        self.words("small", LEFT + COLUMNS + 10, y, figure);
        let before = (self.timeline.lost > 0
            && (self.timeline.gaps.is_empty() || self.timeline.lost_until > 0))
            .then_some((0, self.timeline.lost_until));
        for &(from, until) in before.iter().chain(&self.timeline.gaps) {
            let (from, until) = (self.column(from), self.column(until));
            // A line at least, however short.
            let (x, width) = (LEFT + from, (until - from).max(2));
            let _ = writeln!(
                self.text,
                "<rect fill=\"url(#lost)\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{BAR}\"/>",
                self.y
            );
        }
        self.y += ROW;
    }

    /// The shares of each column of the last track, as a path for each state.
    fn bars(&mut self, columns: &Columns, parts: u64) {
        let mut paths: [String; STATES.len()] = std::array::from_fn(|_| String::new());
        let tops: Vec<_> = (0..COLUMNS)
            .map(|place| {
                let length = (self.begins(place + 1) - self.begins(place)).max(1) * parts.max(1);
                tops(&columns[place], length)
            })
            .collect();
        let mut place = 0;
        while place < COLUMNS {
            let same = tops[place..].iter().take_while(|other| **other == tops[place]).count();
            let mut below = 0;
            for (path, &top) in paths.iter_mut().zip(&tops[place]) {
                if top > below {
                    let (y, height) = (STEPS - top, top - below);
                    let _ = write!(path, "M{place} {y}h{same}v{height}h-{same}z");
                }
                below = top;
            }
            place += same;
        }
        let y = self.y - ROW;
        let _ = writeln!(self.text, "<g transform=\"translate({LEFT} {y}) scale(1 .5)\">");
        for ((class, _), path) in STATES.iter().zip(paths).filter(|(_, path)| !path.is_empty()) {
            let _ = writeln!(self.text, "<path class=\"{class}\" d=\"{path}\"/>");
        }
        self.text.push_str("</g>\n");
    }

    fn axis(&mut self, grid: &mut String, top: usize) {
        if self.drawn() == 0 {
            return;
        }
        let step = step(self.drawn());
        let bottom = self.y;
        self.y += 16;
        let first = self.begin.div_ceil(step);
        for at in (first..=self.timeline.until / step).map(|number| number * step) {
            let x = LEFT + self.column(at);
            let _ = writeln!(grid, "<path class=\"grid\" d=\"M{x}.5 {}V{bottom}\"/>", top + 8);
            self.words("small tick", x, self.y - 4, &said(at, step));
        }
    }
}

fn columns() -> Columns {
    vec![[0; STATES.len()]; COLUMNS]
}

/// Up to which step each state reaches.
fn tops(column: &[u64; STATES.len()], length: u64) -> [u64; STATES.len()] {
    let (mut all, mut tops) = (0, [0; STATES.len()]);
    for (top, time) in tops.iter_mut().zip(column) {
        all += time;
        let share = u128::from(all) * u128::from(STEPS) / u128::from(length);
        *top = u64::try_from(share).unwrap_or(STEPS).min(STEPS);
    }
    if column[RUNS] > 0 {
        // Seen, however short.
        tops = tops.map(|top| top.max(1));
    }
    tops
}

fn state(does: &Does) -> usize {
    match does {
        Does::Runs(_) => RUNS,
        Does::Ready => 1,
        Does::Waits(wait) => match wait.wants {
            Wanted::Message => 2,
            Wanted::Room => 3,
            Wanted::Partner => 4,
        },
        Does::Outside => 5,
    }
}

/// The distance of marks of such a time: one, two or five of a power of ten, at most eight in all.
fn step(drawn: u64) -> u64 {
    let mut step: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let long = step.saturating_mul(factor);
            if drawn / long < 8 {
                return long;
            }
        }
        step = step.saturating_mul(10);
    }
}

/// A moment, in the unit of the distance to the next.
fn said(at: u64, step: u64) -> String {
    let (unit, one) = match step {
        0..1_000 => ("ns", 1),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    format!("{} {unit}", at / one)
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::timeline::{Channel, Part, Run, Span, Wait, Worker};
    use super::*;

    /// A process that runs in one half of the time and waits in the other; a worker; a channel.
    fn timeline(until: u64) -> Timeline {
        let half = until / 2;
        let wait = Wait { wants: Wanted::Room, channel: 0, number: 7, ended_by: None };
        let spans = vec![
            Span { from: 0, until: half, does: Does::Runs(Run::default()) },
            Span { from: half, until, does: Does::Waits(wait) },
        ];
        let parts = vec![Part { spans, ..Part::default() }];
        Timeline {
            until,
            processes: vec![Process { rank: 0, name: "a < \"b\" & c".to_owned(), id: 1, parts }],
            workers: vec![Worker {
                rank: 0,
                number: 0,
                spans: vec![(0, half, Some(0)), (half, until, None)],
            }],
            channels: vec![Channel {
                rank: 0,
                name: "x".to_owned(),
                id: 3,
                holds: vec![(0, 0), (half, 5)],
            }],
            ..Timeline::default()
        }
    }

    fn paths<'a>(svg: &'a str, class: &str) -> Vec<&'a str> {
        let begin = format!("<path class=\"{class}\" d=\"");
        svg.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn a_state_that_lasts_is_a_bar_from_its_begin_to_its_end() {
        let svg = timeline(1_000_000).svg();
        // The bar of the worker, and that of the process.
        assert_eq!(paths(&svg, "runs"), ["M0 0h345v26h-345z"; 2]);
        assert_eq!(paths(&svg, "room"), ["M345 0h345v26h-345z"]);
        assert!(paths(&svg, "message").is_empty() && !svg.contains("waits for a message"));
        assert!(
            svg.contains(">50 %<") && svg.contains(">0 us<") && svg.contains(">800 us<"),
            "{svg}"
        );
        assert!(svg.contains("waits 500.00µs for room in x"), "{svg}");
    }

    #[test]
    fn states_shorter_than_a_column_are_shares_of_it_and_what_ran_is_seen() {
        let mut short = timeline(69_000_000);
        // A tenth of each column it runs, then it waits; in the last it runs for a moment.
        let spans = (0..690).flat_map(|column| {
            let (from, long) = (column * 100_000, if column == 689 { 1 } else { 10_000 });
            let wait = Wait { wants: Wanted::Message, channel: 0, number: column, ended_by: None };
            [
                Span { from, until: from + long, does: Does::Runs(Run::default()) },
                Span { from: from + long, until: from + 100_000, does: Does::Waits(wait) },
            ]
        });
        short.processes[0].parts[0].spans = spans.collect();
        let svg = short.svg();
        assert_eq!(paths(&svg, "runs")[1], "M0 24h689v2h-689zM689 25h1v1h-1z");
        assert_eq!(paths(&svg, "message"), ["M0 0h689v24h-689zM689 0h1v25h-1z"]);
    }

    #[test]
    fn what_is_lost_is_hatched_and_names_are_escaped() {
        let mut lost = timeline(1_000_000);
        (lost.lost, lost.lost_until) = (12, 500_000);
        lost.workers[0].spans.remove(0);
        lost.processes[0].parts[0].spans.remove(0);
        let svg = lost.svg();
        assert!(svg.contains("12 events lost") && svg.contains("url(#lost)\" x=\"190\""), "{svg}");
        // Of the time that is lost its end is drawn, a twelfth of what is told: 690 / 13 columns.
        assert_eq!(paths(&svg, "room"), ["M53 2h1v24h-1zM54 0h636v26h-636z"]);
        assert!(svg.contains("a &lt; &quot;b&quot; &amp; c") && !svg.contains("a < "), "{svg}");
        assert!(!Timeline::default().svg().contains("NaN"));
    }

    #[test]
    fn of_very_many_those_that_ran_longest_are_drawn() {
        let mut many = timeline(1_000_000);
        let one = many.processes[0].clone();
        many.processes = (0..100_u64)
            .map(|id| {
                let mut process =
                    Process { rank: 0, name: format!("process {id}"), id, ..one.clone() };
                process.parts[0].spans.truncate(1);
                process.parts[0].spans[0].until = 1000 * (id + 1);
                process
            })
            .collect();
        let svg = many.svg();
        assert!(svg.contains("and 60 processes more"), "{svg}");
        assert!(svg.contains(">process 60<") && !svg.contains(">process 59<"), "{svg}");
    }
}
