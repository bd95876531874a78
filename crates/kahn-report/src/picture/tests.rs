//! That pictures of random networks can be read: nothing lies upon anything, all is drawn, XML is XML.

use super::layout::{Direction, Rect, placed};
use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Names that are hard to write: with signs of XML, without any character, long, and equal ones.
const NAMES: [&str; 8] = [
    "a",
    "<b>",
    "c & \"d\"",
    "",
    "'e' ]]>",
    "f\u{1}\n",
    "ö 語",
    "a very long name that goes on and on and on",
];

fn random(seed: u64) -> Picture {
    let mut random = Random(seed);
    let mut picture = Picture::default();
    for _ in 0..random.below(24) {
        let kind =
            [VertexKind::Process, VertexKind::Blocking, VertexKind::Outside][random.below(3)];
        let name = format!("{}{}", NAMES[random.below(8)], "z".repeat(random.below(12)));
        let vertex = picture.vertex(&name, kind);
        picture.vertices[vertex].seconds = (random.below(2) == 0).then_some(0.25);
    }
    let vertices = picture.vertices.len();
    for _ in 0..if vertices == 0 { 0 } else { random.below(3 * vertices) } {
        let (from, to) = (random.below(vertices), random.below(vertices));
        picture.edge(from, to, NAMES[random.below(8)], random.below(3) as u64);
        let edge = picture.edges.last_mut().unwrap();
        edge.traffic = (random.below(2) == 0).then(|| random.below(1 << 20) as u64);
        edge.growths = random.below(3) as u64;
    }
    picture
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    let apart = |a: f64, a_size: f64, b: f64, b_size: f64| a + a_size <= b || b + b_size <= a;
    !apart(a.x, a.width, b.x, b.width) && !apart(a.y, a.height, b.y, b.height)
}

#[test]
fn no_box_or_label_lies_upon_another_and_every_arrow_joins_its_boxes() {
    for seed in 0..150 {
        let drawn = fold::folded(&random(seed));
        let layout = placed(&drawn);
        let labels = layout.routes.iter().map(|route| route.label);
        let all: Vec<_> = layout.boxes.iter().copied().chain(labels).collect();
        for (place, a) in all.iter().enumerate() {
            assert!(a.x >= -0.01 && a.y >= -0.01, "{seed}: {a:?}");
            assert!(a.x + a.width <= layout.width + 0.01, "{seed}: {a:?}");
            assert!(a.y + a.height <= layout.height + 0.01, "{seed}: {a:?}");
            for b in &all[..place] {
                assert!(!overlap(a, b), "{seed}: {a:?} lies upon {b:?}");
            }
        }
        for (edge, route) in drawn.edges.iter().zip(&layout.routes) {
            let Some(&(x, y)) = route.points.first() else {
                assert_eq!(edge.from, edge.to, "{seed}");
                continue;
            };
            let (to_x, to_y) = *route.points.last().unwrap();
            for (vertex, x, y) in [(edge.from, x, y), (edge.to, to_x, to_y)] {
                let Rect { x: left, y: top, width, height } = layout.boxes[vertex];
                // As if the direction were to the right.
                let (x, y, left, top, width, height) = match layout.direction {
                    Direction::Right => (x, y, left, top, width, height),
                    Direction::Down => (y, x, top, left, height, width),
                };
                let is_side = (x - left).abs() < 0.01 || (x - left - width).abs() < 0.01;
                assert!(is_side && y > top && y < top + height, "{seed}: {edge:?}");
            }
        }
    }
}

#[test]
fn all_is_drawn_all_names_are_escaped_and_equal_data_give_equal_bytes() {
    for seed in 0..150 {
        let picture = random(seed);
        let svg = picture.svg();
        assert_eq!(svg, random(seed).svg(), "{seed}");
        check_xml(&svg).unwrap_or_else(|why| panic!("{seed}: {why}\n{svg}"));
        let drawn = fold::folded(&picture);
        assert_eq!(svg.matches("<path class=\"arrow").count(), drawn.edges.len(), "{seed}");
        assert_eq!(svg.matches(" class=\"box").count(), drawn.vertices.len(), "{seed}");
        let members: usize = drawn.vertices.iter().map(|vertex| vertex.members.len()).sum();
        assert_eq!(members, picture.vertices.len(), "{seed}");
        let members: usize = drawn.edges.iter().map(|edge| edge.members).sum();
        assert_eq!(members, picture.edges.len(), "{seed}");
    }
}

