"""What claims are about: which verbs and nouns give an attribute that holds one value at a time, which states
exclude each other, and which things take each other's place.

Every table is plain text in which `=` joins words that mean the same. A word stands here in one of its forms;
`stem` makes the forms meet.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.organize.rules.phrases import words
from recollect.organize.rules.stems import groups, stem, stems
from recollect.organize.rules.words import COMMON, FUNCTION, PRAISE

VERBS = stems(
    """live reside move relocate settle work join quit leave teach study drive use run deploy store keep own lead
    manage head maintain chair coach cost weigh measure last start begin end finish open close take make go put
    come get give prefer like love hate enjoy dislike want need wish plan choose pick select decide opt stay
    eat drink smoke play read write watch buy sell rent pay earn owe spend save visit travel fly meet call
    name rename switch change migrate replace upgrade downgrade update cancel postpone delay reschedule push
    bring shift extend shorten raise increase rise lower drop reduce decrease cut grow fall become turn
    marry divorce date break lose win find think say tell ask imagine wonder consider believe hope dream
    feel know speak learn train practise practice swim climb ride walk cycle sleep wake wear cook bake order
    book reserve subscribe unsubscribe stop resume pause retire resign belong report hold host sit stand lie
    hang park expire ship release launch merge land pass fail adopt perform process rotate contain include
    support require allow return arrive depart attend see hear show look seem remain recommend suggest
    sponsor serve sing dance paint draw collect breed build develop design handle cover carry lend rebook
    borrow share send receive deliver freeze stick swap trade ditch abandon scrap skip avoid refuse reject
    accept approve born employ freelance reassign assign contact deny swear try help commute intern agree vote
    scale retrain charge face occupy happen occur repeat print log withdraw delete remove reopen slip bump
    complain die text hire promote sign expect listen fix repair aim separate reconcile gather pack search
    paint dye graduate"""
)

COPULAS = stems("be become remain stay turn seem")

STATIVE = COPULAS | stems(
    """have own cost weigh measure last start begin end open close leave take run ship hold happen occur
    schedule set
    plan expire pay earn charge contain count hit reach total stand sit keep go come arrive depart due need land
    expect get"""
)
"""Verbs that add nothing to a date or a number: the claim is about what it is of."""

CHANGES = stems(
    """move switch change migrate replace upgrade downgrade update postpone delay reschedule push shift extend
    shorten raise increase rise lower drop reduce decrease cut rename promote transfer convert swap
    relocate reassign slip bump adjust revise correct double halve shrink resize expand trim slash rebook reopen
    resume retrain slide extend reschedule"""
)
"""Verbs whose claim gives the new value of something."""

FIRST = stems("begin open arrive come")
LAST = stems("end finish close leave depart go expire")
"""Of the verbs above, those of a beginning and those of an end."""

MANY = stems(
    """like hate visit buy read watch have meet know speak play see hear attend travel eat cook make feel love
    recommend try learn say tell ask think collect add get give receive win lose find send order enjoy hope
    adopt help support include contain show build bake swim climb ride spend spot lend borrow be become need plan
    pass want wish keep start begin stay work look share go take bring create inspire remain seem turn"""
)
"""Verbs that are true of many things at once or again and again: another object is just another one."""

CHOICES = stems("prefer want take choose decide pick select opt vote use drive deploy wear commute write order")
"""Verbs of a choice: another object for the same purpose takes the place of the first."""

ROLES = stems("lead manage own maintain chair coach run host teach head direct captain handle")
"""Verbs whose subject is the value: a thing has one who leads it."""

LASTING = CHANGES | stems(
    """choose decide pick select agree subscribe sign settle begin start train born join name call hire appoint
    become marry set book reserve schedule arrange put order"""
)
"""Verbs whose past form tells how things are since then."""

SEEKS = stems("look search hunt wait")
FINDS = stems("find get buy hire sign rent have adopt land choose")
"""Verbs by which what was sought is there."""

PURSUITS = stems("study train learn read write build work renovate watch paint prepare repair")
"""Verbs of what goes on until it is finished."""

CANCELS = stems("cancel kill axe scrap shelve nix veto lift call")
"""Verbs by which somebody ends what is another's."""

GENERIC = frozenset(stem(word) for word in (COMMON | FUNCTION | PRAISE) - {"care", "them"}) | stems(
    """day week month year hour minute morning evening thing name plan person someone family friend everyone
    lot kind
    week weekend home journey dream goal passion support community photo picture pic life end idea size speak
    talk chat heart mind"""
)
"""Words that two claims can share without being about the same."""

_ATTRIBUTES = """
employer=workplace job=occupation=profession=position=role name=nickname home=address=hometown boss=manager
age birthday=birthdate deadline=due cost=fee budget version height weight salary=wage=income surname
landlord gp dentist doctor therapist tutor trainer lawyer mentor captain coach husband=wife=spouse=partner
girlfriend=boyfriend password status location=venue email capacity limit target favourite mascot motto roommate
flatmate supplier provider insurer accountant owner maintainer lead bank major nationality number car
"""
ATTRIBUTES = {stem(word): group[0] for group in groups(_ATTRIBUTES) for word in group}
"""Nouns that name an attribute of what they belong to: "Mara's employer is X" is about Mara."""

