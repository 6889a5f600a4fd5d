"""Find where a message stops being its writer's own words: what presents a text that somebody else wrote, or that
is made up.

There are few ways, and each has words in English, German, Spanish and French: a request or a question about a text
("translate this: …", "… is this spam?"), the name of a kind of text or of who wrote it before a colon ("a review
I found: …", "my boss wrote: …"), the head of a mail, a label of a speaker ("Anna: I moved"), and what is only
imagined ("pretend that I live on Mars"). None of them names a subject, so that nothing depends on what the text
says.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from lifelong.text.names import ACQUAINTANCES, FEMALE_RELATIVES, MALE_RELATIVES
from lifelong.text.role_play import begins_play
from lifelong.text.standing import FIRST_PERSON, instructs, standing
from lifelong.text.words import fold, pattern, word_set

MAX_FRAME_CHARS = 240  # within which somebody says what a text is given for
MAX_TITLE_CHARS = 80
MAX_POINTER_CHARS = 80  # of a sentence that speaks of a text and does not ask: "thoughts on this please"
MAX_SPOKEN_CHARS = 600  # of a text that are read to tell whether somebody speaks in it

_THIS = (
    r"(?:this|that|these|those|it|the following|(?:the )?(?:text|message|mail|email|paragraph)s? below|below"
    r"|das|dies\w*|(?:de[nrms]|die|das)? ?folgende\w*|est[aeo]s?|es[aeo]s?|lo siguiente|(?:el|la) siguiente"
    r"|ce(?:t|tte|ci|s)?|cela|ca|c'est|le suivant|la suivante)"
)
_TEXT = (
    r"(?:e-?mails?|mails?|messages?|texts?|letters?|paragraphs?|sentences?|passages?|articles?|posts?|threads?"
    r"|tweets?|reviews?|comments?|quotes?|quotations?|poems?|lyrics|songs?|verses?|stor(?:y|ies)|novel|scripts?"
    r"|dialogues?|monologues?|bios?|cvs?|resumes?|curriculum|profiles?|cover letters?|applications?|ad|advert"
    r"|advertisements?|slogans?|screenshots?|transcripts?|chats?|conversations?|logs?|sms|captions?|headlines?"
    r"|drafts?|essays?|speech(?:es)?|excerpts?|snippets?|voicemails?|testimonials?|newsletters?|flyers?|posters?"
    r"|signs?|statements?|inbox|forum|subreddit|whatsapp|telegram|dms?|repl(?:y|ies)|\w+'s notes?|spelling|grammar"
    r"|typos?|wording|syllables?|dictation|(?:passive|active) voice|words in"
    r"|introductions?|intro"
    r"|\w*(?:nachricht|beitrag|beitrage|rezension|bewertung|kommentar|zitat|gedicht|lebenslauf|bewerbung|anzeige)"
    r"(?:e|en|es|s)?|(?:[a-z]{3,})?(?:text|artikel|protokoll|entwurf|aufsatz)(?:e|en|es|s)?"
    r"|\w{3,}brief(?:e|en|es|s)?|briefe[ns]?|(?<!be )(?<!in )(?<!that )(?<!very )(?<!so )(?<!more )(?<!too )"
    r"(?<!it )(?<!less )(?<!and )brief|absatz\w*|satz\w*|satze|lied|geschichte|anschreiben|mailbox"
    r"|mensajes?|textos?|cartas?|parrafos?|frases?|articulos?|publicacion\w*|resenas?|opinion|comentarios?|citas?"
    r"|poemas?|letra|cancion|historia|curriculo|perfil|anuncios?|(?:el|un|este|del|de) correo|borrador|redaccion"
    r"|lettres?|paragraphes?|phrases?|avis|commentaires?|citations?|poemes?|paroles|chanson|histoire|annonces?"
    r"|courriels?|brouillon|temoignages?|critiques?|(?:in|in the) first person|ich-\w+|primera persona"
    r"|premiere personne)"
)
_WORKS_ON = (
    r"(?:translat\w+|summari[sz]\w*|sum up|proof-?read\w*|rewrit\w+|re-?phras\w+|paraphras\w+|reword\w*|shorten"
    r"|condens\w+|spell-?check|grammar|classif\w+|sentiment|extract|reply|repl(?:y|ies) to|respond to|answer"
    r"|polish|reformulat\w+|in (?:english|german|french|spanish|italian|portuguese|dutch|japanese|chinese|latin)"
    r"|into (?:\w+ )?(?:english|german|french|spanish|italian|portuguese|dutch|japanese|chinese|latin)"
    r"|sounds? (?:more|less|like|better|ok\w*|good|polite|natural|right)|means?|say(?:s|ing)?|reads?"
    r"|writ(?:es?|ten)"
    r"|wrote|sings?|sang|singt|canta|chante|author|improve|spelling|typos?|wording|feedback|opinion"
    r"|think (?:of|about)|make of|feel about"
    r"|ubersetz\w*|zusammenfass\w*|fasse?\b.{0,40}\bzusammen|korrigier\w*|korrektur\w*|umschreib\w*|umformulier\w*"
    r"|formulier\w*|verbesser\w*|findest|findet|haltst|haltet|halten sie|kurz(?:e|en)|beantwort\w*|bedeutet"
    r"|heisst|auf (?:englisch|deutsch|franzosisch|spanisch"
    r"|italienisch)|ins (?:englische|deutsche|franzosische|spanische|italienische)|geschrieben"
    r"|traduc\w+|traduzca\w*|resum\w+|corri[gj]\w+|reescrib\w*|reformula\w*|parafrase\w*|acorta\w*|responde\w*"
    r"|contesta\w*|significa\w*|mejora\w*|te parece|opinas|piensas|al (?:ingles|aleman|frances|espanol"
    r"|italiano)|en (?:ingles|aleman|frances"
    r"|espanol|italiano)"
    r"|tradui\w+|corrige[rz]?|reecri\w+|reformule[rz]?|raccourci\w*|repond\w*|veut dire|signifie|ameliore\w*"
    r"|penses|pensez"
    r"|en (?:anglais|allemand|espagnol|italien|francais))"
)
_STRONGLY = (
    r"(?:translate|summari[sz]e|proof-?read|rewrite|re-?phrase|paraphrase|reword|shorten|classify|correct|edit"
    r"|ubersetze?n?|korrigiere?n?|formuliere?n?|fasse?|kurze(?! (?:ruck)?(?:frage|info|notiz)\b)|kurzen"
    r"|traduce|traduzca|traducir|resume|resumir"
    r"|corrige"
    r"|corregir|reescribe|traduis|traduire|traduisez|resumer|resumez|corriger|corrigez|reformule|reformuler)"
)
"""What is done to nothing but texts: needs no word for the text before a colon."""
_INTO = (
    r"(?:in|into|ins|auf|al|en) (?:\w+ )?(?:english|german|french|spanish|italian|portuguese|dutch|japanese"
    r"|chinese"
    r"|latin|englische?|deutsche?|franzosische?|spanische?|ingles|aleman|frances|espanol|italiano|anglais|allemand"
    r"|espagnol|italien)"
)
_JUDGED = (
    r"(?:phish\w*|spam|scam\w*|legit\w*|fake|genuine|hoax|fraud\w*|bot|ai|ai-generated|ai-written|chatgpt|true"
    r"|correct|real|authentic|plagiar\w*|suspicious|trustworthy|betrug|betruger\w*|echt|serios|gefalscht|richtig"
    r"|wahr|estafa|timo|fraude|falso|falsa|verdad|correcto|correcta|arnaque|frauduleu\w+|vrai|faux|suspect)"
)
_MAKES = (
    r"(?:write|compose|draft|continue|complete|finish|generate|invent|schreib\w*|verfass\w*|dichte|erfinde"
    r"|escrib\w+|redacta\w*|inventa\w*|compon\w*|ecri[st]\w*|redige\w*|invente\w*|compose\w*)"
)
_POLITE = (
    r"[^\w]{0,4}(?:(?:hey|hi|hello|ok|okay|so|and|now|then|please|pls|kindly|can you|could you|would you|will you"
    r"|help me(?: to)?|i (?:want|need|would like|'d like) you to|just|bitte|und|kannst du|konntest du|konnen sie"
    r"|konntest|mal|puedes|podrias|me puedes|por favor|y|peux-tu|pouvez-vous|pourrais-tu|tu peux"
    r"|s'il te plait)[, ]+){0,4}"
)
_POINTS = (
    rf" (?:\w+ )?(?:{_TEXT}|{_JUDGED})\b|\s*[,.?!:]|\s*$| (?:for|to|in|into|from|by|on|please|me|more|as|is"
    rf"|are|was|be"
    r"|really|just|today|here|up|down|look\w*|sound\w*|seem\w*|land\w*|came|mean\w*|says?|writ\w*|auf|ins|bitte"
    r"|zusammen|hoflicher|ist|korrigier\w*|ubersetz\w*|al|en|es|una?|est|du|une|por)\b"
)
"""What follows a "this" that means a text, not a thing: "this sentence", "this into French"; not "this city"."""
_STATES = (
    r"(?:no|yes|yeah|that|this|it|these|he|she|they|you|i(?! (?:just )?(?:got|received|found|saw|need|want|have"
    r" to))|i'm|i've|i'll|we|my|our|nein|ja|das|dies\w*|es|er|sie|ich(?! (?:brauche|habe))|wir|mein\w*|si|esto|eso"
    r"|yo|mi|c'est|ce|ca|il|elle|je|mon|ma)\b(?!.*\b(?:inbox|mailbox|landed)\b)"
)
"""How somebody begins who tells something, and does not ask."""
_BEGINS = (
    r"(?:put|make|turn|give|tell|guess|rate|look|check|convert|count|fix|i (?:just )?(?:got|received|found|saw"
    r"|need"
    r"|want)|ich (?:brauche|habe)|mach\w*|pon|pasa|dime|mets|dis)"
)
"""How a request about a text may begin besides the words for what is done with it."""
_RATES = (
    r"(?:scor\w+|rank\w*|grad(?:e|ing)|assess\w*|evaluat\w+|judge|review|analy[sz]\w+|explain|compare|found"
    r"|saw|got"
    r"|bewert\w*|beurteil\w*|pruf\w*|analysier\w*|erklar\w*|gefunden|hab(?:e)? |evalua\w*|valora\w*|puntua\w*"
    r"|analiza\w*|revisa\w*|explica\w*|evalue\w*|note[rz]? (?:ce|la|le)|analyse\w*|explique\w*|relis\w*|regarde)"
)
"""How somebody begins who wants to be told what a text or a person is worth."""
_TELLS_ME = (
    r"\b(?:remember|note (?:this|that|down|it)|keep|bear|(?:write|take|put) (?:this|that|it) down"
    r"|you (?:\w+ ){0,3}know|save|store|memori[sz]e|forget"
    r"|listen"
    r"|(?:answer|tell) me this|(?:hear|get) this|(?:let me|i(?:'ve got| have)? (?:to|must)) (?:correct|fix"
    r"|clarify|add)"
    r"|merk\w*|notier\w*|wisse|vergiss|speicher\w*|recuerda\w*|anota\w*|apunta\w*|guarda\w*"
    r"|no olvides|retiens|retenez|souviens|n'oublie|n'oubliez|sache)\b"
)
"""How somebody announces their own words: "remember this: I'm allergic to nuts"."""
_OWN_TEXT = (
    r"\b(?:my|our|meine?n?|unsere?n?|mi|mon|ma|notre) (?:\w+ )?(?:own )?(?:bio|cv|resume|profile|introduction"
    r"|intro"
    r"|statement|lebenslauf|profil|vorstellung|curriculo|curriculum|perfil|presentacion|presentation|parcours)\b"
)
_SPOKE = (
    r"\b(?:wrote|writes|written|said|says|saying|messaged|texted|told (?:me|us|him|her|them)|posted|reads|read|ran"
    r"|claims?|claimed|complain(?:s|ed)|tweeted|comment(?:s|ed)|announce[sd]|shout(?:s|ed)|explain(?:s|ed)"
    r"|repl(?:ied|ies)|answer(?:ed|s)|mailed|emailed|e-mailed|sent|sends|puts? it|sings?|sang"
    r"|asks|is asking|asked|fragte?|pregunta|demande"
    r"|schrieb|schreibt|geschrieben|sagte?|gesagt|meinte?|gemeint|antwortete?|geantwortet|geschickt|steht"
    r"|escribio|escribe|escrito|dijo|dice|dicho|respondio|mando|enviado|envio|pone|canta"
    r"|ecrit|a dit|disait|repondu|envoye|chante)\b"
)
_SOURCE = (
    r"(?:from|on|in|aus|auf|de|del|en|du|sur|dans) (?:(?:the|an?|some|der|dem|einer|einem|la|el|una?|le|l'"
    r"|une) ?)?"
    r"(?:\w+ )?(?:wiki|web ?site|page|site|faq|manual|handbook|blog|newspaper|magazine|brochure|zeitung"
    r"|webseite|handbuch"
    r"|pagina|web|periodico|revista|journal|livre|manuel)"
)
_I_SPOKE = (
    r"\b(?:i|we|i've|we've|ich|wir|yo|je|j'ai|nous|on a)\b(?: \w+){0,4}? (?:wrote|said|say|told|tell|texted|asked"
    r"|asking|ask|frage"
    r"|messaged"
    r"|posted|replied|answered|repeat|mean|meant|sagte|gesagt|schrieb|geschrieben|meine|antwortete|dit|ecrit"
    r"|repondu)\b|\b(?:he (?:dicho|escrito)|le dije|les dije|escribi)\b"
)
_HEAD = (
    r"(?:from|to|cc|subject|sent|date|von|an|betreff|gesendet|datum|de|para|asunto|enviado|fecha|a|objet|envoye"
    r"|expediteur) ?: \S"
)
_FORWARDED = (
    r"[-_\s>]*(?:begin )?(?:forwarded|original|weitergeleitete|ursprungliche)[- ](?:message|mail|nachricht)"
    r"|[-_\s>]*(?:mensaje|correo) (?:reenviado|original)|[-_\s>]*message (?:transfere|d'origine|original)"
    r"|(?:fwd?|wg|rv|tr) ?:"
    r"|(?:on|am|el|le) .{4,80}\b(?:wrote|schrieb|escribio|a ecrit)\b.{0,60}:\s*$"
)
_GREETS = (
    r"(?:dear|hello|hi|hey|good (?:morning|day|evening)|hallo|liebe[rs]?|sehr geehrte[rs]?|guten (?:tag|morgen)"
    r"|moin|hola|estimad[oa]s?|querid[oa]s?|buenos dias|bonjour|cher|chere|salut|bonsoir)"
    r" (?:(?:mr|mrs|ms|dr|herr|frau|senora?|monsieur|madame)\.? )?([^\W\d_]+)(?: [^\W\d_]+){0,2}\s*[,:!]\s*$"
)
_SIGNS_OFF = (
    r"(?:(?:best|kind|warm|many)(?: (?:regards|wishes))?|regards|sincerely|yours(?: \w+)?|cheers|love|thanks"
    r"|thank you|(?:viele|liebe|beste|herzliche|schone|mit freundlichen) grusse?n?|gruss|mfg|lg|(?:un|muchos)"
    r" (?:cordial )?saludos?|saludos(?: cordiales)?|un abrazo|atentamente|cordialement|bien a (?:toi|vous)"
    r"|amicalement"
    r"|bises|salutations)[,.!]?"
)
_IMAGINED = (
    r"(?!imagine, (?:i|we|my|our)\b.*!)"
    r"(?:(?:just |now |so |let's |let us |stell dir |lass uns )?(?:imagine|pretend|role-?play(?:ing)?|make believe"
    r"|act (?:as|like)|you play|fantasi[sz]e|picture this|vor,?|so tun|stellen sie sich vor|tu so,? als"
    r"|tun wir so|rollenspiel|spiel\w* wir|imagina|imaginemos|imaginate|finge|fingamos|haz como si|juguemos"
    r"|imagine[rz]?|imaginons|fais comme si|faisons comme si|jeu de role|on dirait que)\b"
    r"|let's (?:say|assume|play) (?:that )?|(?:in|from) (?:my|our|the|this|a|his|her) (?:\w+ )?(?:novel|story"
    r"|book|film"
    r"|movie|play|game|dream|song|poem|script|screenplay|campaign)\b"
    r"(?! (?:club|group|circle|company|studio|shop|store|publisher|project|team|class|collection|shelf|night)s?\b)"
    r"|(?:in|aus) (?:meinem|dem|einem) (?:roman|buch"
    r"|film|traum|spiel|lied)\b|en (?:mi|la|el) (?:novela|cuento|pelicula|juego|sueno|cancion)\b"
    r"|dans (?:mon|le|la) (?:roman|livre|film|jeu|reve|chanson)\b)"
)
_SUPPOSED = (
    r"(?:(?:but |and |so |now )?(?:suppose|supposing|assume|assuming|hypothetically|what if|angenommen"
    r"|say(?=,| (?:i|you|we|he|she|they|my|that|there)\b)"
    r"|nehmen wir"
    r" an|gesetzt den fall|was ware,? wenn|supongamos|supon|pongamos|y si|que pasaria si|supposons|admettons"
    r"|mettons|et si)\b"
    r"|(?:if|wenn|falls|si)\b.{0,120}\b(?:would|could|'d|might|wurden?|ware|hatte|konnte|\w{2,}ria[ns]?"
    r"|\w{2,}rai(?:s|t|ent))\b|.{0,120}\b(?:as (?:if|though) i|als ob ich|como si yo|comme si j)\b|i (?:dreamt"
    r"|dreamed)\b|ich habe getraumt|sone que|j'ai reve)"
)
_SUPPOSED_BEHIND = (
    r"[,:;\u2013\u2014-] (?:suppose|supposing|assuming|hypothetically|let's (?:say|assume)|what if|angenommen"
    r"|nehmen wir an|was ware,? wenn|supongamos|pongamos|imagina|imaginemos|que pasaria si|supposons|admettons"
    r"|imaginons),? (?:that |dass |que |qu')?"
    r"(?:i|i'd|i'm|we|we'd|my|our|ich|wir|mein\w*|unser\w*|yo|me|mi|je|j'\w+|on|nous|mon|ma)\b"
)
"""The same behind a few words: "just a daydream: suppose I'd inherited a castle"."""
_WOULD_BE = (
    r"\W*(?:and |but |then |so )?(?:i|we|it|they|there|my \w+|our \w+)"
    r"(?:'d| would)\b(?! (?:like|prefer|rather)\b)"
)
"""How an English sentence begins that goes on with what is supposed."""
_A = r"(?:an?|the|my|your|der|die|das|eine?|el|la|una?|le|l'|une|mon|ma) ?"
_ROLE_PLAY = (
    rf"\b(?:you're|you are|you'll be|you be|du bist|sie sind|(?:tu )?eres|tu es|vous etes) {_A}\w.{{0,60}}"
    rf"\b(?:(?:i'm|i am|i'll be|ich bin|yo soy|soy|je suis) {_A}|(?:and i|und ich|y yo|et moi) {_A})"
    r"|\b(?:jugamos|juguemos|jugar) a que\b|\bon (?:dit|disait|joue a dire) que\b"
)
"""Who gives both sides a part plays: "you're the barista and I'm a customer called Reginald"."""
_PLAYS_PART = (
    r"\b(?:i'm playing|i play|i'll play|ich spiele|je joue|je fais|yo hago de|hago de|yo interpreto) "
    r"(?:an?|the|den|die|das|eine?n?|el|la|una?|le|l'|une)\b"
)
_JUDGED_PERSON = (
    r"(?:applicant|candidate|guy|person|woman|man|student|seller|buyer|customer|stranger|sender|author|tenant"
    r"|bewerber|kandidat|mensch|typ|kund|verkaufer|absender|mieter|candidat|persona|chic[oa]|hombre|mujer|alumn"
    r"|vendedor|inquilin|personne|mec|femme|homme|eleve|vendeur|locataire)"
)
_ASKED_FOR = (
    rf"\b{_THIS} (?:\w+ )?(?:{_TEXT}\b|{_JUDGED_PERSON})"
    rf"|\b(?:the|his|her|their|\w+'s|de[nrms]|die|das|el|la|los|las|le|les|son|sa|su) "
    rf"(?:\w+ )?(?:{_TEXT}|tone|tonfall|tono)\b"
    rf"|\bl'(?:annonce|avis|article|histoire)\b"
    r"|\b(?:what|how|was|wie|que|comment)\b.{0,30}\b(?:(?:i|we) (?:\w+ )?(?:reply|answer|respond|say|write)"
    r"|(?:antworte|schreibe?|sage?) (?:ich|wir)|les? (?:contesto|respondo|digo|escribo)"
    r"|(?:je|on)(?: lui| leur)? (?:repond\w*|dis|dit|ecri\w*))\b"
)
"""What a request is about that stands below it: a text of somebody's, who somebody is, or what to answer."""
_POINTS_DOWN = (
    rf"\b{_THIS}(?={_POINTS})"
    r"|\b(?:is|was) (?:this|that) (?:an?|the|ok\w*|normal|good|any|too|worth|safe|legal|fair)\b"
    r"|\b(?:would|does|could|should|will|do) (?:this|these|that) \w+ (?:me|us|you|my|our|to|for)\b"
)
_OF_SELF = (
    r"\W{0,3}(?:i|i'm|i've|my|we|we're|our|ich|mein\w*|wir|unser\w*|yo|mi|soy|tengo|je|j'\w+|mon|ma|nous|on)\b"
)
_RECEIVED = (
    r"\b(?:found|left|sent|got|received|came across|saw|gefunden|bekommen|geschickt|erhalten|encontr\w+|recibi\w*"
    r"|mandado|pasado|llegado|trouve|recu|envoye)\b"
)
_HERE = (
    rf"(?:here(?:'s| is| are)?|hier(?: ist| kommt)?|aqui (?:esta|va|tienes)|voici|voila)\b"
    rf"(?!.*\b(?:my|mein\w*|mi|mon|ma)\b)"
    rf".*\b{_TEXT}\b"
)
_DESCRIBES = (
    r"(?:it's|it is|it was|this is|that's|they're|es (?:ist|war|geht)|das ist|ist|sie ist|er ist"
    r"|es (?:de|del|para|la|el|una?)\b|son (?:de|para)|c'est|ce sont|il est|elle est)\b"
)
"""How a sentence begins that tells of a text what it is for, or whose."""
_BACK_TO_WORK = r"\bif (?:you|u)\b|\bwenn du\b|\bsi (?:tu|vous)\b"

