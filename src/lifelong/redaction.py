"""Secrets in text: found by their shape, the name before them, their usual place, or because they look random.

`redact` puts `[secret: <kind>]` in the place of each. A marker is never looked into, so redacting twice changes
nothing. In doubt the value after "password" is a secret, and that after "token" or "secret" is not: people name
a password to give it away, and speak of secrets and tokens in many other ways. A number is a secret where words
say that it opens something. The words of each language are in `text/secret_words.py`.

Every pattern takes what it has scanned, or has scanned a bounded stretch: time grows no faster than the text.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from base64 import b64decode
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import islice, zip_longest
from operator import or_

from lifelong.text.secret_words import (
    ACCOUNTS,
    ADVERBS,
    ADVICE,
    BEFORE_OTHER_NUMBERS,
    BEFORE_YEARS,
    CARDS,
    CHANGED,
    CODE_THINGS,
    CODE_VERBS,
    CODES,
    COMBINATIONS,
    DESCRIBING,
    EXAMPLES,
    INTO,
    IS,
    KEYS,
    LICENCES,
    LOCKS,
    LOGINS,
    NOT_CARDS,
    NOT_CODES,
    NOT_CODES_AFTER,
    OF,
    PASSWORDS,
    PINS,
    RECOVERY,
    SEEDS,
    SMALL,
    STATES,
    TO,
    UNITS,
    USE,
    YOURS,
    any_of,
)
from lifelong.text.words import BoundedCache, pattern

_Span = tuple[int, int, str]  # from, to, kind
_Place = tuple[int, int]

# Shapes

_PREFIXES = r"""
    dckr_[op]at_ do[opr]_v1_ shp(?:at|ca|pa|ss|tka)_ xkeysib- xsmtpsib- lin_(?:api|oauth)_ sntry[su]_ hv[sbr]\.
    tskey-\w{3,9}- ntn_ secret_(?=\w{43}) gl(?:sa|c)_ gsk_ r8_ AT[AC]TT3 ATBB figd_ pat-(?:na|eu)\d- rubygems_
    NR(?:AK|AA|II)- dapi(?=[0-9a-f]{32}) xai- pplx- nvapi- sb[pk]_ sb_secret_ CFPAT- PMAK-
    EAA(?=[A-Za-z0-9]{30}) sq0(?:atp|csp)- key-(?=[0-9a-f]{32}) AGE-SECRET-KEY-1 pul-(?=[0-9a-f]{40})
    shippo_(?:live|test)_ duffel_(?:live|test)_ dp\.(?:st|pt|ct|sa)\. FLWSECK(?:_TEST)?- fm[12]_ fo1_ rnd_ nfp_
    pat(?=\w{14}\.\w{60}) sgp_ pscale_(?:tkn|pw|oauth)_ pnu_ lsv2_(?:pt|sk)_ sk-lf- pcsk_ csk- re_(?=\w{8}_) napi_
    tfp_ hc[abx]ik_ sq[pau]_ CCI(?:PAT|PRJ)_ bku[as]_ sl\.(?=[\w-]{60}) ops_eyJ HRKU- LTAI(?=[A-Za-z0-9]{12})
    AKID(?=[A-Za-z0-9]{13}) y0_ AKCp rdme_ oy2(?=\w{40}) access-(?:production|sandbox|development)-
    access_token\$production\$ v1\.0-(?=[0-9a-f]{24}) phx_ ctx7sk- tvly- fc-(?=[0-9a-f]{32}) pk_(?=\d+_) cfut_
    cfat_ t1\.(?=[\w-]{40}) AQVN apify_api_ jina_ sess- ory_[a-z]{2}_
