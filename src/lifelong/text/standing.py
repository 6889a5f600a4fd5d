"""Tell what a sentence says that holds whatever the next message is about: an allergy, a rule, who somebody is.

It goes by the words that people use for it in English, German, Spanish and French. What is only true of a day,
what is asked for once, and what is a question says nothing that stands. The patterns read folded text
(`words.fold`), which has neither capitals nor accents.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from lifelong.text.changes import attributes
from lifelong.text.languages import is_foreign
from lifelong.text.sentences import sentences
from lifelong.text.words import fold, word_set

Kind = Literal[
    "allergy",
    "diet",
    "health",
    "never",
    "name",
    "home",
    "work",
    "family",
    "limit",
    "style",
    "preference",
    "rule",
    "convention",
]
"""What a standing sentence is. `never`, `rule` and `convention` bind the agent or a project; `limit` is when and
how somebody can be reached, and how much they can spend; `style` is how the agent should answer; the others are
about a person."""

Passing = Literal["passing"]
"""What is only true of a day, asked for once, or unsure."""

RANKS: dict[Kind, int] = {
    **dict.fromkeys(("allergy", "health"), 0),
    "diet": 1,
    "never": 2,
    **dict.fromkeys(("name", "home", "work", "family"), 3),
    **dict.fromkeys(("limit", "style", "preference"), 4),
    "rule": 5,
    "convention": 6,
}
"""What comes first: what protects somebody, then who the user is, then preferences, then conventions."""

HEALTH: frozenset[Kind] = frozenset(("allergy", "diet", "health"))
IDENTITY: frozenset[Kind] = frozenset(("name", "home", "work", "family"))
PRIVATE: frozenset[Kind] = HEALTH | IDENTITY | {"limit", "preference"}
"""What concerns only the person who said it."""
BINDING: frozenset[Kind] = frozenset(("never", "rule", "convention"))
"""What may hold for one project and not for another."""

MAX_TEXT_CHARS = 4_000  # of a text that are read: a longer one was pasted
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 6, 300
MAX_WHOLE_CHARS = 80  # a text so short is quoted whole
MAX_WHOLE_HEALTH_CHARS = 160  # the same for what protects somebody
MAX_JOINED_CHARS = 130  # of sentences that are quoted as one
MAX_RULES_CHARS = 200  # of rules that stand side by side
MAX_REST_CHARS = 40  # a sentence so short is quoted with the one before it, though it does not stand itself

# Of each kind: what may stand anywhere in a sentence, and what begins a clause. Each begins with a letter.

_CLAUSE = r"(?:^|[,;:(.] ?|\b(?:and|but|or|so|please|pls|btw|also|und|aber|bitte|y|pero|et|mais|oh) )"

_ANYWHERE: dict[Kind, str] = {
    "allergy": r"""
allerg|alergi|anaphyla|epipen|intoleran|unvertraglich|zoliakie|coeliac|celiac|coeliaque
|vertrag\w*(?: \w+){0,3} (?:nicht|kein\w*)|nicht vertrag|swells? up|swell\b|break out in|come out in|hard no\b
|me sientan? (?:mal|fatal)|me ahogo|ne supporte (?:pas|plus)|makes? (?:me|him|her|them) (?:sick|ill|itch)
|reacts? (?:badly|to)\b|in hospital\b|ins krankenhaus|al hospital si\b|reagier\w* (?:\w+ )?(?:stark|schlimm
|auf)\b""",
    "diet": r"""