_LABEL = re.compile(
    r"(?:[\[(]?\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?[\])]?\s*[-\u2013\u2014,|]?\s*)?"
    r"[*_<\[]{0,2}([A-ZÀ-Þ][\w.'\u2019-]*(?: [A-ZÀ-Þ][\w.'\u2019-]*){0,2})[*_>\]]{0,2}"
    r"(?: ?[\[(][^\])\n]{1,20}[\])])?[ \u00a0]?:[*_]{0,2}\s+(?=\S)"
)
_CHAT_LABEL = re.compile(
    r"(?:[\[(]?\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?[\])]?\s*[-\u2013\u2014,|]?\s*)?"
    r"[*_<\[@]{0,2}([^\W\d][\w.-]{0,30}(?: [^\W\d][\w.-]{0,30})?)[*_>\]]{0,2} ?:[*_]{0,2}\s+\S"
)
_TOPICS = word_set(
    """inferred note notes update ps nb fyi edit reminder fact facts important correction also btw background
    context me target launch eating drinking sleep money car house travel kids essen trinken schlaf geld auto haus
    reisen kinder about info information summary status question answer problem issue goal goals plan plans
    todo tip warning
    today yesterday tomorrow tonight now later name home address city job work employer diet food allergy allergies
    health family hobby hobbies pets birthday age phone email budget rule rules preference preferences style tone
    language schedule deadline decision reason result lesson conclusion option example disclaimer idea news
    notiz hinweis nachtrag info wichtig korrektur ubrigens frage antwort ziel plan regel regeln name wohnort
    adresse
    stadt beruf arbeit arbeitgeber ernahrung allergie allergien gesundheit familie hobbys geburtstag alter telefon
    vorlieben sprache termin entscheidung grund ergebnis beispiel heute morgen gestern
    nota notas posdata pd importante aviso recordatorio correccion pregunta respuesta objetivo regla reglas nombre
    casa direccion ciudad trabajo dieta alergia alergias salud familia cumpleanos edad telefono idioma decision
    motivo resultado ejemplo hoy manana ayer
    remarque rappel precision question reponse objectif regle regles nom adresse ville travail metier regime
    allergie sante famille anniversaire telephone langue raison resultat exemple aujourd'hui demain hier
    monday tuesday wednesday thursday friday saturday sunday weekdays weekend weekends morning mornings afternoon
    evening evenings night nights breakfast lunch dinner snacks deal truth music books reading movies sports
    exercise training remember honestly actually basically seriously frankly personally finally sadly
    luckily currently recently usually normally first firstly second secondly third thirdly lastly
    montag dienstag mittwoch donnerstag freitag samstag sonntag wochenende abends morgens mittags fruhstuck
    mittagessen abendessen musik bucher sport achtung merke ehrlich zuerst erstens zweitens drittens
    lunes martes miercoles jueves viernes sabado domingo desayuno almuerzo cena musica libros deporte ojo cuidado
    atencion recuerda anota resumen primero segundo tercero
    lundi mardi mercredi jeudi vendredi samedi dimanche dejeuner diner musique livres sport attention bref
    retiens d'abord"""
)
"""What stands before a colon and is no speaker: "Update: I work at Solvane now"."""
_ROLES = (
    FEMALE_RELATIVES
    | MALE_RELATIVES
    | ACQUAINTANCES
    | word_set(
        """user assistant system human ai bot agent customer client patient candidate applicant interviewer
        interviewee host guest caller operator speaker narrator him her them he she they kunde kundin bewerber
        bewerberin anrufer cliente candidato candidata candidat client"""
    )
)
_NOUN = r"\w{3,}(?:tion|sion|ung|heit|keit|schaft|ness|cion)"
"""What no name ends with."""
_OF_A_KIND = (
    r"(?:for|fur|bei|para|pour) (?:\w+ ){0,2}\w+$|(?:when(?:ever)? you|wenn du|quand tu)\b[^,]*$"
    r"|in (?!(?:an?|the|one|some|his|her|their)\b)(?:\w+ ){0,2}\w+s$"
    r"|(?:my|our|meine|unsere|mis|nuestras|mes|nos) (?:rules?|regeln?|reglas?|regles?)\b|long story short$"
)
"""How somebody begins to tell what they want with each text of a kind: "for commit messages: always …"."""
_IN_THIRD_PERSON = r"\W*(?:she|he|they|sie|er|ella|ellos|ellas|elles?|ils?(?! faut| y a))\b"
_OF_BEFORE = (
    r"\W*(?:what do you think (?:of|about) that|does that sound (?:good|ok\w*)"
    r"|is that (?:really )?(?:true|correct)"
    r"|what (?:does|do|would) (?:this|that|it) mean for (?:me|us)"
    r"|wie findest du das|ist das (?:richtig|wahr)|was (?:bedeutet|heisst) das fur (?:mich|uns)"
    r"|que (?:opinas|piensas) de eso|es (?:eso )?verdad|que significa es[ot]o para (?:mi|nosotros)"
    r"|c'est vrai|(?:tu penses quoi|que penses-tu) de ca)\b"
)
"""How somebody asks about what was talked of, and not about a text that follows."""
ROLE_NAMES = word_set("system assistant ai bot agent operator admin developer tool")
"""What no person is called: who speaks under such a name is not who a label with it means."""
_ORDERS = r"\b(?:always|never|don't|do not|immer|nie|niemals|siempre|nunca|toujours|jamais)\b"
_SELF = (
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|us|our|ich|mir|mich|mein\w*|wir|uns|unser\w*|yo|mi|mis|nos|nuestr\w+"
    r"|soy|tengo|je|j'\w+|moi|mon|ma|mes|nous|notre|nos)\b"
)
"""The writer, in any role in a sentence."""
_PRONOUN = (
    r"\b(?:she|he|they|her|him|them|this|that|these|those|sie|er|ihr|ihm|ihn|dies\w*|ella|ellos|esto|eso|elle|il|ils"
    r"|cela|ceci)\b"
)
_SPEAKS = r"\b(?:me|he|trabajo|prefiero|llamo|hablo|odio|como|mes|m'\w+|j'\w+)\b"


