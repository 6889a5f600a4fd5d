"""Tell whether a newer statement certainly ends an older one by the same speaker.

To end a true fact is worse than to keep two, so there are few ways, each of them plain: the newer one denies a
value that the older one gives ("not 21", "statt 500", "30 min is too short: 8 hours"); it says that something
changed and gives another day, time or number for the same thing; it says that the same thing is over; it tells
that somebody has what they did not want; both are about an attribute of which somebody has one (the home, the
job, the address to write to); or somebody else does what somebody did. English, German, Spanish and French have
words here. What is not certain is left to ranking, where the newer stands first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from lifelong.text.dates import DATE_WORDS
from lifelong.text.languages import FIRST, FOREIGN_WORDS, SMALL, guess_language
from lifelong.text.sentences import sentences
from lifelong.text.stems import stem
from lifelong.text.words import COMMON, NUMBER_WORDS, WORD, content_words, fold, pattern, word_set

MAX_CHARS = 600  # a longer text is no single statement
MIN_SHARE = 0.25  # of what a sentence of the older one is about that the newer one must speak of, too
NEARLY_ALL = 0.6  # the same, where another sentence says that it changed
MIN_SAME = 2  # words that both must speak of if it is not certain that one ends the other
MAX_RATIO = 4  # of two numbers that may count the same thing

_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?"
    r"|mittwochs?|lunes|martes"
    r"|miercoles|jueves|viernes|sabados?|domingos?|(?:lun|mar|mercre|jeu|vendre|same)dis?|dimanches?"
)
_MONTH = (
    r"jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch|z|zo|s)?|apr(?:il)?|may|mai|mayo|june?|juni|juin"
    r"|junio|july?|juli"
    r"|julio|juillet|aug(?:ust)?|agosto|aout|sept?(?:ember|iembre|embre)?|okt(?:ober)?|oct(?:ober|ubre|obre)?"
    r"|nov(?:ember|iembre|embre)?|dec(?:ember|embre)?|dez(?:ember)?|enero|febrero|abril|diciembre|janvier"
    r"|fevrier"
    r"|avril"
)
_VALUE = (
    rf"(?P<weekday>\b(?:{_DAY})\b)"
    r"|(?P<clock>\b\d{1,2}[:h]\d\d\b|\b\d{1,2}\.\d\d\b(?!\.\s*(?:\d|um\b))"
    r"|\b\d{1,2} ?(?:am|pm|uhr)\b|\b(?:quarter|half) (?:to|past) \w+)"
    rf"|(?P<date>\b\d{{1,2}}(?:st|nd|rd|th)\b(?: of (?:{_MONTH})\b)?|\b\d{{1,2}}\.? ?(?:de )?(?:{_MONTH})\b"
    rf"|\b(?:{_MONTH}) \d{{1,2}}\b|\b\d{{1,2}}\.(?:0?[1-9]|1[0-2])\.(?!\d)|\b\d{{4}}-\d\d-\d\d\b"
    rf"|(?<=tag )\d{{1,2}}\b|(?<=day )\d{{1,2}}\b|(?<=(?:nes|tes|ado|ngo) )\d{{1,2}}\b)"
    r"|(?P<code>\b[a-z]{1,5}-\d{2,}\b)"
    r"|(?P<number>(?<![\w.-])\d+(?:[.,]\d+|(?: \d{2,})+)*(?!\w))"
)
_CHANGES = (
    rf"\b(?:now|instead|from (?:now|today|tomorrow|next|this|mid|\d|{_MONTH})|as of|change[sd]?|move[sd]?"
    rf"|moving|upgraded?"
    r"|shift(?:s|ed)?|slips?|slipped|switch(?:ed|ing)?|new|takes? over|postponed|pushed|rescheduled"
    r"|brought forward"
    r"|make (?:that|it)|up to|down to|after all|wrong|no longer|any ?more|back (?:on|to|in)|jetzt|statt"
    r"|stattdessen"
    rf"|ab (?:jetzt|sofort|heute|morgen|{_MONTH}|\d\S*)|doch (?:erst|schon|nicht)|neue[rsnm]?|verschoben"
    rf"|verlegt"
    r"|geandert|nicht mehr|wieder|ahora|ya no|al final|cambi\w+|en vez|nuev[oa]s?|pasa al?|subio a|bajo a"
    r"|vuelto"
    r"|desormais|maintenant|a partir d[eu]|a la place|reporte\w*|finalement|change\w*|nouve\w+|deplac\w+)\b"
)
_IS = (
    r"(?:\w+[,!.] )?((?:the|my|our|die|der|das|mein\w*|unser\w*|el|la|mi|le|mon|ma)\b.{3,60}?)"
    r" (?:is|are|ist|es|est)\b"
)
_DENIED = (
    r"\b(?:not|no|from(?= [\w.:]{1,12}(?: \w+)? to )|statt|nicht(?: mehr)?|en vez de|ya no es(?: el)?|pas"
    r"|au lieu de|instead of|rather than|down from|up from)"
    rf" (?:the |de |el |le |am |on |a )?(\d+(?:[.,]\d+)*|(?:{_DAY})\b)"
)
_TOO = (
    r"(?<![\w.,-])(\d+(?:[.,]\d+)*)(?: ([^\W\d_]+))?(?: (?:is|are|was|ist|sind|es|son|est"
    r"|sont))?(?: (?:way|far|much|viel))?"
    r" (?:too|zu|demasiad[oa]s?|trop) [^\W\d_]{2,}"
)
"""A value that does not do: "30 min is too short, 8 hours"."""
_STOPS = (
    r"\b(?:any ?more|no longer|no more(?! than)(?!.{0,60}\b(?:today|tonight|for now|this)\b)|gone off|lifted"
    r"|forget (?:what|everything) i (?:said|told you|wrote)"
    r"|vergiss,? was ich|olvida(?:te)? (?:de )?lo (?:que (?:te )?dije|de)|oublie ce que j'ai dit"
    r"|se acabo|aufgehoben|ist vorbei|c'est fini"
    r"|gave up|given up|quit|stopped|scrap(?:ped|ping)?|(?:is|are) (?:dead|gone)"
    r"|(?:switch\w*|migrat\w*|moved|changed) (?:away )?from"
    r"|done with|(?:rip|take|tear) (?:it|them) out|was a mistake|cancel\w*|split up|divorced"
    r"|(?<!\bi )(?<!we )left(?! \d)|sold|delete"
    r"|abandon\w*|nicht mehr|kein\w*(?: \w+)? mehr|lass(?:e|en)? (?:ich|wir)|abgesagt|gekundigt|doch nicht"
    r"|aufgehort|schluss"
    r"|ya no|nada de|dejado de|cancelad\w+|n[e'] ?\w+ plus|plus de|annule\w*|arrete"
    r"|(?:not?|didn't|nicht|kein\w*|pas)\b.{0,40} (?:in the end|am ende|al final|finalement)"
    r"|(?:in the end|am ende|al final|finalement)\b.{0,40} (?:not?|didn't|nicht|kein\w*|nada|pas))\b"
)
_LEFT = r"(?:quit|left|divorced|split up|stopped|gave up|gekundigt|aufgehort|dejado|arrete)\b"
_SPEAKER_OF = (
    r"\b(?:i|i'm|i've|we|we're|my|our|ich|wir|mein\w*|soy|trabajo|vivo|tengo|voy|hago|mi|je|j'\w+|mon|ma|on)\b"
)
_FIRST = r"\b(?:i|i've|we|we've|my|our|ich|wir|yo|he|hemos|mi|je|j'ai|nous|on a)\b"
_GOES_ON = r"\b(?:again|back (?:on|to|in)|after all|wieder|vuelto a|otra vez|de nouveau|a nouveau)\b"
_INSTEAD = r"\b(?:instead|statt|stattdessen|en vez|a la place|isn't|aren't)\b"
_WITHOUT = (
    r"\b(?:don'?t|do not|never|won't|not|(?:i'm|we're|am|are) off|cut|stopped|gave up|quit|no|kein\w*|nicht|nie"
    r"|nunca|dejado|sin|ne|pas|jamais|arrete|sell\w*)\b"
)
_HAVING = (
    r"\b(?:(?:i|we)(?:'ve| have)? (?:got|bought|have|adopted)|(?:ich|wir) haben?|haben? (?:ich|wir)|(?:me|nos)"
    r" (?:he|hemos) comprado|(?:tengo|tenemos)|(?:j'ai|on a|nous avons)(?: achete| adopte)?)\b"
)
_NOT_WANTED = (
    r"\b(?:don'?t|do not|never|won't) (?:want|need|have|get)\b|\bno (?:quiero|queremos|tengo|tenemos"
    r"|necesito)\b"
    r"|\b(?:kriegen|wollen|haben|will|brauche\w*)\b.{0,30}\b(?:kein\w*|nicht)\b|\bkein\w* \w+ (?:kriegen|wollen"
    r"|haben)\b"
    r"|\bn(?:e|') ?(?:veux|voulons|ai|avons) (?:pas|plus)\b|\b(?:i've|we've|i have|we have) no\b"
)
_PROTECTS = r"allerg|alergi|intoleran|unvertrag|anaphyla|coeliac|celia[ck]|zoliakie"
_SPEAKER = (
    r"(?:and |so |but |oh |und |y |et )?(?:i|i'm|i've|we|we're|we've|ich|wir|yo|nosotros|je|j'\w+|nous|on)\b"
)
HAPPENED = (
    r"\b(?:was|were|got|started|joined|began|failed|paid|bought|went|"
    r"war|waren|hatte|gekauft|bezahlt|fue|pague|compre|etait|paye)\b"
)
"""What only happened cannot change any more."""
_SPLIT = r"(?:split up|divorced|getrennt|geschieden|separad|divorciad|separe|divorce)"
_COUPLE = (
    r"\b(?:married|wife|husband|girlfriend|boyfriend|partner|engaged|dating|together|verheiratet|zusammen|casad[oa]s?"
    r"|pareja|mariee?s?)\b"
)
_BEGINS_CLAUSE = r"(?:^|[.,;:!?()\n\u2013\u2014-]\s|\b(?:and|but|so|und|aber|also|y|pero|et|mais|donc)\s)"
_ENDS_CLAUSE = r"(?=\s*(?:$|[.,;:!?()\n\u2013\u2014]|-\s|(?:and|but|so|und|aber|y|pero|et|mais)\b))"
_BREAKS_UP = (
    r"\b([^\W\d_]+) and i(?:'ve| have)?(?: just| finally)? (?:broke|broken|split) up\b"
    rf"|\b([^\W\d_]+) and i are(?: now| finally)? (?:done|over|through|finished|separated){_ENDS_CLAUSE}"
    r"|\b([^\W\d_]+) and i are(?: now| finally)? divorced\b"
    r"|\b([^\W\d_]+) und ich sind (?:getrennt|geschieden|auseinander)\b"
    r"|\b([^\W\d_]+) y yo (?:nos hemos (?:separado|divorciado)|ya no estamos juntos)\b"
    r"|\bi(?:'ve| have)?(?: just| finally)? (?:broke|broken|split) up with ([^\W\d_]+)"
    r"|\b([^\W\d_]+) und ich haben uns getrennt\b|\b([^\W\d_]+) y yo (?:hemos roto|lo hemos dejado)\b"
    r"|\b([^\W\d_]+) et moi,?(?: on| nous)? (?:s'est|nous sommes|avons) (?:separes|rompu)\b"
)
_HISTORY = (
    rf"{_BEGINS_CLAUSE}(?:the |our |my |die |der |das |el |la |los |las |le |les |l')?([^\W\d_]{{3,}}),? "
    r"(?:(?:is|are) (?:now )?(?:history|a thing of the past)|(?:ist|sind) (?:jetzt )?geschichte"
    r"|(?:ya )?(?:es|son) (?:pasado|historia|agua pasada)|c'est (?:fini|termine|du passe))"
    rf"(?: for me| fur mich| para mi| pour moi)?{_ENDS_CLAUSE}"
)
"""What somebody says to be of the past, and nothing else: "Telvora is history"."""
_TAUGHT = word_set(
    """favourite favorite subject topic theme genre major minor degree hobby passion strength weakness interest
    exam homework lesson class course lecture lieblingsfach fach hauptfach nebenfach thema hobby leidenschaft
    studium unterricht asignatura carrera materia tema pasion clase matiere sujet theme passion cours"""
)
"""What may be history without being over: it is what somebody learns or likes."""
_INSTEAD_OF = r"\b(?:instead of|rather than|statt|en vez de|au lieu de)(?: at| bei| en| chez)? ([^.,;!?]{2,40})"
_ROLE = (
    r"(?:an? |the )?(?:[\w-]+ ){0,3}(?:[\w-]+(?:er|or|ist|ian|ant|eur|in)|lead|head|nurse|cook|chef|clerk|arzt)"
)
_I_WORK = (
    rf"\bi work (?:at|for|as|in)\b|\bi'?m {_ROLE} (?:at|for|with)\b|\bich arbeite (?:bei|beim|als|in|im|fur)\b"
    rf"|\bich bin {_ROLE} (?:bei|beim|in|im|an)\b|\btrabajo (?:en|de|como|para)\b|\bsoy {_ROLE} (?:en|de)\b"
    rf"|\bje travaille (?:a|au|chez|comme|dans|pour)\b|\bje suis {_ROLE} (?:a|au|chez|dans)\b"
)
"""Where the speaker is employed: somebody who takes another job leaves this one."""
_I_LEAVE_WORK = (
    r"\bi(?:'ve| have)?(?: just| finally)? (?:got|taken|took|accepted|landed) (?:the|a) (?:new )?(?:job"
    r"|position)"
    r"(?=$|[.!,;:]| (?:at|as|with|for)\b)|\bi(?:'ve| have)?(?: just| finally)? (?:quit|left|lost) my job\b"
    r"|\bi(?:'ve| have|'m| was| got| am)?(?: just| been| now)* (?:laid off|made redundant|fired|retired)\b"
    r"|\bich hab\w* (?:den job|(?:den|die) (?:neue\w? )?(?:job|stelle) (?:bekommen|gekriegt)"
    r"|eine? neuen? (?:job|stelle))"
    r"|\bich (?:bin|wurde) (?:jetzt )?(?:entlassen|in rente|pensioniert)|\b(?:me han dado el"
    r"|he conseguido el|tengo un nuevo)"
    r" (?:trabajo|puesto)\b|\bme (?:han despedido|he jubilado)\b|\bj'ai (?:eu|decroche) (?:le"
    r"|un nouveau) (?:poste|travail)\b"
    r"|\bje suis (?:licenciee?|a la retraite)\b"
)
_THEY_WORK = (
    r"\b(?:works|worked|working|arbeitet|trabaja|travaille) (?:at|for|as|in|bei|beim|als|im|en"
    r"|de|como|para|chez|a|au)\b"
)
_THEY_LEAVE_WORK = (
    r"\b(?P<leaver>[^\W\d_]+)(?:'s| has| is| was| got| have| been| just| hat| ist| wurde| se ha| ha sido"
    r"| a ete)*"
    r" (?:laid off|made redundant|fired|retired|quit (?:his|her|their) job|lost (?:his|her|their) job"
    r"|entlassen|in rente"
    r"|pensioniert|jubilado|jubilada|despedido|despedida|licenciee?)\b"
)
_BESIDES = (
    r"\b(?:also|too|as well|another|auch|tambien|aussi|side|second|part.time|weekends?|evenings?"
    r"|neben\w*|zweite\w*|segundo|second\w*)\b"
)
_TAKES_ON = (
    r"\b(?P<taker>[^\W\d_]+)(?: now| will)? (?:takes?(?: over)?|is taking(?: over)?|handles|does|owns"
    r"|ubernimmt|reprend"
    r"|se encarga de|asume) (?:the |all |die |das |den |la |las |los |le |les )?(?P<duty>[^.,;!?]{3,80})"
)
_MAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
_WRITE_TO = r"\b(?:write|e?-?mail|contact|reach|send|schreib\w*|kontakt\w*|escrib\w*|contact\w*|ecri\w+)\b"
_PLACE = r"(?:the )?([^\W\d_]{3,})"
_LIVES = (
    rf"\b(?:i|we)(?:'ve| have)?(?: just| now| both)? (?:live|rent|moved|relocated|settled)(?: back)?"
    rf"(?: from [^\W\d_]{{2,20}}(?: [^\W\d_]{{2,20}})?)?(?: in| to)"
    rf"(?: an? (?:\w+ ){{1,3}}in)? {_PLACE}"
    rf"|\b(?:i'm|we're|i am|we are|been) (?:now )?(?:living|based) in {_PLACE}"
    rf"|\b(?:(?:ich|wir) wohnen?|wohnen? (?:ich|wir))(?: jetzt)? in {_PLACE}"
    rf"|\b(?:ich bin|wir sind) (?:\w+ ){{0,2}}(?:von [^\W\d_]{{2,20}} )?nach {_PLACE} (?:um)?gezogen"
    rf"|\b(?:ich bin|wir sind) (?:\w+ ){{0,2}}umgezogen,? (?:und zwar )?(?:von [^\W\d_]{{2,20}} )?nach {_PLACE}"
    rf"|\b(?:i|we)(?:'ve| have)?(?: just| finally)? left [^\W\d_]{{3,20}} for {_PLACE}"
    rf"|(?<!en )\b(?:vivo|vivimos) en {_PLACE}"
    rf"|\b(?:me he mudado|nos hemos mudado|me acabo de mudar|nos acabamos de mudar|me mude)"
    rf"(?: de [^\W\d_]{{2,20}})? a {_PLACE}"
    rf"|\b(?:j'habite|nous habitons|on habite) (?:a|en|au) {_PLACE}"
    rf"|\b(?:j'ai|nous avons|on a) demenage (?:de [^\W\d_]{{2,20}} )?(?:a|en|au) {_PLACE}"
    rf"|\b(?:j'ai|nous avons|on a) quitte [^\W\d_]{{3,20}} pour {_PLACE}"
)
"""Where the speaker lives: somebody has one home."""
_NOT_HOME = r" (?:\d|for\b)"
"""What follows a name that is not a home, or not for long: "moved to Harbor 2.0", "moved to Ghent for a month"."""
_THEY_LIVE = rf"(?:\blives|'s|\bis|\bbased|\bliving) (?:\w+ )?in {_PLACE}"
_THEY_MOVED = (
    rf"\b(?P<mover>[^\W\d_]+)(?:'s| has)?(?: just| now)? (?:moved|relocated|gone) to {_PLACE}"
    rf"|\b(?P<dweller>[^\W\d_]+)(?:'s| is| lives| is living| is based)(?: now)? in {_PLACE},? (?:now|since)\b"
)
_FAVOURITE = (
    r"\b(?:my|our) (?:new )?favou?rite ([^\W\d_]+(?: [^\W\d_]+)?) (?:is|are)\b"
    r"|\bmeine? (lieblings[^\W\d_]+) (?:ist|sind)\b"
    r"|\bmi ([^\W\d_]+) (?:favorit|preferid)[oa] es\b|\bm(?:on|a) ([^\W\d_]+) preferee? (?:est|c'est)\b"
)
"""Of which thing somebody tells which one they like best: of those there is one."""
_ONE_OF = r"\W*(?:one|some|among|between|eine[rs]?|einige|una?|algun\w*|l'une?|parmi)\b"
_CORRECTED = (
    r"\b(?:not|nicht|no|non|pas)(?: an?| the| in| at| eine?| der| die| en| una?| el| la| a| le)? "
    r"([^\W\d_]{2,}(?: [^\W\d_]+)?)\s*[.!]*$"
)
_CORRECTED_FIRST = (
    r"(?:no[,:]? )?(?:not|nicht|no|non|pas)(?: in| at| en| a)? ([^\W\d_]{2,}(?: [^\W\d_]+)?)(?=[,:;])"
)
"""What a sentence says last, or first, that is not so: "her name is Aoife, not Eefa"."""
_ATTRIBUTES = {
    "home": (_LIVES,),
    "work": (_I_WORK, _I_LEAVE_WORK),
    "contact": (_MAIL,),
}
_ADDS = r"\b(?:too|another|besides|auch|ausserdem|tambien|ademas|aussi|en plus)\b"
_SIGNS = (
    *(
        _CHANGES,
        _DENIED,
        _TOO,
        _STOPS,
        _GOES_ON,
        _HAVING,
        _LIVES,
        _THEY_MOVED,
        _IS,
        _I_LEAVE_WORK,
        _THEY_LEAVE_WORK,
        _BREAKS_UP,
        _HISTORY,
        _FAVOURITE,
        _CORRECTED,
        rf"^{_CORRECTED_FIRST}",
    ),
)
"""What ends something has one of these."""
_QUOTED = re.compile(r"[\"\u201c\u201e][^\"\u201d\n]*[\"\u201d]?")
_NUMBERED = re.compile(r"(?:The |Our |My )?([^\W\d_]{3,}) ((?:[A-Z]+-)?\d[\d.]*)(?= [^\W\d_]{2,})")
_UNSURE = (
    r"si\b|.*\b(?:if|suppose|might|maybe|perhaps|would|could|nearly|almost|never stopped|rumou?r|hopes?|hoping"
    r"|wish(?:es|ed)?|soon|one day|some day|next year|hoffe\w*|hoffentlich|wunsch\w*|bald|ojala|espero|pronto"
    r"|j'espere|bientot"
    r"|plan(?:s|ning|ned)? to|wants? to|thinking (?:of|about)|(?:i|we)'d"
    r"|(?:says?|said|thinks?|thought|believes?|claims?|reckons?) (?:that )?(?:i|we|the|my|our)|years ago"
    r"|as a child|(?:my|our) (?:last(?! day)|previous)|this once|for once|wenn|falls|vielleicht|mochten?"
    r"|will irgendwann|behauptet|angeblich|ausnahmsweise|quizas?|quiero|queremos|segun|dicen? que|por esta vez"
    r"|peut-etre|voudrai[st]|dit que|selon|exceptionnellement)\b"
)
"""What is not certain: a condition, a guess, a plan, a wish, somebody else's word, an exception, the past."""
_REPORTED = r", [^,]*\b(?:says?|said|thinks?|thought|reckons?|sagt|meint|dicen?|dit)\b(?: (?:that|que))? .*"
"""What somebody else says, behind what the speaker does: "no ballet after all, Bruno says he'd rather surf"."""
_LISTS = (
    r"\b(?:and|or|und|oder|sowie|y|e|o|et|ou)\b(?!-)"
    r"|, (?:i|i'm|i've|my|we|ich|mein\w*|wir|mi|mis|tengo|soy|je|j'|mon|ma)\b"
)
"""What joins several things in a sentence, of which one may end alone."""
_YEAR = r"\b(?:in|im|en) (?:19|20)\d\d\b"
_NEXT_THING = (
    r"\b(?:as (?:long|soon)|provided|solange|sobald|siempre que|tant que"
    r"|to|for|from|by|after|since|an|fur|nach|seit|a|para|por|pour|depuis)\b"
)
_PHRASE = (
    r"\b(for|with|in|at|to|of|fur|mit|bei|beim|im|von|para|con|en|pour|avec|chez)"
    r" (?:the |a |my |our |die |den |der |dem |das |el |la |los |las |le |les |l')?([^\W\d_]+)"
)
_KIN = (
    r"(?:my|our|meine?|unsere?|mi|nuestr[oa]|mon|ma|notre) (mother|father|mum|mom|dad|parents|sister"
    r"|brother|wife"
    r"|husband|son|daughter|aunt|uncle|cousin|niece|nephew|friend|boss|colleague|neighbou?r|mutter|vater|eltern"
    r"|schwester|bruder|frau|mann|sohn|tochter|tante|onkel|nichte|neffe|freundin|freund|chefin|chef|madre|padre"
    r"|hermana|hermano|mujer|marido|hija|hijo|tia|tio|prima|primo|sobrina|sobrino|amiga|amigo|jefa|jefe"
    r"|mere|pere"
    r"|soeur|frere|femme|mari|fille|fils|tante|oncle|niece|neveu|amie?)\b(?!'s)"
)
_CLAUSES = (
    r"\s[-\u2013\u2014]\s|(?<![,;!?:()\n])[,;!?:()\n]+\s"
    r"|\b(?:and|but|because|so|und|aber|weil|y|pero|porque|et|mais)\b"
)
"""Where a sentence is split into clauses. A full stop within one belongs to an abbreviation ("St. Ives")."""
_MINE = word_set("my our mein meine meinen meiner unser unsere mi nuestro nuestra mon ma mes notre")
_SOMEBODY = word_set("her his their ihr ihre sein seine su sus son sa ses leur")
_OWNED = rf"\b({'|'.join((*_MINE, *_SOMEBODY))}|[^\W\d_]+'s?)(?: own| new| old| next)? ([^\W\d_]+)\b(?!')"
_OWNER = re.compile(r"\b([^\W\d_]{3,})(?:'s|(?<=s)')(?= [^\W\d_])")
_WHICH = (
    r"(?:\b([^\W\d_]+) )?(?=\b([^\W\d_]+)\b(?: (?:of|de|del|du|von) ([^\W\d_]+))?"
    r"(?: ([^\W\d_]+)(?= (?:is|are|was|were|has|have|moved|changed|now)\b))?)"
)
_COUNTED = re.compile(r"(?:\b([^\W\d_]+) )?(?<![\w.,])\d+(?:[.,]\d+)*(?: (?:new |more |other )?([^\W\d_]+))?")
_NAMED_BY_NUMBER = re.compile(r"\b[^\W\d_]+[-_.]?\d[\w.-]*")
"""What has a number in its name: "db-1", "v2"."""
_NUMBER_WORD = rf"\b(?:{'|'.join(word for word, number in NUMBER_WORDS.items() if number > 1)})\b"

