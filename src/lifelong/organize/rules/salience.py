"""What a sentence is worth keeping for, what kind of knowledge it is, and how sentences make one fact."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from lifelong.organize.rules.sentences import information
from lifelong.organize.rules.third_person import PRONOUN_START
from lifelong.text.words import FIRST_PERSON, FUNCTION, WORD, either, is_praise, weight, word_set

Category = Literal["people", "projects", "preferences", "decisions", "lessons", "events"]

# For text in lower case, unless they say that case is no matter: that is found much sooner.
_PLEASANTRY = re.compile(
    r"(?:thanks?\b|thx|sorry\b|congrat|good (?:luck|to|for|on|job|morning|night|evening|work)|great (?:to|job"
    r"|work)|nice (?:to|work|job)|well done|take care|see (?:you|ya)|talk (?:to|soon|later)|catch (?:you|up)|bye"
    r"|goodbye|have (?:a|fun)\b|keep\b|go for it|hope (?:you|it|that|to hear|everything)|hoping you|glad\b"
    r"|happy (?:to (?:hear|help)|for you|birthday)|sounds?\b|looks? (?:like|so|really|great|good|amazing)"
    r"|can't wait to (?:hear|see (?:what|how|your|you))|welcome|you(?:'re| are) welcome|cheers|i(?:'m"
    r"| am)? (?:\w+ )?(?:glad|proud of you|happy for you|(?:totally |completely )?agree\b|couldn't agree"
    r"|hear you|appreciate (?:it|that|you|your)|feel you|know right|bet\b|can (?:only )?imagine|hope (?:you|it"
    r"|that)|wish you)|that(?: sounds| looks| must|'ll)|love (?:it|that|this|your|the)\b|what an?\b|how (?:nice"
    r"|cool|sweet|lovely)|let(?:'s| me| us) (?:know|keep|do|make|chat|talk|catch|me|us)|let me\b|take a look"
    r"|(?:imagine|suppose|pretend|assum(?:e|ing)|what if|dunno|(?:the )?weather)\b|let's (?:say|pretend|imagine"
    r"|assume)|i know,? (?:it|right|how|that's)\b|check (?:it|this) out|look at|enjoy\b|same here|tell me|me too"
    r"|so (?:do|am) i|no need|don't worry|wishing"
    r"|sending|you (?:got|can do|rock|deserve|should be|never know)|your (?:support|words|kind|encouragement"
    r"|backing|friendship|enthusiasm)|it means a lot|means a lot|this is (?:so|such|really))"
)
_YOU = re.compile(r"\b(?:you|you're|you've|you'd|you'll|your|yourself|u|let's)\b")
_VAGUE = re.compile(
    r"(?:it|it's|it'll|it'd|that|that's|this|these|those|they|they're|there's|there is|there are|he|she|everyone"
    r"|everything|nothing|sometimes|life|people|someone)\b"
)
_ADVICE = re.compile(
    r"\b(?:we (?:all|can|should|need|must|have to|gotta|could)|let's|one should|people (?:should|need)"
    r"|it's (?:important|crucial|essential|vital|key|great|nice|amazing|awesome)|(?:is|are) (?:so "
    r"|really )?(?:important|crucial|essential|vital|key))\b"
)
_FITTED_WITHOUT = word_set("myself we'd")
_FIRST = re.compile(rf"\b(?:{'|'.join(sorted(FIRST_PERSON - _FITTED_WITHOUT))})\b")
_FACT = re.compile(
    r"\b"
    + either(
        r"named|called|moved|moving|live[sd]?|born|from|grew up|married|engaged|divorced|pregnant|job"
        r"|works? (?:at|as|for|in|on)|worked|hired|fired|retired|promot\w+|studi\w+|studying|graduat\w+|degree"
        r"|bought|sold|own|owns|won|lost|broke|joined|quit|signed up|enrolled|started|finished|launched|visited"
        r"|trip|travel\w*|vacation|birthday|anniversary|allergic|vegan|vegetarian|diagnosed|surgery|injur\w+|doctor"
        r"|sister|brother|mom|mother|dad|father|wife|husband|partner|girlfriend|boyfriend|fianc\w+|son|daughter"
        r"|kids?|child\w*|aunt|uncle|cousin|grand\w+|niece|nephew|boss|colleague|coworker|roommate|dog|cat|puppy"
        r"|kitten|pets?|favou?rite|prefer\w*|hate|can't stand|never (?:eat|drink|use)|always (?:eat|drink|use)"
        r"|decided|deciding|chose|choose|going with|plan(?:ning|s|ned)?|deadline|due|appointment|meeting|interview"
        r"|scheduled|booked|reserved|cancel\w*|postponed|costs?|paid|price|because|learned|realized|turns out"
        r"|used to|since|ago"
    )
    + r"\b"
)
_I = re.compile(r"(?:i|i'm|i've|i'd|i'll|my)\b(?!\.)", re.IGNORECASE)
_REQUEST = re.compile(
    r"(?:(?:please|(?:can|could|would)(?= (?:you|u|we|i|someone|anyone|it)\b)|write|make|give|show|tell(?! you)"
    r"|explain|list|create)\b|(?:add|analy[sz]e|book|calculate|check|compare|convert|delete"
    r"|describe|draft|find|fix|generate|help|look|open|recommend|remind|remove|rewrite"
    r"|run|schedule|search|send|suggest|summari[sz]e|translate|try|update|use) (?:me|us|my|our|the|an?|this|that"
    r"|these|those|it|them|some|all|any|for|up|out|how|what|with|both|\d+)\b|here(?: is|'s| are)\b(?! my new\b)"
    r"|(?:who|where|why|which|how|what(?! i\b))\b|i(?:'d| would) (?:like|love) (?:to (?:ask|know|hear|see|learn)"
    r"|you|some|more|a list)|i (?:need|want) (?:you|some (?:help|advice|tips)|help|more|a list|to know)"
    r"|i(?:'m| am|'ve been| was) wondering|i(?:'ll| will) (?:send|give|provide|paste)"
    r"|(?:maybe )?i(?:'ll| will) (?:check (?:it|them|those|that)|look into)|assistant\b)",
    re.IGNORECASE,
)
_WITHOUT_I = re.compile(r"(?:can't(?! (?:wait|believe))|cannot|couldn't|allergic|hate|love|prefer)\b")
_THING = re.compile(
    r"^(?!(?:that|this|these|those|it|thanks?|sounds|great)\b)(?:[a-z]+ing )?"
    r"(?:[\w'-]+(?: (?:\d+|[A-Z][\w'-]*)){0,2}|(?:the|our) [\w' /.-]{2,50}?) "
    r"(?:is|isn't|are|aren't|was|were|has|have|had|uses?|runs?|costs?|needs?|lives?|works?|will|won't|starts?|ends?"
    r"|takes?|leads?|owns?|got|went|became|left|took|gave|made|chose|fails?|breaks?|crash(?:es)?|hangs?|returns?"
    r"|depends?|expects?|requires?|supports?|contains?|does(?:n't)?|[a-z]{3,}ed)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|had|will|came|went|left|took|got|said|says|wants|needs|likes|loves|lives|works|[a-z]{3,}ed)\b"
)
_DATED = re.compile(r"\b(?:19|20)\d\d\b")
_PREFERENCE = re.compile(
    r"\b(?:prefers?|preferred|favou?rites? (?:\w+ ){0,3}(?:is|are|was)|(?:is|are) (?:\w+'s|their) favou?rite"
    r"|would rather|can't stand|hates?|dislikes?|allergic|never (?:eats?|drinks?|uses?))\b"
)
_WISH = re.compile(r"\bwants(?::| (?:the assistant to|to be called)\b)")
_DECISION = re.compile(
    r"\b(?:decided|decisions?|chose|have chosen|going with|went with|settled on|opted|agreed(?: to| on| that|:)"
    r"|picked|ruled out|instead of|switch(?:ed|ing) to)(?!\w)"
)
_LESSON = re.compile(
    r"\b(?:learn(?:ed|t) (?:that|to|how|the hard way)|lesson|turns out|turned out (?:that|to be)|mistake"
    r"|root cause|the (?:fix|trick|problem|cause) (?:is|was)|fail(?:s|ed) because|didn't work|doesn't work"
    r"|does not work|did not work|works? (?:better|best)|workaround|must not)\b"
)


_QUOTED = re.compile(r"[\"\u201c][^\"\u201d]*[\"\u201d]?")


def salience(sentence: str, *, correction: bool = False) -> float:
    """Return how much a sentence, in the speaker's words, deserves to last; 0 if it never does."""
    low = sentence.lower()
    if _PLEASANTRY.match(low):
        return 0.0
    words = WORD.findall(sentence)
    if is_praise(words):
        return 0.0
    total = sum(map(weight, words))
    first = bool(_FIRST.search(low))
    if not first and sentence.count(" ") < 2:
        return 0.0
    if _YOU.search(low) and (not first or _YOU.match(low)):
        total *= 0.3
    elif _VAGUE.match(low):
        total *= 0.7
    if _ADVICE.search(low):
        total *= 0.5
    if first:
        total += 0.8
    total += min(3, len(_FACT.findall(low))) * 1.3
    if _DATED.search(sentence):
        total += 3.0
    return total + 1.5 if correction else total