/// A reader of the XML that pictures are made of: elements nest, attributes are quoted, no other
/// ampersand but that of an entity, no character that XML refuses.
fn check_xml(text: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    let check_text = |text: &str| {
        let refused = |c: char| (c < ' ' && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
        if text.contains(refused) || text.contains("]]>") {
            return Err(format!("a character in `{text}`"));
        }
        for behind in text.split('&').skip(1) {
            let entity = behind.split(';').next().unwrap_or_default();
            if !["amp", "lt", "gt", "quot"].contains(&entity) {
                return Err(format!("no entity in `{text}`"));
            }
        }
        Ok(())
    };
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start])?;
        let end = rest[start..].find('>').ok_or("an element without end")? + start;
        let element = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = element.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("`{name}` ends, and was not the last to begin"));
            }
            continue;
        }
        let name = element.split([' ', '/']).next().unwrap_or_default();
        check_text(element)?;
        if element.contains('<') || element.matches('"').count() % 2 == 1 {
            return Err(format!("attributes of `{element}`"));
        }
        if !element.ends_with('/') {
            open.push(name);
        }
    }
    match open.last() {
        None => check_text(rest),
        Some(name) => Err(format!("`{name}` does not end")),
    }
}

#[test]
fn the_reader_of_xml_refuses_what_is_none() {
    for wrong in ["<a>", "<a></b>", "<a>&</a>", "<a>\u{1}</a>", "<a b=\">", "<a"] {
        assert!(check_xml(wrong).is_err(), "{wrong}");
    }
    assert_eq!(check_xml("<a b=\"&lt;\"><c/>d</a>\n"), Ok(()));
}

#[test]
fn what_leads_back_is_drawn_as_feedback() {
    let mut picture = Picture::default();
    let [split, work] = ["split", "work"].map(|name| picture.vertex(name, VertexKind::Process));
    picture.edge(split, work, "tasks", 0);
    assert!(!picture.svg().contains("arrow back"));
    picture.edge(work, split, "again", 1);
    let svg = picture.svg();
    assert_eq!(svg.matches("arrow back").count(), 1);
    assert!(svg.contains("dashed arrow: feedback") && svg.contains("1 initial"));
}

#[test]
fn equal_processes_are_one_box_and_neighbours_of_one_name_only_if_they_are_many() {
    let farm = |parts: usize| {
        let mut picture = Picture::default();
        let deal = picture.vertex("deal", VertexKind::Process);
        for part in 0..parts {
            let work = picture.vertex(&format!("work {part}"), VertexKind::Process);
            picture.edge(deal, work, &format!("tasks {part}"), 0);
        }
        fold::folded(&picture)
    };
    let folded = farm(8);
    assert_eq!((folded.vertices.len(), folded.edges.len()), (2, 1));
    assert_eq!(
        (folded.vertices[1].name.as_str(), folded.vertices[1].members.len()),
        ("work 0…7", 8)
    );
    let chain = |length: usize| {
        let mut picture = Picture::default();
        for place in 0..length {
            picture.vertex(&format!("hop {place}"), VertexKind::Process);
            if place > 0 {
                picture.edge(place - 1, place, &format!("to {place}"), 0);
            }
        }
        fold::folded(&picture)
    };
    // Of equal names, but with neighbours that are not.
    let mut picture = Picture::default();
    let names = ["deal 0", "deal 1", "read", "write"];
    let [one, two, read, write] = names.map(|name| picture.vertex(name, VertexKind::Process));
    for (from, to) in [(read, one), (read, two), (one, write)] {
        picture.edge(from, to, "on", 0);
    }
    assert_eq!(fold::folded(&picture).vertices.len(), 4);
    picture.edge(two, write, "on", 0);
    assert_eq!(fold::folded(&picture).vertices.len(), 3);
    assert_eq!(chain(9).vertices.len(), 9);
    assert_eq!([17, 900].map(|length| chain(length).vertices.len()), [1, 1]);
}

#[test]
fn many_with_two_numbers_in_their_names_are_boxes_by_one_of_them() {
    let mut picture = Picture::default();
    for vertex in 0..40 * 6 {
        picture.vertex(&format!("{}.{}", vertex / 6, vertex % 6), VertexKind::Process);
        if vertex >= 6 {
            picture.edge(vertex - 6, vertex, "on", 0);
        }
    }
    let folded = fold::folded(&picture);
    assert_eq!((folded.vertices.len(), folded.edges.len()), (40, 39));
    assert_eq!(folded.vertices[3].name, "3.0…5");
}

