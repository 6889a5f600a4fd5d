"""What a sentence is worth keeping for, and what kind of knowledge it is."""

from __future__ import annotations

import re
from typing import Literal

from lifelong.text.words import FIRST_PERSON, WORD, either, is_praise, weight, word_set

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
_SERMON = re.compile(
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
_UNSAID_I = re.compile(r"(?:can't(?! (?:wait|believe))|cannot|couldn't|allergic|hate|love|prefer)\b")
_THING = re.compile(
    r"^(?!(?:that|this|these|those|it|thanks?|sounds|great)\b)(?:[a-z]+ing )?"
    r"(?:[\w'-]+(?: (?:\d+|[A-Z][\w'-]*)){0,2}|(?:the|our) [\w' /.-]{2,50}?) "
    r"(?:is|isn't|are|aren't|was|were|has|have|had|uses?|runs?|costs?|needs?|lives?|works?|will|won't|starts?|ends?"
    r"|takes?|leads?|owns?|got|went|became|left|took|gave|made|chose|fails?|breaks?|crash(?:es)?|hangs?|returns?"
    r"|depends?|expects?|requires?|supports?|contains?|does(?:n't)?|[a-z]{3,}ed)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_SAYS = re.compile(
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


def worth(sentence: str, *, correction: bool = False) -> float:
    """How much a sentence, still as the speaker said it, deserves to last; 0 for what never does."""
    low = sentence.lower()
    if _PLEASANTRY.match(low):
        return 0.0
    words = WORD.findall(sentence)
    if is_praise(words):
        return 0.0
    told = sum(map(weight, words))
    first = bool(_FIRST.search(low))
    if not first and sentence.count(" ") < 2:
        return 0.0
    if _YOU.search(low) and (not first or _YOU.match(low)):
        told *= 0.3
    elif _VAGUE.match(low):
        told *= 0.7
    if _SERMON.search(low):
        told *= 0.5
    if first:
        told += 0.8
    told += min(3, len(_FACT.findall(low))) * 1.3
    if _DATED.search(sentence):
        told += 3.0
    return told + 1.5 if correction else told


def category(text: str) -> Category:
    """What kind of knowledge a fact about a person is; what is quoted in it is another's."""
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
    """Whether somebody plainly asks an assistant for something."""
    return bool(_REQUEST.match(sentence))


def is_told_to_assistant(sentence: str, *, pasted: bool, reports: bool) -> bool:
    """Whether a person who talks to an assistant tells of themselves, or of something that was settled,
    rather than asks for something. In a text that was pasted only what starts with "I" counts; in one that asks
    nothing (`reports`) also what is said of others by name."""
    if pasted:
        return bool(_I.match(sentence))
    low = sentence.lower()
    if reports and _NAMED.search(sentence) and _SAYS.search(sentence):
        return True
    if any(sign.search(low) for sign in (_FIRST, _DECISION, _LESSON, _DATED)):
        return True
    return bool(_UNSAID_I.match(low) or _THING.search(sentence))
