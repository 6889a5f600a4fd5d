"""What is seen of one fact, and what two facts have in common: the features of the learned judgement in
`conflicts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

from lifelong.text.dates import MONTH_WORDS, WEEKDAYS
from lifelong.text.stems import canonical
from lifelong.text.words import NUMBER_WORDS, word_set

_DOMAINS = """
home: live reside residence move relocate settle house flat apartment condo studio bungalow cottage townhouse
 loft dorm room home address neighbourhood neighborhood street suburb town city village country landlord tenant
 lease rent mortgage downstairs upstairs unpack boxes keys hometown based flatmate roommate housemate abroad
 emigrate downsize squat couch van houseboat cabin farmhouse
job: work job career employ employer employee boss manager company firm office startup hire fire sack layoff
 redundant quit resign retire promote promotion badge notice shift salary wage profession occupation role
 position intern apprentice freelance contractor consultant self-employed unemployed workplace desk colleague
 coworker payroll gig client agency department teach nurse
school: study student school university college degree major course class semester term exam thesis phd master
 bachelor graduate graduation enroll enrol dropout lecture tutor homework teacher grade scholarship campus
 kindergarten nursery preschool freshman sophomore
love: marry married marriage wife husband spouse partner girlfriend boyfriend fiance fiancee engage engaged
 engagement divorce divorced single date dating split separate separated widow wedding relationship ex couple
 breakup ring honeymoon
family: mother father mum mom dad parent sister brother sibling son daughter kid child baby toddler twin
 pregnant expecting birth born grandma grandpa grandmother grandfather uncle aunt cousin niece nephew in-law
 stepson stepdaughter adopt foster triplet
pet: dog cat puppy kitten rabbit hamster parrot budgie horse pony goldfish fish tortoise turtle guinea lizard
 gecko snake hen chicken goat vet leash shelter breed terrier labrador retriever poodle collie beagle tabby
 aquarium
health: allergy allergic asthma diabetes diagnosis diagnose doctor hospital surgery operation medication
 medicine pill tablet dose mg insulin inhaler blood pressure cholesterol injury injured knee ankle wrist
 shoulder back cast crutches brace glasses contacts hearing therapy therapist physio migraine headache anxiety
 depression illness sick recover heal pregnant vaccine intolerant intolerance symptom chemo remission cancer ill
 flu fever pain
food: eat vegan vegetarian pescatarian meat fish diet gluten dairy lactose sugar keto breakfast lunch dinner
 meal snack recipe cook bake restaurant cuisine spicy takeaway pizza pasta sushi curry cheese bread salad soup
 nuts peanut shellfish egg beef pork chicken
drink: coffee tea beer wine alcohol sober juice soda cola espresso latte cappuccino matcha decaf whisky whiskey
 gin rum cider smoothie kombucha water milk cocoa oat
smoke: smoke cigarette vape nicotine tobacco cigar smoker
sport: run running marathon jog swim swimming gym yoga pilates football soccer basketball tennis golf climb
 climbing bouldering cycle cycling bike hike hiking ski skiing surf surfing row rowing box boxing judo karate
 crossfit training coach team match league pace lap squash badminton volleyball hockey cricket rugby skateboard
 dance ballet weights lift squat workout
music: guitar piano violin cello drum drums bass flute saxophone trumpet ukulele sing choir band concert album
 vinyl playlist spotify song rehearsal gig orchestra clarinet harp banjo
car: car drive driving truck van suv sedan hatchback motorbike motorcycle scooter vespa tesla toyota honda volvo
 ford bmw audi vw volkswagen golf skoda subaru mazda fiat renault peugeot kia hyundai nissan corolla civic prius
 garage parking mileage diesel electric hybrid tyre licence license lease
commute: commute bus train tram metro subway bike bicycle walk ferry carpool drive ride tube e-bike
money: budget cost price fee rent salary wage income pay loan debt mortgage savings invest investment
 subscription bill bills discount tax insurance premium deposit refund invoice bank account card credit euro
 euros dollar dollars pound pounds cents owe earn spend charge afford
phone: phone iphone android pixel samsung number carrier plan sim tablet ipad laptop macbook thinkpad computer
 pc monitor keyboard headphones earbuds watch smartwatch kindle camera lens console playstation xbox switch
 charger
