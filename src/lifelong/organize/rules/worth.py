"""Tell whether a sentence deserves to last, in any language.

It is one sum of signs: what says something exact (numbers, names, days, identifiers), what stands whatever comes
next (`text.standing`) and rare words speak for a sentence; questions, chatter, what is asked for once and what is
only true of a day speak against it. People who talk to each other tell of themselves and of what happened, so a
few signs count otherwise there. The weights were fitted to conversations of many kinds, all at once.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lifelong.organize.rules.subjects import Utterance
from lifelong.text.languages import FIRST, FOREIGN_WORDS, SMALL, guess_language
from lifelong.text.standing import FIRST_PERSON, PASSING, Kind, is_for_once, is_question, standing
from lifelong.text.stems import stem
from lifelong.text.words import COMMON, FUNCTION, PRAISE, WORD, content_words, fold, pattern

MAX_RARE_WORDS, MAX_NAMES, MAX_LIFE = 10, 3, 3  # more of them say no more
FEW_WORDS = 2
AMONG_PEOPLE_OF_SELF = 0.5  # of what telling of oneself counts for: people who talk to each other do so anyway
MAX_SELF_CHARS = 90  # of a plain statement about oneself


class Weights(NamedTuple):
    """What each sign of a sentence counts for."""

    bias: float
    rare_word: float
    few_words: float = -0.7
    number: float = 1.9
    identifier: float = 0.35
    name: float = 1.1
    day: float = 0.45
    stands: float = 1.6
    protects_or_binds: float = 1.6
    question: float = -2.0
    first_person: float = -0.95
    tells: float = -0.15
    laughs: float = -0.75
    passing: float = -0.85
    once: float = -1.0
    you: float = -1.2
    polite: float = -0.5
    beside_question: float = -0.8
    introduces: float = 3.0
    aside: float = -0.5
    life: float = 0.0


TO_ASSISTANT = Weights(bias=-1.35, rare_word=0.24)
BY_ASSISTANT = Weights(bias=-4.2, rare_word=0.55, you=-0.5)
BY_HOST = Weights(bias=-1.85, rare_word=0.24)
AMONG_PEOPLE = Weights(
    bias=-2.0,
    rare_word=0.4,
    number=2.0,
    day=1.0,
    stands=1.2,
    protects_or_binds=0.6,
    first_person=0.6,
    tells=0.6,
    passing=0.3,
    beside_question=0.0,
    life=0.6,
)

_SAYS_LITTLE = (
    frozenset(map(fold, FUNCTION | SMALL | FIRST)) | FOREIGN_WORDS | frozenset(map(fold, COMMON | PRAISE))
)
_SMALL = _SAYS_LITTLE - frozenset(map(fold, COMMON | PRAISE))
_STRONG: frozenset[Kind] = frozenset(
    ("allergy", "diet", "health", "never", "home", "work", "limit", "style", "rule")
)

TEACHES = (
    r"\b(?:lessons?|learn(?:ed|t) (?:that|to|how|the)|turns? out|turned out|root cause|was a mistake|never trust"
    r"|the (?:fix|trick|cause|culprit) (?:is|was)|workaround|gelernt|lehre|ursache|resulta que|leccion|aprendi\w*"
    r"|lecon|la cause)\b"
)
_NUMBER = re.compile(r"\d")
_IDENTIFIER = re.compile(
    r"`[^`\n]+`|\b\w+[_/]\w[\w/.]*|\b\w+\.\w{2,}\b|\b[A-Z]{2,}-?\d+\b|\b\w+@\w|--\w+|\b[a-z]+[A-Z]\w+|#\w+"
)
_NAME = re.compile(
    r"(?<=[^\s.!?…:\n] )(?!(?<=, )[\w'\u2019-]+(?:[,.!?]|$))[A-ZÀ-Þ][\w'\u2019-]+"
)  # not of a listener
_DAY = r"""
\b(?:\d{1,2}(?:st|nd|rd|th)|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july
|august|september|october|november|december|januar|februar|marz|mai|juni|juli|oktober|dezember
|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lunes|martes|miercoles|jueves|viernes|sabados?
|domingos?|enero
|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|(?:lun|mar|mercre|jeu|vendre
|same)di|dimanche|janvier|fevrier|avril|juin|juillet|aout|septembre|octobre|novembre|decembre|birthday|geburtstag
|weekdays?|weekends?|werktags|wochenenden?|entre semana|fin(?:es)? de semana|en semaine|week-ends?
|cumple\w*|anniversaire|\d{1,2}[:.]\d\d)\b"""
_TELLS = r"""
\b(?:was|were|did|went|had|got|made|put|said|asked|saw|\w{3,}ed|hatte|war|gestern|heute?|fui|fuimos|ayer|hoy
|he|ha)\b"""
_LAUGHS = r"""
\b(?:lol|haha+|hehe|jaja\w*|lmao|ha ha|omg|ugh|argh|oof|yay|wow|phew|yikes|oops|moin|spass|ach)\b
|[\U0001F300-\U0001FAFF☀-➿]|!!|\?\?"""
_POLITE = r"""
(?:ok(?:ay)?|k|yes|yep|yeah|no|nope|sure|thanks?|thx|ta|great|good|nice|perfect|fine|cool|right|done
|understood|noted
|will do|got it|hello|hi|hey|morning|bye|lovely|excellent|beautiful|welcome|congratulations|sent|changed
|gracias|vale|hola|hecho|puesto|enhorabuena|danke|gut|ja|nein|hallo|alles klar|geandert|gluckwunsch|merci|salut|oui
|bonjour|d'accord)\b"""
_LIFE = r"""
\b(?:named|called|moved|moving|live[sd]?|born|from|grew up|married|engaged|divorced|pregnant|job|works?|worked
|hired|fired|retired|promot\w+|studi\w+|studying|graduat\w+|degree|bought|sold|own|owns|won|lost|broke|joined
|quit|signed up|enrolled|started|finished|launched|visited|trip|travel\w*|vacation|birthday|anniversary|allergic
|vegan|vegetarian|diagnosed|surgery|injur\w+|doctor|sister|brother|mom|mum|mother|dad|father|wife|husband
|partner|girlfriend|boyfriend|fianc\w+|son|daughter|kids?|child\w*|aunt|uncle|cousin|grand\w+|niece|nephew|boss
|colleague|coworker|roommate|dog|cat|puppy|kitten|pets?|favou?rite|prefer\w*|hate|decided|deciding|chose|choose
|plan(?:ning|s|ned)?|deadline|due|appointment|meeting|interview|scheduled|booked|reserved|cancel\w*|postponed
|costs?|paid|price|because|learned|realized|turns out|used to|since|ago|wohn\w+|gezogen|umzug|geboren
|verheiratet|schwanger|arbeite\w*|studier\w+|gekauft|verkauft|reise|urlaub|geburtstag|schwester|bruder|mutter
|vater|frau|mann|tochter|sohn|kinder?|chef\w*|hund|katze|geplant|termin|kostet|weil|seit|vivo|vive|mudad\w+
|nacid\w+|casad\w+|embarazada|trabaj\w+|estudi\w+|comprad\w+|vendid\w+|viaje|vacaciones|cumpleanos|herman[oa]s?
|madre|padre|mujer|marido|hij[oa]s?|jef[ea]|perr[oa]|gat[oa]|cita|cuesta|porque|desde|habite\w*|demenag\w+
|mariee?|enceinte|travail\w*|etudi\w+|achet\w+|vendu\w*|voyage|vacances|anniversaire|soeur|frere|mere|pere|femme
|mari|fille|fils|patron\w*|chien\w*|chat|rendez-vous|coute|parce|depuis)\b"""
_INTRODUCES = (
    r"(?:[^:?!.]{1,40}: )?(?:(?:and|oh|so|ok|well|btw|und|also|y|et)[, ]+)?"
    r"(?:(?:my|our|the|mein\w*|der|die|mi|el|la|mon|ma|le) (?:[\w']+ ){1,4}"
    r"(?:says?|said|told me|sagt|meint|dice|dijo|dit)(?: that| dass| que)?,? )?"
    r"(?:i'm an? |i am an? |i'm (?:left|right)-handed|mine (?:is|are) |(?:his|her|their) name is "
    r"|(?:every(?:body|one)|people|(?:my )?friends|they|alle|meine freunde|todos|mis amigos|tout le monde|on)"
    r" (?:calls? me|nennen mich|me llaman|m'appelle(?:nt)?) "
    r"|i've been [^.?!]{2,40}\b(?:for|since) "
    r"|i have (?:an?|one|two|three|four|five|\d+) |i've got (?:an?|two|three) |i play |i speak |i was born "
    r"|i own an? |i drive an? |i use |i study |i teach |i hate |my (?:\w+ ){1,3}(?:is|are|lives?"
    r"|works?) |we (?:have|use) "
    r"|ich bin (?:\w+in|\w+er|\w+ist|arzt)\b|ich habe (?:eine?n?|zwei|drei) |ich spiele |ich spreche "
    r"|meine? (?:\w+ ){1,2}(?:ist|heisst|wohnt) |soy |tengo (?:una?|dos|tres) |toco |hablo |me encanta "
    r"|mis? (?:\w+ ){1,2}(?:es|son|se llama|vive) |je suis (?:une? )?\w+(?:eur|euse|er|ere|iste|ien|ienne)\b"
    r"|j'ai (?:une?|deux) |je joue |je parle |m(?:on|a) (?:\w+ ){1,2}est )[^?!]{0,60}!?$"
)
"""How somebody plainly tells of themselves: "I'm a nurse", "my car is a Volvo"."""
_OPENING = r"(?:[^:?!.]{1,40}: )?(?:(?:and|oh|so|ok|well|btw|actually|und|also|ubrigens|y|et|au fait)[, ]+){0,2}"
_SELF = r"(?:(?:i|we|ich|wir|je|nous)\b(?!')|(?:i'm|i've|we're|we've)\b|j'(?=\w))"
_SELF_AFTER = (
    r"(?:(?:me |no |ya no |ya )?(?!(?:no|yo|lo|como|pero|solo|bueno|claro|hecho|vivo|tengo)\b)[a-z]{2,}[^aeiou\W]o"
    r"|(?P<sure>(?:no |ya no )?(?:tengo|tenemos|estoy|estamos|soy|somos|voy|creci|naci)))\b"
)
"""How Spanish says "I": with the end of the verb."""
_OF_THE_TALK = r"""
\b(?:it|that|that's|this|these|those|them|you|your|one|es|das|dies\w*|dir|dich|du|lo|esto|eso|te|ti|ca|cela
|c'est|tu|toi
|if|wenn|si|metaphor\w*|errors?|bugs?|issues?|problems?|questions?|ideas?|tests?|logs?|code|file|files|branch
|commit
|build|fehler|problem
|frage|fragen|idee|ahnung|pregunta|duda|problema|idea|probleme|souci|envie|besoin|hilfe|ayuda|aide)\b"""
_OF_THE_MOMENT = r"""
\s*(?:(?:just|also|really|still|now|already|only|never|don't|do not|didn't|can't|cannot|couldn't|am|are|'m
|have|not|even
|nur|noch|auch|jetzt|gerade|ne|n')\s+)*
(?:\w+ing\b|off|vote|freu\w*|think|thought|guess|suppose|believe|know|knew|see|saw|mean|meant|hope|want
|wanted|need|needed|wish|wonder
|understand
|agree|get|got|tried|try|trying|looking|look|going|gonna|will|would|could|should|can|might|may|must|have to
|had|did|made|said
|say|ask|asked|tell|told|feel|felt|ran|went|came|put|took|found|heard|read|forgot|remember|notice\w*
|appreciate|love to
|like to|getting|using|doing|making|seeing|wondering|thinking|asking|talking|working on|stuck|sure|sorry|glad
|happy|done
|ready|back|confused|fine|good|ok|okay|here|busy|late|curious|worried|excited|hungry|sick|bored|lost|tired
|aware|about
|afraid (?:that|i|we)|able|\w+ed(?! of\b)|glaube|denke|meine|weiss|verstehe|brauche|mochte|wurde|will|kann
|muss|soll\w*|hoffe|suche
|versuche|probiere|sehe|finde|frage|sage|schaue|gucke|bin (?:mir|mude|fertig|da|dran|bereit|gespannt|froh
|nicht sicher)
|hab\w* (?:\w+ ){0,6}ge\w+(?:t|en)|creo|pienso|se|entiendo|necesito|quiero|espero|busco|intento|veo|digo
|pregunto|puedo|debo
|estoy (?:\w+[ai]d[ao]|list[ao]|bien|segur[ao])|recuerdo|supongo|me (?:gusta|parece|refiero|pregunto)|crois
|pense|sais|comprends
|veux|voudrais|peux|dois|espere|cherche|vois|dis|demande|essaie|vais (?:\w+er|\w+ir)|suis (?:fatigue|perdu
|d'accord|desole
|content|pret|sur)\w*|aime (?:bien|ca)|trouve|ai (?:\w+ )?\w*(?:[eu]|is|it))\b"""
_OF_A_LIFE = r"""
\b(?:grew up|was born|were born|lost my|broke my|had a|got an?|got married|adopted|retired|divorced|graduated
|widowed|married
|engaged|never learned|can't (?:swim|drive|cook|read|see|hear|walk|eat)|don't (?:own|have|drive|eat|drink
|smoke|speak)
|learning|studying|expecting|raising|training|jubilad[oa]|aufgewachsen|geboren|kann nicht (?:schwimmen|fahren
|kochen|lesen)
|lerne|aprendiendo|no se (?:nadar|conducir|cocinar)|grandi|ne sais pas (?:nager|conduire|cuisiner))\b"""
_YOU = r"\b(?:you|your|you're|u|du|dir|dich|dein\w*|tu|te|ti|toi|ton|ta|tes)\b"


def worth(sentence: str, utterance: Utterance) -> float:
    """Return how much a sentence of an utterance deserves to last; more than 0: it does."""
    weights = _weights(utterance)
    folded = fold(sentence)
    words = [fold(word) for word in WORD.findall(sentence)]
    telling = [word for word in words if word not in _SMALL]
    rare = sum(word not in _SAYS_LITTLE and not word[0].isdigit() for word in telling)
    kinds = {one.kind for one in standing(sentence, by_host=utterance.role == "host")}
    asks = is_question(sentence)
    of_self = 0 if utterance.role != "person" else 1 if utterance.heard_by_assistant else AMONG_PEOPLE_OF_SELF
    signs = Weights(
        bias=1,
        rare_word=min(rare, MAX_RARE_WORDS),
        few_words=len(telling) <= FEW_WORDS,
        number=bool(_NUMBER.search(sentence)),
        identifier=bool(_IDENTIFIER.search(sentence)),
        name=min(len(_NAME.findall(sentence)), MAX_NAMES),
        day=_has(_DAY, folded),
        stands=bool(kinds) or _has(TEACHES, folded),
        protects_or_binds=not _STRONG.isdisjoint(kinds),
        question=asks,
        first_person=bool(FIRST_PERSON.search(folded)),
        tells=_has(_TELLS, folded),
        laughs=_has(_LAUGHS, folded),
        passing=_has(PASSING, folded),
        once=is_for_once(sentence),
        you=_has(_YOU, folded),
        polite=bool(_compiled(_POLITE).match(folded)),
        beside_question="?" in utterance.text and not asks,
        introduces=bool(_compiled(_INTRODUCES).match(folded)) or _tells_of_self(folded) * of_self,
        aside=sentence[:1] == "[" and sentence[-1:] == "]",
        life=min(len(_compiled(_LIFE).findall(folded)), MAX_LIFE) if weights.life else 0,
    )
    return sum(sign * weight for sign, weight in zip(signs, weights, strict=True))


def _tells_of_self(folded: str) -> bool:
    """Return whether somebody tells how they live: a plain statement in the first person, which is neither of what
    is talked about nor of the moment (what they think, need, try or feel)."""
    opening = _compiled(_OPENING).match(folded)
    said = folded[opening.end() :] if opening else folded
    subject = _compiled(_SELF).match(said)
    spanish = _compiled(_SELF_AFTER).match(said) if not subject else None
    if not subject and not (spanish and (spanish["sure"] or guess_language(said.split()) == "spanish")):
        return False
    if len(said) > MAX_SELF_CHARS or said.endswith("?") or _has(_OF_THE_TALK, said):
        return False
    return _has(_OF_A_LIFE, said) or not _compiled(_OF_THE_MOMENT).match(said, subject.end() if subject else 0)


def acknowledges(sentence: str, utterance: Utterance) -> bool:
    """Return whether an assistant only says that it heard: a sentence that repeats what it replies to, or has next
    to nothing after "noted" or "got it"."""
    if utterance.role != "assistant":
        return False
    polite = _compiled(_POLITE).match(fold(sentence))
    said = set(map(stem, content_words(sentence[polite.end() :] if polite else sentence)))
    if said <= set(map(stem, content_words(utterance.replies_to))):
        return True
    tells = _NUMBER.search(sentence) or _IDENTIFIER.search(sentence) or _NAME.search(sentence)
    return polite is not None and len(said) <= FEW_WORDS and not tells


def protects_or_binds(sentence: str, utterance: Utterance) -> bool:
    """Return whether a sentence tells of health, or of what must or must not be done."""
    return any(one.kind in _STRONG for one in standing(sentence, by_host=utterance.role == "host"))


def _weights(utterance: Utterance) -> Weights:
    match utterance.role:
        case "host":
            return BY_HOST
        case "person" if utterance.heard_by_assistant:
            return TO_ASSISTANT
        case "person":
            return AMONG_PEOPLE
        case _:
            return BY_ASSISTANT


def _has(alternatives: str, folded: str) -> bool:
    return _compiled(alternatives).search(folded) is not None


def _compiled(alternatives: str) -> re.Pattern[str]:
    return pattern(alternatives.replace("\n", ""))
