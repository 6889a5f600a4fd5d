"""Conversations for the model path, with what a good model keeps of each: written by hand for this benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifelong import Cron, Descriptor, User


@dataclass(frozen=True)
class Keep:
    """A fact that a good model keeps: where, in which words, from which messages of the scene (counted from 0).
    `replaces` is how the fact begins that it supersedes; `again`: that fact is only cited once more."""

    path: str
    text: str
    messages: tuple[int, ...]
    replaces: str = ""
    again: bool = False
    source: str = ""


@dataclass(frozen=True)
class Scene:
    """One conversation. A message is who speaks (user, assistant, web, tool) and what."""

    agent: Descriptor
    messages: tuple[tuple[str, str], ...]
    keeps: tuple[Keep, ...] = field(default=())


MARA = User("telegram", "mara", "home")
CODE = User("cli", "mara", "harbor")
SUPPORT = User("mail", "desk", "support")
NIGHTLY = Cron("backup", "nightly backup")

SCENES = (
    Scene(
        MARA,
        (
            (
                "user",
                "Hi! We are finally planning the move. I'm Mara Lindqvist, by the way, in case the forms "
                "ask for it. "
                "Tom and I found a flat in Graça, Lisbon, and the lease begins on 1 April 2026. The rent is 1,150 "
                "EUR a month, heating not included, and the landlord wants two months as a deposit.",
            ),
            (
                "assistant",
                "Congratulations! A deposit of two months would be 2,300 EUR. Shall I make a checklist for "
                "the move? "
                "It usually helps to start with the utilities, the address change and the moving company, in this "
                "order, because the utilities take the longest.",
            ),
            (
                "user",
                "Yes please. And keep in mind for restaurants: I'm vegetarian, and Tom can't have gluten. He gets "
                "quite ill from it, so it is not a matter of taste. Our daughter Ida eats everything except "
                "mushrooms, she is four years old.",
            ),
            (
                "assistant",
                "Noted. Here is the checklist: electricity and water, the address at the finanças, the "
                "kindergarten for Ida, a moving company, and the internet connection. Which of them shall I look "
                "into first?",
            ),
            (
                "user",
                "The kindergarten. She speaks Swedish and a little Portuguese. We decided against the "
                "German school "
                "because the way there takes fifty minutes. And please keep your answers short, I read "
                "them on the "
                "tram.",
            ),
            (
                "assistant",
                "Understood: kindergartens near Graça, short answers. I will send three tomorrow morning.",
            ),
        ),
        (
            Keep(
                "people/mara-lindqvist",
                "moves to a flat in Graça, Lisbon, with Tom; the lease begins on 1 April 2026.",
                (0,),
            ),
            Keep(
                "people/mara-lindqvist",
                "pays a rent of 1,150 EUR a month without heating, and two months as a deposit.",
                (0,),
            ),
            Keep("people/mara-lindqvist", "is vegetarian.", (2,)),
            Keep("people/tom", "can't have gluten: he gets ill from it.", (2,)),
            Keep(
                "people/ida",
                "is the daughter of Mara and Tom, four years old, and eats everything except mushrooms.",
                (2,),
            ),
            Keep("people/ida", "speaks Swedish and a little Portuguese.", (4,)),
            Keep(
                "decisions",
                "Mara and Tom decided against the German school because the way there takes fifty minutes.",
                (4,),
            ),
            Keep("preferences", "Mara wants short answers, since she reads them on the tram.", (4,)),
        ),
    ),
    Scene(
        CODE,
        (
            (
                "user",
                "Let's work on Harbor today. It is our booking app: a Django backend, a React front end, and "
                "PostgreSQL 16. Tests run with pytest -n 6. We always squash before a merge, and nobody pushes to "
                "main on a Friday.",
            ),
            ("assistant", "Got it. What shall I look at first?"),
            (
                "user",
                "The month view shows the wrong day for people in Lisbon. It began with release 2.14. I "
                "think it is "
                "the time zone, Priya saw it first on her phone.",
            ),
            (
                "tool",
                "MonthGrid.tsx:52: new Date(day).toLocaleDateString()\nMonthGrid.tsx:88: startOfMonth(new "
                "Date())\n2 matches in 1 file",
            ),
            (
                "assistant",
                "I found it: MonthGrid.tsx line 52 formats the day without a locale or a zone, so that a "
                "day in UTC "
                "becomes the day before. I changed it to formatInTimeZone with the venue's zone, and added a test "
                "for Lisbon and Auckland. All 412 tests pass.",
            ),
            (
                "user",
                "Great. Let's remember: dates of bookings are always in the venue's zone, never the browser's. We "
                "tried moment-timezone in January, and it made the bundle 300 kB larger, so we stay with "
                "date-fns-tz.",
            ),
        ),
        (
            Keep("projects/harbor", "is a booking app: a Django backend, a React front end, PostgreSQL 16.", (0,)),
            Keep("projects/harbor", "runs its tests with pytest -n 6.", (0,)),
            Keep("rules", "Harbor: always squash before a merge; nobody pushes to main on a Friday.", (0,)),
            Keep(
                "findings",
                "Harbor's MonthGrid.tsx line 52 formatted the day without a locale or a zone, so that "
                "the month view showed the wrong day since release 2.14.",
                (2, 4),
            ),
            Keep("rules", "Harbor: dates of bookings are always in the venue's zone, never the browser's.", (5,)),
            Keep(
                "lessons",
                "Harbor: moment-timezone made the bundle 300 kB larger in January; they stay with date-fns-tz.",
                (5,),
            ),
        ),
    ),
    Scene(
        SUPPORT,
        (
            (
                "user",
                "Ticket 4471. Our pump AquaFlow 300, serial number AF3-88213, stops after about ten minutes with "
                "error E17. We run a dairy near Aarhus, so that it stands still costs us 400 EUR an hour. Jens "
                "Holm, Holm Mejeri.",
            ),
            (
                "assistant",
                "I am sorry to hear that, Mr Holm. E17 usually means that the motor is too hot. Is the filter at "
                "the back clean, and how warm is the room?",
            ),
            (
                "user",
                "The filter was full of dust. I cleaned it, and it has run for an hour now. The room has 34 "
                "degrees.",
            ),
            (
                "assistant",
                "That explains it: the pump may run in rooms up to 30 degrees. I will send you the larger "
                "fan, part "
                "number FK-12, free of charge, because you have a premium contract. It arrives on Thursday, "
                "12 March 2026.",
            ),
            (
                "user",
                "Thank you. Please call me before the delivery, mornings before nine are best. +45 21 55 01 90.",
            ),
        ),
        (
            Keep("people/jens-holm", "works at Holm Mejeri, a dairy near Aarhus.", (0,)),
            Keep("people/jens-holm", "has a pump AquaFlow 300 with the serial number AF3-88213.", (0,)),
            Keep(
                "people/jens-holm",
                "wants a call before the delivery, in the mornings before nine: +45 21 55 01 90.",
                (4,),
            ),
            Keep(
                "findings",
                "Jens Holm's AquaFlow 300 stopped with error E17 because its filter was full of dust "
                "and the room had 34 degrees; it may run up to 30.",
                (0, 2, 3),
            ),
            Keep(
                "events/2026-03",
                "The larger fan FK-12 for Jens Holm arrives on 12 March 2026, free of charge "
                "because of his premium contract (ticket 4471).",
                (0, 3),
            ),
        ),
    ),
    Scene(
        NIGHTLY,
        (
            (
                "user",
                "Back up the database of Harbor every night at 02:30. Keep fourteen days. If it takes longer than "
                "40 minutes, tell Priya (priya@harbor.example). Never delete the backup of the first of a month.",
            ),
            ("tool", "pg_dump: dumping contents of table bookings\nreal 47m12s\nsize 18.4 GB\nexit 0"),
            (
                "assistant",
                "The backup took 47 minutes, longer than the 40 that are allowed. The table bookings alone "
                "took 31. "
                "I told Priya. I will use pg_dump with four jobs and the directory format from tomorrow.",
            ),
            ("tool", "pg_dump -j 4 -Fd: real 14m05s\nsize 18.5 GB\nexit 0"),
            ("assistant", "With four jobs and the directory format the backup took 14 minutes. I keep it so."),
        ),
        (
            Keep(
                "rules",
                "The nightly backup of Harbor runs at 02:30 and keeps fourteen days; the backup of the "
                "first of a month is never deleted.",
                (0,),
            ),
            Keep(
                "rules",
                "If the nightly backup takes longer than 40 minutes, Priya is told: priya@harbor.example.",
                (0,),
            ),
            Keep(
                "lessons",
                "The backup took 47 minutes; with pg_dump, four jobs and the directory format it took 14.",
                (2, 4),
            ),
        ),
    ),
    Scene(
        MARA,
        (
            (
                "user",
                "Update: the landlord asked us to begin earlier. The lease now starts on 15 March 2026, and the "
                "rent stays the same. Tom's mother Birgit will help us with the boxes, she arrives on the 13th.",
            ),
            (
                "assistant",
                "Good to know. I found three kindergartens: Jardim da Graça, O Pinhal, and Casa Amarela. "
                "The first "
                "has a free place from April. Would you like me to write to them?",
            ),
            (
                "web",
                "Jardim da Graça, Rua da Senhora do Monte 12. Monthly fee 310 EUR, lunch included. The "
                "director is Sofia Marques. Open from 8:00 to 18:30.",
            ),
            (
                "user",
                "Write to Jardim da Graça please. I changed my job as well, I work three days a week at the "
                "Swedish embassy from May. And I still don't eat meat, but I started to eat fish, so call me "
                "a pescatarian now. Ida loves swimming at the moment, she'd like a course.",
            ),
            (
                "assistant",
                "I wrote to Jardim da Graça and asked for a visit in the week of the move. For swimming "
                "there is a "
                "course for four-year-olds in the Piscina da Penha, on Saturdays at ten.",
            ),
            ("user", "Perfect, book the swimming. Saturdays are good, Tom can go with her."),
        ),
        (
            Keep(
                "people/mara-lindqvist",
                "moves to a flat in Graça, Lisbon, with Tom; the lease begins on 15 March 2026.",
                (0,),
                replaces="moves to a flat in Graça",
            ),
            Keep("people/birgit", "is Tom's mother; she arrives on 13 March 2026 and helps with the boxes.", (0,)),
            Keep("people/mara-lindqvist", "works three days a week at the Swedish embassy from May 2026.", (3,)),
            Keep(
                "people/mara-lindqvist",
                "is a pescatarian: she eats fish, but no meat.",
                (3,),
                replaces="is vegetarian",
            ),
            Keep(
                "people/ida",
                "loves swimming; the course in the Piscina da Penha is on Saturdays at ten, and Tom "
                "goes with her.",
                (3, 4, 5),
            ),
            Keep(
                "projects/jardim-da-graca",
                "costs 310 EUR a month with lunch, is open from 8:00 to 18:30, and its director is Sofia Marques.",
                (2,),
                source="web",
            ),
        ),
    ),
    Scene(
        CODE,
        (
            (
                "user",
                "Harbor again. Priya leaves for Berlin in June, so Owen takes over the front end from 1 "
                "June 2026. "
                "He prefers small pull requests, at most 300 lines, and reviews them in the afternoon.",
            ),
            ("assistant", "Noted. Is there anything that he should know about the month view?"),
            (
                "user",
                "That dates are in the venue's zone, as we said. And we upgraded to PostgreSQL 17 on Sunday, it "
                "went well: the migration took 22 minutes. The search for free tables is slow since then, though.",
            ),
            (
                "tool",
                "EXPLAIN ANALYZE: Seq Scan on tables (actual time=812.4 ms) Filter: (zone_id = 7)\nPlanning time "
                "0.4 ms",
            ),
            (
                "assistant",
                "The search reads all rows: the index tables_zone_idx is missing after the upgrade. I created it "
                "again with CREATE INDEX CONCURRENTLY, and the search went from 812 ms to 6 ms. The dump had left "
                "it out because it was invalid since February.",
            ),
            ("user", "Oh, good catch. Then let's check for invalid indexes before every upgrade from now on."),
        ),
        (
            Keep(
                "projects/harbor",
                "is a booking app: a Django backend, a React front end, PostgreSQL 17.",
                (2,),
                replaces="is a booking app",
            ),
            Keep("people/owen", "takes over the front end of Harbor from 1 June 2026.", (0,)),
            Keep("people/priya", "leaves for Berlin in June 2026.", (0,)),
            Keep(
                "people/owen",
                "prefers small pull requests of at most 300 lines, and reviews them in the afternoon.",
                (0,),
            ),
            Keep(
                "rules",
                "Harbor: dates of bookings are always",
                (2,),
                again=True,
                replaces="Harbor: dates of bookings are always",
            ),
            Keep(
                "findings",
                "Harbor's search for free tables was slow after the upgrade because the index "
                "tables_zone_idx was missing; created again, it went from 812 ms to 6 ms.",
                (2, 4),
            ),
            Keep("rules", "Harbor: check for invalid indexes before every upgrade.", (5,)),
        ),
    ),
    Scene(
        SUPPORT,
        (
            (
                "user",
                "Ticket 4502. Jens Holm again. The fan arrived, but the plug does not fit: it has the "
                "British form. "
                "And from 1 May my colleague Karen Dahl is responsible for the pumps, please write to her then, "
                "karen@holm-mejeri.example.",
            ),
            (
                "assistant",
                "I am sorry about the plug. I send you an adapter today; it arrives on Monday, 23 March "
                "2026. Shall "
                "I note Ms Dahl as the contact from May?",
            ),
            (
                "user",
                "Yes. She can be called the whole day. The pump itself runs well, the room is at 27 degrees now.",
            ),
            (
                "assistant",
                "Thank you, that is good to hear. I noted Karen Dahl as the contact from 1 May 2026. The "
                "number for "
                "the adapter is AD-3.",
            ),
        ),
        (
            Keep(
                "people/karen-dahl",
                "is responsible for the pumps of Holm Mejeri from 1 May 2026 and can be "
                "called the whole day: karen@holm-mejeri.example.",
                (0, 2),
            ),
            Keep(
                "events/2026-03",
                "The adapter AD-3 for Jens Holm arrives on 23 March 2026: the plug of the fan had "
                "the British form (ticket 4502).",
                (0, 1, 3),
            ),
        ),
    ),
    Scene(
        MARA,
        (
            (
                "user",
                "The move is done! Everything arrived except one box, and Birgit broke her wrist when she fell on "
                "the "
                "stairs on the 16th. She stays with us until Easter.",
            ),
            (
                "assistant",
                "I am glad about the move, and sorry for Birgit. Shall I look for a physiotherapist near "
                "Graça who "
                "speaks Swedish or English?",
            ),
            (
                "user",
                "Yes, English is fine. Ida started at Jardim da Graça on Monday the 23rd, and she likes it. The "
                "fee is 310 as they said. And tell me the rules for the resident card, I keep forgetting them: we "
                "have an appointment on 9 April at 11:15.",
            ),
            (
                "assistant",
                "You need your passports, the lease, and a proof of income, each with a copy. The "
                "appointment is on "
                "Thursday, 9 April 2026, at 11:15.",
            ),
            ("user", "Thanks. Tom says hello. No more questions for today, good night!"),
        ),
        (
            Keep(
                "people/birgit",
                "broke her wrist when she fell on the stairs on 16 March 2026, and stays with Mara "
                "and Tom until Easter.",
                (0,),
            ),
            Keep("people/ida", "started at Jardim da Graça on 23 March 2026 and likes it.", (2,)),
            Keep(
                "events/2026-04", "Mara has an appointment for the resident card on 9 April 2026 at 11:15.", (2, 3)
            ),
        ),
    ),
)