vegetari|vegan\b|vegan[oa]|veggie\b|pesc[ae]tarian|halal\b|kosher\b|koscher\b|vegetalien|gluten|lactos|laktos
|dairy.free|don'?t (?:eat|drink)\b|do(?:es)?(?: not|n't) (?:eat|drink)\b|can(?:'t|not) (?:eat|drink|have
|tolerate|digest)\b|no puede (?:comer|tomar|beber)\b|sober\b|teetotal|abstinent|never eat
|never drink|esse kein|isst kein|trinke? kein|no (?:como|come|bebo|bebe)\b|ne (?:mange|bois|boit) (?:pas|plus)
|no (?:meat|fish|pork|beef|alcohol|dairy|sugar|nuts|seafood|shellfish|caffeine)\b|without (?:meat|fish|sugar)\b
|off (?:meat|sugar|caffeine|coffee|alcohol)\b|keine? (?:fleisch|fisch|schwein\w*|milch\w*|zucker|nusse)\b
|keinen (?:fisch|alkohol|zucker)\b|sin (?:carne|alcohol|azucar|pescado)\b|sans (?:viande|alcool|sucre|porc)\b
|(?:stopped|quit) (?:drinking|smoking)|aufgehort zu (?:rauchen|trinken)|dejado de (?:fumar|beber)|vuelto a fumar
|arrete de (?:fumer|boire)|smoking again|rauche (?:ich )?(?:jetzt )?wieder|back on (?:meat|fish|sugar|caffeine
|coffee|alcohol|dairy|gluten)\b
|(?:i|we) (?:eat|drink) (?:\w+ )?(?:\w+ )?again\b|(?:esse|trinke) (?:ich )?(?:jetzt )?wieder\b
|(?:vuelvo|he vuelto) a (?:comer|beber|tomar)\b""",
    "health": r"""