/// Rounds as those of a cipher: boxes in a row with 16 times 8 between each two of it.
#[test]
fn what_would_only_stand_side_by_side_is_one_box() {
    let mut picture = Picture::default();
    let mut last = picture.vertex("text", VertexKind::Process);
    for round in 0..16 {
        let names = ["deal", "again", "and again", "join"];
        let names = names.map(|name| format!("round {round}/{name}"));
        let [deal, again, and_again, join] =
            names.map(|name| picture.vertex(&name, VertexKind::Process));
        for (from, to) in [(last, deal), (deal, again), (again, and_again)] {
            picture.edge(from, to, "on", 0);
        }
        for number in 0..8 {
            let name = format!("round {round}/box {number}");
            let substitute = picture.vertex(&name, VertexKind::Process);
            picture.edge(and_again, substitute, &format!("to {name}"), 0);
            picture.edge(substitute, join, &format!("from {name}"), 0);
        }
        last = join;
    }
    let folded = fold::folded(&picture);
    assert_eq!((folded.vertices.len(), folded.edges.len()), (6, 6));
    let boxes = folded.vertices.iter().find(|vertex| vertex.members.len() == 128);
    assert_eq!(boxes.map(|vertex| vertex.name.as_str()), Some("round 0…15/box 0…7"));
}

/// What a path of SVG has of numbers.
fn coordinates(path: &str) -> Vec<f64> {
    let path = path.split(" d=\"").nth(1).and_then(|path| path.split('"').next()).unwrap();
    let numbers = path.split([' ', 'M', 'L', 'C', 'z']).filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn lines_end_where_their_heads_begin_and_heads_are_broader() {
    let mut arrows = 0;
    for seed in 0..150 {
        let svg = random(seed).svg();
        let lines: Vec<_> = svg.lines().collect();
        let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("<path class=\"arrow"));
        for pair in pairs {
            let (line, head) = (coordinates(pair[0]), coordinates(pair[1]));
            let thick = pair[0].split("stroke-width=\"").nth(1).unwrap().split('"').next();
            let thick: f64 = thick.unwrap().parse().unwrap();
            let [tip_x, tip_y, left_x, left_y, right_x, right_y] = head[..] else {
                panic!("{seed}: {}", pair[1]);
            };
            let base = (f64::midpoint(left_x, right_x), f64::midpoint(left_y, right_y));
            let end = (line[line.len() - 2], line[line.len() - 1]);
            let between = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1);
            assert!(between(end, base) < 0.3, "{seed}: {pair:?}");
            assert!(between(end, (tip_x, tip_y)) > 9.0, "{seed}: {pair:?}");
            assert!(
                between((left_x, left_y), (right_x, right_y)) > thick + 5.0,
                "{seed}: {pair:?}"
            );
            arrows += 1;
        }
    }
    assert!(arrows > 1000, "{arrows}");
}

#[test]
fn components_stay_boxes_of_their_own_and_joins_are_dots() {
    let mut picture = Picture::default();
    let entry = picture.vertex("in", VertexKind::Outside);
    let choice = picture.vertex("|", VertexKind::Choice);
    let join = picture.vertex("", VertexKind::Join);
    picture.edge(entry, choice, "", 0);
    for number in 0..3 {
        let filter = picture.vertex(&format!("[a -> {number}]"), VertexKind::Component);
        picture.edge(choice, filter, "", 0);
        picture.edge(filter, join, "", 0);
    }
    let svg = picture.svg();
    assert_eq!(svg.matches("<rect class=\"box").count(), 4, "{svg}");
    assert_eq!(svg.matches("<path class=\"box").count(), 1, "{svg}");
    assert_eq!(svg.matches("<circle class=\"box").count(), 1, "{svg}");
    assert!(svg.contains("5 components, 1 party outside the network, 7 streams"), "{svg}");
}

/// The inner part of a long edge is straight, and what is too wide for a page goes downwards.
#[test]
fn long_edges_are_straight_and_long_chains_go_downwards() {
    let chain = |length: usize| {
        let mut picture = Picture::default();
        for place in 0..length {
            picture.vertex(&"x".repeat(place + 1), VertexKind::Process);
            if place > 0 {
                picture.edge(place - 1, place, "a channel with a long name", 0);
            }
        }
        picture.edge(0, length - 1, "past all", 0);
        placed(&picture)
    };
    for (length, direction) in [(4, Direction::Right), (8, Direction::Down)] {
        let layout = chain(length);
        assert_eq!(layout.direction, direction);
        let points = &layout.routes.last().unwrap().points;
        let inner = &points[2..points.len() - 2];
        let across = |&(x, y): &(f64, f64)| if direction == Direction::Right { y } else { x };
        assert!(inner.len() >= 8 - 2);
        assert!(inner.iter().all(|point| (across(point) - across(&inner[0])).abs() < 0.01));
    }
}

