"""The words by which people of many languages name secrets, say what they are, and speak about them.

Each table has one line for a language. Names and places are matched in lower case and without accents, so they are
written that way; the small words between a name and its value are matched as they are written. A blank stands for
one blank. An entry may be a pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lifelong.text.words import word_set


def any_of(table: Mapping[str, str] | Iterable[str]) -> str:
    """Return a pattern for every entry of a table, in which "|" separates entries."""
    return "|".join(table.values() if isinstance(table, Mapping) else table)


PASSWORDS = {
    "en": r"pass[ _-]?(?:word|wd|phrase|code)s?|pwd|pswd|(?<![^\W_])(?:pw|psk"
    r"|passkey)"
    r"|(?:(?<=[_-])|(?<=[\"']))pass(?=[\"'\s]{0,2}[:=])|requirepass|masterauth"
    r"|key content|schlusselinhalt|contenu de la cle|contenido de la clave"
    r"|(?:secret|security|unlock|encryption|vault)[ -]?(?:phrase|sentence)|(?:security"
    r"|secret) (?:question )?answer|security question[^.?\n]{0,60}? answer",
    "de": r"pass(?:wort|worter|woerter|wortes|worts)|kennwort|passw(?=[.:])",
    "fr": r"mots?[ _-]?de[ _-]?passe|(?<![^\W_])mdp|phrase (?:de passe|secrete|cle)",
    "es": r"contrasenas?|frase de (?:paso|contrasena|acceso|seguridad)|palabra de paso"
    r"|(?<![^\W_])contra(?= (?:es|del|de la|era) )",
    "pt": r"(?<![^\W_])senhas?|palavras?[ -]passe|frase[ -](?:senha|secreta)",
    "it": r"parola (?:d'|di )(?:ordine|accesso)|frase segreta",
    "nl": r"wachtwoord(?:en|zin)?|wachtzin|(?<![^\W_])ww(?=[ ]?:)",
    "pl": r"(?<![^\W_])hasl(?:o|a|em|u)",
    "cs": r"(?<![^\W_])hesl(?:o|a|em|u)",
    "sv": r"losenord(?:et|sfras)?|losen(?:et)?(?=[ ]?:)",
    "da": r"adgangskode[nr]?|kodeord(?:et)?",
    "no": r"passord(?:et)?",
    "fi": r"salasana(?:n|si|ni|mme)?",
    "hu": r"jelsz(?:o|ava|avam|avad|avunk)",
    "tr": r"(?<![^\W_])(?:sifre(?:si|m|n|niz|miz|yi|ler)?|parolas?[im]?)",
    "ru": r"парол(?:ь|я|ем|ю|и|а|ата)|лозинк[ауе]",
    "el": r"συνθηματικο|κωδικος προσβασης",
    "hr": r"lozink[aeu]|(?<![^\W_])gesl[oa]",
    "lt": r"slaptazod\w{2,3}|parool|salasona|lykilord",
    "ca": r"contrasenya|contrasinal",
    "id": r"kata sandi|(?<![^\W_])sandi",
    "vi": r"mat khau",
    "ja": r"パスワード|パスフレーズ|パスコード",
    "zh": r"密码|密碼|口令",
    "ko": r"비밀번호|비번|암호|패스워드",
    "ar": r"كلمة (?:المرور|السر)|الرقم السري|رمز عبور",
    "he": r"סיסמ[הא]",
    "hi": r"पासवर्ड",
    "th": r"รหัสผ่าน",
}
"""What comes after such a name is a secret, whatever it looks like."""

KEYS = {
    "en": r"(?:api|access|secret|private|auth|account|encryption|signing|master|licen[sc]e|wi-?fi|app|application"
    r"|consumer|client|product|activation|recovery|deploy|shared|storage|subscription|service|server|ingest"
    r"|integration|admin|network|wpa2?|wlan|write|read|publish|session|webhook|instrumentation|bot|registration"
    r"|security|setup|volume|cd|unlock|restore|serial)[ _-]?(?:key|token|secret)s?|token(?:u|em|a|ul|en|et)?"
    r"|secret[ -]?word|(?<!top )secret|(?<![^\W_])pass(?= (?:for|to|of|on|is|was) )"
    r"|credentials?|wi-?fi[ -]?code|(?<![^\W_])(?:psw|pass(?=[\"'\s]{0,2}[:=]))",
    "de": r"(?:api|wlan|wifi|wpa2?|netzwerk|lizenz|produkt|zugangs|sicherheits|aktivierungs|geheim"
    r"|wiederherstellungs|verschlusselungs)[ -]?(?:schlussel|key)",
    "fr": r"jeton|cles? (?:d[eu]s? |de la |d')?(?:api|wi-?fi|licence|produit|activation|acces|privee|secrete"
    r"|reseau)"
    r"|code wi-?fi",
    "es": r"(?<![^\W_])clave|llave (?:privada|secreta|api)",
    "others": r"токен|κωδικο[ςυ]",
}
"""What comes after such a name is a secret if it looks like one."""

PINS = (
    r"(?<![^\W_])(?:(?:pin|puk|(?:m|mobile|i|sms|push|photo|chip)?-?tan|t?otp|nip)\d?(?:[ _-]?(?:code|kod|number"
    r"|nummer|numero|nr))?|cvv2?|cvc2?|csc"
    r"|(?:kod|codigo|code|codice|numero) (?:pin|puk|nip))|пин-?код(?:а|ом)?|暗証番号|핀번호|geheimzahl"
    r"|geheimnummer"
    r"|pincode[n]?|digicode|(?:karten)?pruf(?:nummer|ziffer|zahl)|cryptogramme"
)
"""A number that comes after is a secret."""

IS = {
    "en": r"is|are|was|used\sto\sbe|will\sbe|remains|equals",
    "de": r"ist|sind|lautet|war|bleibt|heißt|heisst|wäre",
    "fr": r"est|était|sera|reste|c['’]est",
    "es": r"es|era|será|son|sigue\ssiendo",
    "pt": r"é|passou\sa\sser|fica|ficou|continua",
    "it": r"è|e['’]|sarà|resta|rimane",
    "nl": r"luidt|blijft",
    "pl": r"to|jest|to\sjest|brzmi",
    "others": r"je|zní|är|var|lyder|er|on|oli|este|είναι|это|це|yra|adalah|là|هو|هي",
    "signs": "—|–|=>|→",
}
ADVERBS = (
    r"now|still|just|currently|simply|always|again|set\sto|changed\sto|called|actually|the\sfollowing"
    r"|as\sfollows|the\ssame"
    r"|jetzt|ab\ssofort|einfach|immer\snoch|weiterhin|nun|ahora|siempre|maintenant|désormais|toujours"
    r"|simplement|agora"
    r"|sempre|ainda|ora|adesso|semplicemente|nu|nog\ssteeds|gewoon|teraz|nadal|fortfarande|stadig|теперь|сейчас"
)
OF = (
    r"for|to|of|on|at|from|that|in|i|we|you|für|zum|zur|von|vom|der|des|dem|im|am|auf|de|del|para|en|du|pour|da"
    r"|di|do"
    r"|dos|das|della|dello|dell['’]|per|voor|van|bij|op|dla|na|w|k|pro|till|til|för|на|от|для|к|в|до"
)
"""What may begin a phrase between a name and "is": "the password for the router is"."""

TO = r"to|as|auf|a|à|en|na|naar|til|till|su|jako|como|comme|come|als"
CHANGED = (
    r"changed|set|reset|updated|switched|geändert|gesetzt|zurückgesetzt|gestellt|changée?|modifiée?|remis|passé"
    r"|cambiad[oa]|cambié|puesto|mudada|alterada|trocada|mudei|troquei|cambiat[oa]|impostata|modificata|veranderd"
    r"|gewijzigd|aangepast|zmienione|zmieniłe?a?m|ustawione|ändrat|bytt|ændret|endret|změněno|změnil|измен[её]н"
    r"|сменил|поменял|değiştirildi|schimbat\w?"
)
INTO = r"to|in|auf|a|à|en|pour|para|na|naar|til|till|su|în|por|per|zu|на"
USE = (
    r"typed?|enter(?:ed)?|used?|try|tried|put|nimm|gib|tippe|benutze|entre|mets|tape|utilise|usa|pon|escribe|mete|digite|inserisci"
    r"|metti|gebruik|typ|vul|wpisz|użyj|skriv|anvend"
)
"""What tells somebody to use a value."""

LOGINS = (
    r"log(?:ged)?[ -]?(?:in|on)|sign[ -]?in|logins?|authenticate|einloggen|anmelden|zugang|zugangsdaten"
    r"|connecte\w{0,4}"
    r"|identifiants?|acceso|accede|entrar?|acceder|accedi|accesso|inloggen|inloggegevens|zaloguj|logowanie"
    r"|dane logowania|credenziali|credenciais|acessar"
)
ACCOUNTS = (
    r"log[- ]?ins?|creds?|credentials|accounts?|ssh|zugang\w{0,6}|anmeldung|benutzer\w{0,4}|user\w{0,4}"
    r"|identifiants?"
    r"|acces|acceso|usuario|accesso|credenziali|utente|credenciais|inlog\w{0,10}|gebruiker\w{0,4}|logowanie"
    r"|uzytkownik|konto|compte|cuenta|conta|логин|доступ"
)

CODES = (
    r"(?:code|codes|codigo|clave|codice|kod|kodu|kodem|kode|koden|koda|κωδικος|код|кода|codul)(?!\w)|コード|验证码"
    r"|驗證碼"
    r"|認証番号|인증번호"
)
COMBINATIONS = (
    r"(?:combination|combo|combinaison|combinacion|combinazione|combinacao|kombination|combinatie|kombinacja|szyfr"
    r"|kombinace|комбинаци\w)(?!\w)"
)
CODE_THINGS = (
    r"keypad|keysafe|lockbox|key ?box|schlusselsafe|schlusselbox|schlusselkasten|domofon|combination lock"
    r"|zahlenschloss|numbers|digits|cijfers|chiffres|cifras|ziffern|cifre|cyfry"
)
CODE_VERBS = (
    r"type|enter|punch in|key in|press|dial|disarm\w{0,3}|off|opens?|unlock\w{0,2}"
    r"|tipp\w{0,2}|eingeben|eintippen|gib|gebt|drucke\w?|entscharf\w{0,3}|geht mit|ausschalt\w{0,3}|offnet"
    r"|tape[rz]?|compose\w?|saisi\w{1,3}|ouvre|desactiv\w{0,3}|teclea\w?|marca\w?|introduc\w{1,3}|pulsa\w?|abre"
    r"|digit[aei]\w{0,2}|desativ\w{0,3}|premi|premere|inserisci|apre|disattiv\w{0,3}|toets\w{0,2}|intoetsen|druk|opent"
    r"|uitschakel\w{0,3}|uitzetten|wpisz|wpisac|wcisnij|nacisnij|otwiera\w{0,2}|wylacz\w{0,3}|rozbroj\w{0,3}"
    r"|slar?|tryck|tast|tryk|zadej\w{0,2}|набери\w{0,2}|введи\w{0,2}|нажми\w{0,2}|girin"
)
"""A number beside one of these is a secret where something that has a lock is named close by."""

LOCKS = {
    "en": r"door|gate|alarm|safe(?!t|ly|r)|vault|lock(?!ed|down)|keypad|key ?box|garage|entrance|entry|intercom"
    r"|verif"
    r"|confirm|security|one-time|two-factor|2fa|mfa|sms|log ?in|sign ?in|access|unlock|passcode|voicemail|sim\b"
    r"|\bcard\b|bank|building|suitcase|luggage|bike|shed|lobby|airbnb|guard|expir|do ?n[o']t share|never share"
    r"|phone\b|ipad|tablet|screen|laptop|parental|activat|authori[sz]|authentic|pairing|pick-?up|on the back",
    "de": r"\bture?n?(?=code|\b)|\btor(?=code|\b)|haustur|hoftor|gartentor|\w{0,12}tresor|schlussel(?:kast|box"
    r"|safe)"
    r"|schloss|schliessfach|eingang|keller|bestatig|sicherheit|zugang|zutritt|freischalt|einmal|anmelde|tiefgarage"
    r"|spind|koffer|karte\b|gultig|ruckseite|handy\b|bildschirm|kindersicherung|aktivier|autoris|abhol|kopplung",
    "fr": r"porte\b|portail|alarme|coffre|immeuble|cadenas|boite a cle|verification|securite|acces|entree"
    r"|interphone"
    r"|parking|connexion|confirmation|carte\b|usage unique|activation|telephone|retrait|au dos\b",
    "es": r"puerta|porton|portal\b|alarma|caja fuerte|candado|garaje|verificacion|seguridad|acceso|trastero"
    r"|taquilla"
    r"|edificio|tarjeta|telefonillo|un solo uso|activacion|movil\b|recogida|reverso",
    "pt": r"porta\b|portao|cofre|cadeado|garagem|verificacao|seguranca|acesso|predio|confirmacao|entrada|cartao"
    r"|uso unico|ativacao|celular|verso\b",
    "it": r"cancello|portone|allarme|cassaforte|lucchetto|verifica|sicurezza|accesso|ingresso|citofono|conferma"
    r"|carta\b|armadietto|valigia|monouso|attivazione|cellulare|ritiro|sul retro",
    "nl": r"deur|poort|kluis|slot\b|sleutelkast|fietsslot|beveilig|toegang|verificatie|bevestig|kelder|ingang"
    r"|kaart|eenmalig|activatie|telefoon|afhaal|achterkant",
    "pl": r"drzwi|bram|sejf|klodk|domofon|garaz|weryfik|potwierdz|dostep|wejsc|klatk|skrytk|furtk|karty\b"
    r"|jednorazow|autoryz|aktyw|telefonu|odbior|blik\b|paczkomat",
    "nordic": r"port(?=kod)|porten\b|\bdo+r(?:en|ren)?\b|larm|kassaskap|hanglas|verifier|bekraft|grind|kort\b"
    r"|halyty",
    "others": r"dveri|bran[ay]|trezor|zamek|overov|vchod|kapu|ajto|riaszto|kapi\b|kilit|dogrulama|onay|guvenlik"
    r"|карт[аыу]|двер|ворот|сейф|замок|домофон|подъезд|калитк|сигнализац|подтвержд|гараж|ドア|玄関|金庫|認証|確認|门|門"
    r"|保险箱"
    r"|验证|현관|금고|인증",
}
YOURS = r"\b(?:your|dein|ihr|votre|tu|su|seu|tuo|twoj|je|uw|jouw|ваш|твой|din)\b"
NOT_CODES = (  # before the word for code
    r"(?<!\w)(?:postal|post|zip|area|error|exit|source|country|dress|bar|qr|promo\w{0,6}|discount|coupon|voucher"
    r"|status|response|http|tax|product|item|booking|sort|swift|bic|morse|colou?r|icd|return|reason|plz|vorwahl"
    r"|fehler|gutschein|rabatt|farb|artikel|postleit\w{0,4}|quell|buchungs|landes|erreur|couleur|barre|retour|pays"
    r"|produit|descuento|pais|fuente|producto|erro|desconto|produto|errore|sconto|prodotto|fiscale|fout"
    r"|korting\w{0,3}"
    r"|land|kleur|bled\w{0,2}|rabat\w{0,3}|chyb\w|streep|netnummer)[ _-]?"
)
NOT_CODES_AFTER = (
    r"\s+(?:name|postal|zip|de (?:erro|error|area|barras|descuento)|d'erreur|di errore|promo\w*|fiscale|pocztow\w"
    r"|bled\w*|chyby|ошибки|review|base|of conduct|civil\w?)"
)

RECOVERY = {
    "en": r"(?:recovery|back-?up|rescue|emergency|scratch)(?:[ -](?:codes?|keys?))"
    r"|(?:2fa|mfa|two-factor|totp)[^\n]{0,40}(?:recovery|backup|codes?)|bitlocker|filevault",
    "de": r"(?:wiederherstellungs|backup-?|ersatz|notfall|reserve)[ -]?(?:codes?|schlussel)",
    "fr": r"(?:codes?|cles?) de (?:secours|recuperation|sauvegarde)",
    "es": r"(?:codigos?|clave) de (?:recuperacion|respaldo|emergencia|seguridad de reserva)",
    "pt": r"(?:codigos?|chave) de (?:recuperacao|seguranca|reserva|emergencia|backup)",
    "it": r"codici? di (?:recupero|backup|emergenza|riserva)|chiave di (?:recupero|ripristino)",
    "nl": r"(?:herstel|back-?up|reserve|nood)[ -]?(?:codes?|sleutel)",
    "pl": r"kod\w{0,2} (?:zapasow\w{1,2}|odzyskiwania|awaryjn\w{1,2})|klucz odzyskiwania",
    "others": r"aterstallning\w{0,8}|palautus\w{0,10}|gendannelse\w{0,8}|(?:kurtarma|yedek) kod\w{0,5}"
    r"|резервны\w{1,2} код\w{0,2}|код\w{0,2} восстановления|(?:obnovovaci|zalozni)\w{0,2} kod\w{0,2}"
    r"|バックアップコード|リカバリー?コード|恢复代码|备用码",
}
SEEDS = (
    r"(?:seed|mnemonic|recovery|backup|secret|wallet)[ -]?(?:phrase|words?|list)|mnemonics?|seed:|bip-?39"
    r"|(?:metamask|ledger|trezor|electrum|wallet)[^\n.]{0,60}?(?:words|phrase|worter|mots|palabras|parole|:)"
    r"|(?:wiederherstellungs|seed-?|mnemonik|sicherungs)[ -]?(?:phrase|worter|satz|worte)|(?:12|24"
    r"|zwolf) wort\w{1,2}"
    r"|phrase (?:de (?:recuperation|secours)|secrete|mnemonique|seed)|(?:12|24|twelve|douze|doce|dodici|doze"
    r"|twaalf|dwanascie) (?:words|mots|palabras|palavras|parole|woorden|slow)"
    r"|frases? (?:de recuperac\w{1,4}|semilla|semente|mnemonic\w|seed|di recupero|segreta)"
    r"|(?:herstel|seed)[ -]?(?:zin|woorden|phrase)|palabras (?:semilla|de recuperacion)|parole (?:seed"
    r"|di recupero)"
    r"|fraz\w (?:odzyskiwania|seed)|slowa (?:odzyskiwania|seed)|сид-?фраз\w|seed-?fra[sz]\w?"
)
LICENCES = (
    r"licen[sc]e|licenci\w|licenza|licenca|licentie|licenc\w{1,3}|lizenz|licens|serial|activation|aktivierung"
    r"|ativacao|attivazione|activaci\w{1,3}|registration|product key|produ[ck]\w{1,3}|cd-?key|windows|office|klucz"
)
CARDS = (
    r"card|visa|master|amex|cv[cv]|\bexp|karte|ablauf|gultig|carte|tarjeta|caduca|carta|scad|cartao|validade|kaart"
    r"|geldig|karta|karty|kort\b"
)
NOT_CARDS = (
    r"order|tracking|invoice|ticket|case|parcel|shipment|imei|isbn|ean|gtin|sku|serial|reference|\bref|\bid\b"
    r"|account"
    r"|customer|bestell|sendung|rechnung|auftrag|kunden|artikel|commande|facture|colis|suivi|pedido|envio"
    r"|seguimiento|factura|ordine|fattura|spedizione|encomenda|fatura|rastreio|zamowieni|przesylk|faktur|zending"
)
UNITS = (
    r"euros?|eur|usd|chf|zł|pln|kč|kr|km|cm|mm|kg|gb|mb|kb|lines?|zeilen|lignes?|líneas?|linhas?|righe|regels?"
    r"|linii"
    r"|words|characters|zeichen|items?|files?|minut\w*|stunden|hours?|heures?|horas?|ore|uur|godzin\w*|days?|tage?"
    r"|jours?|días?|dias?|giorni|dagen|dni|seconds?|sekunden|secondes?|times|mal|people|personen|uhr|h|am|pm"
    r"|o['’]clock"
)
BEFORE_OTHER_NUMBERS = (
    r"at|gegen|um|vers|à|alle|las|às|om|godz\.|kl\.?|EN|ISO|DIN|RFC|room|zimmer|platform|gleis|route|bus|line"
    r"|flight"
    r"|page|seite|ending(?:\s+in)?|ende(?:nd|t)\s+auf|termina\w{0,4}\s+(?:en|in|em)|terminant\s+par|level|floor"
    r"|space"
)
BEFORE_YEARS = (
    r"in|im|en|since|seit|depuis|desde|dal|nel|od|w|from|von|du|del|until|bis|by|year|jahr|año|anno|ano|rok\w?"
    r"|jaar"
    r"|of|v"
)
EXAMPLES = (
    r"\bexamples?\b|\be\.g\.|\bplaceholder|\bbeispiel|\bz\.\s?b\.|\bejemplo|\bp\.\s?ej|\bexemple|\bexemplo"
    r"|\besempio"
    r"|\bvoorbeeld|\bprzykład|\bdummy\b|\bsample\b|\bexempel\b|\beksempel|\bpříklad|\börnek|\bпример|platzhalter"
    r"|\bfor instance\b|\breplace\s+(?:it|this|with)|substitu|remplace|ersetz|sustitu|例"
)
ADVICE = (
    r"\b(?:pass|must|should|enter|please|your|characters|required|incorrect|forgot|show|confirm|invalid|passwort"
    r"|mot de|contrase|senha|wacht|hasł|oublié|vergessen|olvid)"
)

# A clause with a small word speaks about a password; a pass phrase is made of other words.
SMALL = word_set(
    """a an the my your our his her their its this that it i you he she we they me him us them is are was were be
    been has have had do does did can could may might must shall should will would cannot not no never too very so
    quite really still yet already again always now then today just only also even more most less least in on at to
    of for from with without by as into up down out off over under about than and or but if when while what who
    where why how there here all any some each every both please longer one like see ask check unchanged unset same
    der die das ein eine mein nicht zu sehr ist auf im mit für von noch nur keine kein wird wurde werden hat haben
    siehe frag frage wie oben
    el los las un una mi tu su muy es está en con por para de del que más sido pregunta ver
    le les une mon pas trop très est dans du des ne voir demande
    muito não minha sua foi molto non mia tua troppo stata stato vedi chiedi niet te erg mijn zie vraag
    w na do nie za z sobie patrz zapytaj för inte på till i och ikke alt fråga смотри"""
)
STATES = word_set(
    """weak strong wrong right correct incorrect invalid valid secure insecure safe unsafe secret private
    public same important different similar long short good bad great better best fine ok easy hard simple
    complex difficult unique empty blank lost known unknown new old stale available unavailable ready enough
    mine yours gone broken stolen stuck sent kept set reset given taken made written found shown patience
    key common random terrible awful stupid hidden practice mandatory
    schwach stark falsch richtig abgelaufen sicher geheim unbekannt bekannt gleich weg neu alt leer kurz lang egal
    pflicht privat öffentlich unsicher gültig ungültig
    débil correcta incorrecta segura caducada vencida nueva vieja vacía larga corta igual distinta personal
    faible incorrecte expiré valide perdu perdue oublié périmé secrète longue courte
    fraca forte errada pessoal secreta antiga nova vazia longa curta
    segreta debole sbagliata sicura scaduta vecchia nuova vuota lunga diversa
    zwak sterk fout verlopen kwijt oud nieuw leeg verplicht hetzelfde
    słabe błędne nieprawidłowe wymagane inne stare nowe svagt fel utgånget gammalt nytt forkert udløbet gammel
    yanlış eski zayıf неверный неправильный старый новый"""
)
DESCRIBING = {  # the endings of adjectives and participles, without accents
    "en": r".{2,}(?:ed|ing|able|ible|ful|less|ly|ive|ous|ary|ado|ada)",
    "de": r".{2,}(?:lich|ig|bar|los|isch|haft|pflicht|sache)|(?:ge|ver|be|zer|ent)\w+(?:t|en)",
    "fr": r".{2,}(?:ee?s?|able|ible|oire|el|elle|eux|euse|if|ive|ant|ent|ide|ale?|ecte)",
    "es": r".{2,}(?:ad[ao]|id[ao]|ble|ori[ao]|ct[ao]|al|iv[ao]|ic[ao]|[ae]nte|gur[ao])",
    "pt": r".{2,}(?:ad[ao]|id[ao]|vel|ori[ao]|et[ao]|al|iv[ao]|ic[ao]|[ae]nte|ur[ao])",
    "it": r".{2,}(?:at[ao]|it[ao]|ut[ao]|bile|ori[ao]|ale|iv[ao]|[ae]nte|ett[ao])",
    "nl": r".{2,}(?:lijk|ig|baar|loos|end)|(?:ge|ver|be|ont)\w+(?:d|t|en)",
    "pl": r".{2,}(?:[nwt]e|one|ete|sze|kie)",
    "cs": r".{2,}(?:ne|te|ke|e)",
    "sv": r".{2,}(?:igt|at|ande|t)",
    "da": r".{2,}(?:ig|et|ende|t)",
    "no": r".{2,}(?:ig|et|ende|t)",
    "fi": r".{2,}(?:nut|nyt|tu|ty|inen|ton)",
    "ru": r".{2,}(?:ый|ий|ой|ен|на|но|ым)",
}