class Frame(NamedTuple):
    """What a sentence says about what stands beside it. `at`: where, in the sentence, the text of somebody else
    begins; none: only the sentence itself is made up. `is_request`: it asks about a text; `points_back`: which
    stands before it, where nothing follows. `if_spoken`: it only tells whose text follows, which matters where
    somebody speaks in that."""

    at: int | None
    is_request: bool = False
    points_back: bool = False
    if_spoken: bool = False


def find_frame(sentence: str, *, ends_line: bool, names: Collection[str] = ()) -> Frame | None:
    """Return what a sentence presents; none where it is its writer's own. `ends_line`: nothing else is on its
    line; `names` are the writer's, folded."""
    head, at = _before_colon(sentence)
    folded = fold(head)
    if _of_mail(sentence, ends_line=ends_line, names=names):
        return Frame(0)
    if pattern(_IMAGINED).match(pattern(_POLITE).sub("", folded, count=1)):
        return Frame(0)
    if pattern(_ROLE_PLAY).search(fold(sentence[:MAX_FRAME_CHARS])) or begins_play(sentence):
        return Frame(0)
    if _is_speaker(sentence, names):
        return Frame(0)
    if at and pattern(_PLAYS_PART).search(folded):
        return Frame(at, if_spoken=True)
    whole = fold(sentence[:MAX_FRAME_CHARS])
    behind = pattern(_SUPPOSED_BEHIND).search(whole)
    if pattern(_SUPPOSED).match(whole) or (behind and not FIRST_PERSON.search(whole[: behind.start()])):
        return None if pattern(_BACK_TO_WORK).match(folded) else Frame(None)
    if _is_request(folded, has_colon=at > 0):
        is_of_text = pattern(rf"\b(?:{_STRONGLY}|{_INTO}|{_JUDGED})\b").search(folded) is not None
        return Frame(at or len(sentence), is_request=True, points_back=is_of_text)
    if at and _presents(folded) and not pattern(_IN_THIRD_PERSON).match(fold(sentence[at : at + MAX_TITLE_CHARS])):
        return Frame(at, if_spoken=True)
    is_title = ends_line and not at and len(sentence) <= MAX_TITLE_CHARS and sentence[-1:] not in ".!?…"
    if is_title and _presents(folded):
        return Frame(len(sentence), if_spoken=True)
    return None