contact: email phone call text sms message whatsapp signal telegram slack teams discord letter zoom mail address
 number
meeting: meeting standup stand-up sync retro review call appointment session workshop seminar class lesson
 rehearsal practice conference webinar interview demo kickoff check-in agenda invite calendar schedule slot
event: party wedding birthday anniversary trip holiday vacation flight concert festival reunion picnic barbecue
 bbq tournament race marathon ceremony gala fair exhibition show premiere opening launch funeral christening
 dinner camp retreat tour cruise
deadline: deadline due date launch release submit submission ship deliver delivery milestone expire expiry
 freeze cutoff application deploy
project: project repo repository codebase feature ticket issue bug branch sprint backlog roadmap milestone
 release version app service api prototype mvp website site page
infra: server database db cluster kubernetes docker aws gcp azure postgres postgresql mysql mongodb mongo redis
 sqlite kafka rabbitmq elasticsearch nginx cron job pipeline ci deploy deployment production staging backup disk
 cpu memory ram region host hosting cloud queue worker cache bucket s3 log logs alert dashboard grafana datadog
 prometheus jenkins terraform lambda heroku vercel export import nightly sync script
code: python java javascript typescript rust go golang ruby php kotlin swift scala haskell elixir c++ c# react
 vue angular svelte django flask rails fastapi spring node editor vim emacs vscode neovim pycharm ide linter
 formatter test tests library framework language indent tabs spaces
tool: notion obsidian evernote trello jira asana linear monday airtable excel sheets spreadsheet word docs figma
 sketch photoshop canva slack teams zoom github gitlab bitbucket confluence todoist app software tool vendor
 supplier provider crm salesforce hubspot mailchimp stripe paypal
owner: own owner lead leads leader manage manager head chair captain maintain maintainer responsible charge run
 director president treasurer secretary chairman chairwoman principal editor admin administrator supervisor
 foreman oversee handle coordinate coordinator point contact
name: name call called nickname rename renamed title surname maiden alias known brand branded rebrand codename
 handle username
place: at in on office building floor room shelf drawer cupboard garage basement attic cellar shed desk locker
 warehouse venue location hall gym studio kitchen fridge freezer closet wardrobe safe box folder corner hook
time: morning evening afternoon night noon midnight monday tuesday wednesday thursday friday saturday sunday
 daily weekly monthly fortnightly biweekly weekday weekend hourly hour o'clock am pm early late
colour: red green blue yellow black white grey gray orange purple pink brown blonde beige teal turquoise navy
 maroon lilac cream silver gold dye paint painted hair wall
hair: hair beard moustache bangs fringe curly straight shave haircut bald ponytail
language: english german french spanish italian portuguese dutch polish russian chinese mandarin cantonese
 japanese korean turkish arabic hindi swedish norwegian danish finnish greek hebrew welsh irish lesson fluent
 speak duolingo
faith: church mosque temple synagogue catholic christian muslim jewish buddhist hindu atheist pray religion
 faith baptised
club: club member membership society committee board volunteer charity union association troop choir league
 subscribe join
media: read book novel series show season episode podcast film movie watch game newspaper magazine netflix hbo
 author chapter kindle audiobook
plants: garden plant plants tomato tomatoes rose roses allotment greenhouse lawn tree compost orchid cactus
 basil herb herbs bee bees hive
sleep: sleep wake alarm bed bedtime nap insomnia snooze early bird owl
policy: rule policy allow allowed require required ban banned forbid forbidden permit permitted mandatory
 optional limit must approve approval dress code remote hybrid office hours
status: open closed broken fixed working down up offline online blocked pending merged resolved done finished
 complete ready failing passing approved rejected active inactive paused archived deprecated enabled disabled
 leak leaking crash stuck available unavailable empty full sold missing lost found
age: age old year years turn turned birthday born
size: tall height weigh weight kilo kilos kg pounds cm metre metres size inch inches capacity
score: score record pb personal best rating rank ranking points level handicap elo time pace grade mark
count: count number total members people participants guests students employees subscribers followers users
 customers seats copies
