"""Where the entity and its neighbours stand in a drawing of their relations."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

from lifelong.recall.relations import Neighbour, Relations

EDGE = 20  # between the drawing's edge and what stands in it
ASIDE = 16  # from a neighbour to its label beside it
THINNEST, THICKEST = 1.2, 7.0
LETTER = 7.2  # of a label, in the drawing's units: about as wide as a letter is
BESIDE = 105  # at least, for a label beside the outermost neighbour
ROOM = 34  # letters that a label may have where there is room


@dataclass(frozen=True, slots=True)
class Node:
    neighbour: Neighbour
    x: float
    y: float
    label_y: float
    label_x: float
    anchor: str
    label: str
    thickness: float


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    x: float
    y: float
    label: str
    nodes: list[Node]


def draw(relations: Relations, width: int, height: int) -> Drawing:
    """The entity in the middle, its neighbours around it, the closest on top. The more says so, the thicker."""
    most = max(one.weight for one in relations.neighbours)
    count = len(relations.neighbours)
    middle_x, middle_y = width / 2, height / 2
    radius_x, radius_y = min(width * 0.27, middle_x - BESIDE), middle_y - EDGE - 20
    nodes = []
    for place, one in enumerate(relations.neighbours):
        angle = 2 * pi * place / count - pi / 2
        x, y = middle_x + radius_x * cos(angle), middle_y + radius_y * sin(angle)
        sideways = cos(angle)
        anchor = "start" if sideways > 0.1 else "end" if sideways < -0.1 else "middle"
        aside = {"start": ASIDE, "end": -ASIDE, "middle": 0}[anchor]
        room = (width - x if anchor == "start" else x if anchor == "end" else width) - abs(aside) - EDGE
        thickness = THINNEST + (THICKEST - THINNEST) * one.weight / most
        beyond = -(thickness + 12) if sin(angle) < 0 else thickness + 20
        nodes.append(
            Node(
                neighbour=one,
                x=round(x, 1),
                y=round(y, 1),
                label_x=round(x + aside, 1),
                label_y=round(y + (beyond if anchor == "middle" else 4), 1),
                anchor=anchor,
                label=_cut(one.name, int(room / LETTER)),
                thickness=round(thickness, 1),
            )
        )
    label = _cut(relations.entity, min(20, int(radius_x / 4.4 - 5)))  # it stands within its neighbours
    return Drawing(width, height, middle_x, middle_y, label, nodes)


def _cut(name: str, letters: int) -> str:
    letters = max(6, min(letters, ROOM))
    return name if len(name) <= letters else f"{name[: letters - 1].rstrip()}…"