""".split()
"""What the tokens of vendors begin with, of which at least 16 characters follow."""
_FORMATS = {
    "AWS key": r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16,}+",
    "GitHub token": r"gh[oprsu]_[A-Za-z0-9]{20,}+|github_pat_\w{20,}+",
    "GitLab token": r"gl(?:pat|dt|rt|cbt|ptt|soat|ft|oas|agent|ffct)-[\w-]{18,}+(?:\.[\w-]{2,}+)*+",
    "Slack token": r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}+|xapp-[\w-]{16,}+",
    "Stripe key": r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}+",
    "Anthropic key": r"sk-ant-[\w-]{10,}+",
    "OpenAI key": r"(?<![A-Za-z])sk-(?=[\w-]{0,60}[\dA-Z])[\w-]{20,}+",
    "Google key": r"AIza[\w-]{30,}+|GOCSPX-[\w-]{20,}+|ya29\.[\w.-]{20,}+|(?<![\w/])1//0[\w-]{30,}+",
    "Hugging Face token": r"hf_[A-Za-z0-9]{20,}+",
    "npm token": r"npm_[A-Za-z0-9]{30,}+",
    "PyPI token": r"pypi-[\w-]{16,}+",
    "SendGrid key": r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    "Twilio key": r"(?<![A-Za-z0-9])SK[0-9a-f]{32,}+",
    "Telegram token": r"(?<!\d)\d{8,10}:[\w-]{35,}+",
    "password hash": r"\$(?:1|2[abxy]|5|6|y|7|apr1|argon2\w{1,2})\$[\w./,=+-]{1,40}\$[\w./$+=,-]{16,}+",
    "wallet key": r"(?<![A-Za-z0-9])(?:nsec1[a-z0-9]{50,}+|[xyz]prv[A-Za-z0-9]{90,}+)",
    "API token": rf"(?<![A-Za-z0-9])(?:{'|'.join(_PREFIXES)})[\w.~=-]{{16,}}+"
    r"|(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?!\w)|\w{3}[78]Q~[\w.~-]{30,}+|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}+"
    r"|(?<![A-Za-z0-9])A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,4}[A-Z0-9]{5}|AAAA[\w-]{7}:APA91b[\w-]{50,}+",
    "JWT": r"(?<!pk\.)eyJ(?:[\w-]{12,}+(?:\.[\w-]{2,}+){1,4}|[\w-]{60,}+)(?:\.[\w-]*+){0,2}",
}
_FORMAT = "(?a)" + "|".join(f"(?P<k{n}>{pattern})" for n, pattern in enumerate(_FORMATS.values()))
_LOOSE = {"API token", "OpenAI key", "PyPI token"}
"""Formats that a word with hyphens may have: something in it must look generated as well."""
_GENERATED = (
    r"(?:[\w.~=-]*[^A-Za-z0-9]|)(?:[A-Za-z0-9]{20,}|(?=[a-z]{0,40}[A-Z0-9])[A-Za-z0-9]{9,})"
    r"|[\w.-]*[0-9a-f]{8}-[0-9a-f]{4}-|.{60}"
)

# Up to the END line; where there is none, as far as it looks like the inside of a key.
_PRIVATE_KEY = (
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?:(?:[^-]++|-(?!---))*+-{4,5} ?END[A-Z0-9 ]{0,50}+-*+"
    r"|(?:(?:[\s>|\"'+,]|\\[nr]?)*+(?:[\w-]{2,20}: [^\n\\]{1,80}|[A-Za-z0-9+/=]{16,}+))*+"
    r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{1,64}+(?=[ \t\r]*+(?:[\"'\n\\]|\Z)))?)"
    r"|PuTTY-User-Key-File-\d:[^\0]{0,4000}?Private-MAC: [0-9a-f]++"
)
_PUBLIC_BLOCK = (  # nothing in it is looked at
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,30}(?:CERTIFICATE(?: REQUEST)?|PUBLIC KEY)(?: BLOCK)?|PGP (?:SIGNED )?MESSAGE"
    r"|PGP SIGNATURE|X509 CRL|DH PARAMETERS) ?-{4,5}(?:[^-]++|-(?!---))*+"
)
# What is long and no secret is taken whole, so that nothing in it is looked at: addresses, images and fonts,
# public keys, digests, ids of services, paths.
_LONG = (
    r"(?a)(?:[a-zA-Z][\w+.-]{1,30}://|www\.)[^\s\"'<>]++|data:[\w.+-]{1,40}/[^\s\"'<>)]++|AAAA[\w+/=]++"
    r"|(?<!\w)(?i:sha|md|blake)\d{1,3}[:=-][\w+/=]++|(?<!\w)(?:0x|urn:|arn:|xn--)[\w:./-]++"
    r"|[\w.-]{1,100}\.apps\.googleusercontent\.com|(?<!\w)(?:age1|npub1|bc1|xpub|ltc1)[a-zA-Z0-9]++"
    r"|(?<!\w)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?!\w)"
    r"|(?<!\w)(?:cs|pi|evt|req|cus|sub|prod|price|ch|in|acct|pm|src|txn|seti|pk_live|pk_test|msg|run|thread|asst"
    r"|chatcmpl|toolu|call|resp)_[\w-]++|(?<!\w)[a-z]{2,10}_01[A-Za-z0-9]{20,}+|(?<!\w)AC[0-9a-f]{32}(?!\w)"
    r"|(?<!\w)0[0-7][0-9A-HJKMNP-TV-Z]{24}(?!\w)|(?<!\w)[13][1-9A-HJ-NP-Za-km-z]{25,34}(?!\w)"
    r"|(?<!\w)(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,})"
    r"|(?<!\w)(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|PHN2Zy|JVBERi0|UEsDB|d09G|ChIJ|LS0tLS1CRUdJTiBDRVJU)[\w+/=-]++"
    r"|(?<!\w)(?:PL|UC|UU|RD|OL)[\w-]{16,40}(?![\w-])|(?<!\w)(?:h1|zh|[a-z]{3,12}:[a-z]{3,12}):[\w+/=-]++"
    r"|(?<![\w/.])[~.]{0,2}/[a-z][\w.-]*/[\w./+=~-]++|ENC\[[^\]\s]++|<[^<>\s@]{5,200}@[^<>\s]{3,100}>"
    r"|(?<![\w-])[a-z][a-z0-9-]{0,60}-[a-f0-9]{8,10}-[a-z0-9]{5}(?![\w-])|(?P<token>[\w+/=.~-]{20,}+)"
)
_PUBLIC_NAME = (
    r"(?i)(?:(?:public|öffentlich|publi\w{1,4}|site)[^\n]{0,20}|(?:(?<!access[_ -]key[_ -])id(?:-2)?|digest"
    r"|checksum"
    r"|hash|fingerprint|integrity|etag|nonce|cursor|page_?token|commit)[\"']?\s{0,2}[:=]?\s{0,2}[\"']?)\Z"
)
_DIGEST_HERE = r"(?<![\w/-])(?i:[0-9a-f]{32,64})(?![\w-])"
_KEY_BEFORE = (
    r"(?:api|keys?|token|secret|schlussel|cle|clave|chave|chiave|sleutel|nyckel|nogle|klic|klucz|ключ|appid)"
    r"(?![^\W_])[^\n;!?]{0,60}\Z"
)
_NO_KEY_BEFORE = (
    r"commit|sha|md5|hash|digest|checksum|prufsumme|empreinte|cache|etag|public|fingerprint|trace|request|image"
    r"|\bid\b"
    r"|session|gist|revision|build|tag\b|version|key id|keyid|primary|signature"
)
_DIGEST = re.compile(r"[0-9a-f]{16}|[0-9a-f]{24}|(?:[0-9a-f]{32}){1,4}|[0-9a-f]{40}|[0-9a-f]{56}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_FILE = re.compile(
    r"(?i)\.(?:png|jpe?g|gif|webp|svg|pdf|py|[jt]sx?|md|txt|json|html?|css|mp[34]|zip|t?gz|xz|csv|whl|deb|rpm"
    r"|jar|exe"
    r"|dmg|iso|img|docx?|xlsx?|mov|heic|ics|ya?ml|toml|lock|log|map|woff2?|so|dll|apk|msi|parquet|safetensors"
    r"|gguf|bin"
    r"|tar|bz2|zst|wasm|mkv|wav)\Z"
)
_CARD_START = re.compile(r"\d{4}[ -]?\d{4}")
_CARD = (
    r"(?<![\w.])(?:3[47]\d\d([ -]?)\d{6}\1\d{5}|4\d{12}"
    r"|[2-6]\d{3}([ -]?)\d{4}\2\d{4}\2\d{4}(?:\2\d{3})?)(?![\w-]|\.\d)"
)
_CARD_DATE = r"[^\d\n]{1,30}?((?:0?[1-9]|1[0-2])\s?[/.-]\s?(?:20)?[2-4]\d)(?!\d)"
_CARD_CODE = r"[^\d\n]{1,20}(\d{3,4})(?!\d)"

# Places: the secret is the group; what stands around it tells where it is, and stays.

_SHELL_OPTIONS = r"""
    (?:mysql(?:dump|admin|sh)?|mariadb(?:-dump)?)\b[^\n|;]{0,120}?\s(?:-p|--password=)(?![\s=])
    (?:unzip|zip)\b[^\n|;]{0,80}?\s-P\s?
    7za?\b[^\n|;]{0,80}?\s-p(?=\S)
    sshpass\s+-p\s?
    redis-cli\b[^\n|;]{0,100}?\s(?:-a|--pass)\s+
    (?:docker|podman|az|mongo|mongosh|mongodump|sqlcmd|unrar|influx)\b[^\n|;]{0,120}?\s-[pP]\s?(?![\s-])(?!\d+:\d)
    (?:ldapsearch|ldapadd|ldapmodify|mosquitto_(?:pub|sub))\b[^\n|;]{0,200}?\s-[wP]\s+
    plink\b[^\n|;]{0,80}?\s-pw\s+
    xfreerdp\b[^\n|;]{0,120}?\s/p:
    (?:smbclient|mount\.cifs|rpcclient)\b[^\n|;]{0,120}?-U\s+[\w.\\-]{1,40}%
    \s-pass(?:in|out)?\s+pass:
    (?<!\S)--(?:[a-z-]{0,20}-)?(?:passw(?:or)?d|passphrase|pass|pw|secret|token|api-?key|access-?key|secret-?key)(?:\s+(?![-$])|=)
    htpasswd\s+-\w*b\w*\s+\S{1,100}\s+\S{1,60}\s+
    \bsetx?\s+\w{0,30}(?:PASS(?:WORD)?|TOKEN|SECRET|KEY)\s+
    \bcmdkey\b[^\n]{0,100}?/pass:
    \bnet\s+use\b[^\n]{0,100}?/user:\S{1,60}\s+
    ssh-keygen\b[^\n|;]{0,120}?\s-N\s+"""
"""Programs that take a password as an option, and the option."""
_SHELL = "|".join(line.strip() for line in _SHELL_OPTIONS.strip().splitlines())
_QUERY = (
    r"[\w.-]{0,30}(?:key|token|secret|sig|signature|auth|passw?(?:or)?d?|pwd|appid|app_id|apikey|sas|hmac|jwt"
    r"|session(?:id)?|(?<!s)sid|ticket|code(?==[\w%/-]{20}))"
)
_AROUND = {
    "password": r"(?<![\w+.-])[a-zA-Z][\w+.-]{0,30}://(?:[^\s:/\"'<>]{0,200}+:(?!\d{1,5}(?:[/?#\s]|\Z))"
    r"([^\s/\"'<>]{1,300}(?=@)|[^\s\"'<>]{1,300}(?=@))|([^\s:/@\"'<>]{16,300}+)(?=@))"
    r"|(?<![\w/:.@-])[\w.-]{1,30}:([^\s:/@]{4,60})(?=@(?:\d{1,3}\.){3}\d|@localhost)|(?i:jdbc:oracle:thin:|sqlplus\s+(?:-\w+\s+)?)[\w.]{1,40}/([^\s@/]{1,100})@"
    r"|(?:\s-u|--user|--proxy-user|\s-a|--auth|--basic-auth"
    r"|--creds)[ =]?[\"']?[^\s:\"'=,]{1,100}[:,](?!\d+\b)([^\s\"']{1,300}+)"
    r"|(?i:auth|creds?|login)\w{0,8}[\"']?\s?[:=]\s?[\"']?[\w.@-]{1,40}:(?!//)([^\s\"'@:/]{4,100})(?=[\s\"']|\Z)"
    rf"|(?i:{_SHELL})(?:\"([^\"\n]{{1,200}})\"|'([^'\n]{{1,200}})'|([^\s\"'|;&>`<$]{{3,200}}+))"
    r"|WIFI:[^\n]{0,80}?;P:([^;\n]{1,80});|ConvertTo-SecureString\s+(?:-String\s+)?[\"']([^\"'\n]{1,200})[\"']"
    r"|(?i:identified\s+by(?:\s+password)?|\bwith\s+(?:encrypted\s+)?password|\bset\s+password[^=\n]{0,60}=)\s*"
    r"'([^'\n]{1,200})'|(?m:^)[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(\S{3,100})(?m:$)"
    r"|(?i:\b(?:mysqli(?:_connect)?|pg_connect|getConnection|mysql_connect)\(\s*[\"'][^\"'\n]{0,200}[\"']\s*,"
    r"|(?:login|basicauth|auth|authenticate|NetworkCredential|credentials?)\s*=?\s*\()\s*[\"'][^\"'\n]{1,100}[\"']"
    r"\s*,\s*[\"']([^\"'\n]{3,200})[\"']|(?i:\bchange_password|\badd_user|\bnet\s+user)\s+[\w.-]{1,40}\s+(?!/)"
    r"(\S{3,100})|(?i:echo)\s+[\"']?[\w.-]{1,40}:([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"
    r"|(?i:machine\s+\S{1,100}\s+login\s+\S{1,100}\s+password)\s+(\S{1,200})"
    r"|(?:openssl rand|pwgen|wg genkey|secrets\.token_\w{1,10}\(|/dev/urandom)[^\n]{0,40}\n\s*[\"'>]{0,4}"
    r"([^\s\"']{8,200})",
    "authorization": r"(?i)authorization[\"'\\]{0,4}\s{0,3}[:=,]\s{0,3}[\"'\\]{0,4}"
    r"(?>(?:bearer|basic|token|apikey|api-key|key|bot|splunk|ntlm|negotiate|ssws|geniekey|sso-key)[ =]\s{0,2}"
    r"|(?=\S{0,60}\d))([^\s\"'\\,;<{$`]{4,}+)|\bbearer[ ]{1,3}((?=[a-z._~+/-]{0,60}\d)[\w.~+/=-]{12,}+)",
    "session": r"(?i)(?<![\w.-])(?:[\w.-]{0,30}(?:sess(?:ion)?_?(?:id|token|key)?|(?<!s)sid|auth|remember\w{0,10}"
    r"|xsrf-token|csrftoken|jwt"
    r"|login|sso)[\w.-]{0,6}|__(?:secure|host)-[\w.-]{1,40})=[\"']?((?=[\w%.~+/=:-]{0,60}\d)"
    r"(?![0-9a-f]{8}-[0-9a-f]{4}-)[\w%.~+/=:-]{16,}+)",
    "token": rf"(?i)[?&;]{_QUERY}=((?=[\w%.~+/=-]{{0,40}}\d)[\w%.~+/=-]{{8,}}+)",
    "webhook": r"https://(?:hooks\.slack\.com/\w{1,10}"
    r"|(?:\w{1,10}\.)?discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks)/"
    r"[\w/-]++|https?://[\w.:-]{1,100}/(?:[\w-]{1,40}/){0,4}?(?:\w{0,12}hooks?\w{0,4}|incoming|trigger|catch"
    r"|with/key"
    r"|heartbeats?|reset\w{0,12}|reset-password|password-reset|magic[\w-]{0,8}|verify|activate|ical"
    r"|private-[\w-]{1,10})/"
    r"(?=[\w/@.%-]{0,120}\d)[\w/@.%-]{16,}+|https?://(?:hooks?|maker"
    r"|hc-ping)\.[\w.-]{1,60}/(?=[\w/-]{0,60}\d)[\w/-]{16,}+",
}
_EMAIL_BESIDE = (
    r"(?<![\w:/.+%-])[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,40}){1,4}[)>\"']{0,2}\s{0,3}"
    r"(?:[/|;:,]|\s[-\u2013—]|->|→)\s{0,3}(\S{4,100})"
)

# Names, and what stands between a name and its value

_BE = any_of(IS)
_NOT_KEYS = (
    r"public|publish|pubkey|pub_key|cache|primary|foreign|sort|partition|object|site|idempotency|lookup"
    r"|translation|row"
    r"|natural|group"
)
_KEY_NAME = (
    rf"(?<![\w.-])(?<!public )(?![\w.-]{{0,30}}(?:{_NOT_KEYS}))[\w.-]{{0,30}}(?:key|auth|signature|sig|seed"
    rf"|salt|credential|cookie|bearer"
    r"|conn(?:ection)?str(?:ing)?|session_?id|sessid|(?<!s)sid|(?<=[_-])(?:pat|sk|pepper"
    r"|creds?))(?=[\"'\\]{0,3}\s{0,3}[:=])"
)
_NAME = (
    rf"(?:(?P<password>{any_of(PASSWORDS)})|(?P<pin>{PINS})|(?P<token>{any_of(KEYS)})|(?P<key>{_KEY_NAME}))"
    r"(?:[ -](?:wi-?fi|wlan))?"
    r"(?:_(?:prod|dev|test|staging|live|old|new|admin|root|main|base64|b64|value|base))?(?:[_-]?\d{1,3})?"
    r"(?:(?<=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])|(?![^\W_]|_[a-z]))"
    r"(?![ _-](?:id|name|length|field|file|path|prefix|version|policy|manager|rotation|strength|generator"
    r"|hint)s?\b)"
)
_GAP = (
    rf"(?i)(?P<of>(?:\s{{0,2}}[(\[][^()\[\]\n]{{1,40}}[)\]]|\s+(?:{OF})[\s'\u2019][^.,;:=?!\n]{{1,70}}?)?)"
    r"(?:(?P<assign>[*_`\"'\\\])]{0,5}[ \t]{0,12}(?::=|=>|={1,3}|:(?!//)|：|>(?!=)|→|->)[*_]{0,2}\s{0,4}(?:["
    r"|>][-+]?[ \t]{0,4}\r?\n\s{1,16})?)"
    rf"|(?P<speech>(?:\s+(?P<be>{_BE})|['\u2019]s)(?:\s+(?:{ADVERBS})){{0,2}}[ ]?:?\s+))"
    r"|(?P<cell>[ \t]{0,20}\|[ \t]{0,20}(?!-))|(?P<argument>[\"'],\s{0,3}(?=[\"'])|\(\s?(?=[\"']))"
    r"|(?P<value>[\"']?(?:</\w{1,10}>)?\s{0,3}[,\n/>{<]?\s{0,8}[\"']?(?:value|default"
    r"|string)[\"']?\s{0,3}[:=>]\s{0,3})"
    rf"|(?P<to>\s+(?:{TO})\s+)"
    rf"|(?P<script>(?<=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f])\s?[はがを는은이가是为為就คือ：:]{{0,3}}\s?(?="
    rf"[!-~「『“]))|(?P<line>[ \t]{{0,4}}\r?\n[ \t]{{0,8}})"
    r"|(?P<aside>[?,]\s{1,2})|(?P<beside>[ \t]{1,20}(?:-[ \t])?)"
)
_CHANGED = rf"(?i)[^.;!?\n]{{0,80}}?\b(?:{CHANGED})\s+(?:{INTO})\s+"
_IS_LATER = rf"(?i)[^.;!?\n]{{0,80}}?(?:\s(?:{_BE})\s+|:\s|=\s?)(?:(?:{ADVERBS})\s+)?"
_BRIDGE = rf"(?i)(?:\s(?:{_BE}|{USE}|it['\u2019]s|its)\s+|:\s|(?<![<>!=])=\s?)(?:(?:{ADVERBS})\s+)?"
_SENTENCE = r"(?:[^.;!?\n{}]|[.;!?](?=\S)|\?\s(?=[Ii]t|[Ee]s|[Cc]['\u2019]est)){0,110}"
_AND = (  # a second value of the same kind follows
    r"(?i)[\"'`]?(?:,|;|\s(?:and|und|et|y|e|en|oraz|och|og|и))\s[^.;!?\n:=]{0,40}?"
    rf"(?:\s(?:{_BE})|['\u2019]s(?!\s+(?:{_BE})\b))\s+(?:(?:{ADVERBS})\s+)?"
)
_BEFORE = (
    r"(?i)(?:^|[\s:(\"'`«„“])([^\s\"'`«„“]{4,100}?)[\"'`»“”]{0,2}(?:,?\s(?:(?:that|which|this|das|dat|ça|ce|eso"
    r"|esa|esse"
    r"|essa|questo|questa)\s)?(?:is|was|['\u2019]s|ist|war|es|era|est|é|è|e['\u2019]|to|je|är|er|on)|\s(?:as|als|como|comme"
    r"|come|jako"
    r"|som|for))\s+(?:[\w'\u2019-]{1,20}\s+){0,3}[\w-]{0,20}\Z"
)
_LOGIN = (
    rf"(?<![^\W_])(?:{LOGINS}|ssh in)(?:[^.,;\n]{{0,40}}? (?:with|mit|avec|con|com|met|sie|dich|using"
    rf"|via))?[ :]{{1,3}}"
)
_LOGIN_LAST = r"(?i)\smit\s(\S{5,60})\s(?:einloggen|anmelden|rein)"
_ACCOUNT = rf"(?<![^\W_])(?:{ACCOUNTS})(?![^\W_])[^\n]{{0,50}}?\s/\s?(\S{{4,100}})"
_APP_PASSWORD = re.compile(r"(?:[a-z]{4} ){3}[a-z]{4}(?![a-z])")
_PROSE = r"[(\"'„“«]{0,2}(?:[^\W_]+(?:['\u2019-][^\W_]+)*|[-\u2013—])[,:)\"'”“»]{0,2}"
_GROUPS = r"\d{4,6}(?:[ -]\d{4,6}){2,}(?![\d-])|(?=[A-Z ]{0,12}\d)[A-Z0-9]{4}(?: [A-Z0-9]{4}){3,15}(?!\w)"
_QUOTE = re.compile(r"(\\*+)(\"\"\"|'''|[\"'`“\u2018«„‚‹「『”»›])")
_CLOSING = dict(zip("“\u2018«„‚‹「『»›", "”\u2019»“\u2018›」』«‹", strict=True))
_CLAUSE = (
    r"(?i)[.,;:](?=[\s\"']|\Z)|(?<![!?])[!?]++(?=\s+[A-Z])|\n|\s(?:and|but|or|because|so|which|if|when|then|und|oder|aber"
    r"|y|o|pero"
    r"|et|ou|mais|[-\u2013—|]+)(?=\s)|[;&](?=[a-z_ ]{2,40}=)|,(?=[\"']?[a-z_]{2,40}[\"']?[=:])|\s[(#]|</|[。、」]"
)
_TRIM = ".,;:)]}>\"'`*“”\u2019»"
_PLACEHOLDER = (
    r"(?i)(?-i:_*[A-Za-z]*(?:String|Str|Input|Field|Type)|(?:[A-Z][a-z]+)+(?:Password|Secret|Token|Key))|[\W_]*"
    r"|(?:gh[pous]_|sk-|xox\w-)?[x*•.]{3,}|<[\w -]*>|(?-i:\[[A-Z _-]*\])"
    r"|\[(?:filtered|redacted|hidden|masked|your[\w -]*)\]|\$\{.*\}+|\$[a-z_]+|\$\(.*|\{+[\w.$ -]*\}+|%s|%\w+%"
    r"|@\w+@|\*+\w{0,4}\*+|your[\w-]*|null|none|nil|true|false|undefined"
    r"|string|bytes|str|any|value|(?:my|the|new)[a-z_-]*(?:pass|key|token|secret)[a-z]*|redacted|filtered|masked"
    r"|hidden|removed"
    r"|example|optional|required|(?-i:_*[a-z]+(?:[_.][a-z]+)*[_.]|[a-z]{2,}(?:[A-Z][a-z]+)*(?=[A-Z]))?"
    r"(?:pass(?:word|wd)?|token|secret|key|pwd|api_?key|credentials?)|[.~]{0,2}(?:/[a-z_.-]+){2,}/?"
    r"|(?:dein|ihr|votre|tu|su|seu|sua|il_?tuo|twoje?|jouw)[-_]\w*|\S{0,20}(?:\.{3}|…|\*{3})\S{0,6}|yes|no|on|off|n/?a|tbd"
    r"|todo|fixme"
    r"|(?:op|vault|ssm|sm|aws|arn|env|file|secretref|keyring|gcp\w*|azure\w*):\S*|prompt|stdin|file|env|vault"
    r"|keychain"
)
_CODE = (  # what a program assigns from elsewhere, and prices
    r"(?i)[$@]?[a-z_.>-][\w.>-]*[(\[].*|(?:self|this|os|process|config|settings|env|args|user|req|request|ctx|secrets"
    r"|var|local"
    r"|data|module|props|form|params|e|t)\..*|\$[a-z_]+->.*|\$\d[\d.,]*|str|int|bool|float|dict|list|https?:.*|\(.*[:=)].*|\([\w.]*|(?:none|null|true|false)\W.*"
    r"|await|async"
    r"|function|lambda|new|![a-z_]+|&[a-z_]+|\$\{.*|\{\{?.*|\w+\?*\..*\(.*|[a-z]\.[a-z]+,.*|.*;return|\|[-+>]?"
    r"|>[-+]?"
)
_MEASURE = (
    r"(?i)\W*\d+(?:st|nd|rd|th|s|am|pm|h|hrs?|mins?|days?|k|m|x|%|ms|[kmgt]b|-\w+)?\W*|v?\d+(?:\.\d+)+|[\d/.,:-]+"
    r"|(?:sha|md|blake)\d+[:-]\S+|(?:sha|md|utf|base|oauth|aes|rsa|web|erc|http|ipv|wpa|ed|tls|ssl|argon|bcrypt"
    r"|x)-?\d+\w*"
    r"|2fa|mfa|1password|[a-z]+[-/](?:\d{1,2}|[a-z])|(?-i:[A-Z]{2,8}-\d{1,6})|\S+@\S+\.\w+|[a-z]+['\u2019][a-z]+"
    r"|\d+-?(?:stellig\w*|digit\w*|char\w*|fach|cifre|mal|tägig\w*)|\d{4}-\d\d-\d\d\S*|[a-z_.]+\(.*"
)
_ADVICE = re.compile(f"(?i){ADVICE}")
_SYMBOL = re.compile(r"\w[!@#$%^&*+=~?\\|_]|[!@#$%^&*+=~?\\|]\w|[a-z][A-Z]")

# Numbers that open something, and lists that restore it

_CODE_WORD = (
    rf"(?:(?<![^\W_])[^\W_]{{0,24}}?|)(?:{CODES})|(?:(?<![^\W_])[^\W_]{{0,20}}?)(?:{COMBINATIONS})"
    rf"|(?<!\w)(?:{CODE_THINGS}|{CODE_VERBS})(?!\w)"
)
_LOCK = any_of(LOCKS)
_VERB = rf"(?:{CODE_VERBS})\Z"
_OPENS = r"open|offn|ouvr|abr|apr|otwier"
_NUMBER = (
    r"[\"'`#*\\„“«(]{0,3}((?:[A-Z]-)?[A-Za-z]{0,2}\d(?:[ .]?[ -][ ]?\d|\d|[A-ZА-Я]){2,14})(?![\d%]|[.,:/]\d"
    r"|[0-9A-Za-z_À-\u052f])"
)
_NUMBER_HERE = rf"(?<![0-9A-Za-z_À-\u052f.,:;/+@€$£#\\-]){_NUMBER}"
_MIXED_HERE = r"(?<![\w-])(?:(?=[A-Z]{0,7}\d)(?=\d{0,7}[A-Z])[A-Z0-9]{3,5}|[A-Z]{4}-[A-Z]{4})"
_MIXED_CODE = (
    rf"(?i:[^.;!?\n]{{0,30}}?\s(?:{_BE})\s+"
    rf"|\s{{0,2}}:\s{{0,2}})((?=[A-Z]{{0,7}}\d)(?=\d{{0,7}}[A-Z])[A-Z0-9]{{3,5}}"
    r"(?:-?[A-Z0-9]{2,5}){0,2}|[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})(?![\w-])"
)
_IS_CODE = (
    rf"(?i)[\"'`)]{{0,2}},?\s+(?:(?:that|das|ce|eso|isso)\s)?(?:{_BE}|as|for|als|como|comme|come"
    rf"|jako)\s+[^.;!?\n]{{0,40}}"
)
_CODE_IS = rf"(?i)\s(?:{_BE})\s+(?:(?:{ADVERBS})\s+)?"
_SAYS = rf"(?i)[^.;!?\n]{{0,40}}?\s(?:{_BE})\s+|\s{{0,2}}[:=]\s{{0,2}}|\s"
_UNIT = rf"\s{{0,2}}(?:[%€$£°]|(?:{UNITS})\b)"
_OTHER_NUMBER = rf"(?i)\b(?:{BEFORE_OTHER_NUMBERS})\s+\Z|\+\d{{1,3}}[ -]?\(?\Z|\)\s?\Z"
_YEAR_BEFORE = rf"(?i)(?:\b(?:{BEFORE_YEARS})\s+|[/.-])\Z"
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE = re.compile(r"\d{1,2}[- ]\d{1,2}[- ](?:19|20)\d\d|(?:19|20)\d\d-\d\d-\d\d")
_RECOVERY_CODE = (
    r"(?<![\w-])(?:[A-Za-z0-9]{4,8}(?:[- ](?=[A-Za-z]{0,7}\d)[A-Za-z0-9]{4,8}){1,11}"
    r"|(?=[a-z]{0,9}\d)[a-z0-9]{8,16}"
    r"|\d{6,12}|(?=[A-Z]{0,9}\d)[A-Z0-9]{8,16}|[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){1,11}"
    r"|[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){7,15})(?![\w-]|[.,]\d)"
)
_SEED_WORDS = (
    r"(?:(?:\d{1,2}[.):]?\s{0,3})?[^\W\d_]{3,10}[\s,;:.·"
    r"|/\u2013-]{1,6}){11,23}(?:\d{1,2}[.):]?\s{0,3})?[^\W\d_]{3,10}"
)
_NUMBERED_WORDS = (
    r"(?<![\w.])1[.):]\s?[a-z]{3,8}\s(?:\s?\d{1,2}[.):]\s?[a-z]{3,8}\s){10,22}"
    r"\s?\d{1,2}[.):]\s?[a-z]{3,8}(?![\w-])"
)
_LICENCE = (
    rf"(?:{LICENCES})[^\n]{{0,60}}?(?<![a-z0-9-])((?=[a-z-]{{0,20}}\d)[a-z0-9]{{4,8}}(?:-[a-z0-9]{{4,8}}){{2,"
    rf"8}})(?![\w-])"
)

# Hints: what a word must hold to be looked at

_NAME_HINT = re.compile(  # something of every name, and of every part of one
    "pass|pw|ps[kw]|word|wo[ro]rd|wort|phrase|fras|zin|mdp|contra|pal[ao]|parol|hasl|hesl|losen|kod|jelsz"
    "|salasana|sifre|парол"
    "|συνθη|κωδικ|lozink|gesl|slapt|sandi|khau|パス|合言葉|密|口令|비밀|비번|암호|كلمة|الرقم|סיסמ|पास|รหัส|key|token"
    "|secret|cred|wi-?fi"
    "|jeton|cle|clave|llave|chave|chiave|sleutel|code|klucz|nyckel|nogle|nokkel|avain|klic|anahtar|kulcs|キー"
    "|키|ключ|секрет|токен"
    "|トークン|令牌|schlussel|pin|puk|tan|otp|nip|cv[cv]|csc|пин|暗証|핀|geheim|pruf|crypto|auth|sig|seed|salt"
    "|cookie|bearer|str|secur"
    "|sess|sid|pat|sk|pepper|answer|api|ww|senha"
)
_NAME_PART = (  # of a name of several words, or of a name that a sign must follow
    r"^\W*(?:pass|passe|phrase|frase|paso|palavra|parola|sandi|khau|κωδικος|كلمة|الرقم|security|keys?"
    r"|tokens?|secrets?|wi-?fi"
    r"|cles?|cle|chaves?|chiave|klucz|llave|anahtari|api|ww|losen(?:et)?|contra|pins?|puk|nip|ключ)(?![^\W_])"
    r"|(?:key|auth|signature|sig|seed|salt|credential|cookie|bearer|string|str|sess(?:ion_?)?id|(?<![a-z])sid"
    r"|(?<=[_-])(?:pat|sk|pepper|creds?)|(?<![a-z])pass)[\"'\\]{0,3}[:=]?$"
)
_CODE_PART = r"^\W*(?:punch|key|combination|geht)(?!\w)"  # of a name of several words
_LOGIN_HINT = rf"(?<![^\W_])(?:{LOGINS}|{ACCOUNTS}|log|logged|sign|dane|mots)(?![^\W_])"
_MIXED_HINT = re.compile(r"[^\W\d_]\S{0,60}?\d|\d\S{0,60}?[^\W\d_]|\w[!#$%^&*+~?]\w")
_LIST_HINT = (
    r"^\W*(?:recovery|back-?up|rescue|emergency|scratch|2fa|mfa|two-factor|totp|bitlocker|filevault"
    r"|wiederherstellungs"
    r"|backup-?|ersatz|notfall|reserve|secours|recuperation|sauvegarde|recuperacion|respaldo|emergencia"
    r"|recuperacao|reserva"
    r"|recupero|emergenza|riserva|ripristino|herstel|nood|zapasow|odzyskiwania|awaryjn|aterstallning|palautus"
    r"|gendannelse"
    r"|kurtarma|yedek|резервны|восстановления|obnovovaci|zalozni|licen|lizenz|serial|activa|aktiv|ativacao"
    r"|attivazione"
    r"|registration|product|produ[ck]|cd-?key|windows|office|klucz)|バック|リカバ|恢复|备用"
)
_SEED_HINT = (
    r"^\W*(?:seed|mnemon|wallet|recovery|backup|secret|bip-?39|metamask|ledger|trezor|electrum"
    r"|wiederherstellungs|sicherungs"
    r"|phrase|frase|fraz|herstel|palabras|palavras|parole|mots|words(?!\w)|wort(?:er|e)|woorden|slow(?:a|\W*$)|сид)"
)
_FRAME_HINT = re.compile(
    r"://|^-u|--\w|authoriz|bearer|----|sess\w{0,30}=|sid=|wifi:|securestr|^identified$|@\w+\.|putty"
    r"|^-[pwanu]|/p:|/user:|^setx$|_(?:pass|token|secret|key)$|:\*?\d*:|auth\w{0,30}[\"']?[:=(]|^auth$|password|\w%\w|(?:creds?|login\w{0,30})[\"']?[(=:]"
    r"|connect(?:ion)?\("
    r"|credentials?[(=]|change_p|add_user|^net$|chpasswd|oracle|sqlplus|jwt=|remember\w{0,30}=|openssl|pwgen|genkey"
    r"|urandom"
    r"|token_|[?&;][\w.-]+="
)
_KEY_HINT = re.compile(r"[\w+/=.~$,:-]{15}")  # of a long word: a key is nowhere else
_DIGIT_HINT = re.compile(r"\d|[a-z]{4}-[a-z]{4}")
_SIGN_HINT = re.compile(r"[\d!#$%^&*+~?]")
_NUMBER_HINT = re.compile(r"\d{3}|\d-\d|^\W*\d{1,2}\W*$|^\W*(?:[a-z]+\d|\d+[a-z])[a-z0-9-]{2,8}\W*$")
_WORD, _BLANK = re.compile(r"\S+"), re.compile(r"\s")
_LONG_WORD = re.compile(r"\S{20,}")  # a shorter one is a secret only where its name or its digits say so

_NAMED = {"password": "password", "pin": "PIN", "token": "token", "key": "token"}
_KINDS = (*_FORMATS, *_AROUND, "PIN", "private key", "card number", "random token", "recovery code", "seed phrase")
_COUNT, _OF_WHAT = r"[\d,]{1,12}", r"[\d,]{5,6} (?:secrets|names of secrets)"
_REST = rf"{_COUNT} characters after {_OF_WHAT}"
MARKER = re.compile(rf"\[secret: (?:{'|'.join(dict.fromkeys(_KINDS))}|licence key|{_REST})\]")
_BRACKETS = re.compile(r"\[[^\[\]]{2,500}\]")
_CITED = re.compile(r"(?<![\w-])r\d{1,18}(?![\w-])")
MAX_SECRETS = 1_000  # of one text; one with more is a list of secrets, and what follows them is withheld
MAX_NAMES = 20_000  # words of one text that may name a secret; the same
_WITHHELD = re.compile(rf"\[secret: (?P<chars>{_COUNT}) characters after (?P<what>{_OF_WHAT})\]\Z")
_MAX_CHARS_WHOLE = 400_000  # of a text that is looked at whole at once;
_MAX_CHARS_FIRST = 100_000  # of a longer one that are looked at first: a list of secrets shows there
_MAX_CHARS_AGAIN = 50_000  # of a text that is looked at whole again, once something in it was replaced
_CHARS_AROUND = 1_000  # of a replaced secret in a longer text that are looked at again
_MAX_ROUNDS = 5  # a marker is shorter than its secret was, and so may bring a name and a value together
_MAX_HINT_CHARS = 60  # a longer word may be anything
_MAX_WORDS, _MAX_CLAUSE_CHARS, _MAX_QUOTE_CHARS, _MAX_PLACEHOLDER_CHARS = 12, 300, 5_000, 100
_MAX_NAME_CHARS, _MAX_FRAME_CHARS = 100, 400
_MAX_LIST_CHARS, _MAX_SEED_CHARS, _MAX_CODE_DISTANCE, _MAX_LOCK_DISTANCE = 700, 400, 70, 130


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets. `found` holds their kinds, in order, and never the secrets themselves."""

    text: str
    found: tuple[str, ...]