SAYS_LITTLE = word_set(
    """write run add send read fix build remove delete answer reply explain move live work user assistant today
    tonight anymore longer always never siempre nunca toujours jamais
    thing anyone anybody someone somebody fwiw btw yes yeah ok okay mr mrs ms dr prof
    beim zum zur vom mal fast so da dann denn eben halt etwa ganz gar hab habe hatte haben soll sollen muss kann
    konnte geht gehen
    macht machen kommt sagt sagen gibt jetzt wieder alles etwas was mehr sehr viel immer nie uhr tag woche jahr die
    cosa cosas hace hacer dice decir puede tener hay todo toda todos nada algo mucho ahora ya aqui dia semana ano
    vez luego statt desormais nouveau
    chose faire fait dit dire peut avoir tout tous rien beaucoup maintenant ici jour semaine an fois puis alors
    bien"""
)
"""Words that say little of what a text is about."""
_UNITS = word_set(
    """euro euros dollar dollars pound pounds month months hour hours minute minutes min sec km kg cm mm mg ml gb
    mb kb tb eur usd gbp people percent version"""
)
_VERBS = frozenset(
    stem(word)
    for word in word_set(
        """moved shift shifted slips slipped changed postponed pushed rescheduled switched updated corrected
        went sold sell selling quit stopped stop cancel cancelled canceled drop dropped scrap scrapped deleted
        lifted acabo vorbei aufgehoben fini forget vergiss olvida oublie
        abandoned divorced split dead
        gone switch migrate migrated bought buy drive use lasted rang needs need
        verschoben verlegt geandert gekauft kaufe kauf kriegen wollen will aufgehort abgesagt gekundigt schluss
        lasse lass lunes martes miercoles jueves viernes sabado sabados domingo domingos lundi mardi mercredi
        upgrade upgraded upgrading
        jeudi vendredi samedi dimanche pasa pasan cambiado cambia cita subio bajo vuelto dejado final quiero
        queria queriamos comprado compro cancelado deplace annule arrete achete veux"""
    )
)
_NAMING = frozenset(
    stem(word) for word in word_set("name named call called spelled spelt heisst schreibt llama appelle nom")
)
_TIMES_OF_DAY = frozenset(
    stem(word)
    for word in word_set(
        """morning afternoon evening night noon fruh morgens mittags nachmittags abends nachts manana tarde noche
        matin apres-midi soir midi"""
    )
)
_DURATIONS = frozenset(
    stem(word)
    for word in word_set(
        """second seconds sec minute minutes min hour hours day days week weeks month months year years
        sekunde sekunden minuten stunde stunden tag tage woche wochen monat monate segundo segundos minuto minutos
        hora horas dia dias semana semanas mes meses seconde secondes heure heures jour jours semaine
        semaines mois"""
    )
)
_NO_PLACES = DATE_WORDS | word_set(
    """slack teams discord zoom signal telegram whatsapp gmail outlook jira linear asana trello notion obsidian
    confluence github gitlab bitbucket jenkins postgres postgresql mysql mariadb sqlite duckdb mongodb redis
    kafka kubernetes docker podman terraform aws azure heroku vercel netlify cloudflare linux ubuntu debian
    fedora windows macos android ios python rust typescript javascript java kotlin swift ruby react vue
    svelte django flask fastapi poetry pytest ruff vim neovim emacs vscode cursor claude chrome firefox
    safari stripe paypal excel sheets"""
)
"""What people move to that is no place to live in."""
_COUNTABLE = word_set("number")
_GENERIC = frozenset(
    stem(fold(word))
    for word in (*(COMMON - _COUNTABLE), *SMALL, *FIRST, *FOREIGN_WORDS, *DATE_WORDS, *SAYS_LITTLE, *_UNITS)
)