_SLOTS = """
live:in=home live:at=home live:on=home live:to=home move:near=home relocate:near=home move:to=home rent:in=home
move:into=home relocate:to=home stay:put=home settle:in=home base:in=home intern:at=employer drive:for=employer
cook:at=employer work:as=job train:as=job promote:to=job hire:as=job hire:by=employer teach:at=employer
work:at=employer work:for=employer employ:by=employer employ:at=employer begin:at=employer join:=employer
hire:at=employer
call:=name name:=name rename:to=name rename:=name go:by=name know:as=name spell:=name
born:in=birthplace born:on=birthday study:at=school study:in=school report:to=boss drive:=car be:from=origin
come:from=origin freelance:as=job marry:to=husband live:with=household share:with=household
"""
_HOLDERS = """be hang sit stand lie store keep park hold locate put save host run live land"""
_WITHIN = """in at on under behind inside"""
_MOVERS = """move migrate relocate shift transfer"""

SLOTS = {
    (stem(verb), preposition): "place"
    for verbs, prepositions in ((_HOLDERS, _WITHIN), (_MOVERS, "to into onto"))
    for verb in verbs.split()
    for preposition in prepositions.split()
} | {
    (stem(where.partition(":")[0]), where.partition(":")[2]): slot
    for where, slot in (entry.split("=") for entry in _SLOTS.split())
}
"""Which single-valued attribute a verb gives, by the preposition before the value ("" for its object)."""

_STATES = """
progress: open=reopen=reopened=reopens closed=shut=close=closes merged pending=waiting blocked
finished=done=resolved=completed=complete draft
 approved=accepted rejected=declined=denied paused=hold=suspended archived deprecated=obsolete
 running=resumed=active=up=online=working=works=fixed=repaired=mended=passing
 down=offline=broken=leaks=leaking=failing=inactive=crashed=faulty=dead=frozen cancelled planned ready
light: red green yellow amber
relation: married=wife=husband=wed divorced=divorce single engaged=fiance=fiancee=engagement
 dating=girlfriend=boyfriend separated widowed=widow=widower
health: sick=ill=flu=injured=recovering recovered=healed=well=healthy=fit
diet: vegetarian vegan pescatarian meat=omnivore
family: pregnant=expecting born=birth
work: employed unemployed=jobless retired=retirement freelance=freelancer=freelancing=self-employed
power: enabled=enable=activated disabled=disable=deactivated=off
access: public private
hours: full-time part-time
household: alone together
sale: sell=selling=market sold keep=keeping
stock: available unavailable=sold-out
level: empty full
validity: valid expired=invalid=lapsed
"""
_KINDS = """
drink: tea coffee water juice beer wine milk cola soda matcha espresso cappuccino latte cocoa
colour: red green blue yellow black white grey=gray orange purple pink brown blonde=blond beige teal turquoise navy
contact: email phone=call text=sms=message whatsapp signal telegram letter slack teams discord
seat: window aisle middle
theme: dark light
units: celsius fahrenheit metric imperial
indent: tabs spaces
language: english german french spanish italian portuguese dutch polish russian chinese japanese turkish
form: paper ebook=kindle audiobook bullet paragraph table
vehicle: car=drive bus plane train bike=cycle tram metro=subway ferry taxi scooter walk=foot
"""


def _table(text: str, form: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    table: dict[str, tuple[str, str]] = {}
    kind = ""
    for entry in text.split():
        if entry.endswith(":"):
            kind = entry[:-1]
        else:
            same = [form(word) for word in entry.split("=")]
            table.update(dict.fromkeys(same, (kind, same[0])))
    return table


STATES = _table(_STATES, str)
"""Words for states that exclude each other: the word as it is said to (group, state)."""

GROUPS = frozenset(group for group, _ in STATES.values())

KINDS = _table(_KINDS, stem)
"""Things that take each other's place in a choice: stem to (kind, thing)."""

_OCCUPATIONS = words(
    """nurse vet chef cook pilot judge coach guide clerk architect engineer surgeon dentist lawyer doctor physician
    professor student intern consultant accountant assistant analyst postman policeman attendant president monk
    priest scientist head lead cto ceo cfo nanny mechanic paramedic electrician agent
    barista waitress actress employee trainee apprentice"""
)
_NO_OCCUPATIONS = words(
    """member mother father sister brother daughter vegetarian lover owner smoker number fan order other supporter
    runner swimmer reader believer stranger user starter winner beginner pescatarian christian sponsor neighbour
    neighbor survivor donor listener sleeper eater drinker riser former elder better computer matter dinner"""
)


def is_occupation(word: str) -> bool:
    """Whether a noun (in lower case) names what somebody works as."""
    return word in _OCCUPATIONS or (
        len(word) > 5 and word.endswith(("er", "or", "ist", "ian", "eer", "ant")) and word not in _NO_OCCUPATIONS
    )