def find_secrets(text: str) -> Redacted:
    """Return the text with a marker in the place of each secret, and the kinds that were found. What follows the
    first thousand, or very many words that may name one, is withheld: there is one marker for it."""
    return _find_secrets(text, len(text))[0]


def _find_secrets(text: str, mark: int) -> tuple[Redacted, int]:
    """Return also where the place `mark` of the text is then; behind the marker of a secret that it was in."""
    found: list[str] = []
    spans = _spans(text[:_MAX_CHARS_FIRST]) if len(text) > _MAX_CHARS_WHOLE else []
    if len(spans) <= MAX_SECRETS:
        end = _end_of_names(text) if len(text) > _MAX_CHARS_FIRST else len(text)
        spans = _spans(text[:end])
        if end < len(text):
            spans.append((end, len(text), f"{len(text) - end:,} characters after {MAX_NAMES:,} names of secrets"))
    if len(spans) > MAX_SECRETS:
        end = spans[MAX_SECRETS][0]
        spans[MAX_SECRETS:] = [(end, len(text), f"{len(text) - end:,} characters after {MAX_SECRETS:,} secrets")]
    for _ in range(_MAX_ROUNDS):
        if not spans:
            break
        places: list[_Place] = []
        parts: list[str] = []
        at = length = 0
        marked = mark
        for start, end, kind in spans:
            marker = f"[secret: {kind}]"
            parts += (text[at:start], marker)
            length += start - at + len(marker)
            places.append((length - len(marker), length))
            found.append(kind)
            at = end
            if start < mark:
                marked = length + max(0, mark - end)
        mark = marked
        text = "".join([*parts, text[at:]])
        spans = _spans(text) if len(text) <= _MAX_CHARS_AGAIN else _spans_near(text, places)
    return Redacted(text, tuple(found)), mark