def asks_about_what_follows(line: str, follows: str) -> bool:
    """Return whether the first line of a message asks for something to be done with what stands below it, or to be
    told of it. A "this" with nothing before it points there, unless the writer goes on about themselves."""
    folded = fold(line[:MAX_FRAME_CHARS])
    if any(pattern(sign).search(folded) for sign in (_TELLS_ME, _OWN_TEXT, _I_SPOKE)):
        return False
    asked = pattern(_POLITE).match(folded)
    ask = folded[asked.end() :] if asked else folded
    is_text = pattern(rf"{_STRONGLY}\b(?! me\b)").match(ask) or pattern(_HERE).match(ask)
    if is_text or (folded.rstrip().endswith(":") and pattern(_WORKS_ON).match(ask)):
        return True
    if pattern(_RECEIVED).search(folded) and pattern(rf"\b{_THIS} (?:{_TEXT}|note|zettel|nota)\b").search(folded):
        return True
    if "?" not in folded and (
        pattern(_STATES).match(ask) or not pattern(rf"(?:{_WORKS_ON}|{_BEGINS}|{_RATES})").match(ask)
    ):
        return False
    if pattern(_ASKED_FOR).search(folded):
        return True
    return pattern(_POINTS_DOWN).search(folded) is not None and not pattern(_OF_SELF).match(fold(follows[:40]))