/// Shapes that are thin by nature, up to what is folded: a chain, a star to and from its middle, boxes
/// without any channel, a ladder, and edges at random. No two names are of one family.
fn shapes() -> Vec<(String, Picture)> {
    let letters = |number: usize| {
        let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap());
        format!("process {}{}", letter(number / 26), letter(number))
    };
    let mut shapes = Vec::new();
    for count in [2, 3, 5, 8, 12, 16, 23, 37, 50, 59] {
        let mut shape = |name: &str, edges: Vec<(usize, usize)>| {
            let mut picture = Picture::default();
            for number in 0..count {
                picture.vertex(&letters(number), VertexKind::Process);
            }
            for (from, to) in edges {
                picture.edge(from, to, &format!("{} to {}", letters(from), letters(to)), 0);
            }
            shapes.push((format!("{name} of {count}"), picture));
        };
        shape("chain", (1..count).map(|to| (to - 1, to)).collect());
        shape("ring", (0..count).map(|from| (from, (from + 1) % count)).collect());
        shape("star from", (1..count).map(|to| (0, to)).collect());
        shape("star to", (1..count).map(|from| (from, 0)).collect());
        shape("nothing", Vec::new());
        shape("ladder", (2..count).flat_map(|to| [(to - 2, to), (to - 1, to)]).collect());
        for seed in 0..4 {
            let mut random = Random(seed);
            let edges = (0..count + count / 2).map(|_| (random.below(count), random.below(count)));
            shape(&format!("random, {seed},"), edges.collect());
        }
    }
    shapes
}

/// Whatever the network is, its picture suits a page: it is on it as large as it is, or neither a thread
/// nor a ribbon. Nothing lies upon anything, and no straight part of an arrow goes through a box.
#[test]
fn no_picture_is_a_thread_or_a_ribbon() {
    let random = (0..150).map(|seed| (format!("random {seed}"), random(seed)));
    let mut cut = 0;
    for (what, picture) in shapes().into_iter().chain(random) {
        let layout = placed(&fold::folded(&picture));
        let svg = picture.svg();
        let size = |of: &str| -> f64 {
            let number = svg.split(&format!(" {of}=\"")).nth(1).unwrap();
            number.split('"').next().unwrap().parse().unwrap()
        };
        let (width, height) = (size("width"), size("height"));
        let fits = layout.width <= 1400.0 && layout.height <= 1000.0;
        let is_sane = width <= 3.0 * height && height <= 3.0 * width;
        assert!(fits && layout.tracks == 0 || is_sane, "{what}: {width} by {height}");
        cut += usize::from(layout.tracks > 0);
        let labels = layout.routes.iter().map(|route| route.label);
        let all: Vec<_> = layout.boxes.iter().copied().chain(labels).collect();
        for (place, a) in all.iter().enumerate() {
            let upon = all[..place].iter().find(|b| overlap(a, b));
            assert_eq!(upon, None, "{what}: {a:?}");
        }
        for (route, pair) in layout
            .routes
            .iter()
            .flat_map(|route| route.points.windows(2).map(move |pair| (route, pair)))
        {
            let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
            let (is_level, is_upright) = ((y - to_y).abs() < 0.05, (x - to_x).abs() < 0.05);
            if is_level == is_upright {
                continue;
            }
            // As thin as it is, and not the ends, which lie on boxes.
            let (x, to_x, y, to_y) = (x.min(to_x), x.max(to_x), y.min(to_y), y.max(to_y));
            let (width, height) = (to_x - x - 0.02, to_y - y - 0.02);
            let line =
                Rect { x: x + 0.01, y: y + 0.01, width: width.max(0.0), height: height.max(0.0) };
            let through = layout.boxes.iter().find(|a| overlap(a, &line));
            assert_eq!(through, None, "{what}: {route:?}");
        }
    }
    assert!(cut > 20, "{cut} of them are in bands");
}

/// As many processes as the largest network of the experiments has, whose names tell nothing.
#[test]
fn a_huge_network_becomes_few_boxes_and_the_picture_says_so() {
    let mut random = Random(1);
    let mut picture = Picture::default();
    let count = 131_084;
    let letters = |mut number: usize| {
        let mut name = String::new();
        for _ in 0..5 {
            name.push(char::from(b'a' + u8::try_from(number % 26).unwrap()));
            number /= 26;
        }
        name
    };
    for vertex in 0..count {
        picture.vertex(&letters(vertex), VertexKind::Process);
    }
    for vertex in 0..count {
        picture.edge(vertex, random.below(count), "next", 0);
    }
    let svg = picture.svg();
    assert!(svg.len() < 200_000 && svg.contains(">all others<"), "{} bytes", svg.len());
    assert!(svg.contains("131084 processes, 131084 channels, drawn as "));
}