def _end_of_names(text: str) -> int:
    """Return where a text has too many words that may name a secret; its length, where it never has."""
    hints, rest = _NAME_LIKE | _CODE_LIKE, _withheld_in(text)
    said = text[: rest.start()] if rest else text
    if sum(_suspicions[word] & hints > 0 for word in said.split()) <= MAX_NAMES:
        return len(text)
    return next(islice(_hinted(said, hints), MAX_NAMES, None))[0]


def withheld(text: str) -> tuple[int, str]:
    """Return how many characters of a text are withheld, and what came before them; 0 where none are."""
    found = _withheld_in(text)
    return (int(found["chars"].replace(",", "")), found["what"]) if found else (0, "")


def _withheld_in(text: str) -> re.Match[str] | None:
    return _WITHHELD.search(text, max(0, len(text) - 80))


def redact(text: str) -> str:
    """Return the text with a marker in the place of each secret."""
    return find_secrets(text).text


def redact_start(text: str, chars: int) -> str:
    """Return at most so many characters of the beginning of a text, without its secrets. A little more of it is
    looked at, since half a secret is not found; nothing of that is returned, however much shorter the rest got."""
    safe, mark = _find_secrets(text[: chars + _MAX_QUOTE_CHARS], chars)
    return safe.text[: min(chars, mark)]