"""


_UBIQUITOUS = {"be", "hav", "do"}  # the stems of words in every sentence


def word_groups(text: str) -> dict[str, tuple[str, ...]]:
    """Return the groups of each word and of its stem. A group is a line `name: words`, continued on indented
    lines."""
    found: dict[str, dict[str, None]] = {}
    for group in text.replace("\n ", " ").strip().splitlines():
        name, _, words = group.partition(":")
        for word in words.split():
            for form in {word, canonical(word)} - _UBIQUITOUS:
                found.setdefault(form, {})[name] = None
    return {word: tuple(names) for word, names in found.items()}


DOMAINS = word_groups(_DOMAINS)


MAX_FACT_CHARS = 600

_WORD = re.compile(
    r"(?<![^\W\d_]\.)[$€£]?\d+(?:[.,:/]\d+)*(?:st|nd|rd|th|am|pm|k|%|km|kg|mg|h|m)?\b|[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"
)
_YEAR = re.compile(r"(?:19|20)\d\d")

FUNCTION_WORDS = word_set(
    """a an the of to in on at by for with from into onto as and or but so is are was were be been being am has
    have had do does did will would can could it its this that these those there here he she they them his her
    their him who which what when where we us our i me my you your s t than then very just about because while
    after before up out off over down through all some any every each one own if not no never also too"""
)
AUXILIARIES = word_set(
    """is are was were be been being am has have had do does did will would can could should may might must isn't
    aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't won't can't"""
)
_RECENCY = word_set("now currently today nowadays lately recently new newly finally")
_BEFORE_VERB = AUXILIARIES | word_set("not now also still just really finally")
_ARTICLES = word_set("the a an our my his her their")
_DAYS = frozenset(WEEKDAYS)
_NUMBERS = {word: str(number) for word, number in NUMBER_WORDS.items() if number <= 12 and number != 1}
_ASPECTS = """
end: quit stop leave end finish cease resign retire drop ditch dump abandon scrap cancel axe shelve kill
 terminate close shut sell lose die passed break split divorce separate expire lapse cut remove delete uninstall
 return gave gone over done bin toss donate evict fire sack laid fold dissolve disband wind kick chuck bail nix
 pull withdraw reject called off farewell goodbye last final behind former ex wrapped crash smash wreck stolen
 rehome sworn
change: move switch change migrate replace upgrade downgrade update convert swap trade transfer shift rename
 relocate reassign promote demote renegotiate revise adjust amend rework redo transition become turn went
 exchange renew rebrand
reschedule: postpone delay push bump reschedule rebook slip defer brought forward earlier later moved extend
 shorten shift advance
amount: raise increase rise lower drop reduce decrease cut grow fall double halve shrink expand climb jump hike
 add gain shed
start: start begin join adopt buy get take sign hire open land pick enrol enroll launch found appoint elect
 marry
now: now nowadays currently today these days lately since from onward onwards anymore longer new newly recently
 finally already
correct: actually correction wrong mistake mistaken mixed misremembered misspoke sorry oops turns fact really
 rather meant scratch typo mix-up confused
instead: instead rather than place replacing over
neg: not no never none nobody nothing neither nor longer without cannot can't don't doesn't didn't won't isn't
 aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't shouldn't zero nowhere hardly barely
back: back again return resume restart rejoin reopen revert restored rehired
add: also another second too additional additionally extra besides both addition plus well third more other else
 further alongside
still: still remain stay stick continue unchanged keep same always confirm reconfirm holds standing
hypo: if would could might maybe perhaps imagine whether wonder hypothetically someday should tempted consider
 think suggest hope wish dream toying debating mull contemplate idea plan eventually possibly probably almost
 nearly ask say told rumour rumor joke recommend wants threaten offer
temp: week weekend visit trip holiday vacation temporarily temporary while until meanwhile during tonight
 tomorrow yesterday covering subbing filling borrow lent rental loaner guest short-term stint fortnight
past: used once was were had ago before earlier previously formerly years childhood younger grew teenager
 originally
feel: love hate enjoy happy sad proud excited nervous glad thrilled tired miss grateful annoying worry scared
 afraid lucky amazing great lovely tough hard stressful fun bored relieved
seek: look search seek hunt need wait apply trying
plan: plan will going intend aim hoping scheduled booked want
"""