class _Read(NamedTuple):
    """What a statement is about, the names its sentences begin with, what it writes in lower case, what stands
    beside its numbers, whose things it names, its values by their kind, and its sentences, each with what it is
    about. `may_end`: it has a sign of what ends something. Quotations are left out."""

    topic: frozenset[str]
    leads: frozenset[str]
    nouns: frozenset[str]
    counted: frozenset[str]
    owners: frozenset[str]
    values: frozenset[tuple[str, str]]
    sentences: tuple[tuple[str, frozenset[str]], ...]
    folded: str
    may_end: bool


def topic(text: str) -> frozenset[str]:
    """Return the stems of the words that say what a text is about."""
    return _topic(text[:MAX_CHARS])


def attributes(text: str) -> frozenset[str]:
    """Return of which attributes a text tells that somebody has one of: a newer value ends the older one, whatever
    other words both have."""
    folded = fold(text[:MAX_CHARS])
    return frozenset(
        name for name, signs in _ATTRIBUTES.items() if any(pattern(sign).search(folded) for sign in signs)
    )


def values(text: str) -> frozenset[tuple[str, str]]:
    """Return the days, dates, times of day and numbers of a text, each with which of these it is."""
    return _values(fold(text[:MAX_CHARS]))


def denied_values(text: str) -> frozenset[str]:
    """Return the values that a text says are not so: "not 21", "statt 500"."""
    return frozenset(pattern(_DENIED).findall(fold(text[:MAX_CHARS])))