def redact_json(value: object, name: str = "") -> object:
    """Return plain JSON without its secrets: those in its texts, and those that a key names."""
    if isinstance(value, Mapping):
        return {redact(key): redact_json(inner, key) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(inner, name) for inner in value]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    if isinstance(value, str) and (safe := redact(value)) != value:
        return safe
    if not _suspicions[name] & (_NAME_LIKE | _CODE_LIKE):
        return value
    found = find_secrets(json.dumps({name: value}, ensure_ascii=False)).found
    return f"[secret: {found[0]}]" if found else value


_OPAQUE_NAME = re.compile(r"(?:^|_)(?:id|uuid|signature|encrypted_content)$|(?:Id|ID|Uuid|UUID)$")
_BLOB = re.compile(r"data:[\w/+.-]{1,100};|\S{4000}")


def redact_message(value: object, name: str = "") -> object:
    """Return a framework's message, as plain JSON, without its secrets. Ids, signatures and encoded files look
    random and stay: the framework needs them as they are."""
    if isinstance(value, Mapping):
        return {redact(key): redact_message(inner, key) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_message(inner, name) for inner in value]
    if _OPAQUE_NAME.search(name) or (isinstance(value, str) and _BLOB.match(value)):
        return value
    return redact_json(value, name)


def has_secret(text: str) -> bool:
    return bool(_spans(text))


def mentions_secret(text: str) -> bool:
    """Return whether the text holds a secret, or the marker of one."""
    return bool(MARKER.search(text)) or has_secret(text)


(_KEY_LIKE, _NUMBER_LIKE, _NAME_LIKE, _FRAME_LIKE, _CODE_LIKE, _LIST_LIKE, _SEED_LIKE, _LOGIN_LIKE, _MIXED) = (
    1 << bit for bit in range(9)
)
"""What a word may belong to: a key; a number; a value with its name before it, or in its usual place; a number
that opens something; codes or words that restore something; a login. The last: it mixes letters with others."""


def suspicion(word: str) -> int:
    """Return 0 where a word cannot be, name or frame a secret: a text of such words has none."""
    return _suspicions[word]


def _suspect(word: str) -> int:
    lowered = _lowered(word)
    if len(word) > _MAX_HINT_CHARS:
        return (1 << 9) - 1 - sum(kind for kind, hint in _LONG_WORD_HINTS if not hint.search(lowered))
    named = _NAME_HINT.search(lowered) and pattern(f"{_NAME}|{_NAME_PART}").search(lowered)
    hints = (
        (_KEY_LIKE, _LONG_WORD),
        (_NUMBER_LIKE, _NUMBER_HINT),
        (_FRAME_LIKE, _FRAME_HINT),
        (_CODE_LIKE, pattern(f"{_CODE_WORD}|{_CODE_PART}")),
        (_LIST_LIKE, pattern(_LIST_HINT)),
        (_SEED_LIKE, pattern(_SEED_HINT)),
        (_LOGIN_LIKE, pattern(_LOGIN_HINT)),
        (_MIXED, _MIXED_HINT),
    )
    return sum(kind for kind, hint in hints if hint.search(lowered)) | (_NAME_LIKE if named else 0)


_suspicions = BoundedCache(_suspect)
_LONG_WORD_HINTS = (
    (_KEY_LIKE, _KEY_HINT),
    (_NUMBER_LIKE, _DIGIT_HINT),
    (_NAME_LIKE, _NAME_HINT),
    (_FRAME_LIKE, _FRAME_HINT),
    (_MIXED, _SIGN_HINT),
)
"""What a long word must have somewhere; it may be of any other kind."""


def _spans(text: str) -> list[_Span]:
    """Return where the secrets are, in order. Overlapping ones become one, so that no part is left over."""
    suspected = reduce(or_, map(_suspicions.__getitem__, text.split()), 0)
    if not suspected:
        return []
    looks = [look for needed, look in _LOOKS if any(suspected & bits == bits for bits in needed)]
    if not looks or (looks == [_cards] and not _CARD_START.search(text)):
        return []
    text = _BRACKETS.sub(_without_citations, MARKER.sub(_covered, text))
    if suspected & _FRAME_LIKE and "BEGIN" in text:
        text = pattern(_PUBLIC_BLOCK).sub(_covered, text)
    found = [span for look in looks for span in look(text)]
    apart: list[_Span] = []
    for start, end, kind in sorted(found, key=lambda span: span[0]):
        if apart and start < apart[-1][1]:
            first, last, known = apart.pop()
            apart.append((first, max(last, end), known))
        else:
            apart.append((start, end, kind))
    return apart


def _spans_near(text: str, places: Iterable[_Place]) -> list[_Span]:
    """Return where secrets are near these places, which are in order."""
    stretches: list[_Place] = []
    start = end = 0
    for first, last in places:
        if first - _CHARS_AROUND > end:
            stretches.append((start, end))
            start = max(end, text.rfind(" ", end, first - _CHARS_AROUND))
        if last + _CHARS_AROUND > end:
            blank = _BLANK.search(text, last + _CHARS_AROUND)
            end = blank.start() if blank else len(text)
    stretches.append((start, end))
    return [
        (start + first, start + last, kind)
        for start, end in stretches
        for first, last, kind in _spans(text[start:end])
    ]


def _covered(found: re.Match[str]) -> str:
    return ";" * len(found[0])


def _without_citations(found: re.Match[str]) -> str:
    """Cover the records that a fact cites: their numbers open nothing."""
    return _CITED.sub(_covered, found[0])