def category(text: str) -> Category:
    """Return what kind of knowledge a fact about a person is. Quotations are ignored."""
    low = (_QUOTED.sub("", text) if '"' in text or "\u201c" in text else text).lower()
    if _WISH.search(low):
        return "preferences"
    if _DECISION.search(low):
        return "decisions"
    if _PREFERENCE.search(low):
        return "preferences"
    if _LESSON.search(low):
        return "lessons"
    return "people"


def is_request(sentence: str) -> bool:
    """Return whether somebody plainly asks an assistant for something."""
    return bool(_REQUEST.match(sentence))


def is_about_user(sentence: str, *, pasted: bool, reports: bool) -> bool:
    """Return whether a person who talks to an assistant speaks about themselves, or about something decided,
    rather than asks for something. In pasted text only what starts with "I" counts; in a text that asks nothing
    (`reports`) also what is said about others by name."""
    if pasted:
        return bool(_I.match(sentence))
    low = sentence.lower()
    if reports and _NAMED.search(sentence) and _VERB.search(sentence):
        return True
    if any(sign.search(low) for sign in (_FIRST, _DECISION, _LESSON, _DATED)):
        return True
    return bool(_WITHOUT_I.match(low) or _THING.search(sentence))


# What assistants, agents and tools report


_DONE = (
    r"added|adjusted|applied|arranged|asked|backed up|booked|built|bought|called|cancell?ed|changed|checked"
    r"|chose|cleaned|closed|compared|configured|confirmed|converted|copied|created|decided|deleted|deployed"
    r"|disabled|discovered|downloaded|emailed|enabled|exported|filed|finished|fixed|found|generated|implemented"
    r"|imported|increased|installed|learned|learnt|loaded|measured|merged|migrated|moved|noted|opened|ordered"
    r"|paid|patched|posted|published|pushed|ran|rebooked|reduced|refactored|released|removed|renamed|replaced"
    r"|reproduced|reserved|restarted|restored|retried|reverted|rewrote|rolled back|saved|scheduled|sent|set"
    r"|shipped|solved|started|stopped|submitted|switched|tested|tried|turned|updated|upgraded|uploaded|verified"
    r"|written|wrote"
)
_ACTION = re.compile(
    rf"(?:(?:I|we)(?:'ve| have)?\s+)?(?:just |also |now |already |successfully )?(?:{_DONE})\b", re.IGNORECASE
)
_PROMISE = re.compile(
    r"I(?:'ll| will) (?:remind|check back|send|book|follow up|schedule|call|email|order|report|notify|update"
    r"|monitor|watch)\b",
    re.IGNORECASE,
)
_LEARNED = re.compile(
    r"\b(?:fail(?:s|ed|ure|ing)?|broke|broken|crash\w*|error|exception|timed? ?out|root cause|turn(?:s|ed) out"
    r"|because|cannot|can't|lesson|learned|blocks|works|work (?:only|when|if|now|after|with)|doesn't work"
    r"|does not work|didn't work|needs?|requires?|must|fix(?:ed)? by|workaround|decided|decision|passed"
    r"|regression)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:let me|let's|i(?:'ll| will)|i(?:'m| am) going to|now|next|first|then|looking|checking|here)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"error|fail|exception|denied|not found|no such|refused|timed? ?out|cannot|invalid|unable|missing"
    r"|forbidden|exceeded|rejected|unauthori[sz]ed",
    re.IGNORECASE,
)
_CONCRETE = re.compile(
    r"(?:[$€£¥]\s?\d|\b\d[\d.,]*\s?(?:%|EUR|USD|GBP|CHF|euros?|dollars?|pounds?|km|kg|GB|MB|ms|hours?|minutes?"
    r"|nights?|°C)(?:\b|$))"
)
_COMMAND = re.compile(
    r"\b(?:you|your|user|users?'s?|i|i'm|my|we|our|remember|forget|ignore|instructions?|system|assistant|agent"
    r"|prompt|prefers?|always|never|must|should|please|important|memory|note that|from now on|owner|admin"
    r"|password|call(?:ed)? me|likes?|wants?|decided)\b|\[\[|https?:",
    re.IGNORECASE,
)
_MAX_DATA_CHARS = 160