def says_changed(text: str) -> bool:
    """Return whether a text says that something changed, is over, or goes on although it was over."""
    return _has(text, _CHANGES, _STOPS, _GOES_ON)


def says_over(text: str) -> bool:
    """Return whether a text says that something is over, goes on although it was over, or is so instead."""
    return _has(text, _STOPS, _GOES_ON, _DENIED, _INSTEAD)


def _has(text: str, *signs: str) -> bool:
    folded = fold(text[:MAX_CHARS])
    return any(pattern(sign).search(folded) for sign in signs)


def adds_more(text: str) -> bool:
    """Return whether a text tells of something besides what is known."""
    return _has(text, _ADDS)


def repeats(one: str, other: str) -> bool:
    """Return whether two statements say the same with the same words, in whatever order and spelling."""
    first = _words(one[:MAX_CHARS])
    return bool(first) and first == _words(other[:MAX_CHARS])


def may_end(text: str) -> bool:
    """Return whether a statement has a sign of what ends something."""
    return len(text) <= MAX_CHARS and _read(text, is_asked=False).may_end


def ends(newer: str, older: str) -> bool:
    """Return whether the newer statement certainly ends the older one. Both are the same speaker's."""
    if max(len(newer), len(older)) > MAX_CHARS:
        return False
    new = _read(newer, is_asked=False)
    if not new.may_end:
        return False
    old = _read(older, is_asked=True)
    if _ends(new, old):
        return True
    known = {text for text, _ in old.sentences}
    alone = (_read(one, is_asked=False) for one in _own_stops(newer)) if len(new.sentences) > 1 else ()
    return any(_ends(one, old) for one in alone if one.folded not in known)