@cache
def _without_accents() -> dict[int, str]:
    """Return what each letter with an accent becomes: one letter, so that positions stay."""
    found = {ord(letter): plain for letter, plain in zip("łøđıßæœ", "lodisao", strict=True)}
    for code in (*range(0xC0, 0x250), *range(0x386, 0x3CF), *range(0x1E00, 0x1F00)):
        parts = unicodedata.normalize("NFD", chr(code))
        if len(parts) > 1 and unicodedata.combining(parts[1]):
            found[code] = parts[0].lower()
    return found


def _lowered(text: str) -> str:
    """Return the text in lower case and without accents, letter by letter."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join([letter.lower()[0] for letter in text])
    return lowered if lowered.isascii() else lowered.translate(_without_accents())


def _hinted(text: str, hint: int) -> Iterator[_Place]:
    """Yield where the words are that hint at something."""
    return (word.span() for word in _WORD.finditer(text) if _suspicions[word[0]] & hint)


def _find_near(
    source: str, text: str, places: Iterable[_Place], before: int, after: int
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that lie so many characters around one of these places. Only these stretches
    are searched: most of a text is far from any of them."""
    find, start, end = pattern(source).finditer, 0, -1
    for first, last in places:
        if first - before > end:
            yield from find(text, start, end) if end >= 0 else ()
            start = max(0, end, first - before)
        if last + after > end:
            blank = _BLANK.search(text, last + after)
            end = blank.start() if blank else len(text)
    yield from find(text, start, end) if end >= 0 else ()


def _trimmed(found: re.Match[str], group: int = 0) -> _Place:
    """Return where a word is, without the signs that end its sentence."""
    return found.start(group), found.start(group) + len(found[group].rstrip(_TRIM))


# Shapes


def _shaped(text: str) -> Iterator[_Span]:
    for run in _LONG_WORD.finditer(text):
        for key in pattern(_FORMAT).finditer(text, *run.span()):
            kind = [*_FORMATS][int((key.lastgroup or "")[1:])]
            if not _is_masked(key[0]) and (kind not in _LOOSE or pattern(_GENERATED).match(key[0])):
                yield *key.span(), kind
        for long in pattern(_LONG).finditer(text, *run.span()):
            if (token := long["token"]) and _looks_random(token) and not _is_public(text, long.start()):
                yield *long.span(), "random token"
    for digest in pattern(_DIGEST_HERE).finditer(text):
        before = _lowered(text[max(0, digest.start() - 90) : digest.start()])
        if pattern(_KEY_BEFORE).search(before) and not pattern(_NO_KEY_BEFORE).search(before):
            yield *digest.span(), "token"


def _is_public(text: str, start: int) -> bool:
    """Return whether the name before a token says that everybody may know it."""
    return bool(pattern(_PUBLIC_NAME).search(text, max(0, start - 40), start))


def _is_masked(token: str) -> bool:
    return not set(token[-12:]) - set("xX*•.…-_")


def _looks_random(token: str) -> bool:
    """Return whether this looks generated, not written: characters of several kinds that change all the time."""
    if _UUID.search(token) or _FILE.search(token) or token.count("/") > len(token) / 9:
        return False
    parts = [part for part in re.split(r"[\W_]+", token) if not _DIGEST.fullmatch(part)]
    core = "".join(part for part in parts if not (part.isdecimal() or (len(part) > 3 and _PIECES.fullmatch(part))))
    cased = core != core.lower() and core != core.upper()
    written = sum(map(len, re.findall(r"[A-Z]?[a-z]{3,}", core)))
    if max(map(len, parts), default=0) < 10 or written > 0.55 * len(core):
        return False
    if len(core) < 16 or not (cased or any(map(str.isdecimal, core))):
        return False
    entropy = -sum(count / len(core) * math.log2(count / len(core)) for count in Counter(core).values())
    letters = [letter for letter in core.lower() if letter.isalpha()]
    vowels = sum(letter in "aeiou" for letter in letters)
    few_vowels = vowels < 0.27 * len(letters) and len(core) - len(letters) > 1
    length = len(core) / len(_PIECES.findall(core))
    return entropy > 3.2 and length < (3.1 if cased else 6 if few_vowels else 3.3)


def _cards(text: str) -> Iterator[_Span]:
    """Card numbers, with the date and the code that follow: their digits add up, or they stand in groups of four
    beside a word for a card."""
    for card in pattern(_CARD).finditer(text):
        before = _lowered(text[max(0, card.start() - 60) : card.start()])
        if pattern(rf"(?:{NOT_CARDS})[^\d\n]{{0,25}}\Z").search(before):
            continue
        after = _lowered(text[card.end() : card.end() + 40])
        grouped = not card[0].isdecimal() and pattern(CARDS).search(f"{before} {after}")
        if _adds_up(card[0]) or grouped:
            yield *card.span(), "card number"
            if date := pattern(_CARD_DATE).match(text, card.end()):
                yield *date.span(1), "card number"
                if code := pattern(_CARD_CODE).match(text, date.end()):
                    yield *code.span(1), "PIN"


def _adds_up(number: str) -> bool:
    digits = [int(digit) for digit in reversed(number) if digit.isdecimal()]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


# Places


def _around(text: str) -> Iterator[_Span]:
    yield from ((*key.span(), "private key") for key in pattern(_PRIVATE_KEY).finditer(text))
    hinted = [*_hinted(text, _FRAME_LIKE)]
    for kind, frame in _AROUND.items():
        for around in _find_near(frame, text, hinted, _MAX_FRAME_CHARS, _MAX_FRAME_CHARS):
            value = around[around.lastindex or 0]
            if not _is_placeholder(value) and not (kind == "password" and _is_name(value)):
                yield *around.span(around.lastindex or 0), kind
    for beside in pattern(_EMAIL_BESIDE).finditer(text):
        if _is_password(beside[1]):
            yield *_trimmed(beside, 1), "password"


def _is_password(word: str) -> bool:
    """Return whether a word without a name may be a password: letters with digits or signs, and neither an address
    nor a path nor code."""
    word = word.strip(_TRIM)
    if not _strange(word, sure=True) or pattern(
        r"\S*[@(=/<`\\{|]\S*|[\d.,:-]+|[a-z]\w*\.[A-Z][A-Za-z]+"
    ).fullmatch(word):
        return False
    return any(map(str.isdecimal, word)) or bool(pattern(r"[!#$%^&*+~?]").search(word[:-1]))


def _is_login(token: str) -> bool:
    """Return whether this is a user and a password, as HTTP's basic authorization encodes them."""
    try:
        said = b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


# Names


def _named(text: str) -> Iterator[_Span]:
    """Values that a name announces, as in `password = x`, "my PIN is 1234", "x is the password"."""
    at = 0
    names = [*_find_near(_NAME, _lowered(text), _hinted(text, _NAME_LIKE), 40, _MAX_NAME_CHARS)]
    for name, following in zip_longest(names, names[1:]):
        if name.start() < at:
            continue
        group = name.lastgroup or ""
        value = _value(text, name, group, following.start() if following else len(text))
        if not value and (group in {"password", "pin"} or name[0] == "pass"):
            value = _value_before(text, max(at, name.start() - 200), name.start(), group)
        if value:
            yield *value, _NAMED[group]
            while following_value := _another(text, value[1], group):
                value = following_value
                yield *value, _NAMED[group]
        at = max(name.end(), value[1] if value else 0)
    headings = {text.rfind("\n", 0, name.start()) + 1 for name in names if name.lastgroup == "password"}
    yield from ((*cell, "password") for cell in _columns(text, headings))


def _another(text: str, end: int, group: str) -> _Place | None:
    """Return where a second value is, as in "my PIN is 1234 and hers is 5678"; `end`: of the first one."""
    joined = pattern(_AND).match(text, end)
    if not joined or group not in {"password", "pin"}:
        return None
    if group == "pin":
        number = pattern(_NUMBER).match(text, joined.end())
        return number.span(1) if number and len(number[1]) >= 4 and not _is_counted(text, number) else None
    word = pattern(r"\S{4,100}").match(text, joined.end())
    return _trimmed(word) if word and _is_password(word[0]) else None


def _logins(text: str) -> Iterator[_Span]:
    """Passwords beside a user's name, behind "log in with", or in a list of passwords."""
    lowered = _lowered(text)
    yield from ((*place, "password") for place in _beside_users(text, lowered))


def _beside_users(text: str, lowered: str) -> Iterator[_Place]:
    for login in pattern(_LOGIN).finditer(lowered):
        word = pattern(r"\S{5,100}").match(text, login.end())
        if word and _is_password(word[0]):
            yield _trimmed(word)
    for login in pattern(_LOGIN_LAST).finditer(text):
        if _is_password(login[1]):
            yield _trimmed(login, 1)
    for account in pattern(_ACCOUNT).finditer(lowered):
        if _is_password(text[slice(*account.span(1))]):
            yield _trimmed(account, 1)


def _columns(text: str, headings: set[int]) -> Iterator[_Place]:
    """Cells below a heading that names passwords, in tables of Markdown and in values separated by commas."""
    column, count, mark, at = -1, 0, "", 0
    for line in text.split("\n") if headings and "\n" in text else ():
        start, at = at, at + len(line) + 1
        if mark and pattern(r"[-+|=: \t\r]{3,500}").fullmatch(line):
            continue  # a ruler
        if mark and line.count(mark) == count:
            cells = line.split(mark)
            value = cells[column].strip(" \t\r\"'`*")
            if 2 < len(value) < 200 and not _is_placeholder(value):
                begin = start + sum(len(cell) + 1 for cell in cells[:column]) + cells[column].index(value)
                yield begin, begin + len(value)
        else:
            column, count, mark = _password_column(line) if start in headings else (-1, 0, "")


def _password_column(line: str) -> tuple[int, int, str]:
    """Return which column of a heading names passwords, how many separators there are, and which; -1: none."""
    lowered = _lowered(line) if len(line) < 500 else ""
    if pattern(any_of(PASSWORDS)).search(lowered):
        for mark in "|\t,;":
            cells = [cell.strip(" \r\"'*`") for cell in lowered.split(mark)]
            named = [n for n, cell in enumerate(cells) if pattern(any_of(PASSWORDS)).fullmatch(cell)]
            if len(named) == 1 and len(cells) > 1 and all(len(cell) < 30 for cell in cells):
                return named[0], len(cells) - 1, mark
    return -1, 0, ""