asthma|asma\b|asthme|diabet|typ [12]\b|type [12] d|epilep|pregnan|schwanger|embarazad|enceinte\b
|blood (?:pressure|thinner)|blutdruck|hipertens|hypertens|migra(?:in|n)e?|pacemaker|herzschrittmacher|insulin
|inhaler
|ventolin|medication|medikament|medicacion|medicament|ibuprofen|paracetamol|penicil|penizil|aspirin|antibioti
|antidepress|antihistamin|warfarin|metformin|blutverdunner|anticoagul|statins?\b|kortison|cortison|chemo\w*
|dialys
|claustrophob|vertigo|hohenangst|vertige|fear of heights
|(?:afraid|scared|terrified|petrified) of (?:flying|(?!\w+ing\b|the |it\b|that\b)\w+)
|deaf\b|hard of hearing|taub\b|schwerhorig|sord[oa]\b
|sourde?\b|malentendant
|don't do well with|colou?r.?blind|farbenblind|dalton|wheelchair|rollstuhl|silla de ruedas|fauteuil roulant
|hearing aid
|horgerat|dyslexi|legasthen|adhd\b|autis(?:m|t)|panic attack|phobia|darf ich nicht\b|ich darf kein
|(?:i|i'm|my|we|he|she|ich|je|take|taking|prescribed|nehme|tomo|prends)\b.{0,40}\b\d+ ?mg\b
|no puedo (?:comer|tomar|beber)|je ne peux pas (?:manger|prendre|boire)|i can(?:'t|not) (?:take|tolerate)\b
|wrecks? my (?:stomach|back|knee|sleep)""",
    "never": r"""
must never|should never|we never|you never|to never|don't ever|dont ever|hands off\b|stay away from|off.limits
|not allowed|must not|mustn't|forbidden|under no circumstances|stop \w+ing\b|nothing (?:goes|ships|leaves
|gets)\b
|nie\b|niemals\b|auf keinen fall|bitte (?:nicht|kein\w*)\b|verboten|darf(?:st)? (?:man )?nicht\b|finger weg
|ja nicht\b
|nunca\b|jamas\b|prohibid|sobre todo no\b|jamais\b|interdit|surtout pas\b""",
    "home": r"""
(?:i|we)(?:'ve| have)? (?:\w+ )?(?:live|rent|moved|bought a (?:house|flat)|got a (?:house|flat|place))\b
|we(?:'re| are) moving to|wir ziehen (?:\w+ )?(?:nach|um)|nos mudamos|on demenage|my (?:new )?address
|our (?:new )?address|ich wohne|wir wohnen|wohne ich|wohnen wir
|unsere (?:neue )?(?:adresse|wohnung)
|meine (?:neue )?(?:adresse|wohnung)|wohnung!|vivo en\b|vivimos\b|mi direccion|nuestra (?:casa|direccion)|piso!
|habite\b|habitons\b|mon adresse|notre adresse|strasse \d|calle \w+ \d|rue (?:\w+ )?\w+,? \d""",
    "work": r"""
i work (?:at|for|as|in)\b|i (?:teach|study)\b
|i'?m (?:an?|the|head|lead|lab|senior) (?:[\w-]+ ){0,4}(?:at|for|in|of|with)\b
|got the job
|my (?:job|employer|profession)\b|ich arbeite|ich bin \w+(?:leiter|lehrer|arzt|in|er) |den job\b
|i run an?\b|trabajo (?:en|de|como|para)\b|empiezo en\b|je travaille|je suis (?!un peu|tres|en|au
|pas)\w+(?:eur|euse|iere|ier|iste|ien|ienne|ant|ante)\b|mon (?:travail|poste)\b""",
    "family": r"""
my (?:own |little |older |younger )?(?:wife|husband|partner|spouse|sons?|daughters?|kids?|child|children
|mother|mum|mom|\
father|dad|brothers?|sisters?|girlfriend|boyfriend|fianc\w+|twins|dog|cat|birthday)\b
|our (?:own |little )?(?:sons?|daughters?|kids?|children|dog|cat|twins)\b|partner\)
|(?:mein|meine|unser|unsere) (?:frau|mann|partner\w*|tochter|sohn|kinder|mutter|vater|bruder|schwester|hund
|katze)\b
|(?:we|i) have (?:an?|one|two|three|four|\d) (?:\w+ )?(?:dogs?|cats?|kids?|children|sons?|daughters?)\b
|on a une? (?:chat|chien|fils|fille|bebe)\b
|tenemos un\w? (?:perr|gat|hij)|wir haben (?:jetzt )?eine?n? (?:hund|katze|sohn|tochter)|schwiegermutter
|schwiegervater
|i'm \d\d\b|i'm (?:married|single|divorced|widowed|retired|left-handed|self-employed|a student|a parent)\b
|ich bin (?:verheiratet|geschieden|ledig|rentner\w*|student\w*|\d\d\b)|estoy (?:casad|divorciad|jubilad)\w*
|je suis (?:marie|divorce|retraite|etudiant)\w*
|mi (?:mujer|marido|pareja|hij[oa]|padre|madre|herman[oa]|perr[oa]|gat[oa])\b|madre de\b|padre de\b
|(?:ma|mon|notre) (?:femme|mari|fille|fils|mere|pere|soeur|frere|chien|chat)\b""",
    "limit": r"""
i (?:can't|cannot|won't) (?:do|make|work|come|join)\b|don't plan me|not (?:available|reachable)
|i never (?:pick|answer|work|read)\b|text,? (?:and )?(?:don't|not|never) call|can only do\b
|(?:call|text|ring|e-?mail|contact|reach|write to) me\b|anrufe?n?\b.{0,40}\b(?:nach|vor|ab|erst|nicht)\b
|erreichbar
|hochstens\b.{0,40}\bkosten|(?:avisa|avisar|llama|llamar|escrib)\w*\b.{0,40}\bpor la (?:manana|tarde|noche)\b
|(?:my|our) (?:\w+ )?budget\b|budget\b(?=:| is\b|.{0,30}\d)
|mein budget|mi presupuesto|presupuesto\b|mon budget|como mucho\b
|appel\w*\b.{0,40}\b(?:apres|avant|jamais)\b|not a (?:penny|cent|euro) more|ni un\w* mas\b""",
    "preference": r"""
i(?:'d| would| do| just| really| absolutely)? (?:really |much |always )?(?:prefer|like|love|hate|loathe
|dislike|enjoy|rather)\b
|i can(?:'t|not) stand|i (?:don't|do not|dont) (?:like|want|enjoy)\b|favou?rite|not a fan of|user (?:prefers
|likes|hates|loves)
|ich (?:\w+ )?(?:mag|liebe|hasse|bevorzuge|esse gern\w*|trinke gern\w*|lebe (?:\w+ )?fur)\b|lieber\b
|lieblings\w+
|am liebsten|me (?:gusta|encanta|molesta)n?\b|nos (?:gusta|encanta)n?\b|prefiero|odio\b|no soporto|favorit[oa]\b
|j'(?:aime|adore)\b|je (?:prefere|deteste|n'aime)\b""",
    "rule": r"""
(?<!he )(?<!she )(?<!they )(?<!it )(?<!i )always\b|from (?:now|today|tomorrow|here|this point|next \w+|\d)
|going forward|in (?:the )?future\b|as of (?!now)
|whenever\b|every (?:time|pr|commit|release|component|form|file|ticket)\b|before you\b
|(?:rules?|polic(?:y|ies)|conventions?|guidelines?)(?=[:,]| (?:is|are)\b)
|(?:new|our|my|house|team|company) (?:rules?|polic(?:y|ies)|conventions?|guidelines?)\b
|(?:commit|code|coding|naming) style
|must\b(?! (?:be mad|have been|admit|say|see|try))
|before (?:pushing|committing|merging|each|every|any|releasing|deploying)\b|without asking|banned\b|ask (?:me
|us|\w+) (?:first|before)\b
|needs? (?:an? |the |your |\w+'s )?(?:\w+ )?(?:approval|ok|review|sign.?off|screenshot|test|story|ticket|key
|number|label)\w*\b
|vor jede[mr]\b|nach jede[mr]\b|bei jede[mr]\b|wird nicht\b|werden nicht\b|bitte auf \w+|antes de cada
|avant chaque|on ne \w+ (?:pas|jamais)
|no se \w+\b|lesson (?:for|learned|learnt)|lesson:|write (?:this|that|it) down|note (?:it|this)\b|decision:
|we decided|agreed:
|everywhere\b|without \w+(?:'s)? (?:ok|approval|permission)\b|immer\b|ab (?:jetzt|sofort|heute|morgen|\d)
|kunftig
|in zukunft|grundsatzlich|jedes mal|stets\b|regeln?\b|siempre\b|a partir de\b|de ahora en adelante|cada vez\b
|regla\b
|apunta\b|que quede claro|hay que\b|toujours\b|desormais\b|dorenavant\b|chaque fois|regle\b|il faut\b""",
    "convention": r"""
(?<!can )(?<!could )(?<!would )(?<!will )(?<!should )(?:we|you) (?:only )?(?:use|deploy|keep|write|commit
|branch|release|review|lock|sort|log|squash|tag|pin)\b
|user (?:uses|deploys|keeps)\b|required?\b|only (?:after|with|when|if|by|on|via|through|use|ever)\b
|use \w+,? not\b
|branch off\b|goes (?:on|in|into|under|straight to|through)\b|go (?:in|into|under|through)\b|(?:go
|goes) to \w+ first|escalate\b
|(?:over|above|below|more than|less than) \d[\d.,]* ?\w+ (?:need|go|get|are|require|must)\w*|gets? no\b
|(?:files|tests|docs|secrets|keys) (?:use|live|go|are)\b|\w+ reviews \w+|(?:reviews?|approves?) (?:anything
|everything|all
|every)\b|takes? over\b
|(?:takes|does|handles|owns) the (?:reviews?|approvals?|releases?)\b|approvals? (?:are|is) given|stays? (?:at
|on)\b
|is due\b|at most\b|at least\b|no more than|maximum\b|minimum\b|may (?:only )?be\b
|within \w+ (?:working )?(?:hours|days|minutes)\b|decided\b|wir (?:nutzen|benutzen|verwenden|deployen)\b
|(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|every (?:day|week|month|morning|evening|night|\w+day)\b
|(?:mon|diens|donners|frei|sams|sonn)tags\b|mittwochs\b|jeden? (?:tag|woche|morgen|abend|\w+tag|mittwoch)\b
|switch(?:ing|ed)? to\b|go(?:ing)? with\b|we(?:'re| are) (?:dropping|switching|moving|using)\b|scrap the\b
|go to \w+ \d* ?instead
|let's (?:use|go with|stick with|switch)\b|wir (?:nehmen|wechseln)\b|usaremos\b|pasamos a\b|on passe a\b
|on prend\b
|usamos\b|desplegamos\b|los (?:lunes|martes|miercoles|jueves|viernes|sabados|domingos)\b
|(?:lunes|martes|miercoles|jueves) y \w+|on utilise\b|nous utilisons\b|tous les \w+""",
}
_STYLE = r"""
short(?:er)?|brief(?:ly)?|concise(?:ly)?|plain|formal(?:ly)?|informal(?:ly)?|bullet\w*|emojis?|spanish|english
|german|french
|italian|portuguese|terse|direct|blunt|to the point|24.?h\w*|metric|celsius|kurz\w*|knapp\w*|ausfuhrlich\w*
|deutsch|englisch|cort[oa]s?|breves?
|sencill[oa]s?|espanol|court\w*|bref|simplement|francais"""
_TALK = r"""
answers?|repl(?:y|ies)|respond|responses?|explain|explanations?|write|speak|talk|summaries|messages?|times?
|dates?
|antwort\w*|schreib\w*|erklar\w*|romane|respond\w+|respuestas?|contest\w+|escrib\w+|explic\w+|repond\w*
|reponses?
|ecri\w+|expliqu\w+"""
_MEASURED = r"""
(?:under|in|within|max|maximum|hochstens|unter|en|maximo) (?:\w+ )?(?:sentences|lines|words|bullets|satzen?
|zeilen|frases
|lineas|phrases|lignes)
|(?:amounts|prices|temperatures|distances|dates|times|betrage|preise|precios|importes|prix
|montants)\b.{0,20} (?:in|as|en|als) \w+"""
"""How long an answer may be, and in which units it is."""
_BEGINNING: dict[Kind, str] = {
    "never": r"""
never\b(?! (?:mind|been|had|was|knew|happier|better|ask))(?= \S+ \S)
|(?:don't|dont|do not) (?!(?:know|think|worry|mind|care|ask|bother|get me|believe|see|understand|tell me
|say|forget)\b)\w
|ni \w+, ni\b|ne \w+ (?:pas|jamais|plus)\b|n'(?!oubli)\w+ (?:pas|jamais|plus)\b
|pas d(?:e |')\w+|kein\w* \w+ (?:bitte|mehr)\b""",
    "style": r"""
du reicht|be (?:terse|brief|concise|direct|blunt|polite|formal|informal)\b|get to the point|fass dich kurz
|komm auf den punkt
|se (?:breve|conciso|directo)\b|ve al grano|fais court|sois bref|va droit au but|sign (?:as|with|off)\b
|use (?:metric|imperial|celsius|bullet)|call me [a-z]|nenn mich|duz|siez
|tuteame|tutoie|tu peux me tutoyer|puedes tutearme|du darfst mich duzen""",
    "rule": r"""
(?:rules?|polic(?:y|ies)|conventions?|guidelines?) (?:for|on|about|here|of|number|change\w*|update\w*|\d)""",
    "convention": r"""
(?:branch(?:es)?|branch names?|commits?|commit messages?|tests?|reviews?|logs?|logging|timestamps?|dates?
|money|amounts?|style
|format|naming|names?|errors?|imports?|indent\w*|line length|docs?|migrations?|releases?|deploys?|ci|prs?
|tickets?|versions?
|stack|storage|state|paging)(?: \w+)?: \S+ \S|all (?:\w+ ){1,2}(?:is|are|in|as|must|go|goes|have|need)\b
|\S+,? not \S+ please$|(?:keep|use|run|put) (?:[\w-]+ ){1,4}(?:in|for|before|with|at|under|below|to|by
|everywhere)\b|sign\b""",
}
_NO_NOUN = re.compile(
    _CLAUSE
    + r"no (?!(?:idea|problems?|worries|hurry|way|one|need|doubts?|longer|more|complaints?|clue|rush|wonder|matter"
    r"|sense|kidding|thanks|change|fee|news|the|that|just|sorry|wait|not|word|sooner|big deal)\b)[a-z-]{3,}"
)
"""What is not wanted in English: "no emojis". Spanish and Portuguese say "no" before a verb."""
_NO_VERB = re.compile(
    _CLAUSE + r"no (?!(?:digas|sabes|tienes|puedes|quieres|crees|eres|has|vas|pasas?)\b)(?:me |nos |le |lo )?"
    r"\w{3,}(?:es|as)\b(?! (?:que|si)\b)"
)
"""What is not wanted in Spanish: "no me llames"."""
_TOLD_ONCE: tuple[Kind, ...] = ("home", "work")
"""Of what somebody has one: whatever says that it is another one now, stands ("Nos hemos mudado a Madrid")."""
_ORDER: tuple[Kind, ...] = (
    *(
        "allergy",
        "diet",
        "health",
        "style",
        "limit",
        "never",
        "home",
        "work",
        "rule",
        "preference",
        "convention",
        "family",
    ),
)

_NAME = re.compile(
    r"\b(?:[Ii]['\u2019]m|[Ii] am|[Mm]y name(?:['\u2019]s| is)|[Cc]alls? me"
    r"|[Nn]enn(?:t|en) mich|[Mm]e llaman|m['\u2019]appellent|[Mm]oi c['\u2019]est"
    r"|[Hh]ier ist|[Ii]ch hei(?:ß|ss)e"
    r"|[Mm]ein [Nn]ame ist"
    r"|[Ss]oy|[Mm]e llamo|[Mm]i nombre es|[Jj]e m['\u2019]appelle|[Jj]e suis|[Mm]on nom est)"
    r" (?!(?:Catholi|Protestant|Orthodox|Muslim|Jewish|Hindu|Buddhist|German|French|Spanish|English"
    r"|British|Irish"
    r"|Scottish|Welsh|Dutch|Polish|Italian|Portuguese|American|Canadian|European)\w*\b)"
    r"[A-ZÀ-Þ][a-zà-ÿ]+(?![\w'\u2019])"
    r"|\b[Ii]ch bin (?:der |die )?[A-ZÄÖÜ][a-zà-ÿ]+(?=[,.!]|$| und\b| aus\b)"
)
_STREET = re.compile(
    r"\b(?:\w+(?:stra(?:ß|ss)e|str\.)|[A-Z]\w+ (?:Stra(?:ß|ss)e|Weg|Platz|Allee)|[A-Z]\w+(?:weg|gasse|allee"
    r"|platz|ufer|damm))"
    r" \d+|\b(?:[Cc]alle|[Aa]venida|[Pp]laza|[Pp]aseo) (?:de )?(?:la )?[A-Z]\w+,? \d"
    r"|\b\d+,? (?:bis,? )?(?:rue|avenue|quai|place|boulevard|impasse|chemin|allée) \w"
    r"|\b\d{1,4} (?:[A-Z]\w+ ){1,2}(?:Street|St|Road|Rd|Rise|Lane|Avenue|Ave|Drive|Close|Crescent|Terrace"
    r"|Square|Way|Court"
    r"|Hill|Place|Mews|Grove|Gardens)\b"
)

_SINCE = r"(?<!from )(?<!as of )(?<!since )(?<!ab )(?<!seit )(?<!de )(?<!desde )(?<!des )"
PASSING = r"""
for this (?!project|repo|codebase|company|team|app|service|user)\w+|fur diese[ns]? \w+|para est[ea] \w+
|pour ce(?:tte|t)? \w+
|this once|just once|for (?:this|that) (?:one|time)\b|in this one|this time|today only|for (?:now|today|tonight
|the moment)
|yesterday|gestern\b|ayer\b|last night|this (?:morning|afternoon|evening|week|weekend)\b|right now|at the moment
|ausnahmsweise|diesmal|dieses mal|nur heute|esta (?:vez|tarde|noche|manana)\b|de momento|cette fois|ce (?:soir
|matin)\b
|in (?:ten|five|\d+) minutes|maybe\b|perhaps\b|vielleicht|quizas?\b|peut-etre|thinking (?:of|about)\b
|did you know|what if\b
|i wonder|metaphor|just kidding|spass\b|lol\b|haha|fun fact|for \d+ \w+ \d{4} only"""
_ONCE = re.compile(
    r"\b(?:for this (?!project|repo|codebase|company|team|app|service|user)\w+|fur diese[ns]? (?:mail|brief"
    r"|text|nachricht)"
    r"|para est[ea] (?:correo|carta|texto|mensaje)|pour ce(?:tte|t)? (?:mail|lettre|texte|message)"
    r"|(?:just|only) (?:this|that) once|this once|just for this|for this (?:one|time)|in this one"
    r"|for today only|today only"
    r"|ausnahmsweise|nur (?:heute|dieses mal|diesmal)|por esta vez|solo (?:por )?(?:hoy|esta vez)"
    r"|pour cette fois|juste cette fois"
    r"|for \d+ \w+ \d{4} only)\b"
)
_DAY = rf"\b{_SINCE}(?:today|tonight|tomorrow|heute?|hoy|aujourd'hui)\b"
_NOT_SAID = re.compile(
    r"(?:you are|you're|you act as) (?:the|an?)\b"
    r"|(?:who|what|when|where|why|how|which|did|does)\b(?![^:?]{1,60}: )"
    r"|[\w.]*(?:error|exception|warning): "
)
"""How a host begins, how a question does, and how a program reports an error."""

_ADVICE = re.compile(
    r"(?:try|visit|check out|have a look|there(?:'s| is| are)|probier\w*|es gibt|prueba|hay|essaie|il y a)\b"
)
"""How somebody begins to recommend a place or a dish, which says nothing about what they eat."""

_RELATIVE_SAYS = re.compile(
    r"\b(?:my|our|meine?|unsere?|mi|ma|mon|notre) \w+ (?:says?|said|thinks?|told|asks?|asked|sagt\w*|meint\w*"
    r"|findet|fragt\w*|dice|dijo|cree|opina|dit|pense|demande)\b"
)
"""How somebody begins to tell what a relative says, which says nothing about the family."""

FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my|me|we|we're|our|us|ich|mich|mir|mein\w*|wir|uns|unser\w*|yo|mi|mis|soy"
    r"|tengo|estoy|vivo"
    r"|vivimos|nos|nuestr\w+|je|j'\w+|mon|ma|mes|moi|nous|notre|user|user's)\b"
)

HEALTH_CUES = word_set(
    """allergic allergy allergies intolerant intolerance coeliac celiac anaphylaxis epipen vegetarian vegan
    pescatarian halal kosher gluten lactose diabetes diabetic asthma epilepsy pregnant migraine medication
    insulin inhaler penicillin ibuprofen blind dyslexia wheelchair allergisch allergie laktose unvertraglich
    vertrag vertrage zoliakie vegetarier vegetarierin vegetarisch schwanger medikament medikamente blutdruck
    penizillin alergia alergias alergico alergica intolerante celiaco celiaca vegetariano vegetariana vegano
    vegana asma diabetico diabetica embarazada medicacion penicilina lactosa allergique coeliaque vegetarien
    vegetarienne asthmatique diabetique enceinte medicament"""
)
CUES = word_set(
    """never nie niemals verboten nunca jamas prohibido jamais interdit always rule rules policy convention
    whenever lesson style approval future prefer immer regel regeln kunftig grundsatzlich stets siempre
    regla adelante toujours desormais regle name live rent address heisse wohne wohnen adresse llamo vivo
    vivimos direccion appelle habite wife husband partner son daughter frau mann tochter sohn mujer marido
    hijo hija femme mari fils fille shorter brief concise emoji emojis kurz knapp breve bref"""
)
"""Words of standing sentences that the full-text index has: what was said long ago is found by them."""

_MONEY = re.compile(
    r"\b(?:salary|wage|i earn|income|debts?|mortgage|savings|bonus|overdraft|gehalt|verdiene|schulden"
    r"|einkommen|sueldo"
    r"|salario|gano|deudas?|salaire|je gagne|dettes?|a year\b|password|passwort|contrasena|mot de passe)\b"
)


class Standing(NamedTuple):
    """A standing sentence, or a few: what it is, its words, whether the speaker is in it, and of its words those
    that stand."""

    kind: Kind
    text: str
    own: bool
    essence: str


def standing(text: str, *, by_host: bool = False) -> tuple[Standing, ...]:
    """Return what a text says that stands. `by_host`: the host said it, so it can only be a rule."""
    return _standing(text[:MAX_TEXT_CHARS], by_host)


@lru_cache(maxsize=1_024)
def _standing(text: str, by_host: bool) -> tuple[Standing, ...]:
    said = [(" ".join(one.split()), _kind(one, by_host)) for one in sentences(text)]
    own = FIRST_PERSON.search(fold(text)) is not None
    kinds = [kind for _, kind in said if kind and kind != "passing"]
    if not kinds:
        return ()
    best = min(kinds, key=RANKS.__getitem__)
    most = MAX_WHOLE_HEALTH_CHARS if best in HEALTH else MAX_WHOLE_CHARS
    if not by_host and len(text) <= most and all(kind != "passing" for _, kind in said):
        essence = " ".join(one for one, kind in said if kind)
        return (Standing(best, " ".join(text.split()), own, essence),)
    return tuple(_joined(said, own))


def is_for_once(text: str) -> bool:
    """Return whether a text asks for something once, and says so."""
    return _ONCE.search(fold(text)) is not None


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something, or tells an agent who it is."""
    return sentence.rstrip().rstrip("\"')»”").endswith("?") or _NOT_SAID.match(fold(sentence)) is not None


_INSTRUCTS = re.compile(
    r"\b(?:ignore (?:all|any|the|previous|your)|note to (?:ai|the ai|assistants?|agents?)|(?:ai"
    r"|urgent) assistants?|assistants? reading"
    r"|assistant:|system prompt|you (?:must|should|are) now|from now on|remember (?:this|that) as"
    r"|store (?:this |it )?as"
    r"|save (?:this )?as a (?:preference|rule)|do not tell the user|new instructions?|ignoriere (?:alle|die)"
    r"|merke dir|ab jetzt"
    r"|ignora (?:todas|las)|recuerda (?:esto|que)|de ahora en adelante|ignore[rz]? (?:toutes|les)"
    r"|souviens-toi|desormais)\b"
)


def instructs(text: str) -> bool:
    """Return whether a text, which a tool or a web page gave, tells an assistant what to do."""
    return _INSTRUCTS.search(fold(text)) is not None


def is_private(text: str) -> bool:
    """Return whether a text is about somebody's health, home, work, family, limits or money."""
    return any(one.kind in PRIVATE for one in standing(text)) or _MONEY.search(fold(text)) is not None


def _joined(said: list[tuple[str, Kind | Passing | None]], own: bool) -> Iterator[Standing]:
    """Yield the sentences that stand, each with the short one behind it that explains it."""
    rest = deque(said)
    while rest:
        text, found = rest.popleft()
        if found is None or found == "passing":
            continue
        kind, essence = found, text
        while rest and not rest[0][0].endswith("?"):
            follows, other = rest[0]
            if other == "passing" or not _belongs(text, kind, follows, other):
                break
            rest.popleft()
            text = f"{text} {follows}"
            if other:
                essence, kind = f"{essence} {follows}", min(kind, other, key=RANKS.__getitem__)
            elif kind not in IDENTITY:
                break
        yield Standing(kind, text, own, essence)


def _belongs(one: str, kind: Kind, rest: str, other: Kind | None) -> bool:
    """Return whether a sentence is quoted with those before it: both are rules, or it is short, or it goes on
    about who somebody is."""
    length = len(one) + len(rest)
    if kind in BINDING and other in BINDING:
        return length <= MAX_RULES_CHARS
    if other or kind in IDENTITY:
        return length <= MAX_JOINED_CHARS
    return len(rest) <= MAX_REST_CHARS and len(one) <= MAX_JOINED_CHARS


def _kind(sentence: str, by_host: bool) -> Kind | Passing | None:
    """Return what a sentence is; "passing" where it is only true of a day, asked for once, or unsure."""
    if not MIN_SENTENCE_CHARS <= len(sentence) <= MAX_SENTENCE_CHARS:
        return None
    folded = fold(sentence)
    patterns = _patterns()
    if patterns.passing.search(folded):
        return "passing"
    if is_question(sentence):
        return None
    if not by_host:
        if _NAME.search(sentence):
            return "name"
        if _STREET.search(sentence):
            return "home"
    for kind, anywhere in patterns.of_kinds:
        if by_host and kind not in BINDING:
            continue
        if (kind == "diet" and _ADVICE.match(folded)) or (kind == "family" and _RELATIVE_SAYS.search(folded)):
            continue
        if anywhere.search(folded):
            return kind
        if kind == "never" and (_NO_VERB if is_foreign(sentence) else _NO_NOUN).search(folded):
            return kind
    return next((kind for kind in _TOLD_ONCE if kind in attributes(sentence)), None)


class _Patterns(NamedTuple):
    passing: re.Pattern[str]
    of_kinds: tuple[tuple[Kind, re.Pattern[str]], ...]


@cache
def _patterns() -> _Patterns:
    """Return the compiled patterns. They are compiled when they are first needed."""
    talk, style = _one_line(_TALK), _one_line(_STYLE)
    style_of = "|".join(
        (
            rf"\b(?:{talk})\b.{{0,60}}\b(?:{style})\b",
            rf"\b(?:{style})\b.{{0,40}}\b(?:please|pls|bitte|por favor|{talk})\b",
            rf"\b(?:please|bitte|por favor) (?:always |immer |siempre )?(?:{style})\b",
            rf"\b(?:{_one_line(_MEASURED)})\b",
        )
    )
    found: list[tuple[Kind, re.Pattern[str]]] = []
    for kind in _ORDER:
        parts = [rf"\b{_either(_ANYWHERE[kind])}"] if kind in _ANYWHERE else [style_of]
        if kind in _BEGINNING:
            parts.append(rf"{_CLAUSE}{_either(_BEGINNING[kind])}")
        found.append((kind, re.compile("|".join(parts))))
    return _Patterns(re.compile(rf"\b{_either(PASSING)}|{_DAY}"), tuple(found))


def _either(alternatives: str) -> str:
    return rf"(?:{_one_line(alternatives)})"


def _one_line(alternatives: str) -> str:
    return alternatives.replace("\\\n", "").replace("\n", "")