def points_to_text(sentence: str) -> bool:
    """Return whether a sentence may speak of a text that stands beside it: a question about one, or a few words
    that ask for something to be done with it. Who tells of themselves, or says how to be answered, does not."""
    folded = fold(sentence[:MAX_FRAME_CHARS])
    if not folded.rstrip().endswith("?"):
        if len(sentence) > MAX_POINTER_CHARS or any(pattern(sign).search(folded) for sign in (_SELF, _ORDERS)):
            return False
        return pattern(rf"\b(?:{_THIS}(?={_POINTS})|{_TEXT}|{_STRONGLY}|{_INTO})\b").search(folded) is not None
    hints = rf"\b(?:{_THIS}(?={_POINTS})|{_TEXT}|{_JUDGED}|{_WORKS_ON}|thoughts)\b"
    return pattern(hints).search(folded) is not None


def asks_of_somebody(sentence: str) -> bool:
    """Return whether a question speaks of somebody or something by a pronoun: as the first sentence of a message,
    of what stands below it."""
    folded = fold(sentence[:MAX_FRAME_CHARS])
    return folded.rstrip().endswith("?") and pattern(_PRONOUN).search(folded) is not None


def is_conditional(sentence: str) -> bool:
    """Return whether a sentence tells what would be, as one does that goes on with what is supposed."""
    return pattern(_WOULD_BE).match(fold(sentence[:MAX_FRAME_CHARS])) is not None