def is_own_action(sentence: str) -> bool:
    """Return whether an assistant says what it did itself, or promises."""
    return bool((sentence[:1] in "IW" and _ACTION.match(sentence)) or _PROMISE.match(sentence))


def is_agent_report(sentence: str) -> bool:
    """Return whether an agent that works alone says what it did, what failed, or what it learned."""
    return bool(_ACTION.match(sentence) or _PROMISE.match(sentence)) or (
        not _TALK.match(sentence) and bool(_LEARNED.search(sentence))
    )


def failure_reason(text: str) -> str:
    """Return the line of a failed tool's output that says why; empty if none does."""
    lines = [line.strip() for line in text[-4_000:].splitlines() if _FAILED.search(line[:400])]
    why = " ".join(lines[-1].split())[:_MAX_DATA_CHARS] if lines else ""
    return "" if _COMMAND.search(why) else why


def is_plain_figure(sentence: str) -> bool:
    """Return whether the output of a tool or a web page is a plain figure about a thing: it instructs nobody,
    and is not about a person."""
    return (
        len(sentence) <= _MAX_DATA_CHARS
        and sentence[:1].isupper()
        and bool(_CONCRETE.search(sentence))
        and not _COMMAND.search(sentence)
    )


# Facts of several sentences


MIN_SALIENCE = 1.5  # of a sentence that may be kept
MIN_WORD_SHARE = 0.4  # of a record's words that its fact should hold
MAX_FACT_CHARS = 300
_EVEN_ODDS, _SLOPE = 12.0, 0.29  # of the likelihood that a fact is asked for
_REPEAT_SHARE = 0.4  # of its likelihood that a record's second fact keeps
_PHOTO_SHARE = 0.6  # of its salience that a caption keeps
_LAST = 1_000_000  # the place of a picture: after all sentences