ASPECTS = word_groups(_ASPECTS)
NEGATION = "neg"


@dataclass(frozen=True, slots=True, eq=False)
class FactAnalysis:
    """What is seen of a fact. `kinds` has a letter per word: n number, d date, N name, f function word, w
    other; `timeless` is each word but "now" and the like, by its id and kind; `label` has the numbers and dates
    that tell its subject from others, as in "room 12"."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    ids: tuple[int, ...]
    kinds: str
    timeless: tuple[tuple[int, str], ...]
    content: frozenset[str]
    names: frozenset[str]
    numbers: dict[str, str]
    dates: frozenset[str]
    days: frozenset[str]
    aspects: dict[str, frozenset[str]]
    domains: dict[str, int]
    subject: tuple[str, ...]
    label: frozenset[str]
    head: str
    verb: str
    auxiliary: str


@lru_cache(maxsize=4_096)
def analyze_fact(fact: str) -> FactAnalysis:
    tokens = _WORD.findall(fact[:MAX_FACT_CHARS])
    words = tuple(token.lower().replace("\u2019", "'") for token in tokens)
    bases = [word.removesuffix("'s") for word in words]
    stems = tuple(map(canonical, bases))
    kinds = "".join(
        _kind(n, token, base, words) for n, (token, base) in enumerate(zip(tokens, bases, strict=True))
    )
    aspects: dict[str, set[str]] = {}
    for base, root, kind in zip(bases, stems, kinds, strict=True):
        if kind not in "nd":
            for group in sorted({*ASPECTS.get(base, ()), *ASPECTS.get(root, ())}):
                aspects.setdefault(group, set()).add(root)
    end = _subject_end(words, stems, kinds)
    subject = tuple(root for root, kind in zip(stems[:end], kinds, strict=False) if kind in "wN") or stems[:1]
    ids = tuple(crc32(root.encode()) for root in stems)
    verb = next((n for n in range(end, len(words)) if words[n] not in _BEFORE_VERB), None)
    return FactAnalysis(
        words=words,
        stems=stems,
        ids=ids,
        kinds=kinds,
        timeless=tuple(
            one for one, word in zip(zip(ids, kinds, strict=True), words, strict=True) if word not in _RECENCY
        ),
        content=frozenset(root for root, kind in zip(stems, kinds, strict=True) if kind in "wN"),
        names=frozenset(root for root, kind in zip(stems, kinds, strict=True) if kind == "N"),
        numbers=_numbers(words, stems, kinds),
        dates=frozenset(
            base[:3] if base[0].isalpha() else base
            for base, kind in zip(bases, kinds, strict=True)
            if kind == "d" and base not in _DAYS
        ),
        days=frozenset(base for base, kind in zip(bases, kinds, strict=True) if kind == "d" and base in _DAYS),
        aspects={group: frozenset(found) for group, found in aspects.items()},
        domains=_domains(words, stems),
        subject=subject,
        label=frozenset(base for base, kind in zip(bases[:end], kinds, strict=False) if kind in "nd"),
        head=subject[-1] if subject else "",
        verb=stems[verb] if verb is not None else "",
        auxiliary=words[end] if end < len(words) else "",
    )


def _domains(words: tuple[str, ...], stems: tuple[str, ...]) -> dict[str, int]:
    """Return what the fact may be about, with the number of words that say so."""
    found: dict[str, int] = {}
    for word, root in zip(words, stems, strict=True):
        for domain in DOMAINS.get(word) or DOMAINS.get(root, ()):
            found[domain] = found.get(domain, 0) + 1
    return found


def _kind(at: int, token: str, base: str, words: tuple[str, ...]) -> str:
    if not token[0].isalpha():
        beside = words[max(at - 1, 0) : at + 2]
        return "d" if _YEAR.fullmatch(base) or not MONTH_WORDS.isdisjoint(beside) else "n"
    is_name = token[0].isupper()
    if is_name and (base in MONTH_WORDS or base in _DAYS):
        return "d"
    if base in _NUMBERS:
        return "n"
    if base in FUNCTION_WORDS:
        return "f"
    return "N" if is_name and at else "w"


def _numbers(words: tuple[str, ...], stems: tuple[str, ...], kinds: str) -> dict[str, str]:
    """Return each number, and what it counts."""
    found = {}
    for n, kind in enumerate(kinds):
        if kind == "n":
            word = _NUMBERS.get(words[n], words[n])
            after = (stems[m] for m in range(n + 1, min(n + 3, len(words))) if kinds[m] in "wN")
            found[word.strip("$€£").replace(",", "")] = word[0] if word[0] in "$€£" else next(after, "")
    return found


def _subject_end(words: tuple[str, ...], stems: tuple[str, ...], kinds: str) -> int:
    """Return where the subject of the fact ends."""
    for n in range(min(len(words), 6)):
        word = words[n]
        bent = word.endswith("ed") or (word.endswith("s") and stems[n] != word)
        if word in AUXILIARIES or (
            n and kinds[n] == "w" and bent and not word.endswith("'s") and words[n - 1] not in _ARTICLES
        ):
            return n
    return min(len(words), 6)


def share_bucket(part: int, whole: int) -> int:
    """Return how large a part is, in six steps."""
    return 0 if not part else 5 if part >= whole else 1 + 4 * part // whole


def overlap(one: Iterable[str], other: Iterable[str]) -> int:
    """Return 0 if neither has any, 1 only the first, 2 only the second, 3 they share some, 4 they share none."""
    first, second = set(one), set(other)
    if not first or not second:
        return 2 * bool(second) + bool(first)
    return 3 if first & second else 4


_BITS = (1 << 48) - 1  # the upper 32 are the number of a feature
_KIND, _ONE, _TWO = (one * 0x27D4EB2F & _BITS for one in (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35))
_TWOS, _THREES = 89 * _KIND, 90 * _KIND
_SAME, _HEAD, _NAMED, _BOTH, _OTHER, _ME = range(6)
_STAYED, _WENT, _CAME, _NEWS, _WAS = 15, 16, 17, 77, 78  # features of one word
_VERBS, _AUXILIARIES, _BESIDE = 73, 75, 87  # and of two
_DENYING = frozenset(("not", "than", "instead"))
_YEARS = frozenset(map(str, range(2000, 2100)))


def _at(kind: int, a: int = 0, b: int = 0) -> int:
    """Return the number of a feature."""
    return (kind * _KIND + a * _ONE + b * _TWO >> 16) & 0xFFFFFFFF


@lru_cache(maxsize=16_384)
def _word(word: str) -> int:
    return crc32(word.encode())


@lru_cache(maxsize=16_384)
def _parts(word: int) -> tuple[int, int]:
    """Return what a word adds to the number of a feature as the first and as the second of two, uncut."""
    return word * _ONE & _BITS, word * _TWO & _BITS


# Groups of features: each is made from a few small values, so that many pairs share it


def _frame(
    old_share: int,
    new_share: int,
    shared: int,
    subject: int,
    mine: int,
    names: int,
    verbs: int,
    numbers: int,
    dates: int,
    swapped: int,
) -> tuple[int, ...]:
    """Return how much both share, and how their subjects compare."""
    return (
        _at(1, old_share),
        _at(2, new_share),
        _at(3, old_share, new_share),
        _at(4, shared),
        _at(5, subject),
        _at(6, subject, old_share),
        _at(7, mine >> 1, mine & 1),
        _at(8, names),
        _at(9, names, subject),
        _at(10, names, old_share),
        _at(11, verbs, subject),
        _at(12, numbers, subject),
        _at(13, dates, subject),
        _at(18, swapped, verbs * 6 + subject),
        _at(19, swapped, names * 6 + numbers),
    )


def _turn(
    old_share: int, new_share: int, verbs: int, numbers: int, dates: int, days: int, denied: int
) -> tuple[int, ...]:
    """Return how numbers, dates and verbs compare."""
    return (
        _at(64, numbers),
        _at(65, numbers, old_share),
        _at(66, numbers, verbs),
        _at(67, numbers, new_share),
        _at(68, dates),
        _at(69, dates, old_share),
        _at(70, days),
        _at(71, days, old_share),
        _at(72, denied, old_share),
    )


def _aspect(name: str, *beside: int) -> tuple[int, ...]:
    """Return the features of a word of change, end, doubt or the like."""
    aspect = _word(name)
    return (_at(80, aspect), *(_at(kind, aspect, other) for kind, other in enumerate(beside, start=81)))


def _one(kind: int, word: str) -> tuple[int, ...]:
    return (_at(kind, _word(word)),)


def _two(kind: int, one: str, other: str) -> tuple[int, ...]:
    return (_at(kind, _word(one), _word(other)),)


def _slot(around: int, went: int, came: int, kinds: str, before: int, verb: str, subject: int) -> tuple[int, ...]:
    """Return how much both begin and end alike, and what differs between."""
    shape, kind, does = went * 5 + came, _word(kinds), _word(verb)
    found = (_at(20, around, shape), _at(21, around, subject), _at(22, shape, kind))
    if not went or not came:
        return (*found, _at(23, does, shape))
    if max(went, came) == 4 or around in (0, 1, 4):
        return found
    return (
        *found,
        _at(24, kind, subject),
        _at(25, does),
        _at(26, before),
        _at(27, does, before),
        _at(28, kind, around),
        _at(29, does, kind),
    )


def _denied(kinds: str, old_share: int, subject: int) -> tuple[int, ...]:
    """Return the features of what the newer fact denies."""
    kind = _word(kinds)
    return (_at(92, kind), _at(93, kind, old_share), _at(94, kind, subject))


def _heads(old: str, new: str, me: str) -> tuple[int, ...]:
    return (_at(14, *(0 if head == me else _word(head) for head in (old, new))),)


def newer_features(new: FactAnalysis, me: str) -> list[int]:
    """Return the features of the newer fact alone: its verb, its beginning, and its pairs of words."""
    ids = [1 if word == me else number for word, number in zip(new.stems, new.ids, strict=True)]
    return [
        _at(74, _word(new.verb)),
        _at(76, ids[0] if ids else 0),
        *(_at(88, one, two) for one, two in pairwise(ids)),
    ]


Made = tuple[Callable[..., tuple[int, ...]], tuple[int | str, ...]]


class FactPair:
    """Two facts side by side: what they share, what was removed and what was added."""

    def __init__(self, old: FactAnalysis, new: FactAnalysis, me: str) -> None:
        self.old, self.new, self.me = old, new, me
        before, after = old.content - {me}, new.content - {me}
        self.shared, self.removed, self.added = before & after, before - after, after - before
        self.old_share, self.new_share = (
            share_bucket(len(self.shared), len(before)),
            share_bucket(len(self.shared), len(after)),
        )
        self.subject = _subject(old, new, me, before, after)
        self.names = _names(old, new, me)
        self.numbers = overlap(old.numbers, new.numbers)
        if self.numbers == 4 and set(old.numbers.values()) & set(new.numbers.values()) - {""}:
            self.numbers = 5
        self.dates = overlap(old.dates - _YEARS, new.dates - _YEARS)
        self.verbs = int(old.verb == new.verb)

    def topic(self) -> list[Made]:
        """Return the features of the topic: whether both are about the same."""
        old, new, me = self.old, self.new, self.me
        frame = (
            self.old_share,
            self.new_share,
            min(len(self.shared), 4),
            self.subject,
            (me in old.subject) * 2 + (me in new.subject),
            self.names,
            self.verbs,
            self.numbers,
            self.dates,
            min(len(self.removed), 3) * 4 + min(len(self.added), 3),
        )
        return [
            (_frame, frame),
            (_heads, (old.head, new.head, me)),
            (_slot, self._slot()),
            *[(_one, (_STAYED, word)) for word in self.shared],
            *[(_one, (_WENT, word)) for word in self.removed],
            *[(_one, (_CAME, word)) for word in self.added],
        ]

    def _slot(self) -> tuple[int | str, ...]:
        """Return what both begin and end with, and what each has between, as in "lives in Porto", "lives in
        Oslo"."""
        old, new = self.old.timeless, self.new.timeless
        most = min(len(old), len(new))
        start = next((n for n in range(most) if old[n] != new[n]), most)
        end = next((n for n in range(most - start) if old[~n] != new[~n]), most - start)
        went, came = old[start : len(old) - end], new[start : len(new) - end]
        kinds = "".join(some[0][1] if len(some) == 1 else "w" for some in (went, came))
        before = old[start - 1][0] if start > 1 else start
        verb = self.old.verb if self.verbs else ""
        return (
            min(start, 4) * 4 + min(end, 3),
            min(len(went), 4),
            min(len(came), 4),
            kinds,
            before,
            verb,
            self.subject,
        )

    def change(self) -> list[Made]:
        """Return the features of the change: how numbers, dates, verbs and words differ, and the words of change,
        end, doubt and the like."""
        old, new = self.old, self.new
        days, denied = overlap(old.days, new.days), (NEGATION in old.aspects) * 2 + (NEGATION in new.aspects)
        beside = (self.old_share, self.subject, self.names, self.numbers, self.dates)
        return [
            (_turn, (self.old_share, self.new_share, self.verbs, self.numbers, self.dates, days, denied)),
            (_two, (_VERBS, old.verb, new.verb)),
            (_two, (_AUXILIARIES, old.auxiliary, new.auxiliary)),
            (_denied, (self._denied(), self.old_share, self.subject)),
            *[(_one, (_NEWS, word)) for word in self.added],
            *[(_one, (_WAS, name)) for name in old.aspects],
            *[(_aspect, (name, *beside, self._is_near(found))) for name, found in new.aspects.items()],
            *[(_two, (_BESIDE, name, other)) for name in new.aspects for other in old.aspects],
        ]

    def _denied(self) -> str:
        """Return the kinds of the older fact's words after a "not" in the newer one: "not on 19 November"."""
        new, known = self.new, set(self.old.stems)
        behind = {
            at
            for n, word in enumerate(new.words)
            if word in _DENYING
            for at in range(n + 1, min(n + 4, len(new.words)))
        }
        return "".join(sorted({new.kinds[at] for at in behind if new.stems[at] in known} - {"f"}))

    def rest(self) -> list[int]:
        """Return the features of added function words, of removed and added words in pairs, and of two and three
        words in a row with placeholders for names, numbers and shared words."""
        new, known = self.new, set(self.old.words)
        came = [_parts(_word(word))[1] + 91 * _KIND for word in self.added]
        gone = [_parts(_word(word))[0] for word in self.removed]
        shape = [
            _parts(self._shape(word, number, kind))
            for word, number, kind in zip(new.stems, new.ids, new.kinds, strict=True)
        ]
        return [
            *[
                _at(79, number)
                for word, number, kind in zip(new.words, new.ids, new.kinds, strict=True)
                if kind == "f" and word not in known
            ],
            *[(one + other >> 16) & 0xFFFFFFFF for one in gone for other in came],
            *[(one + two + _TWOS >> 16) & 0xFFFFFFFF for (one, _), (_, two) in pairwise(shape)],
            *[
                (one * 31 + two + three + _THREES >> 16) & 0xFFFFFFFF
                for (one, _), (two, _), (_, three) in zip(shape, shape[1:], shape[2:], strict=False)
            ],
        ]

    def _shape(self, word: str, number: int, kind: str) -> int:
        if word == self.me:
            return 1
        if kind in "ndN":
            return 3 if kind == "N" else 2
        if word in self.shared:
            return 4
        return number if kind == "f" or word in ASPECTS else 5

    def _is_near(self, words: frozenset[str]) -> bool:
        """Return whether a shared word is close to one of these words."""
        stems = self.new.stems
        return any(
            not self.shared.isdisjoint(stems[max(n - 2, 0) : n + 4])
            for n, word in enumerate(stems)
            if word in words
        )


def _subject(old: FactAnalysis, new: FactAnalysis, me: str, before: frozenset[str], after: frozenset[str]) -> int:
    """Return how the subjects compare."""
    if old.head == new.head == me:
        return _ME
    if old.subject == new.subject:
        return _SAME
    if old.head == new.head:
        return _HEAD
    if (set(old.subject) - {me}) & after or (set(new.subject) - {me}) & before:
        return _NAMED
    return _BOTH if me in old.subject and me in new.subject else _OTHER


def _names(old: FactAnalysis, new: FactAnalysis, me: str) -> int:
    before, after = old.names - {me}, new.names - {me}
    return bool(before & after) + 2 * bool(before - set(new.stems)) + 4 * bool(after - set(old.stems))
