//! Few boxes of many.
//!
//! 1. Processes whose names differ in numbers alone are one box if no channel joins two of them.
//! 2. If that is too much to be read, the others whose names differ in numbers alone are, too.
//! 3. If that is still too much, the boxes with the most time and channels stay, and the rest is one.
//!
//! Channels between the same two boxes become one arrow.

use super::{Edge, Picture, Vertex};
use crate::families::families;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most boxes and arrows that a page shows well.
const MOST_VERTICES: usize = 60;
const MOST_EDGES: usize = 120;

/// Makes the picture small enough to be read.
pub(super) fn folded(picture: &Picture) -> Picture {
    let groups = by_family(picture);
    let joined: BTreeSet<usize> = picture
        .edges
        .iter()
        .filter(|edge| groups[edge.from] == groups[edge.to])
        .map(|edge| groups[edge.from])
        .collect();
    // A group that is joined within falls apart: each of its members is a group of its own.
    let apart = groups
        .iter()
        .enumerate()
        .map(|(vertex, &group)| if joined.contains(&group) { (1, vertex) } else { (0, group) });
    let equal = merged(picture, &apart.collect::<Vec<_>>());
    if is_readable(&equal) {
        return equal;
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

/// For each vertex, the number of its family.
fn by_family(picture: &Picture) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let mut groups = vec![0; picture.vertices.len()];
    for (number, family) in
        families(picture.vertices.iter().map(|vertex| vertex.name.as_str())).iter().enumerate()
    {
        for &member in &family.members {
            // A party is not a process, whatever its name is.
            let next = numbers.len();
            let key = (number, picture.vertices[member].kind);
            groups[member] = *numbers.entry(key).or_insert(next);
        }
    }
    groups
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
            members: members.iter().map(|member| of(member).members).sum(),
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