_ARTICLE = re.compile(r"\b(?:an?|the) ")
_PHOTO = re.compile(r"^(?:an? )?(?:photo(?:graphy|graph)?|picture|image)\b")


@lru_cache(maxsize=256)
def distinct_words(text: str) -> frozenset[str]:
    """Return the distinct words that are not function words, in lower case."""
    return frozenset([word for word in WORD.findall(text.lower()) if len(word) > 1 and word not in FUNCTION])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may be kept. `also_record` is another record that it rests on: the question it answers,
    or the person it means; `inferred`: that person was inferred; `keep`: to be kept in any case."""

    place: int
    text: str
    salience: float
    also_record: int = 0
    inferred: bool = False
    keep: bool = False

    def fits_with(self, after: Candidate) -> bool:
        """Return whether both fit into one fact."""
        return len(self.text) + len(after.text) <= MAX_FACT_CHARS and (
            not self.also_record or not after.also_record
        )

    def joined_with(self, after: Candidate) -> Candidate:
        return Candidate(
            self.place,
            f"{self.text}. {after.text}",
            self.salience + after.salience,
            self.also_record or after.also_record,
            self.inferred or after.inferred,
            self.keep or after.keep,
        )


def photo_candidate(captions: Sequence[str], me: str) -> Candidate:
    shown = " and ".join(_ARTICLE.sub("", _PHOTO.sub("photo", caption.strip())) for caption in captions)
    return Candidate(_LAST, f"{me} shared {shown}", _PHOTO_SHARE * information(shown))


def combined(candidates: Iterable[Candidate], text: str, bonus: float) -> Iterator[tuple[float, list[Candidate]]]:
    """Return the candidates as facts, the best first, each with the likelihood that it will be asked for. A
    record's second fact counts less: knowledge that is spread over the conversation answers more questions."""
    left = sorted(
        (candidate for candidate in candidates if candidate.salience >= MIN_SALIENCE),
        key=lambda candidate: (-candidate.salience, candidate.place),
    )
    words = distinct_words(text) if len(left) > 1 else frozenset()
    share = 1.0
    while left:
        part = _adjacent(_cover(left, words), left[0])
        left = [candidate for candidate in left if candidate not in part]
        likely = _likelihood(sum(candidate.salience for candidate in part) + bonus)
        yield share * likely, part
        share *= _REPEAT_SHARE