def describes(sentence: str) -> bool:
    """Return whether a sentence tells what the text is that the one before it asks about."""
    return pattern(_DESCRIBES).match(fold(sentence[:MAX_TITLE_CHARS])) is not None


def speaks(text: str) -> bool:
    """Return whether somebody speaks of themselves in a text, or says what is to be done."""
    text = text[:MAX_SPOKEN_CHARS]
    folded = fold(text)
    return (
        FIRST_PERSON.search(folded) is not None
        or pattern(_SPEAKS).search(folded) is not None
        or pattern(_ORDERS).search(folded) is not None
        or instructs(text)
        or bool(standing(text))
    )


def is_own_speech(before: str) -> bool:
    """Return whether what stands before a quotation says that the writer said it."""
    return pattern(_I_SPOKE).search(fold(before[-MAX_FRAME_CHARS:])) is not None


def signs_off(line: str) -> bool:
    """Return whether a line is how a letter ends."""
    return len(line) <= MAX_TITLE_CHARS and pattern(_SIGNS_OFF).fullmatch(fold(line.strip())) is not None


def signed(line: str) -> str:
    """Return the name of who ends a letter in one line, folded ("Best, Anna"); empty where it is none."""
    found = pattern(rf"{_SIGNS_OFF} ([^\W\d_]+)(?: [^\W\d_]+)?").fullmatch(fold(line[:MAX_TITLE_CHARS].strip()))
    return found[1] if found else ""