def _own_stops(text: str) -> Iterator[str]:
    """Yield the sentences in which the speaker says that something is over: what else the text tells ("I started
    as a school nurse") takes nothing back of it."""
    for one in sentences(_QUOTED.sub(" ", text)):
        if pattern(_FIRST).match(fold(one)) and pattern(_STOPS).search(fold(one)):
            yield one


def _ends(new: _Read, old: _Read) -> bool:
    if _moves(new, old) or _leaves_work(new, old) or _is_relieved(new, old) or _changes_contact(new, old):
        return True
    if _breaks_up(new, old) or _is_history(new, old) or _likes_another(new, old) or _corrects(new, old):
        return True
    again = {text for text, _ in new.sentences}
    if all(text in again for text, _ in old.sentences):
        return False
    new = new._replace(sentences=tuple(one for one in new.sentences if not _is_of_another(one[0], old)))
    old = old._replace(sentences=tuple(one for one in old.sentences if one[0] not in again))
    names = (new.leads | old.leads) - new.nouns - old.nouns | (new.owners & old.owners)
    shared = (new.topic & old.topic) - names
    if old.topic == new.topic == new.leads and len(new.leads) == 1:
        shared = old.topic  # "Deploys are on Fridays now"
    if not shared or (new.leads and old.leads and new.leads.isdisjoint(old.leads)):
        return False
    if any(not _same_owner(word, new.folded, old.folded) or _is_another(word, new, old) for word in shared):
        return False
    if shared <= new.counted & old.counted and not new.topic <= old.topic:
        return False  # "at 20 degrees", "costs 35": of something else
    if pattern(_PROTECTS).search(old.folded) and not pattern(_PROTECTS).search(new.folded):
        return False
    if all(_is_of_another(text, new) for text, _ in old.sentences):
        return False  # what somebody stopped, their wife may still do
    return _denies(new, old, shared) or _revalues(new, old, shared) or _is_over(new, old, shared)


def contradicts(newer: str, older: str) -> bool:
    """Return whether two statements of the same speaker hardly hold together: the newer one ends the older one; or
    both speak of nearly the same, and give another time or amount; or both tell where somebody whom they name
    lives, and it is another place. A person should look: this is less certain than `ends`."""
    if ends(newer, older):
        return True
    if max(len(newer), len(older)) > MAX_CHARS:
        return False
    new, old = _read(newer, is_asked=False), _read(older, is_asked=False)
    return _lives_elsewhere(new, old) or _gives_other_value(new, old)


