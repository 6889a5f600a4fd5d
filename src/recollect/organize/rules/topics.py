"""What claims are about: which verbs and nouns give an attribute that holds one value at a time, which states
exclude each other, and which things take each other's place.

Every table is plain text in which `=` joins words that mean the same. A word stands here in one of its forms;
`stem` makes the forms meet.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.organize.rules.phrases import words
from recollect.organize.rules.stems import groups, stem, stems

VERBS = stems(
    """live reside move relocate settle work join quit leave teach study drive use run deploy store keep own lead
    manage head maintain chair coach cost weigh measure last start begin end finish open close take make go
    come get give prefer like love hate enjoy dislike want need wish plan choose pick select decide opt stay
    eat drink smoke play read write watch buy sell rent pay earn owe spend save visit travel fly meet call
    name rename switch change migrate replace upgrade downgrade update cancel postpone delay reschedule push
    bring shift extend shorten raise increase rise lower drop reduce decrease cut grow fall become turn
    marry divorce date break lose win find think say tell ask imagine wonder consider believe hope dream
    feel know speak learn train practise practice swim climb ride walk cycle sleep wake wear cook bake order
    book reserve subscribe unsubscribe stop resume pause retire resign belong report hold host sit stand lie
    hang park expire ship release launch merge land pass fail adopt perform process rotate contain include
    support require allow return arrive depart attend see hear show look seem remain recommend suggest
    sponsor serve sing dance paint draw collect grow breed build develop design host handle cover carry lend
    borrow share send receive deliver freeze stick swap trade ditch abandon scrap skip avoid refuse reject
    accept approve born employ freelance reassign assign contact call deny support swear try help handle
    commute intern agree vote scale retrain charge face occupy happen occur repeat print log"""
)

LIKE, HATE = stem("like"), stem("hate")

COPULAS = stems("be become remain stay turn seem")

CHANGES = stems(
    """move switch change migrate replace upgrade downgrade update postpone delay reschedule push bring shift
    extend shorten raise increase rise lower drop reduce decrease cut grow fall rename promote transfer
    convert swap relocate reassign assign become turn go bump slip adjust revise correct double halve shrink
    climb scale resize expand trim slash"""
)
"""Verbs whose claim gives the new value of whatever its subject is."""

PLURAL = stems(
    """like hate visit buy read watch have own meet know speak play see hear attend travel go eat cook make write
    recommend try learn say tell ask think collect add get give receive win lose find send order enjoy need
    adopt help support include contain show fix build finish bake swim climb ride spend spot lend borrow
    pass"""
)
"""Verbs that are true of many things at once or again and again: another object is just another one."""

CHOICES = stems(
    """prefer want choose decide agree settle vote use drive take drink deploy wear go study pay cycle walk ride
    commute"""
)
"""Verbs of a choice: another object of the same kind takes the place of the first."""

WIDE = stems("use drive take drink deploy wear go study pay")
"""Of these, a choice of one thing leaves others open: only the same object makes it the same choice."""

ROLES = stems("lead manage own maintain chair coach run host teach head direct captain")
"""Verbs whose subject is the value: a thing has one who leads it."""

TRANSPARENT = stems(
    """pay cost open be have get run keep need plan take hold do begin schedule happen occur will set expect"""
)
"""Verbs that add nothing to a date or a number: the claim is about their subject."""

HELPERS = stems("be have get go")
"""Verbs that only carry another one."""

LIGHT = stems("be have do get will plan decide want intend go begin")
"""Verbs that say little about what a claim says."""

_ATTRIBUTES = """
employer=workplace job=occupation=profession=position=role=work name=nickname home=address=hometown boss=manager
age birthday=birthdate deadline=due cost=fee budget version size height weight salary=wage=income surname
landlord gp dentist doctor therapist tutor trainer lawyer mentor captain
password status location=venue date time schedule email phone number capacity limit target goal favourite
"""
ATTRIBUTES = {stem(word): group[0] for group in groups(_ATTRIBUTES) for word in group}
"""Nouns that name an attribute of what they belong to: "Mara's employer is X" is about Mara."""

FILLS = ATTRIBUTES | {
    stem(noun): slot for noun, slot in (("car", "car"), ("apartment", "home"), ("house", "home"))
}
"""Nouns that can stand for the value of an attribute: "sold the car"."""

BROAD = stems("number time date schedule work home size phone email favourite role status limit")
"""Attributes that, said of something in passing, tell nothing about it."""

_SLOTS = """
live:in=home live:at=home live:on=home live:to=home move:near=home relocate:near=home move:to=home
move:into=home relocate:to=home
settle:in=home base:in=home live:with=household live:=household intern:at=employer drive:for=employer
cook:at=employer move:with=household work:as=job train:as=job promote:to=job
work:at=employer work:for=employer employ:by=employer employ:at=employer begin:at=employer join:=employer
work:in=field work:from=workplace call:=name name:=name rename:to=name rename:=name go:by=name know:as=name
born:in=birthplace born:on=birthday study:=subject study:at=school manage:to=boss report:to=boss
belong:to=belongs
drive:=car be:from=origin come:from=origin freelance:as=job
marry:to=spouse
"""
_HOLDERS = """be hang sit stand lie store keep park hold locate put save host"""
_WITHIN = """in at on under behind inside"""

SLOTS = {
    (stem(where.partition(":")[0]), where.partition(":")[2]): slot
    for where, slot in (entry.split("=") for entry in _SLOTS.split())
} | {(stem(verb), preposition): "place" for verb in _HOLDERS.split() for preposition in _WITHIN.split()}
"""Which single-valued attribute a verb gives, by the preposition before the value ("" for its object)."""

MEASURES = {stem("weigh"): "weight", stem("cost"): "cost", stem("earn"): "salary"}

LASTING = CHANGES | stems(
    """choose decide agree settle vote use begin train retrain born join name call rename promote hire appoint
    prefer want become marry set"""
)
"""Verbs whose past form tells how things are since then."""

_STATES = """
progress: open=reopen=reopened closed=shut=invite-only merged pending=waiting blocked
 finish=finished=done=resolved=completed draft review
 approved=accepted rejected=declined=denied construction=renovation paused=hold=suspended=frozen
 running=resumed=active=up=online=working=works=fixed=repaired=mended
 down=offline=broken=leaks=leaking=failing=inactive=crashed passing deprecated=obsolete archived
 cancel=cancelled planned ready
