//! Few boxes of many.
//!
//! 1. Processes whose names differ in numbers alone are one box if no channel joins two of them, and they
//!    have the same neighbours. A short row of such processes stays a row.
//! 2. If that is too much to be read, those whose names differ in one number alone are one box; a family
//!    without channels among its members stays one, because its boxes would only stand side by side.
//! 3. If that is still too much, all whose names differ in numbers alone.
//! 4. If that is still too much, the boxes with the most time and channels stay, and the rest is one.
//!
//! Channels between the same two boxes become one arrow.

use super::{Edge, Picture, Vertex, VertexKind};
use crate::families::{families, numbers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most boxes and arrows that a page shows well.
const MOST_VERTICES: usize = 60;
const MOST_EDGES: usize = 120;
/// The most processes of a family with channels among them that are boxes of their own.
const MOST_IN_A_ROW: usize = 16;

/// Makes the picture small enough to be read.
pub(super) fn folded(picture: &Picture) -> Picture {
    let groups = by_family(picture);
    if let Some(alike) = alike(picture, &groups) {
        let equal = merged(picture, &alike);
        if is_readable(&equal) {
            return equal;
        }
    }
    if let Some(by_number) = by_number(picture, &groups) {
        return by_number;
    }
    let by_name = merged(picture, &groups);
    if is_readable(&by_name) {
        return by_name;
    }
    let mut keep = by_name.vertices.len().min(MOST_VERTICES);
    loop {
        let rest = lumped(&by_name, keep);
        if keep <= 2 || is_readable(&rest) {
            return rest;
        }
        keep = keep * 2 / 3;
    }
}

fn is_readable(picture: &Picture) -> bool {
    picture.vertices.len() <= MOST_VERTICES && picture.edges.len() <= MOST_EDGES
}

/// Parts families until the members of each have the same neighbours; `None` if they come to be too many.
fn alike(picture: &Picture, families: &[usize]) -> Option<Vec<usize>> {
    let is_apart = joined(picture, families);
    let mut in_a_row = vec![0_usize; families.len()];
    for &family in families.iter().filter(|&&family| is_apart[family]) {
        in_a_row[family] += 1;
    }
    if in_a_row.iter().any(|&members| members > MOST_IN_A_ROW) {
        return None;
    }
    let stays = |vertex: &Vertex| {
        matches!(vertex.kind, VertexKind::Component | VertexKind::Choice | VertexKind::Join)
    };
    let vertices = picture.vertices.iter().zip(families).enumerate();
    let (mut groups, mut count) = numbered(vertices.map(|(number, (vertex, &family))| {
        let alone = is_apart[family] || stays(vertex);
        if alone { (true, number) } else { (false, family) }
    }));
    // Each round parts at least one group.
    while count <= MOST_VERTICES {
        let mut near = vec![BTreeSet::new(); groups.len()];
        for edge in &picture.edges {
            near[edge.from].insert((false, groups[edge.to]));
            near[edge.to].insert((true, groups[edge.from]));
        }
        let (parted, more) = numbered(groups.iter().zip(near));
        if more == count {
            return Some(parted);
        }
        (groups, count) = (parted, more);
    }
    None
}

/// For each family whether channels join members of it.
fn joined(picture: &Picture, families: &[usize]) -> Vec<bool> {
    let mut is_joined = vec![false; families.len()];
    for edge in &picture.edges {
        is_joined[families[edge.from]] |= families[edge.from] == families[edge.to];
    }
    is_joined
}

/// Makes a box of those of a family that agree in one of the numbers of their names, the first, the
/// second and so on; of the ways that can be read, the one with the most boxes.
fn by_number(picture: &Picture, families: &[usize]) -> Option<Picture> {
    let names = picture.vertices.iter().map(|vertex| numbers(&vertex.name));
    let names: Vec<_> = names.collect();
    let most = names.iter().map(Vec::len).max().unwrap_or(0);
    let is_joined = joined(picture, families);
    let ways = (0..most).filter(|_| most > 1).filter_map(|place| {
        // Of names with one number each would be alone.
        let number = names.iter().zip(families).map(|(numbers, &family)| {
            numbers.get(place).filter(|_| numbers.len() > 1 && is_joined[family])
        });
        let (groups, count) = numbered(families.iter().zip(number));
        let picture = (count <= MOST_VERTICES).then(|| merged(picture, &groups))?;
        is_readable(&picture).then_some(picture)
    });
    ways.max_by_key(|picture| picture.vertices.len())
}

/// Equal keys as equal numbers, and how many they are.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> (Vec<usize>, usize) {
    let mut numbers = BTreeMap::new();
    let groups = keys.map(|key| {
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    });
    let groups = groups.collect();
    (groups, numbers.len())
}