def _gives_other_value(new: _Read, old: _Read) -> bool:
    shared = new.topic & old.topic
    if len(shared) < max(MIN_SAME, NEARLY_ALL * len(new.topic | old.topic)):
        return False
    if new.leads and old.leads and new.leads != old.leads:
        return False
    if any(pattern(sign).search(one.folded) for one in (new, old) for sign in (_ADDS, HAPPENED)):
        return False
    if any(not _same_owner(word, new.folded, old.folded) for word in shared) or _narrows(new.folded, old.folded):
        return False
    if set(_NAMED_BY_NUMBER.findall(new.folded)) != set(_NAMED_BY_NUMBER.findall(old.folded)):
        return False
    only_new, only_old = new.values - old.values, old.values - new.values
    if len(only_new) != 1 or len(only_old) != 1 or not _revalued(new.folded, old.folded, new.values):
        return False
    ((kind, now),), ((_, was),) = only_new, only_old
    return kind == "clock" or (kind == "number" and _measures(now, new.folded) and _measures(was, old.folded))


def _measures(number: str, text: str) -> bool:
    """Return whether a number says how much, and not which one: "14 days", and not "ticket 14"."""
    label, unit = _beside(number, text)
    return stem(unit) in _DURATIONS or unit in _UNITS or not _topic(label)


def _lives_elsewhere(new: _Read, old: _Read) -> bool:
    now, was = (pattern(_THEY_LIVE).search(one.folded) for one in (new, old))
    if not now or not was or not new.leads or new.leads != old.leads:
        return False
    told = any(pattern(_LISTS).search(one.folded) or pattern(HAPPENED).search(one.folded) for one in (new, old))
    return not told and _place(now) not in old.folded and _place(was) not in new.folded


def _is_of_another(sentence: str, old: _Read) -> bool:
    """Return whether a sentence tells of a relative or a friend of whom the older statement does not."""
    found = pattern(_KIN).match(sentence)
    return found is not None and stem(found[1]) not in old.topic


def _denies(new: _Read, old: _Read, shared: frozenset[str]) -> bool:
    """Return whether a sentence denies a value of the older statement that this does not deny itself."""
    before = pattern(_DENIED).findall(old.folded)
    for text, about in _with_before(new):
        denied = [*pattern(_DENIED).findall(text), *_unfit(text, new)]
        known = [value for _, value in old.values if not any(_is_value(one, value) for one in before)]
        is_one = len(known) < 2 or not pattern(_LISTS).search(old.folded)
        if (
            denied
            and is_one
            and shared & about
            and any(_is_value(one, value) for one in denied for value in known)
        ):
            return True
    return False


def _unfit(sentence: str, new: _Read) -> Iterator[str]:
    """Yield the numbers that a sentence says do not do, if the statement gives another one of what they count."""
    for found in pattern(_TOO).finditer(sentence):
        counts = (one[2] for one in _COUNTED.finditer(new.folded) if not re.search(rf"\b{found[1]}\b", one[0]))
        if any(_unit(unit or "") == _unit(found[2] or "") for unit in counts):
            yield found[1]


def _unit(word: str) -> str:
    """Return what a number counts; all that measures time alike."""
    return "time" if stem(word) in _DURATIONS else stem(word)


def _is_value(denied: str, value: str) -> bool:
    return re.match(rf"{re.escape(denied)}(?![\d:,]|\.\d)", value) is not None


def _revalues(new: _Read, old: _Read, shared: frozenset[str]) -> bool:
    """Return whether a sentence says that something changed, and has another value for the same thing. It, or the
    one before it, says both ("They've moved the dentist. It's the 21st now"). What speaks of nearly the same as
    the older statement may say so anywhere."""
    changed = [pattern(_CHANGES).search(text) is not None for text, _ in new.sentences]
    for n, (text, about) in enumerate(new.sentences):
        before = new.sentences[n - 1][1] if n and changed[n - 1] else frozenset[str]()
        same = shared & (about | before if changed[n] or before else about)
        if not same or pattern(_ADDS).search(text) or pattern(_STOPS).search(text):
            continue
        for was, topic in _with_before(old):
            if not _speaks_of(same, topic) or _narrows(text, was) or pattern(HAPPENED).search(was):
                continue
            named = new.sentences[n - 1][0] if before and not shared & about else text
            if not _revalued(text, was, new.values) or _is_other(named, new, was, old, same):
                continue
            if changed[n] or before or (any(changed) and len(same) >= NEARLY_ALL * len(topic)):
                return True
            if _named_thing(text) and _named_thing(text) == _named_thing(was):
                return True
    return False


def _is_other(text: str, new: _Read, was: str, old: _Read, same: frozenset[str]) -> bool:
    """Return whether two sentences speak of different things that share a word: in the clauses that have it, each
    says something of which the other statement does not speak ("my car is in the garage", "my bike"); or somebody
    speaks of themselves, and then of another."""
    clause, other = (
        max(_clauses(one), key=lambda part: len(same & _topic(part)), default="") for one in (text, was)
    )
    extra, was_extra = _telling(clause) - old.topic, _telling(other) - new.topic
    if extra and was_extra:
        return True
    first = next(iter(_in_order(clause)), "")
    return first in extra and pattern(_SPEAKER).match(other.strip()) is not None


def _narrows(new: str, old: str) -> bool:
    """Return whether both say "with", "for" or "in" what, and it is something else."""
    now, was = ({found[1]: _topic(found[2]) for found in pattern(_PHRASE).finditer(one)} for one in (new, old))
    pairs = ((now[word] - _TIMES_OF_DAY, was[word] - _TIMES_OF_DAY) for word in now.keys() & was.keys())
    return any(one and other and one.isdisjoint(other) for one, other in pairs)


def _named_thing(sentence: str) -> frozenset[str]:
    """Return what a sentence tells the value of: "the release of Harbor 2.0 is on 20 November"."""
    found = pattern(_IS).match(sentence)
    return _topic(found[1]) if found else frozenset()


def _revalued(new: str, old: str, still: frozenset[tuple[str, str]]) -> bool:
    """Return whether there is another value of the same kind, and the older one is not repeated beside it."""
    given, known = _values(new), _values(old)
    for kind in {kind for kind, _ in given}:
        now, was = ({value for one, value in values if one == kind} for values in (given, known))
        if len(was) > 1 and len(now) == 1 and pattern(_LISTS).search(old):
            continue  # one of several
        was -= {value for one, value in still if one == kind}
        pairs = product(now, was)
        if was and (kind != "number" or any(_counts_alike(*pair, new, old) for pair in pairs)):
            return True
    return False


def _counts_alike(one: str, other: str, new: str, old: str) -> bool:
    """Return whether two numbers may count the same thing: neither is many times the other, and they count what
    has the same name, or stand behind the same word ("room 12")."""
    sizes = _size(one), _size(other)
    if max(sizes) > MAX_RATIO * min(sizes):
        return False
    (label, unit), (was_label, was_unit) = _beside(one, new), _beside(other, old)
    if unit and was_unit:
        return stem(unit) == stem(was_unit)
    return _topic(label) <= _topic(old) and _topic(was_label) <= _topic(new)