def separate(candidates: Iterable[Candidate], bonus: float) -> Iterator[tuple[float, list[Candidate]]]:
    """Return each candidate as a fact, with the likelihood that it will be asked for."""
    return (
        (_likelihood(candidate.salience + bonus), [candidate])
        for candidate in candidates
        if candidate.salience >= MIN_SALIENCE
    )


def _likelihood(salience: float) -> float:
    return 1 / (1 + math.exp(-_SLOPE * (salience - _EVEN_ODDS)))


def joined_text(candidates: Sequence[Candidate], subject: str) -> str:
    """Return the candidates, in order, as one fact that names its subject once."""
    text = candidates[0].text
    for candidate in candidates[1:]:
        if candidate.place == _LAST:
            text += f" ({candidate.text.removeprefix(f'{subject} shared ')})"
        elif text.startswith(f"{subject} ") and candidate.text.startswith(f"{subject} "):
            text += f"; {candidate.text.removeprefix(f'{subject} ')}"
        else:
            text += f". {candidate.text}"
    return f"{text}."


def _adjacent(part: Iterable[Candidate], best: Candidate) -> list[Candidate]:
    """Return the candidates that are adjacent to the best one: after a gap, "it" would mean something else."""
    runs: list[list[Candidate]] = []
    for candidate in sorted(part, key=lambda candidate: candidate.place):
        if not runs or (PRONOUN_START.match(candidate.text) and candidate.place != runs[-1][-1].place + 1):
            runs.append([])
        runs[-1].append(candidate)
    return next(run for run in runs if best in run)


def _cover(candidates: Sequence[Candidate], words: frozenset[str]) -> list[Candidate]:
    """Return the best candidate, and as few more as cover the record's words without too long a fact."""
    part, rest = [candidates[0]], list(candidates[1:])
    if not rest:
        return part
    length = len(candidates[0].text)
    held = words & distinct_words(candidates[0].text)
    needed = MIN_WORD_SHARE * len(words)
    while len(held) < needed and (
        rest := [candidate for candidate in rest if length + len(candidate.text) <= MAX_FACT_CHARS]
    ):
        enough = [candidate for candidate in rest if len(held | words & distinct_words(candidate.text)) >= needed]
        candidate = min(enough, key=lambda candidate: len(candidate.text)) if enough else rest[0]
        rest.remove(candidate)
        part.append(candidate)
        length += len(candidate.text)
        held |= words & distinct_words(candidate.text)
    return part