def chat_label(line: str) -> str:
    """Return the name with which a line of a chat begins, however it is written ("zed_44: …"), folded."""
    found = _CHAT_LABEL.match(line)
    label = fold(found[1]) if found else ""
    return "" if label in _TOPICS else label


def greeted(line: str) -> str:
    """Return the name that a line greets, as a letter begins, folded; empty where it does not."""
    found = pattern(_GREETS).fullmatch(fold(line.strip())) if len(line) <= MAX_TITLE_CHARS else None
    return found[1] if found else ""


def _before_colon(sentence: str) -> tuple[str, int]:
    """Return what stands before the first colon or dash of a sentence, and where it goes on; 0 without one."""
    found = re.search(r":(?=\s|$)|\s[-\u2013\u2014]\s", sentence[:MAX_FRAME_CHARS])
    return (sentence[: found.start()], found.end()) if found else (sentence[:MAX_FRAME_CHARS], 0)


def _of_mail(sentence: str, *, ends_line: bool, names: Collection[str]) -> bool:
    """Return whether a sentence is the head of a mail, or greets the writer of the message."""
    folded = fold(sentence[:MAX_FRAME_CHARS])
    if pattern(_FORWARDED).match(folded) or (ends_line and greeted(sentence) in {*names} - {""}):
        return True
    return ends_line and pattern(r"(?:subject|betreff|asunto|objet) ?: \S").match(folded) is not None