def _value_before(text: str, start: int, end: int, group: str) -> _Place | None:
    """Return where the value before a name is, as in "x is my password" and "type x as the password"."""
    before = pattern(_BEFORE).search(text[start:end])
    if not before:
        return None
    value = before[1].rstrip(_TRIM)
    is_number = len(value) > 3 and pattern(_NUMBER).fullmatch(value)
    fits = is_number if group == "pin" else _strange(value, sure=True)
    return (start + before.start(1), start + before.start(1) + len(value)) if fits else None


def _value(text: str, name: re.Match[str], group: str, until: int) -> _Place | None:
    """Return where the value after this name is, if one is given before the next name."""
    gap = pattern(_GAP).match(text, name.end())
    how = "" if not gap else "speech" if gap.lastgroup == "be" else gap.lastgroup or ""
    if gap and how != "of":
        look = {"pin": _number_at, "key": _key_at}.get(group, _text_at)
        if found := look(text, name, gap, how):
            return found
    if group == "key":
        return None
    if group == "pin":
        later = pattern(_IS_LATER).match(text, name.end(), until)
        number = later and pattern(_NUMBER).match(text, later.end())
        return number.span(1) if number and len(number[1]) >= 4 and not _is_counted(text, number) else None
    return _later_value(text, name, group == "password", until)


def _later_value(text: str, name: re.Match[str], sure: bool, until: int) -> _Place | None:
    """Return a strange word further on in the sentence of a name, as in "the password was changed to x"."""
    changed = pattern(_CHANGED).match(text, name.end(), until)
    sentence = pattern(_SENTENCE).match(text, name.end(), until)
    bridges = pattern(_BRIDGE).finditer(text, name.end(), sentence.end() if sentence else name.end())
    for at in (*([changed.end()] if changed else []), *(bridge.end() for bridge in bridges)):
        if sure and (app := _APP_PASSWORD.match(text, at)):
            return app.span()
        if groups := pattern(_GROUPS).match(text, at):
            return groups.span()
        if sure and (quoted := _quoted(text, at)):
            value = text[slice(*quoted)]
            if _strange(value, sure) or (len(value.split()) > 2 and not _ADVICE.search(value)):
                return quoted
        elif word := pattern(r"(?!;)\S{4,300}" if sure else r"[^\s;&,]{4,300}").match(text, at):
            certain = changed and at == changed.end()
            fits = _strange(word[0], sure=True) if certain else _is_password(word[0])
            fits = (sure and fits) or _strange(word[0], sure=False)
            if fits and not pattern(_CODE).fullmatch(word[0]):
                return _trimmed(word)
    if not sure and "word" not in name[0]:
        return None
    for word in re.finditer(r"\S+", text[name.end() : sentence.end() if sentence else name.end()]):
        if _stands_out(word[0], _language(name[0], "")):
            start = name.end() + word.start()
            return start, start + len(word[0].rstrip(_TRIM))
        if not pattern(_PROSE).fullmatch(word[0]):
            break
    return None


def _stands_out(word: str, language: str) -> bool:
    """Return whether a word in a sentence about a password must be it: no language has such a word, and no product
    such a name."""
    word = word.strip(_TRIM)
    if (
        not _is_password(word)
        or _FILE.search(word)
        or not pattern(r"(?=\S*?[^\W\d_])(?=\S*?\d)\S+").fullmatch(word)
    ):
        return False
    if pattern(r"[A-Z0-9-]+|[\w-]+(?:\.\w+)+|\d+-?[^\W\d_]+").fullmatch(word) or len(word) < 6:
        return False
    mixed = r"\S*\w[!#$%^&*+~?]\S+" if language == "en" else r"\S*\w[!#$%^&*+~?]\S*|[\w-]*[^\W\d]\d{3,5}"
    return bool(pattern(mixed).fullmatch(word))


def _number_at(text: str, name: re.Match[str], gap: re.Match[str], how: str) -> _Place | None:
    number = pattern(_NUMBER).match(text, gap.end())
    if not number or _is_counted(text, number):
        return None
    short = bool(pattern("cv|csc|pruf|crypto").search(name[0]))  # three digits, and never a verb
    if how == "beside" and not short and not text[slice(*name.span())].isupper():
        follows = r"\s{0,2}(?:[.,;)\n]|\Z)|\s(?:for|to|and|on|für|und|pour|et|para|y|per|na|voor|en)\s"
        if not pattern(follows).match(text, number.end()):
            return None
    return number.span(1) if len(number[1]) >= (3 if short else 4) else None


def _key_at(text: str, name: re.Match[str], gap: re.Match[str], how: str) -> _Place | None:
    if quoted := _quoted(text, gap.end()):
        return quoted if _is_key(text[slice(*quoted)]) else None
    word = pattern(r"[^\s\"'&,;<>=]{8,300}={0,2}").match(text, gap.end())
    if word and text[slice(*name.span())].isupper() and "_" in name[0] and gap[0] == "=":
        is_plain = _UUID.fullmatch(word[0]) or pattern(r"\S*[/:@$()]\S*|[a-z_-]+\d{0,2}").fullmatch(word[0])
        return word.span() if not is_plain and _strange(word[0], sure=False) else None
    return word.span() if word and _is_key(word[0]) else None


def _is_key(value: str) -> bool:
    """Return whether the value of something called a key was generated."""
    if _is_placeholder(value) or _UUID.fullmatch(value) or _FILE.search(value) or "://" in value:
        return False
    value = value.removeprefix("base64:")
    if pattern(r"AC[0-9a-f]{32}").fullmatch(value):
        return False
    if re.fullmatch(r"[0-9a-f]{32,128}|[A-Za-z0-9+/]{40,}={0,2}", value) or _is_login(value):
        return True
    return len(value) >= 16 and _looks_random(value)


def _text_at(text: str, name: re.Match[str], gap: re.Match[str], how: str) -> _Place | None:
    """Return where the value of a password or a token is, given what stands between."""
    sure, start = name.lastgroup == "password", gap.end()
    if (sure and (whole := _APP_PASSWORD.match(text, start))) or (whole := pattern(_GROUPS).match(text, start)):
        return whole.span()
    if quoted := _quoted(text, start):
        value = text[slice(*quoted)]
        return quoted if _is_value(value, how, sure) and not _is_example(text, name, value) else None
    if how == "script":
        run = pattern(r"[!-~]{4,200}").match(text, start)
        return run.span() if run and sure and not _is_placeholder(run[0]) else None
    if how == "aside":
        word = pattern(r"\S{6,100}").match(text, start)
        return _trimmed(word) if word and sure and _stands_out(word[0], "") else None
    if how == "beside" and sure and len(gap[0]) > 1:
        alone = pattern(r"\S{4,100}(?=[ \t\r]*(?:\n|\Z))").match(text, start)
        begins = pattern(r"(?:\A|\n)[ \t\w.-]{0,40}\Z").search(text, max(0, name.start() - 60), name.start())
        return _trimmed(alone) if alone and begins and _may_be_given(alone[0], how) else None
    if how == "line" or "\n" in gap[0]:
        alone = pattern(r"\S{4,100}(?=[ \t\r]*(?:\n|\Z))").match(text, start)
        fits = _is_password if how == "line" else partial(_may_be_given, how=how)
        return _trimmed(alone) if alone and sure and fits(alone[0]) else None
    cut = pattern(_CLAUSE).search(text, start, start + _MAX_CLAUSE_CHARS)
    clause = text[start : cut.start() if cut else start + _MAX_CLAUSE_CHARS]
    words = list(islice(re.finditer(r"\S+", clause), _MAX_WORDS + 1))
    given = [word[0] for word in words]
    if not given or not _may_be_given(given[0], how):
        return None
    if how == "speech" and (language := _language(name[0], gap["be"] or "")) != "en":
        ends = not cut or not cut[0][:1].isspace() or "\n" in cut[0]
        count = _given_in(language, given, ends) if sure or _strange(given[0], sure) else 0
    else:
        tight = how == "assign" and "=" in gap[0] and not gap[0][-1].isspace()
        count = _given_away(given, how, sure, tight)
    if count:
        last = start + words[count - 1].end()
        if last == start + _MAX_CLAUSE_CHARS and (rest := re.compile(r"\S+").match(text, last)):
            last = rest.end()
        end = start + len(text[start:last].rstrip(_TRIM))
        return None if _is_example(text, name, text[start:end]) else (start, end)
    number = pattern(_NUMBER).match(text, start) if sure and how in {"assign", "speech"} else None
    return number.span(1) if number and len(number[1]) > 5 else None


def _quoted(text: str, start: int) -> _Place | None:
    """Return where the text between the quotation marks that open here is."""
    quote = _QUOTE.match(text, start)
    if not quote:
        return None
    closing, limit = quote[1] + _CLOSING.get(quote[2], quote[2]), quote.end() + _MAX_QUOTE_CHARS
    end = text.find(closing, quote.end(), limit)
    if quote[2] == "„" and end < 0:
        end = next((at for mark in '”"' if (at := text.find(mark, quote.end(), limit)) > 0), -1)
    while end > 0 and not quote[1] and text[end - 1] == "\\":
        end = text.find(closing, end + 1, limit)
    return (quote.end(), end) if end > 0 and "\n" not in text[quote.end() : end] else None


def _is_value(quoted: str, how: str, sure: bool) -> bool:
    words = quoted.split()
    if not words or _is_placeholder(quoted) or _is_name(quoted):
        return False
    if how == "argument":
        return sure and _strange(quoted, sure)
    if len(words) > 1:
        if not sure:
            return how == "assign" and bool(_APP_PASSWORD.fullmatch(quoted))
        return (how != "beside" or len(words) > 2) and not _ADVICE.search(quoted)
    if how in {"beside", "line"} or (not sure and how != "assign"):
        return _strange(quoted, sure) or (sure and quoted.isalpha() and quoted.lower() not in STATES)
    return sure or _strange(quoted, sure) or (len(quoted) >= 8 and not _describes(quoted.lower(), "en"))