def _beside(number: str, text: str) -> tuple[str, str]:
    """Return the words before and after a number, so far as they say something."""
    for found in _COUNTED.finditer(text):
        if number in found[0]:
            after = found[2] or ""
            return found[1] or "", after if content_words(after) and not pattern(_CHANGES).match(after) else ""
    return "", ""


def _size(number: str) -> float:
    """Return a number; of a version ("3.9.4") the first two parts."""
    parts = re.sub(r"[.,](?=\d{3}\b)| ", "", number).replace(",", ".").split(".")
    return float(".".join(parts[:2]))


def _speaks_of(same: frozenset[str], topic: frozenset[str]) -> bool:
    return len(same & topic) >= max(1, MIN_SHARE * len(topic))


def _with_before(statement: _Read) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each sentence with what it and the one before it are about: "They've moved me. It's the 21st now"."""
    before = frozenset[str]()
    for text, about in statement.sentences:
        yield text, about | before
        before = about


def _is_over(new: _Read, old: _Read, shared: frozenset[str]) -> bool:
    """Return whether a clause says that the same thing is over, or goes on although it was over; or that somebody
    has what they did not want."""
    known = [(text, clause, _topic(clause)) for text, _ in old.sentences for clause in _clauses(text)]
    for text, _ in new.sentences:
        for clause in _clauses(text):
            same = shared & _topic(clause)
            was = [(text, clause) for text, clause, topic in known if same and _speaks_of(same, topic)]
            if not was or all(_is_other(clause, new, one, old, same) for _, one in was):
                continue
            unwanted = any(pattern(sign).search(clause) for _, clause in was for sign in (_WITHOUT, _STOPS))
            without = any(pattern(sign).search(clause) for sign in (_WITHOUT, _STOPS))
            for sign, holds in ((_STOPS, not unwanted), (_GOES_ON, unwanted and not without)):
                found = pattern(sign).search(clause) if holds else None
                if not found or all(_lists_more(text, new) or _other_value(clause, text) for text, _ in was):
                    continue
                if _thing(clause, found) <= old.topic and _is_their_own(clause, found, same, was):
                    return True
            has = not without and pattern(_HAVING).search(clause)
            if has and any(pattern(_NOT_WANTED).search(one) for _, one in was):
                return True
    return False


def _lists_more(text: str, new: _Read) -> bool:
    """Return whether a sentence joins what the newer statement speaks of with something else, which may still be
    so."""
    others = set(content_words(text)).difference(content_words(new.folded), DATE_WORDS)
    return bool(others) and pattern(_LISTS).search(text) is not None


def _other_value(clause: str, text: str) -> bool:
    """Return whether both name a day or a number, and not the same one: "the appointment on 9 June is off"."""
    return _revalued(clause, text, _values(clause))


def _is_their_own(clause: str, sign: re.Match[str], same: frozenset[str], was: list[tuple[str, str]]) -> bool:
    """Return whether what somebody else left or quit was told of them, if nothing but their name says so: "Ole hat
    gekündigt" ends "Ole arbeitet im Hafen", and not "mein Mann heißt Ole"."""
    who = _topic(clause[: sign.start()])
    if pattern(_SPLIT).match(sign[0]) and any(pattern(_COUPLE).search(one) for _, one in was):
        return True
    if not same <= who or not pattern(_LEFT).match(sign[0]) or pattern(_FIRST).search(clause):
        return True
    return any(next(map(stem, content_words(text)), "") in who for text, _ in was)


def _thing(clause: str, sign: re.Match[str]) -> frozenset[str]:
    """Return what a clause says to be over: all before the sign, and after it up to "to", "for", "with" …"""
    after = pattern(_NEXT_THING).split(clause[sign.end() :], 1)[0]
    return _topic(f"{clause[: sign.start()]} {after}")


def _clauses(text: str) -> Iterator[str]:
    return (clause for clause in pattern(_CLAUSES).split(text) if clause)


def _moves(new: _Read, old: _Read) -> bool:
    """Return whether both give the place where the speaker lives, or somebody whom both name, and it is another
    one."""
    to, at = (pattern(_LIVES).search(one.folded) for one in (new, old))
    if to and at:
        told = [text for text, _ in old.sentences if pattern(_LIVES).search(text)]
        lists = any(pattern(_LISTS).search(text) for text in told)
        place = _place(to)
        is_home = place not in _NO_PLACES and not pattern(_NOT_HOME).match(new.folded, to.end())
        is_home = is_home and stem(place) not in new.nouns and not pattern(_YEAR).search(new.folded)
        return is_home and place != _place(at) and not lists
    to, at = pattern(_THEY_MOVED).search(new.folded), pattern(_THEY_LIVE).search(old.folded)
    if not to or not at:
        return False
    who = stem(to["mover"] or to["dweller"])
    place = next(group for group in to.groups() if group and group not in (to["mover"], to["dweller"]))
    return who in new.leads and who in old.topic and place not in old.folded


def _leaves_work(new: _Read, old: _Read) -> bool:
    """Return whether one tells where somebody is employed, and the newer one that they took another job or have
    none any more."""
    told = [text for text, _ in old.sentences if pattern(_I_WORK).search(text)]
    for text, _ in new.sentences if told else ():
        was = pattern(_INSTEAD_OF).search(text) if pattern(_I_WORK).search(text) else None
        if was and _topic(was[1]) and _topic(was[1]) <= _topic(told[0]):
            return True
    left = [text for text, _ in new.sentences if pattern(_I_LEAVE_WORK).search(text)]
    if told and left:
        beside = any(pattern(_BESIDES).search(text) for text in left)
        return not beside and not any(pattern(_LISTS).search(text) for text in told)
    found = pattern(_THEY_LEAVE_WORK).search(new.folded)
    who = stem(found["leaver"]) if found else ""
    told = [text for text, _ in old.sentences if pattern(_THEY_WORK).search(text)]
    return bool(told) and who in new.leads & old.leads and not any(pattern(_LISTS).search(text) for text in told)


def _breaks_up(new: _Read, old: _Read) -> bool:
    """Return whether the older statement tells who the speaker's partner is, and the newer one that the two of
    them are no longer together."""
    found = pattern(_BREAKS_UP).search(new.folded)
    who = stem(_place(found)) if found else ""
    told = any(who in about and pattern(_COUPLE).search(text) for text, about in old.sentences)
    return bool(who) and told and len(old.sentences) == 1 and not pattern(_LISTS).search(old.folded)


def _is_history(new: _Read, old: _Read) -> bool:
    """Return whether the newer statement says that something is of the past of which the older one tells that the
    speaker has it, does it or is there."""
    things = {stem(found[1]) for found in pattern(_HISTORY).finditer(new.folded) if found[1] not in _TAUGHT}
    is_theirs = len(old.sentences) == 1 and pattern(_SPEAKER_OF).search(old.folded) is not None
    joins = any(pattern(sign).search(old.folded) for sign in (_LISTS, _PROTECTS, _HISTORY))
    return is_theirs and not joins and not things.isdisjoint(old.topic)