/// For each vertex, the number of its family.
fn by_family(picture: &Picture) -> Vec<usize> {
    let mut groups = vec![0; picture.vertices.len()];
    let names = picture.vertices.iter().map(|vertex| vertex.name.as_str());
    for (number, family) in families(names).iter().enumerate() {
        for &member in &family.members {
            groups[member] = number;
        }
    }
    // A party is not a process, whatever its name is.
    let kinds = picture.vertices.iter().map(|vertex| vertex.kind);
    numbered(groups.into_iter().zip(kinds)).0
}

/// Keeps the `keep` vertices that matter most, and makes one of the others.
fn lumped(picture: &Picture, keep: usize) -> Picture {
    let mut degree = vec![0_usize; picture.vertices.len()];
    for edge in &picture.edges {
        degree[edge.from] += edge.members;
        degree[edge.to] += edge.members;
    }
    let mut order: Vec<_> = (0..picture.vertices.len()).collect();
    order.sort_by(|&a, &b| {
        let seconds = |vertex: usize| picture.vertices[vertex].seconds.unwrap_or(0.0);
        seconds(b).total_cmp(&seconds(a)).then(Reverse(degree[a]).cmp(&Reverse(degree[b])))
    });
    let mut groups: Vec<_> = (0..picture.vertices.len()).collect();
    let rest = picture.vertices.len();
    for &vertex in &order[keep.saturating_sub(1).min(order.len())..] {
        groups[vertex] = rest;
    }
    let mut lumped = merged(picture, &groups);
    let kept: BTreeSet<_> = order[..keep.saturating_sub(1).min(order.len())].iter().collect();
    let first = (0..rest).find(|vertex| !kept.contains(vertex));
    let before = first.map_or(0, |first| (0..first).filter(|v| kept.contains(v)).count());
    if let Some(vertex) = lumped.vertices.get_mut(before) {
        "all others".clone_into(&mut vertex.name);
    }
    lumped
}

/// Makes one vertex of each group, in the order of their first members.
fn merged<G: Copy + Ord>(picture: &Picture, groups: &[G]) -> Picture {
    let mut places: BTreeMap<G, usize> = BTreeMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut place_of = Vec::with_capacity(groups.len());
    for (vertex, group) in groups.iter().enumerate() {
        let place = *places.entry(*group).or_insert(members.len());
        if place == members.len() {
            members.push(Vec::new());
        }
        members[place].push(vertex);
        place_of.push(place);
    }
    let vertices = members.iter().map(|members| {
        let of = |member: &usize| &picture.vertices[*member];
        let together = families(members.iter().map(|member| of(member).name.as_str()));
        let seconds = members.iter().filter_map(|member| of(member).seconds);
        Vertex {
            name: together[0].name.clone(),
            kind: of(&members[0]).kind,
            members: members.iter().flat_map(|member| of(member).members.clone()).collect(),
            seconds: seconds.reduce(|sum, seconds| sum + seconds),
        }
    });
    let vertices = vertices.collect();
    let mut arrows: BTreeMap<(usize, usize), Vec<&Edge>> = BTreeMap::new();
    for edge in &picture.edges {
        arrows.entry((place_of[edge.from], place_of[edge.to])).or_default().push(edge);
    }
    let edges = arrows.into_iter().map(|((from, to), edges)| {
        let names = families(edges.iter().flat_map(|edge| edge.names.iter().map(String::as_str)));
        let traffic = edges.iter().filter_map(|edge| edge.traffic);
        Edge {
            from,
            to,
            names: names.into_iter().map(|family| family.name).collect(),
            members: edges.iter().map(|edge| edge.members).sum(),
            initial: edges.iter().map(|edge| edge.initial).sum(),
            traffic: traffic.reduce(u64::saturating_add),
            growths: edges.iter().map(|edge| edge.growths).sum(),
        }
    });
    Picture { edges: edges.collect(), vertices }
}
