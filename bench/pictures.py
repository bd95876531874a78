#!/usr/bin/env python3
"""Counts in pictures of networks what makes them hard to read, beside dagre's layout of the same boxes.

    npm install @dagrejs/dagre            # in any folder, which NODE_PATH names
    NODE_PATH=folder/node_modules bench/pictures.py docs/pictures/wordcount.svg ...

Boxes, arrows and labels are read from our SVG, with their sizes; dagre gets those, and its default distances,
in both directions, of which the one that a page shows larger is taken. Both are counted by the same code:
crossings of arrows, their length, the area, and labels that lie upon another label, a box or a foreign arrow.
"""

import json
import re
import subprocess
import sys

PAGE = (1400, 1000)
DAGRE = """
const dagre = require("@dagrejs/dagre");
const {boxes, edges} = JSON.parse(require("fs").readFileSync(0));
const out = ["LR", "TB"].map(rankdir => {
  const graph = new dagre.graphlib.Graph({multigraph: true});
  graph.setGraph({rankdir});
  boxes.forEach(([x, y, width, height], at) => graph.setNode(at, {width, height}));
  edges.forEach(([from, to, label], at) =>
    graph.setEdge(from, to, {width: label[2], height: label[3], labelpos: "c"}, at));
  dagre.layout(graph);
  const rect = it => [it.x - it.width / 2, it.y - it.height / 2, it.width, it.height];
  return {
    size: [graph.graph().width, graph.graph().height],
    boxes: boxes.map((_, at) => rect(graph.node(at))),
    edges: edges.map(([from, to], at) => {
      const edge = graph.edge({v: from, w: to, name: at});
      return [from, to, rect(edge), edge.points.map(({x, y}) => [x, y])];
    }),
  };
});
console.log(JSON.stringify(out));
"""


def number(name, text):
    return float(re.search(rf' {name}="(-?[\d.]+)"', text)[1])


def path(text):
    """The points of a path, curves in 12 pieces."""
    points = []
    for kind, numbers in re.findall(r"([MLC])([-\d. ]+)", text):
        numbers = [float(n) for n in numbers.split()]
        if kind != "C":
            points.append(tuple(numbers))
            continue
        (x0, y0), (x1, y1, x2, y2, x3, y3) = points[-1], numbers
        for step in range(1, 13):
            t = step / 12
            u = 1 - t
            weights = u**3, 3 * u * u * t, 3 * u * t * t, t**3
            points.append(tuple(sum(w * v for w, v in zip(weights, of))
                                for of in ((x0, x1, x2, x3), (y0, y1, y2, y3))))
    return points


def nearest(boxes, x, y):
    def apart(box):
        left, top, width, height = box
        return max(left - x, x - left - width, 0) + max(top - y, y - top - height, 0)
    return min(range(len(boxes)), key=lambda at: apart(boxes[at]))


def ours(name):
    text = open(name).read()
    boxes, arrows, labels, last = [], [], [], None
    for line in text.splitlines():
        if line.startswith('<rect class="box'):
            boxes.append([number(of, line) for of in ("x", "y", "width", "height")])
        elif line.startswith('<path class="arrow'):
            arrows.append(path(re.search(r' d="([^"]*)"', line)[1]))
        elif line.startswith(('<path class="head', '<path class="backhead')):
            arrows[-1].append(path(re.search(r' d="([^"]*)"', line)[1])[0])
        elif match := re.match(r'<text class="(?:small|grew)" x="([\d.]+)" y="([\d.]+)">(.*)</text>', line):
            x, y, words = float(match[1]), float(match[2]), match[3]
            width = 6.6 * len(re.sub(r"&\w+;", "x", words))
            if last and last[0] == x and abs(y - last[1] - 14) < 0.2:
                rect = labels[-1]
                middle, wide = rect[0] + rect[2] / 2, max(rect[2], width)
                labels[-1] = [middle - wide / 2, rect[1], wide, rect[3] + 14]
            else:
                labels.append([x - width / 2, y - 11, width, 14])
            last = x, y
    assert len(labels) == len(arrows), name
    edges = [[nearest(boxes, *points[0]), nearest(boxes, *points[-1]), label, points]
             for points, label in zip(arrows, labels)]
    head = text[:400]
    return {"size": [number("width", head) - 40, number("height", head) - 76], "boxes": boxes, "edges": edges}


def cross(a, b, c, d):
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def pieces(points):
    return list(zip(points, points[1:]))


def upon(a, b):
    return a[0] + 1 < b[0] + b[2] and b[0] + 1 < a[0] + a[2] and a[1] + 1 < b[1] + b[3] and b[1] + 1 < a[1] + a[3]


def through(points, rect):
    x, y, width, height = rect[0] + 1, rect[1] + 1, rect[2] - 2, rect[3] - 2
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    sides = list(zip(corners, corners[1:] + corners[:1]))
    inside = any(x < px < x + width and y < py < y + height for px, py in points)
    return inside or any(cross(a, b, c, d) for a, b in pieces(points) for c, d in sides)


def counted(picture):
    edges = picture["edges"]
    crossings = sum(
        any(cross(a, b, c, d) for a, b in pieces(one[3]) for c, d in pieces(two[3]))
        for at, one in enumerate(edges) for two in edges[:at])
    length = sum(((a[0] - b[0])**2 + (a[1] - b[1])**2)**0.5 for edge in edges for a, b in pieces(edge[3]))
    collisions = 0
    for at, edge in enumerate(edges):
        collisions += sum(upon(edge[2], other[2]) for other in edges[:at])
        collisions += sum(upon(edge[2], box) for box in picture["boxes"])
        collisions += sum(through(other[3], edge[2]) for other in edges if other is not edge)
    hidden = sum(through(edge[3], box) for edge in edges for at, box in enumerate(picture["boxes"])
                 if at not in edge[:2])
    width, height = picture["size"]
    return [crossings, round(length), f"{width:.0f} × {height:.0f}",
            f"{min(1, PAGE[0] / width, PAGE[1] / height):.2f}", collisions, hidden]


def main():
    print("| picture | by | crossings | length | size | scale | labels upon something | arrows through boxes |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in sys.argv[1:]:
        own = ours(name)
        answer = subprocess.run(["node", "-e", DAGRE], input=json.dumps(own), text=True, check=True,
                                stdout=subprocess.PIPE).stdout
        rivals = [counted(picture) for picture in json.loads(answer)]
        dagre = max(rivals, key=lambda figures: (float(figures[3]), -figures[1]))
        short = name.rsplit("/", 1)[-1].removesuffix(".svg")
        for by, figures in (("kahn", counted(own)), ("dagre", dagre)):
            print(f"| {short} | {by} |", " | ".join(map(str, figures)), "|")


main()