def _likes_another(new: _Read, old: _Read) -> bool:
    """Return whether both tell which one of the same things the speaker likes best, and it is another one."""
    told = ((text, pattern(_FAVOURITE).search(text)) for text, _ in new.sentences)
    said, now = next(((text, found) for text, found in told if found), ("", None))
    was = pattern(_FAVOURITE).search(old.folded)
    if not now or not was or _place(now) != _place(was) or len(old.sentences) != 1:
        return False
    value = next(iter(pattern(_CLAUSES).split(said[now.end() :].strip(), 1)), "")
    joins = any(pattern(sign).search(one.folded) for one in (new, old) for sign in (_ADDS, _BESIDES))
    liked = frozenset[str]() if pattern(_ONE_OF).match(value) else _topic(value)
    return bool(liked) and liked.isdisjoint(old.topic) and not joins and not pattern(_LISTS).search(old.folded)


def _corrects(new: _Read, old: _Read) -> bool:
    """Return whether a sentence ends with what is not so, and the older statement says just that of the same
    thing."""
    if len(old.sentences) != 1 or pattern(_LISTS).search(old.folded):
        return False
    was = old.sentences[0][0]
    for text, about in new.sentences:
        found = pattern(_CORRECTED).search(text) or pattern(_CORRECTED_FIRST).match(text)
        wrong = _topic(found[1]) if found else frozenset[str]()
        if not found or not wrong or not wrong.issuperset(_in_order(was)[-1:]) or not wrong <= old.topic:
            continue
        if pattern(_WITHOUT).search(was) or set(WORD.findall(text.replace(found[0], ""))) <= set(
            WORD.findall(was)
        ):
            continue
        thing = old.topic - wrong - _NAMING
        is_same = thing <= about if thing else was.partition(found[1])[0] in text
        if is_same and all(_same_owner(word, text, was) for word in thing):
            return True
    return False


def _is_relieved(new: _Read, old: _Read) -> bool:
    """Return whether the older statement begins with who does something, and the newer one tells of them and that
    somebody else does it now."""
    if not pattern(_CHANGES).search(new.folded) or pattern(HAPPENED).search(old.folded):
        return False
    for found in pattern(_TAKES_ON).finditer(new.folded):
        duty, taker = _topic(found["duty"]) - _TIMES_OF_DAY, stem(found["taker"])
        holders = (old.leads & new.topic) - duty - {taker}
        if duty and holders and duty <= old.topic and taker not in old.topic | _GENERIC:
            return True
    return False


def _changes_contact(new: _Read, old: _Read) -> bool:
    """Return whether both give the one address to write to, and the newer one says that it is another one now."""
    given = [text for text, _ in new.sentences if pattern(_MAIL).search(text) and pattern(_WRITE_TO).search(text)]
    known = [text for text, _ in old.sentences if pattern(_MAIL).search(text) and pattern(_WRITE_TO).search(text)]
    if (
        len(given) != 1
        or len(known) != 1
        or not pattern(_CHANGES).search(given[0])
        or _narrows(given[0], known[0])
    ):
        return False
    now, was = (pattern(_MAIL).findall(one[0]) for one in (given, known))
    return len(now) == len(was) == 1 and now != was and not pattern(_BESIDES).search(given[0])


def _place(found: re.Match[str]) -> str:
    return next((place for place in found.groups() if place), "")


def _same_owner(word: str, newer: str, older: str) -> bool:
    """Return whether neither text names another owner of something: "Ann's birthday" is not "my birthday"."""
    new, old = _owner(word, newer), _owner(word, older)
    return new == old or "" in (new, old) or ((new in _SOMEBODY) != (old in _SOMEBODY) and not {new, old} & _MINE)


def _is_another(word: str, new: _Read, old: _Read) -> bool:
    """Return whether the newer text says which one it means, and the older one does not: "the phone plan"."""
    return bool(_which(word, new.folded) - old.topic)


def _which(word: str, folded: str) -> frozenset[str]:
    """Return what stands beside a word and says which one is meant: "phone plan", "date of the party"."""
    for found in pattern(_WHICH).finditer(folded):
        if stem(found[2]) == word:
            return _topic(" ".join(found[n] or "" for n in (1, 3, 4)))
    return frozenset()


def _owner(word: str, folded: str) -> str:
    """Return whose something is said to be; empty if nobody's."""
    owners = (found[1] for found in pattern(_OWNED).finditer(folded) if stem(found[2]) == word)
    return next(owners, "")


@lru_cache(maxsize=4_096)
def _read(text: str, *, is_asked: bool) -> _Read:
    """Read a statement; `is_asked`: with its questions, and with what is not certain."""
    text = _QUOTED.sub(" ", text)
    stated = [one for one in sentences(text) if is_asked or _is_certain(one)]
    said = tuple((_with_digits(fold(one)), _topic(one)) for one in stated)
    folded = _with_digits(fold(" ".join(stated)))
    leads = frozenset(map(_lead, stated)) - {""}
    topic = _topic(" ".join(stated))
    nouns = frozenset(stem(fold(word)) for word in WORD.findall(text) if word[0].islower())
    counted = frozenset(stem(word) for found in _COUNTED.finditer(folded) for word in found.groups() if word)
    owners = frozenset(stem(found[1]) for found in _OWNER.finditer(folded))
    may_end = any(pattern(sign).search(folded) for sign in _SIGNS)
    return _Read(topic, leads, nouns, counted, owners, _values(folded), said, folded, may_end)


def _is_certain(sentence: str) -> bool:
    own = pattern(_REPORTED).sub("", fold(sentence))
    return not sentence.endswith("?") and not pattern(_UNSURE).match(own)


@lru_cache(maxsize=4_096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted(content_words(text)))


def _with_digits(folded: str) -> str:
    return pattern(_NUMBER_WORD).sub(lambda found: str(NUMBER_WORDS[found[0]]), folded)


@lru_cache(maxsize=8_192)
def _topic(text: str) -> frozenset[str]:
    return frozenset(_in_order(text))


@lru_cache(maxsize=8_192)
def _in_order(text: str) -> tuple[str, ...]:
    stems = (stem(word) for word in content_words(text) if not word[0].isdigit())
    return tuple(one for one in stems if one not in _GENERIC)


def _telling(clause: str) -> frozenset[str]:
    """Return what a clause is about besides the verbs of change, of having and of wanting, and the time of day."""
    return _topic(clause) - _VERBS - _TIMES_OF_DAY


def _values(folded: str) -> frozenset[tuple[str, str]]:
    found = pattern(_VALUE).finditer(folded)
    return frozenset((one.lastgroup or "", one[0].rstrip("s") if one["weekday"] else one[0]) for one in found)


def _lead(text: str) -> str:
    """Return the stem of the name with which a sentence begins, or the thing with its number ("room 14"); empty if
    it begins with another word. German writes every noun as a name."""
    numbered = _NUMBERED.match(text)
    if numbered and _topic(numbered[1]):
        return fold(f"{numbered[1]} {numbered[2]}")
    first = re.match(r"[A-ZÀ-Þ][a-zà-ÿ]+(?=(?: [A-ZÀ-Þ]['\u2019\w]+)?(?:['\u2019]s)? [a-z])", text)
    if not first or guess_language(fold(text).split()) == "german":
        return ""
    return next(iter(_topic(first[0])), "")