def is_head(line: str) -> bool:
    """Return whether a line may be one of the head of a mail."""
    return pattern(_HEAD).match(fold(line[:MAX_FRAME_CHARS])) is not None


def _is_speaker(sentence: str, names: Collection[str]) -> bool:
    """Return whether a sentence begins with the name of somebody else, who speaks in it."""
    found = _LABEL.match(sentence)
    if not found:
        return False
    label = fold(found[1])
    words = label.split()
    if label in names or label in _TOPICS or not _TOPICS.isdisjoint(words):
        return False
    if label in _ROLES:
        return True
    if pattern(_NOUN).fullmatch(words[-1]):
        return False
    said = sentence[found.end() :]
    return speaks(said) and not pattern(_IN_THIRD_PERSON).match(fold(said[:MAX_TITLE_CHARS]))


def _is_request(folded: str, *, has_colon: bool) -> bool:
    """Return whether a sentence asks for something to be done with a text, or what it is."""
    if pattern(_TELLS_ME).search(folded) or pattern(_OWN_TEXT).search(folded):
        return False
    asked = pattern(_POLITE).match(folded)
    ask = folded[asked.end() :] if asked else folded
    if ask in _TOPICS or pattern(_I_SPOKE).search(ask):
        return False
    if has_colon and (
        pattern(rf"{_STRONGLY}\b").match(ask)
        or pattern(rf"{_MAKES}\b.*\b{_TEXT}\b").match(ask)
        or pattern(r"(?:how|wie|como|comment)\b.{0,40}\b(?:say|sagt?|dice|dit)\b").match(ask)
        or (
            not pattern(_STATES).match(ask)
            and not pattern(_OF_A_KIND).match(ask)
            and pattern(rf"\b{_WORKS_ON}\b").search(ask)
            and pattern(rf"\b{_TEXT}\b").search(ask)
        )
    ):
        return True
    asks = folded.rstrip().endswith("?")
    if asks and pattern(_OF_BEFORE).match(ask):
        return False
    if not pattern(rf"\b{_THIS}(?={_POINTS})").search(folded) or (pattern(_STATES).match(ask) and not asks):
        return False
    if has_colon:
        return pattern(rf"(?<!\w)(?!it\b){_THIS}(?={_POINTS})").search(folded) is not None
    if not asks and not pattern(rf"(?:{_WORKS_ON}|{_MAKES}|{_BEGINS})\b").match(ask):
        return False
    return (
        pattern(rf"\b(?:{_WORKS_ON}|{_JUDGED})\b").search(folded) is not None
        or pattern(rf"\b{_THIS} (?:\w+ )?{_TEXT}\b").search(folded) is not None
    )


def _presents(folded: str) -> bool:
    """Return whether what stands before a colon names a kind of text, or says that somebody else wrote or said
    what follows."""
    if pattern(_OWN_TEXT).search(folded) or pattern(_I_SPOKE).search(folded) or pattern(_TELLS_ME).search(folded):
        return False
    if pattern(_OF_A_KIND).match(folded):
        return False
    named = pattern(r"(?:please )?(?:review|rate|comment on) (?=my|our)").sub("", folded, count=1)
    if pattern(rf"\b{_TEXT}\b").search(named):
        return True
    return any(pattern(rf"\b{one}\b").search(folded) for one in (_SPOKE, _SOURCE))
