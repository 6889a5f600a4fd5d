"""Whether a turn is nothing but greetings, thanks, acknowledgements and questions.

It knows nothing of the rules that it judges: a closed list of courtesies, and whatever is not on it counts as
something said. So it errs towards calling a turn worth something.
"""

from __future__ import annotations

import re
from collections.abc import Collection

APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"

LONGEST = 14  # words of a courtesy

_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…]*")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

_STATED = re.compile(
    r"(?:^|[,;:\u2013\u2014-]\s*|\b(?:and|but|so|because|since)\s+)(?:i|we|my|our)(?:'(?:m|ve|d|ll|re))?\s+"
    r"(?!mean\b|guess\b|wonder\b|think\b|suppose\b|bet\b|see\b|hear\b|know\b|ask\b|may\b|can\b|could\b)\w",
    re.IGNORECASE,
)
"""A clause of a question in which the speaker tells something about themselves."""

_SET_PHRASES = re.compile(
    r"\b(?:"
    r"i(?:'m| am)? (?:(?:so|really|very|just|super|truly) )*(?:glad|happy|sorry|proud|pleased|thrilled|stoked|"
    r"excited|grateful|thankful|relieved|touched|honou?red|impressed)(?: (?:for|of|about|with) (?:you|it"
    r"|that|this|"
    r"us|them|him|her))?(?: (?:to (?:hear|know|see)|(?:that )?you (?:like|liked|love|loved|enjoy|enjoyed|think|"
    r"feel|felt|think so|found))\b(?: (?:it|that|this|so))?)?"
    r"|i (?:(?:really|totally|so|do|completely|can|just|also|sure) )*(?:agree|appreciate|understand|see"
    r"|know|hear|"
    r"hope|bet|guess|think|imagine|mean|feel|wish|get)(?: (?:it|that|this|you|so|what you mean|how you feel))*"
    r"|i (?:(?:really|just|absolutely|totally) )*(?:love|like) (?:it|that|this|them|your \w+)"
    r"|i(?:'ll| will) (?:let you know|keep you posted|keep that in mind|do(?: that)?|see|be there)"
    r"|i can'?t (?:wait|believe (?:it|that))(?: to (?:see|hear)(?: (?:it|that|them))?)?"
    r"|(?:we|let's)(?:'ll)? (?:talk|catch up|chat|speak|keep in touch|stay in touch"
    r"|meet)(?: \w+)?(?: soon| later)?"
    r"|take care|take it easy|good luck|best of luck|have (?:a|an) \w+ (?:day|night|evening|weekend|time"
    r"|one|trip|week)"
    r"|see (?:you|ya)(?: \w+)?|talk (?:to you )?(?:soon|later)|catch you later|ttyl|speak soon"
    r"|stay (?:safe|well|strong)"
    r"|keep (?:it up|going|in touch|me posted|up the \w+ work)|let me know(?: how it goes| if you need anything)?"
    r"|looking forward to (?:it|that|hearing (?:from you|about it|more))|you(?:'re| are) welcome|my pleasure"
    r"|no (?:problem|worries|way|doubt|kidding)|not at all|any ?time|same here|me too|me neither"
    r"|fair enough|got it"
    r"|good (?:morning|afternoon|evening|night|day)|(?:long|been) (?:time|a while)(?:,? no see)?"
    r"|what's (?:up|new)"
    r"|(?:good|great|nice|lovely) to (?:see|hear|meet|talk|chat)(?: (?:from|with|to))?(?: you)?(?: again)?"
    r"|(?:thanks|thank you|thx)(?: (?:so much|a lot|a ton|a bunch|again))?(?: for (?:asking|sharing|that|this|it|"
    r"everything|your \w+|the \w+|listening|telling me|being \w+|letting me know|checking in))?"
    r"|(?:so |really )?(?:glad|happy|proud) (?:that )?(?:you|you're|you've|to) (?:\w+ ){0,2}\w+(?: it| that)?$"
    r"|you(?:'re| are) (?:(?:so|really|such|very|always|truly|an?|doing) )*\w+(?: (?:friend|person|job))?$"
    r"|i (?:couldn't agree more|(?:really |definitely |totally )?(?:will|do|am|can|did))"
    r"|can't wait(?: to see (?:it|that))?"
    r"|(?:keep|kept) (?:me|ya|you) posted|(?:always )?here (?:for you|to help)|you(?:'ve)? (?:got"
    r"|can do) (?:this|it)"
    r"|we(?:'ve)? (?:got|can do) (?:this|it)|go for it|(?:it|that)(?: really)? means (?:a lot|so much)(?: to me)?"
    r"|(?:i )?appreciate (?:it|that|you|your \w+)|your (?:words|support|kindness)|believe in yourself"
    r"|have (?:fun|a blast)"
    r"|of course|for sure|sure thing|i see|makes sense|that makes sense|way to go|well done|good job"
    r"|great job|nice work"
    r")\b",
    re.IGNORECASE,
)


_COURTEOUS = frozenset(
    _WORD.findall(
        """
        hey hi hello hiya howdy yo wow whoa woah oh ooh ah aw aww awww yay woo woohoo hooray yeah yea yep
        yup yes no nope ok okay alright sure haha hahaha hah lol hmm hm mm well thanks thank thx cheers
        congrats congratulations bye goodbye welcome please sorry omg np prob gosh goodness man dude buddy
        pal friend mate absolutely definitely totally exactly indeed certainly agreed agree right true truly
        great good nice cool awesome amazing wonderful fantastic lovely beautiful sweet fun funny incredible
        impressive inspiring inspirational interesting perfect brilliant excellent neat super best fab
        fabulous gorgeous adorable cute exciting stunning delicious yummy touching powerful terrific
        marvelous marvellous rad sick dope lit epic tough rough hard sad bad terrible awful crazy wild it
        it's its that that's thats this there's is was are be been so very really such a an the too also for
        to of and but all just you your you're you've u one ones as at in on with by like if then now again
        always here there what how when much more lot lots bit pretty quite even still ever sounds sound
        looks look seems feels glad happy proud hear hearing know see bet kudos props respect same likewise
        ditto fine deal done stuff thing things idea work job shot pic pics photo picture words kind
        thoughtful means mean world motivating encouraging talented dedicated moving chill
        """
    )
)


def is_small_talk(text: str, names: Collection[str] = ()) -> bool:
    """Whether every sentence is a question or a courtesy; `names` are those of the people who talk."""
    known = {word.lower() for name in names for word in _WORD.findall(name)}
    known |= {short for name in known for short in (name[:3], name[:4])}  # Mel for Melanie
    sentences = _SENTENCE.findall(text.replace(APOSTROPHE, "'"))
    return all(_asks(sentence) or _is_courtesy(sentence, known) for sentence in sentences)


def _asks(sentence: str) -> bool:
    """Whether it asks something, and tells nothing on the way."""
    return sentence.rstrip().endswith("?") and not _STATED.search(sentence.strip())


def _is_courtesy(sentence: str, names: Collection[str]) -> bool:
    if len(_WORD.findall(sentence)) > LONGEST:
        return False
    rest = _WORD.findall(_SET_PHRASES.sub(" ", sentence).lower())
    return all(word in _COURTEOUS or word in names for word in rest)