light: red green yellow amber
relation: married=wife=husband=spouse divorced=divorce single engaged=fiance=fiancee=engagement
 dating=girlfriend=boyfriend separated=split=broke widowed=widow=widower
health: sick=ill=flu=sickness healthy=well=recovered=better injured
diet: vegetarian vegan pescatarian meat=omnivore=steak
family: pregnant=expecting born=birth
work: employed=job=hired unemployed=jobless retired=retirement freelance=freelancer=self-employed
power: enabled=enable=activated disabled=disable=deactivated
access: public private
hours: full-time part-time
sale: sell=sold=selling keep=keeping=kept
stock: available unavailable=sold-out
level: empty full
mood: happy unhappy=sad
"""
_KINDS = """
drink: tea coffee water juice beer wine milk cola soda lemonade matcha espresso cappuccino latte cocoa
colour: red green blue yellow black white grey=gray orange purple pink brown beige teal turquoise navy
daytime: morning afternoon evening night noon midday
season: spring summer autumn=fall winter
contact: email phone=call text=sms=message whatsapp signal telegram letter slack teams discord
place: window aisle middle
theme: dark light
units: celsius fahrenheit metric imperial
indent: tabs spaces
database: mysql postgres sqlite mongodb oracle mariadb redis dynamodb cassandra cockroachdb duckdb
editor: vim=neovim emacs vscode sublime pycharm intellij nano zed
language: python rust java kotlin ruby perl php golang typescript javascript scala elixir haskell swift
cloud: aws azure gcp hetzner heroku digitalocean
system: linux windows macos ubuntu debian fedora arch
browser: firefox chrome safari brave opera edge
tracker: jira linear trello asana github gitlab bitbucket
pipeline: jenkins circleci travis buildkite teamcity
framework: react vue angular svelte django flask fastapi rails
packages: npm yarn pnpm pip poetry uv conda
bank: visa mastercard paypal cash card
vehicle: car=drive bus train bike=cycle tram metro=subway=underground ferry taxi scooter walk=foot
taste: sweet salty savoury=savory
meal: breakfast lunch dinner brunch
format: paper ebook=kindle audiobook
"""


def _table(text: str, form: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    table: dict[str, tuple[str, str]] = {}
    kind = ""
    for entry in text.split():
        if entry.endswith(":"):
            kind = entry[:-1]
        else:
            words = [form(word) for word in entry.split("=")]
            table.update(dict.fromkeys(words, (kind, words[0])))
    return table


STATES = _table(_STATES, str)
"""Words for states that exclude each other: the word as it is said to (group, state)."""

KINDS = _table(_KINDS, stem)
"""Things that take each other's place in a choice: stem to (kind, thing)."""

_OCCUPATIONS = words(
    """nurse vet chef cook pilot judge coach guide clerk architect engineer surgeon dentist lawyer doctor physician
    professor student intern freelancer consultant accountant assistant analyst carpenter plumber baker
    barista mechanic paramedic postman policeman firefighter electrician cashier tutor agent attendant
    president officer lecturer nanny soldier monk priest scientist programmer developer designer manager
    director teacher counsellor counselor therapist dispatcher head lead cto ceo cfo stylist tailor gardener"""
)
_NO_OCCUPATIONS = words(
    """member mother father sister brother daughter sister-in-law vegetarian lover beer owner smoker number fan
    order other supporter runner swimmer reader believer carrier stranger user starter winner beginner
    pescatarian christian sponsor neighbour neighbor survivor donor listener sleeper eater drinker riser
    former elder"""
)


def is_occupation(word: str) -> bool:
    """Whether a noun (in lower case) names what somebody works as."""
    return word in _OCCUPATIONS or (
        len(word) > 5 and word.endswith(("er", "or", "ist", "ian", "eer", "ant")) and word not in _NO_OCCUPATIONS
    )
