"""Tell where a person plays a part: from a message in which they propose to play until they stop.

What they say of themselves in between is the part's ("I am allergic to cats"). A proposal must be unmistakable,
since nothing that follows it is believed: it speaks of a role play, or has both sides play, and gives the person a
part. "Act as a travel guide" gives only the assistant one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from lifelong.text.words import fold, pattern

MAX_READ_CHARS = 600  # of a message: who proposes a play, or ends one, begins with it
MAX_PROPOSALS = 4  # of a message that are looked at
LONGEST_PLAY = timedelta(hours=2)  # nobody says the next day that a play is over

CUES = tuple(
    """play roleplay pretend believe imagin game charact scene real stop enough fun normal halt
    pausa basta genug spass schluss suffit divertid amusant drole arret rollenspiel rolle spiel gespiel stell tun
    echt ernst jueg jug fing hagamos personaje serio joue jouo jeu faisons faire imaginons serieus vraie""".split()
)
"""How a word begins, folded, without which no text proposes or ends a play."""
_BEGINS = r"(?:^|[.!?:;,]\s+|\b(?:ok|okay|hey|now|so|und|jetzt|bueno|vale|alors|allez)\b,?\s+)"
_PROPOSES = (
    r"(?:\b(?:let's|let us|can we|could we|shall we|we (?:could|can)|you want to|wanna"
    r"|i (?:want|would like) us to|i'd like us to|lass uns|lasst uns|wollen wir|konnen wir"
    r"|machen wir|vamos a|podemos|quieres|hagamos|on peut|tu veux|faisons)\s+"
    r"(?:\w+\s+){0,3}?)"
)
_WISHES = (
    r"(?:\b(?:i (?:want|would like) to|i'd like to|i wanna|ich (?:mochte|will|wurde gern)|quiero|quisiera|je veux"
    r"|je voudrais)\s+(?:\w+\s+){0,3}?)"
)
"""How somebody says what they want to do: it may be to play football, so it counts only for a role play."""
_IN_A_ROLE = r"(?:role-?\s?play\w*|rollenspiel\w*|juego de rol(?:es)?|jeux? de role)\b"
_ROLE_PLAY = (
    rf"(?:{_IN_A_ROLE}|(?:pretend|make believe|so tun|tun wir so|fingir|fingamos|como si|faire semblant|semblant"
    r"|comme si)\b)"
)
_PLAY = (
    r"(?:role-?\s?play\w*|rollenspiel\w*|juego de rol(?:es)?|jeux? de role|pretend|make believe|so tun|tun wir so"
    r"|fingir|fingamos|como si|faire semblant|semblant|comme si)\b"
)
_PLAY = (
    r"(?:play|imagine|pretend|spielen|spiel\w* wir|spiel|stell dir vor|juguemos|jugar|jugamos"
    r"|imagina|imaginemos|finge|jouons|jouer|on joue|imaginons)\b"
)
_A = r"(?:(?:an?|the|your|my|der|die|das|den|eine?n?|dein\w*|el|la|una?|tu|le|une|ton|ta)\b|l')"
_NAMED = r"(?:called|named|captain|king|queen|dr|namens|llamad[oa]|nomme)\b"
_MY_PART = (
    r"\b(?:(?:i'm|i am|i'll be|i will be|i'll play|i play|me as|ich bin|ich spiele|yo soy|soy|yo hago de|je suis"
    rf"|je joue|je fais)\s(?:{_A}|{_NAMED})|(?:and me|and i|und ich|y yo|et moi),?\s{_A})"
)
_YOUR_PART = (
    rf"\b(?:(?:you're|you are|you'll be|you will be|you be|you as)\s(?:{_A}|{_NAMED})"
    r"|(?:you play|you act as|du bist|du spielst|sie sind"
    r"|tu eres|eres|tu haces de|tu es|vous etes|tu joues|tu fais|toi)\s)"
)
_GOES_ON = (
    rf"\b(?:back to|continue|resume|go on with|weiter mit|zuruck zu\w*|sigamos con|seguimos con|volvamos a"
    rf"|on reprend|reprenons|on continue|continuons)\b[^.!?\n]{{0,20}}{_IN_A_ROLE}[^.!?\n]*"
    r"\b(?:you play|you be|you'll be|you're|you are|du spielst|du bist|tu haces de|tu eres|tu joues|tu fais"
    r"|tu es)\s"
)
"""How somebody goes on with a role play: "back to our role play, you be the witch"."""
_THE_GAME = r"(?:the |this |our )?(?:game|role-?\s?play\w*|play(?:ing)?|pretending|scene)\b"
_ENDS = (
    rf"\b(?:end of {_THE_GAME}|game over|{_THE_GAME}(?: is|'s) (?:over|finished)"
    rf"|(?<!can't )(?<!not )(?:stop|end|finish|quit|leave|enough of|done with|no more) {_THE_GAME}(?! with\b)"
    r"|out of character|back to (?:reality|real life|the real world)|in (?:real life|reality)|for real now"
    r"|(?:ende|schluss) (?:des|vom|mit dem) (?:rollen)?spiels?|genug gespielt|aus der rolle|im echten leben"
    r"|(?:rollen)?spiel (?:ist )?(?:zu ende|vorbei|aus|beendet)|(?:jetzt|nun|mal) im ernst"
    r"|fin del juego|(?:se acabo|termino|acabemos|terminemos) (?:el|con el|este) juego|fuera del personaje"
    r"|(?:dejemos|deja|dejamos) de jugar|en la vida real|ahora en serio"
    r"|fin du jeu|le jeu est (?:fini|termine)|(?:arretons|on arrete|arrete|stop) (?:le jeu|ce jeu|de jouer)"
    r"|dans la vraie vie|plus serieusement|that was (?:\w+ )?fun|das hat (?:\w+ )?spass gemacht"
    r"|(?:fue|ha sido) (?:muy )?divertido|c'etait (?:\w+ )?(?:amusant|drole)|back to normal"
    r"|(?:that's )?enough (?:of that|of this|now|for (?:now|today))|genug davon|ca suffit|ya basta)\b"
    r"|^\W*(?:(?:ok|okay|haha|alright|right|thanks|thank you|well|so|gut|danke|vale|gracias|bon|merci)\W+){0,2}"
    r"(?:stop|stopp|halt|basta|arrete|pausa|schluss)(?: it| now| please| here| bitte| por favor)?\s*(?:[.!]|$)"
)


class PlayMark(NamedTuple):
    """A record that begins or ends a play, and when it was said."""

    session_id: str
    record_id: int
    at: datetime
    begins: bool


class Plays:
    """Where in sessions a person plays a part."""

    def __init__(self, marks: Iterable[PlayMark]) -> None:
        self._marks: dict[str, list[PlayMark]] = {}
        for one in sorted(marks, key=lambda one: one.record_id):
            self._marks.setdefault(one.session_id, []).append(one)

    def hold(self, session_id: str, record_id: int, at: datetime) -> bool:
        """Return whether a record stands behind a proposal to play, and before the end."""
        before = [one for one in self._marks.get(session_id, ()) if one.record_id <= record_id]
        last = before[-1] if before else None
        return last is not None and last.begins and last.record_id < record_id and at - last.at <= LONGEST_PLAY


def begins_play(text: str) -> bool:
    """Return whether a message goes on with a role play, or proposes to play and gives who writes it a part: in
    the sentence that speaks of a role play, or beside the assistant's part no more than two sentences later."""
    folded = fold(text[:MAX_READ_CHARS])
    if pattern(_GOES_ON).search(folded):
        return True
    proposes = pattern(
        rf"(?:{_PROPOSES}|{_BEGINS})(?:(?P<role>{_ROLE_PLAY})|{_PLAY})|{_WISHES}(?P<wished>{_ROLE_PLAY})"
    )
    for found in islice(proposes.finditer(folded), MAX_PROPOSALS):
        here, *behind = pattern(r"[.!?\n]+").split(folded[found.end() :], 3)
        if (found["role"] or found["wished"]) and pattern(_MY_PART).search(here):
            return True
        near = " ".join((here, *behind[:2]))
        if pattern(_MY_PART).search(near) and pattern(_YOUR_PART).search(near):
            return True
    return False


def ends_play(text: str) -> bool:
    """Return whether a message says that a play is over."""
    return pattern(_ENDS).search(fold(text[:MAX_READ_CHARS])) is not None
