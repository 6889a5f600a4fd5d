"""Lay out an entity and its neighbours as a graph."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

from lifelong.recall.relations import RelatedEntity, Relations

MARGIN = 20
LABEL_GAP = 16  # from a neighbour to its label beside it
MIN_LINE, MAX_LINE = 1.2, 7.0  # width
CHAR_WIDTH = 7.2  # of a label, about
MIN_LABEL_WIDTH = 105  # beside the outermost neighbour
MAX_LABEL_CHARS = 34


@dataclass(frozen=True, slots=True)
class Node:
    neighbour: RelatedEntity
    x: float
    y: float
    label_y: float
    label_x: float
    anchor: str
    label: str
    thickness: float


@dataclass(frozen=True, slots=True)
class Graph:
    width: int
    height: int
    x: float
    y: float
    label: str
    nodes: list[Node]


def make_graph(relations: Relations, width: int, height: int) -> Graph:
    """Place the entity in the middle and its neighbours around it, the closest on top. The more evidence, the
    thicker the line."""
    heaviest = max(one.weight for one in relations.neighbours)
    count = len(relations.neighbours)
    middle_x, middle_y = width / 2, height / 2
    radius_x, radius_y = min(width * 0.27, middle_x - MIN_LABEL_WIDTH), middle_y - MARGIN - 20
    nodes = []
    for index, one in enumerate(relations.neighbours):
        angle = 2 * pi * index / count - pi / 2
        x, y = middle_x + radius_x * cos(angle), middle_y + radius_y * sin(angle)
        sideways = cos(angle)
        anchor = "start" if sideways > 0.1 else "end" if sideways < -0.1 else "middle"
        aside = {"start": LABEL_GAP, "end": -LABEL_GAP, "middle": 0}[anchor]
        room = (width - x if anchor == "start" else x if anchor == "end" else width) - abs(aside) - MARGIN
        thickness = MIN_LINE + (MAX_LINE - MIN_LINE) * one.weight / heaviest
        beyond = -(thickness + 12) if sin(angle) < 0 else thickness + 20
        nodes.append(
            Node(
                neighbour=one,
                x=round(x, 1),
                y=round(y, 1),
                label_x=round(x + aside, 1),
                label_y=round(y + (beyond if anchor == "middle" else 4), 1),
                anchor=anchor,
                label=_cut(one.name, int(room / CHAR_WIDTH)),
                thickness=round(thickness, 1),
            )
        )
    label = _cut(relations.entity, min(20, int(radius_x / 4.4 - 5)))  # it is drawn within its neighbours
    return Graph(width, height, middle_x, middle_y, label, nodes)


def _cut(name: str, chars: int) -> str:
    chars = max(6, min(chars, MAX_LABEL_CHARS))
    return name if len(name) <= chars else f"{name[: chars - 1].rstrip()}…"