def _may_be_given(word: str, how: str) -> bool:
    bare = word.rstrip(".,;)\"'`")
    if _is_placeholder(bare) or _is_name(word.strip(_TRIM)):
        return False
    return how not in {"assign", "value"} or not pattern(_CODE).fullmatch(word)


def _given_away(words: list[str], how: str, sure: bool, tight: bool) -> int:
    """Return how many of these words are the value: 0 where they only speak about it."""
    strange = [_strange(word, sure) for word in words[:4]]
    if strange[0]:
        if how == "beside" and not sure and re.fullmatch(r"\d{1,11}\W*", words[0]):
            return 0
        if how in {"beside", "to", "value"}:
            return 1
        strange += [_strange(word, sure) for word in words[4:]] if all(strange) else []
        return [*strange, False].index(False)
    bare = [word.strip(_TRIM).lower() for word in words]
    if sure and how in {"assign", "speech"}:
        plain = bare[: strange.index(True)] if True in strange else bare
        speaks = len(plain) > _MAX_WORDS or not SMALL.isdisjoint(plain) or any(map(_is_name, plain))
        two = len(plain) == 2 and plain is bare and how == "assign" and not tight
        if not speaks and not two and (len(plain) > 2 or not any(_describes(word, "en") for word in plain)):
            return len(plain) + (plain is not bare)
    return int((tight or (how == "value" and sure)) and (sure or len(bare[0]) >= 6))


def _given_in(language: str, words: list[str], ends: bool) -> int:
    """Return how many of these words are the value, where they come after a word for "is" of another language than
    English: a strange word, or one that ends the clause (`ends`) and does not describe the password."""
    if _strange(words[0], sure=True):
        return 1
    bare = words[0].strip(_TRIM).lower()
    letters = re.sub(r"(?<=\w)[-_.](?=\w)", "", bare)
    if len(words) > 1 or not ends or len(bare) < 4 or bare in SMALL or not letters.isalpha():
        return 0
    return int(bare != letters or not _describes(bare, language))


def _describes(word: str, language: str) -> bool:
    """Return whether a word says how a password is, not what it is."""
    return word in STATES or bool(pattern(DESCRIBING.get(language, DESCRIBING["en"])).fullmatch(_lowered(word)))


def _language(name: str, be: str) -> str:
    """Return the language of a name; where it is one of English that others use, that of the word for "is"."""
    own = next((language for language, words in PASSWORDS.items() if pattern(words).fullmatch(name)), "en")
    if own != "en" or not be:
        return own
    return next((language for language, words in IS.items() if pattern(words).fullmatch(be.lower())), "en")


def _is_name(value: str) -> bool:
    """Return whether this is only the word "password", in whatever language."""
    return len(value) < 40 and bool(pattern(_NAME).fullmatch(_lowered(value)))


def _is_example(text: str, name: re.Match[str], value: str) -> bool:
    """Return whether a plain word is said to be an example, as in `password = changeme`."""
    if _strange(value, sure=True):
        return False
    near = pattern(f"(?i){EXAMPLES}").search(text, max(0, name.start() - 80), name.end() + len(value) + 80)
    return bool(near)


def _is_placeholder(value: str) -> bool:
    return len(value) <= _MAX_PLACEHOLDER_CHARS and bool(pattern(_PLACEHOLDER).fullmatch(value))


def _strange(word: str, sure: bool) -> bool:
    """Return whether this is not a word of any language: letters mixed with digits or signs, or a number."""
    core = word[:_MAX_CLAUSE_CHARS].strip(_TRIM + "([{<")
    if core.isdecimal():
        return len(core) >= (4 if sure else 6)
    if core.isalpha() and (core.islower() or core.istitle()):
        return False
    if _is_placeholder(core) or pattern(_MEASURE).fullmatch(core):
        return False
    letters = any(map(str.isalpha, core))
    if letters and any(map(str.isdecimal, core)):
        return len(core) >= (4 if sure else 6)
    return sure and letters and len(core) >= 5 and bool(_SYMBOL.search(core))


# Numbers that open something


def _codes(text: str) -> Iterator[_Span]:
    """Numbers that open something: the first one after a word for code, or before it, where something that has a
    lock is named close by."""
    lowered = _lowered(text)
    numbers = [number for number in pattern(_NUMBER_HERE).finditer(text) if not _is_counted(text, number)]
    starts = [number.start(1) for number in numbers]
    places = sorted(one.span() for one in (*numbers, *pattern(_MIXED_HERE).finditer(text)))
    for word in _find_near(_CODE_WORD, lowered, places, _MAX_LOCK_DISTANCE, _MAX_LOCK_DISTANCE):
        place = bisect_left(starts, word.end())
        before = numbers[place - 1] if place else None
        start = max(0, word.start() - _MAX_LOCK_DISTANCE, before.end() if before else 0)
        near = place < len(numbers) and starts[place] - word.end() <= _MAX_CODE_DISTANCE
        mixed = pattern(_MIXED_CODE).match(text, word.end())
        if (after := mixed or (numbers[place] if near else None)) and _opens(text, lowered, word, after, start):
            yield *after.span(1), "PIN"
        elif before and word.start() - before.end() <= _MAX_CODE_DISTANCE:
            gap = text[before.end() : word.start()]
            since = max(0, before.start() - _MAX_LOCK_DISTANCE)
            if (gap.isspace() or pattern(_IS_CODE).fullmatch(gap)) and _opens(text, lowered, word, before, since):
                yield *before.span(1), "PIN"


def _is_counted(text: str, number: re.Match[str]) -> bool:
    """Return whether a number counts something, or is a date, a time or a place."""
    if pattern(_UNIT).match(text, number.end()) or _DATE.fullmatch(number[1]):
        return True
    before = text[max(0, number.start(1) - 20) : number.start(1)]
    if pattern(_OTHER_NUMBER).search(before):
        return True
    return bool(_YEAR.fullmatch(number[1]) and pattern(_YEAR_BEFORE).search(before))


def _opens(text: str, lowered: str, word: re.Match[str], number: re.Match[str], start: int) -> bool:
    """Return whether what stands between a word for code and a number, and around them, says that it opens
    something."""
    is_after = number.start() >= word.end()
    between = text[word.end() : number.start(1)] if is_after else text[number.end() : word.start()]
    if not is_after and pattern(_OPENS).match(word[0]):
        return not between.strip() and bool(pattern(_LOCK).search(lowered, word.end(), word.end() + 60))
    if pattern(rf"(?:{NOT_CODES})\Z").search(lowered, start, word.start()) or pattern(NOT_CODES).match(word[0]):
        return False
    if is_after and pattern(NOT_CODES_AFTER).match(lowered, word.end()):
        return False
    if pattern(r"[.!?]\s|\n\n|;\s").search(between):
        return False
    sentence = (
        start
        if pattern(_CODE_IS).fullmatch(between)
        else 1 + max(start - 1, *(lowered.rfind(end, start, word.start()) for end in (". ", "\n")))
    )
    rest = pattern(r"[^.;!?\n]{0,45}").match(lowered, max(word.end(), number.end()))
    around = f"{lowered[sentence : max(word.end(), number.start())]} {rest[0] if rest else ''}"
    digits = sum(map(str.isdecimal, number[1]))
    if pattern(COMBINATIONS).search(word[0]) and digits >= 3 and pattern(_SAYS).fullmatch(between):
        return True
    if pattern(_VERB).match(word[0]) and (len(between.split()) > 3 or _YEAR.fullmatch(number[1])):
        return False
    is_number = number[1].replace(" ", "").replace("-", "").isdecimal()
    if digits > 10 or (not is_number and "confirm" in around):
        return False
    if pattern(_LOCK).search(around):
        return True
    return digits >= 4 and bool(pattern(YOURS).search(around) and pattern(_SAYS).fullmatch(between))


# Lists that restore something


def _lists(text: str) -> Iterator[_Span]:
    """Codes that restore access, and licence keys, after what says that they do."""
    lowered, done = _lowered(text), 0
    for about in pattern(any_of(RECOVERY)).finditer(lowered):
        end = about.end() + _MAX_LIST_CHARS
        shapes: set[tuple[int, ...]] = set()
        for code in pattern(_RECOVERY_CODE).finditer(text, max(done, about.end()), end):
            shapes.add(tuple(map(len, code[0].split("-"))))
            if "-" in code[0] or " " in code[0] or not pattern(_MEASURE).fullmatch(code[0]) or code[0].isdecimal():
                yield *code.span(), "recovery code"
                done = code.end()
        for code in pattern(r"(?<![\w-])[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+(?![\w-])").finditer(
            text, about.end(), end
        ):
            if tuple(map(len, code[0].split("-"))) in shapes:
                yield *code.span(), "recovery code"
    for licence in pattern(_LICENCE).finditer(lowered):
        if not any(map(str.islower, text[slice(*licence.span(1))])):
            yield *licence.span(1), "licence key"


def _seeds(text: str) -> Iterator[_Span]:
    """Twelve words or more that restore a wallet, after what says that they do."""
    done = 0
    for about in pattern(SEEDS).finditer(_lowered(text)):
        words = pattern(_SEED_WORDS).search(text, max(done, about.end()), about.end() + _MAX_SEED_CHARS)
        if words and sum(word.strip(_TRIM).lower() in SMALL for word in words[0].split()) < 2:
            yield *words.span(), "seed phrase"
            done = words.end()
    yield from ((*words.span(), "seed phrase") for words in pattern(_NUMBERED_WORDS).finditer(text))


_LOOKS: tuple[tuple[tuple[int, ...], Callable[[str], Iterator[_Span]]], ...] = (
    ((_KEY_LIKE,), _shaped),
    ((_NUMBER_LIKE,), _cards),
    ((_FRAME_LIKE,), _around),
    ((_NAME_LIKE,), _named),
    ((_LOGIN_LIKE | _MIXED,), _logins),
    ((_NUMBER_LIKE | _CODE_LIKE,), _codes),
    ((_LIST_LIKE | _NUMBER_LIKE, _LIST_LIKE | _MIXED, _LIST_LIKE | _KEY_LIKE), _lists),
    ((_SEED_LIKE,), _seeds),
)
"""What looks for secrets, and which words a text must have for it: all of one of these kinds."""
