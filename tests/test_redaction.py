"""Secrets: found, marked and taken out whole, and nothing else with them (SPEC S4)."""

from __future__ import annotations

import string
import time
from collections import defaultdict
from collections.abc import Callable

import pytest
from bench import secrets
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lifelong.recall.analyzer import analyze
from lifelong.redaction import find_secrets, has_secret, redact, redact_json, redact_start

LETTERS, DIGITS = string.ascii_letters, string.digits
BASE62, BASE64, URL_SAFE, HEX = (
    LETTERS + DIGITS,
    LETTERS + DIGITS + "+/",
    LETTERS + DIGITS + "-_",
    "0123456789abcdef",
)


def drawn(alphabet: str, length: int, longest: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=longest or length)


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


FORMATS: dict[str, st.SearchStrategy[str]] = {
    "AWS key": joined(st.sampled_from(["AKIA", "ASIA"]), drawn(string.ascii_uppercase + DIGITS, 16)),
    "GitHub token": joined(st.sampled_from(["ghp_", "gho_", "ghs_", "ghu_", "github_pat_"]), drawn(BASE62, 36)),
    "GitLab token": joined("glpat-", drawn(URL_SAFE, 20)),
    "Slack token": joined(st.sampled_from(["xoxb-", "xoxp-", "xoxa-"]), drawn(DIGITS, 11), "-", drawn(BASE62, 24)),
    "webhook": st.one_of(
        joined(
            "https://hooks.slack.com/services/T", drawn(DIGITS, 8), "/B", drawn(DIGITS, 8), "/", drawn(BASE62, 24)
        ),
        joined("https://discord.com/api/webhooks/", drawn(DIGITS, 18), "/", drawn(URL_SAFE, 68)),
    ),
    "Stripe key": joined(st.sampled_from(["sk_live_", "rk_live_"]), drawn(BASE62, 24, 99)),
    "OpenAI key": joined(st.sampled_from(["sk-", "sk-proj-"]), drawn(BASE62, 40), "A7"),
    "Anthropic key": joined("sk-ant-api03-", drawn(URL_SAFE, 93), "AA"),
    "Google key": joined("AIza", drawn(URL_SAFE, 35)),
    "Hugging Face token": joined("hf_", drawn(BASE62, 34)),
    "npm token": joined("npm_", drawn(BASE62, 36)),
    "PyPI token": joined("pypi-", drawn(URL_SAFE, 85, 170)),
    "SendGrid key": joined("SG.", drawn(URL_SAFE, 22), ".", drawn(URL_SAFE, 43)),
    "Twilio key": joined("SK", drawn(HEX, 32)),
    "Telegram token": joined(drawn("123456789", 9), ":", drawn(URL_SAFE, 35)),
    "API token": joined(
        st.sampled_from(["dckr_pat_", "dop_v1_", "shpat_", "xkeysib-", "lin_api_", "sntrys_"]), drawn(HEX, 32, 64)
    ),
    "JWT": joined("eyJ", drawn(URL_SAFE, 20, 200), ".eyJ", drawn(URL_SAFE, 20, 300), ".", drawn(URL_SAFE, 43)),
}

PROSE = st.text(st.characters(blacklist_categories=["Cs"]), max_size=60)


def sure_to_be_gone(secret: str, text: str, prose: str = "") -> None:
    """No stretch of the secret of eight characters is left, but for what the prose around it says as well."""
    pieces = {secret[at : at + 8] for at in range(max(1, len(secret) - 7))}
    assert not [piece for piece in pieces if piece in text and piece not in prose]


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_secret_of_each_format_is_gone(kind: str, data: st.DataObject) -> None:
    """S4: wherever it stands in whatever prose, and no part of it stays."""
    secret, before, after = data.draw(FORMATS[kind]), data.draw(PROSE), data.draw(PROSE)
    redacted = find_secrets(f"{before} {secret} {after}")
    assert analyze(f"{before} {secret} {after}").text == redacted.text
    sure_to_be_gone(secret, redacted.text, f"{before}\n{after}")
    assert redacted.found
    assert find_secrets(f"I use {secret} for it").found == (kind,)


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(
        ["password", "DB_PASSWORD", "Passwort", "contraseña", "mot de passe", "passphrase", "userPwd"]
    ),
    shape=st.sampled_from(
        ['{0}="{1}"', "{0} = '{1}'", '{{"{0}": "{1}", "x": 1}}', "{0}={1}", "the {0} is {1}", "{0}: {1}"]
    ),
    secret=drawn(BASE62 + "!@#$%^&*+~?", 8, 40),
)
def test_a_drawn_password_behind_its_name_is_gone(name: str, shape: str, secret: str) -> None:
    """S4: in JSON, YAML, an .env and plain speech."""
    assume(any(letter in LETTERS for letter in secret) and any(letter in DIGITS for letter in secret[1:]))
    assume(not secret.startswith("%"))
    redacted = find_secrets("x\n" + shape.format(name, secret) + "\ny")
    assert secret.rstrip("*") not in redacted.text
    sure_to_be_gone(secret, redacted.text)


@settings(max_examples=60, deadline=None)
@given(secret=drawn(BASE64, 40))
def test_an_aws_secret_key_behind_its_name_is_gone(secret: str) -> None:
    """S4: also where it begins or ends like a path."""
    assume(len(set(secret)) > 12 and any(letter in DIGITS for letter in secret))
    sure_to_be_gone(secret, redact(f"aws_secret_access_key = {secret}\nregion = eu-west-1"))


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("my password is hunter2", "hunter2", "password"),
        ("my password is sunshine.", "sunshine", "password"),
        ("My wifi password's hunter2", "hunter2", "password"),
        ("the wifi password: bluehouse42", "bluehouse42", "password"),
        ("the password for the wifi is Blue House 42", "Blue House 42", "password"),
        ("the password is correct horse battery staple", "correct horse battery staple", "password"),
        ("I changed my password to hunter2, ok?", "hunter2", "password"),
        ("hunter2 is my password", "hunter2", "password"),
        ("log in with password hunter2", "hunter2", "password"),
        ("Password:\nhunter2", "hunter2", "password"),
        ("my passcode is 8842", "8842", "password"),
        ("Mein Passwort ist Sommer2024!", "Sommer2024!", "password"),
        ("Kennwort: geheim77", "geheim77", "password"),
        ("mi contraseña es gato123", "gato123", "password"),
        ("mon mot de passe est soleil99", "soleil99", "password"),
        ("Minha senha é futebol99", "futebol99", "password"),
        ("futebol99 é minha senha", "futebol99", "password"),
        ("La mia password è ciao1234", "ciao1234", "password"),
        ("Mijn wachtwoord voor thuis is zomer2024", "zomer2024", "password"),
        ("PIN is 4321", "4321", "PIN"),
        ("the door code is 4411#", "4411", "PIN"),
        ("CVV: 123", "123", "PIN"),
        ("expires 12/27, cvv 123", "cvv 123", "PIN"),
        ("the Wi-Fi key is SunnyDay2024", "SunnyDay2024", "token"),
        ("the API key is abc123def", "abc123def", "token"),
        ("client_secret: abc123def456", "abc123def456", "token"),
        ("SECRET_KEY=changeme", "changeme", "token"),
        ('{"password": "hunt er\\"2x"}', "2x", "password"),
        ('{\\"password\\": \\"hunter2\\"}', "hunter2", "password"),
        ("password: 'it is me'", "it is me", "password"),
        ("<password>hunter2</password>", "hunter2", "password"),
        ("| password | hunter2 |", "hunter2", "password"),
        ("**Password:** hunter2", "hunter2", "password"),
        ("Server=x;User Id=sa;Password=Abc,123;Database=y", "Abc,123", "password"),
        ("postgres://bob:p@ss@db:5432/x", "p@ss", "password"),
        ("https://x.com/?access_token=abcdef12345&page=2", "abcdef12345", "token"),
        ("curl -u bob:hunter2 https://x", "hunter2", "password"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "authorization"),
        ('"Authorization": "Bearer abc.def-123"', "abc.def-123", "authorization"),
        ("I paid with 4111 1111 1111 1111 today", "1111", "card number"),
        ("378282246310005", "378282246310005", "card number"),
        ("the value is q8Zr2LmX0vTb7KcN4wYd", "q8Zr2LmX0vTb7KcN4wYd", "random token"),
        ('{"user" : "bob", "pass" : "hunter2abc"}', "hunter2abc", "password"),
        ("'pass' => 'hunter2abc'", "hunter2abc", "password"),
        ("my P\u0130N is 4711", "4711", "PIN"),
    ],
)
def test_what_gives_a_secret_away(text: str, secret: str, kind: str) -> None:
    """S4: the secret is marked with its kind and the words around it stay."""
    redacted = find_secrets(text)
    assert redacted.found == (kind,)
    assert analyze(text).text == redacted.text, "the index looks for secrets only where a word is suspicious"
    assert f"[secret: {kind}]" in redacted.text
    assert secret not in redacted.text
    assert has_secret(text)
    assert not has_secret(redacted.text)


@pytest.mark.parametrize(
    "text",
    [
        "my password is too weak",
        "the token is expired",
        "the secret is patience",
        "The secret is to keep stirring.",
        "forgot my password",
        "password reset email",
        "what is the API key for?",
        "The password for my account is too weak",
        "My password is not working",
        "Password: must be at least 8 characters",
        "password: required",
        "I use a password manager, it is 1Password",
        "la clave es la paciencia",
        "A minha senha é muito fraca e a resenha é boa",
        "Mijn wachtwoord is verlopen",
        "the token is valid 30 days",
        "tokens: 8192, max_tokens=1024",
        "pin the 1000 notes to the board",
        "shopping is 4321 fun",
        "the bearer of bad news",
        "monthly pass: $156.00",
        "**Boarding pass:** Yes, on the phone",
        "token: the user's token to log in, type=withdrawal",
        "ED25519 key fingerprint is SHA256:gdD8jZnn7uZBMNcRA9ptCg+2Ws6r1nBd2bzekCA65yU.",
        "def f(password: str, token: str = None) -> None: ...",
        "f(api_key=api_key, password=password)",
        'password=os.environ["X"]',
        "$pass = $_POST['password'];",
        "export TOKEN=$MY_TOKEN and API_KEY=<your-key>",
        "550e8400-e29b-41d4-a716-446655440000",
        "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "agent 0123456789abcdef0123456789abcdef said [r123] in D1:3",
        "/home/bob/projects/lifelong/src/module_2/file10.py",
        "https://docs.google.com/document/d/1AbCdEfGhIjKlMnOpQrStUvWxYz012345/edit",
        "http://localhost:8080/a/b@c",
        "effects-on-cardiovascular-risk-factors-in-patients-with-mild-hypertension",
        "O-22-082-ART13-PI3-K011",
        "getHTTPResponseCodeForURLAndRetryTwice",
        "v1.2.3-alpha.20230101+build.5f3e2d1",
        "order 1234567812345678, call +1 415 555 2671",
        "IBAN DE89370400440532013000",
        "Use a cashback credit card (e.g., 1% back) + an app (e.g., 5% off) [Assistant, 2023-05-22, r110]",
        "Research local building codes and regulations [2023-05-22, r4123, until 2024-01-01 by r5123]",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """S4: speech about secrets, code that handles them, and ids are memory like any other."""
    assert find_secrets(text).text == text
    assert not has_secret(text)


BODY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 3) + "\nQyNTUxOQ=="


@pytest.mark.parametrize(
    "label", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
@pytest.mark.parametrize("ended", [True, False])
def test_a_private_key_is_gone_whole(label: str, newline: str, ended: bool) -> None:
    """S4: to its last line, also where the END line is missing."""
    end = f"\n-----END {label}-----" if ended else ""
    block = f"-----BEGIN {label}-----\nProc-Type: 4,ENCRYPTED\n\n{BODY}{end}".replace("\n", newline)
    redacted = find_secrets(f"Here it is:\n{block}\n\nPlease keep it.")
    assert redacted.text == "Here it is:\n[secret: private key]\n\nPlease keep it."
    assert redacted.found == ("private key",)


@pytest.mark.parametrize("filler", ["", "a walk by the sea ", "My key is sk-ant-api03-" + 40 * "aB3" + ". "])
def test_half_a_secret_at_the_end_of_what_is_looked_at_is_gone(filler: str) -> None:
    """S4: four long keys shrink to markers, and move the end of what is looked at into what is returned."""
    keys = "".join(
        f"-----BEGIN RSA PRIVATE KEY-----\n{40 * (64 * letter + chr(10))}-----END RSA PRIVATE KEY-----\n"
        for letter in "abcd"
    )
    secret = "hunter2Xq9vLm77"
    text = keys + filler * 900
    for cut in range(15_000 - len(secret) - 8, 15_001, 4):
        asked = f"{text[:cut].ljust(cut, '.')} {secret} is my password"
        start = redact_start(asked, 10_000)
        assert secret[:8] not in start
        assert start.count("[secret: private key]") == 4


def test_kinds_come_in_order() -> None:
    """S4: what was found is told by kind."""
    text = "password=hunter2 and AKIAIOSFODNN7EXAMPLE, PIN is 4321"
    assert find_secrets(text).text == "password=[secret: password] and [secret: AWS key], PIN is [secret: PIN]"
    assert find_secrets(text).found == ("password", "AWS key", "PIN")


def test_a_forged_marker_hides_nothing() -> None:
    """S4: only a marker of a known kind is passed over."""
    assert "hunter2" not in redact("[secret: hunter2]")
    assert "AKIA" not in redact("[secret: AKIAIOSFODNN7EXAMPLE]")


WORDS = st.sampled_from(
    [
        *(
            "password",
            "Passwort",
            "token",
            "PIN",
            "secret",
            "is",
            "my",
            "and",
            "Bearer ",
            "Authorization: ",
            "sk-",
            "İ",
        ),
        *("=", "=>", ": ", " ", "\n", '"', "'", "\\", "://", "@", ":", ",", ".", ";", "!", "hunter2", "a1b2c3"),
        *("4111 1111 1111 1111", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN PRIVATE KEY-----", "q8Zr2LmX0vTb7KcN4wYd"),
        *("[secret: password]", "[secret: token]"),
    ]
)


@settings(max_examples=500, deadline=None)
@given(
    text=st.one_of(
        st.text(), st.lists(WORDS, max_size=25).map("".join), st.lists(WORDS, max_size=25).map(" ".join)
    )
)
def test_redacting_twice_changes_nothing(text: str) -> None:
    """S4: idempotent, and any text is taken."""
    once = find_secrets(text)
    assert find_secrets(once.text).text == once.text
    assert has_secret(text) == bool(once.found)
    assert redact(text) == once.text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Lösenordet till routern är Kanelbulle_88", "Kanelbulle_88"),
        ("Hasło to Pierogi!Ruskie5, wpisz je", "Pierogi!Ruskie5"),
        ("Wifi şifresi Baklava1963 olarak", "Baklava1963"),
        ("パスワードは「sakura-no-ki5」です", "sakura-no-ki5"),
        ("Пароль от почты — Krasnaya_7", "Krasnaya_7"),
        ("Het wachtwoord is veranderd in stroopwafel!3", "stroopwafel!3"),
        ("Das Passwort lautet Sonnenblume.", "Sonnenblume"),
        ('The LUKS passphrase is "seven damp otters borrow the ladder"', "damp otters"),
        ("Für die Haustür ist der Code 2468", "2468"),
        ("pour l'alarme, tape 260583 sur le boîtier", "260583"),
        ("La combinación de la caja fuerte es 24-7-33", "24-7-33"),
        ("G-505574 is your Google verification code.", "505574"),
        ("bike lock: 0451 is the code", "0451"),
        ("2FA recovery codes:\nb04bf-d934a\n44706-a21fe", "44706-a21fe"),
        (
            "Seed phrase: rescue saddle garlic lemon raven glimpse tunnel yellow drift quantum salmon ladder",
            "raven glimpse",
        ),
        ("License key: Q8MEF-XBPG7-JPATP-WW6F9-6SAQH", "JPATP"),
        ("card 4242 4242 4242 4242, exp 12/27, code on the back 493", "493"),
        ("mysql -u root -pTr0mbone! -e 'show tables'", "Tr0mbone!"),
        ("| device | user | password |\n|---|---|---|\n| nas | root | tea-time |", "tea-time"),
        ("- name: DB_PASSWORD\n  value: Lemon_Tree9", "Lemon_Tree9"),
        ("https://x.org/?q=1&appid=8cbaa92a749fdc85dd471fed2f5ecfaf", "8cbaa92a749f"),
        ("the Datadog key is d1d2c99b378b1231acc5e9ecb76cfdc3", "d1d2c99b378b"),
        ("Cookie: lang=en; PHPSESSID=betzpq050zdbjzcbgkotpv92z9; x=1", "betzpq050zdbj"),
        ("* Disney: dad@hollow.example / Frozen_Olaf2", "Frozen_Olaf2"),
        ("the password used to be autumn2021, since March it is Winter#2024x", "Winter#2024x"),
        ("the PIN of my Visa is 0918, and Mum's is 4402.", "4402"),
        ("gpg asked for a passphrase, so I typed Lantern-Fjord-88", "Fjord-88"),
        ("my laptop password got changed by IT yesterday, Winter#24x works", "Winter#24x"),
        ("Пароль от почты теперь Snegir2022", "Snegir2022"),
        ("his password? Rover2015.", "Rover2015"),
        ("I think Bluebird7! was the pass for the old iPad", "Bluebird7"),
        ("WLAN-Schlüssel steht auf der Box: 7193 0482 5561 9027 3384", "5561"),
        ("Your backup codes:\n1. z5o8d-wdw8g\n2. ytvrh-eiuhr", "ytvrh-eiuhr"),
        ("There is a key box beside the door. The code is 7390, then pull.", "7390"),
        ("mot_de_passe: toner-Vide_7", "toner-Vide_7"),
        ("+---+---+\n| user | password |\n+---+---+\n| carla | mossy-Brick |\n+---+---+", "mossy-Brick"),
        ("Der Schlüsseltresor geht mit 5830 auf", "5830"),
        ("Enter this setup key: XP3Z 2HU3 IWJB M3V2", "IWJB"),
        (
            "seed (on paper):\n1. orbit 2. tattoo 3. hungry 4. wheel 5. anxiety 6. cradle 7. spoon 8. lava "
            "9. rifle 10. mimic 11. dawn 12. obscure",
            "cradle",
        ),
        ("key:\n> sk-UfrarnZwgymFe9f1pQPSL59MwDdP4t=\n> gpxb14mtxXly9DVPKlAhvj\nthanks", "gpxb14mtxXly9D"),
    ],
)
def test_what_gives_a_secret_away_in_other_words(text: str, secret: str) -> None:
    """S4: in other languages, by what a number opens, in lists, tables, commands, addresses and broken lines."""
    assert secret not in redact(text)
    assert analyze(text).text == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "La contraseña es obligatoria y debe coincidir en los dos campos.",
        "A senha é pessoal e intransferível; para redefinir, acesse Configurações.",
        "Hasło jest za krótkie.",
        "パスワードは8文字以上で設定してください。",
        "exit code is 137, postal code is 4050-123, area code 0221, error code 5012",
        "Verification code sent to +49 170 1234567, it expires in 600 seconds",
        "the alarm code was changed in 2023; the door is 2040 mm high",
        "postgres://usuario:contraseña@localhost:5432/mi_base",
        "password = changeme (this is only an example)",
        "export const resetPassword = (form: LoginForm) => api.post(form)",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEnTANWBE5ykkgRfbk2ANZlo4R3f3T/FKUVPi9rbukyL6y\n"
        "-----END CERTIFICATE-----",
        "[Peer]\nPublicKey = hSOz9DTkRLJUoxIZHRkDNE5QY1vIjp7OAV9iME87w7g=",
        "golang.org/x/text v0.3.7 h1:olpwvP2KacW1ZWvsR7uQhoyTYvKAupfQrRGBFM352Gk=",
        "V1alpha3PodGroupSchedulingPolicy and pybase64.standard_b64encode",
        "In tonight's treasure hunt my code word is apple, and our family's safe word is pineapple",
        "API key: sk-...4f2a (last used 2 days ago)",
        "def test_blank_password(client):\n    resp = client.post('/login')",
        "needs_password: bool = False",
        "assert login(password=None).status_code == 401",
        "MD5 (a.gz) = 11b0a3a36e91929f44bf23757f296e6d\nSHA1 (a.gz) = e0d23b65b812fc11cd5d282a5641f51e3ec1974d",
    ],
)
def test_what_looks_like_a_secret_stays(text: str) -> None:
    """S4: also in other languages."""
    assert redact(text) == text


def test_arguments_lose_what_their_names_announce() -> None:
    """S4: in JSON the name of a secret is a key; numbers count, too."""
    given = {"user": "mara", "password": "sunshine", "tries": 3, "nested": [{"pin": 4711}, "PIN is 1234"]}
    assert redact_json(given) == {
        "user": "mara",
        "password": "[secret: password]",
        "tries": 3,
        "nested": [{"pin": "[secret: PIN]"}, "PIN is [secret: PIN]"],
    }


def test_hints_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """S4: what is looked for only where a word hints at it is what would be found without hints."""
    texts = [one.text for one in secrets.labelled("dev")]
    quick = [redact(text) for text in texts]
    every = sum(1 << bit for bit in range(9))
    monkeypatch.setattr("lifelong.redaction._suspicions", defaultdict(lambda: every))
    assert [redact(text) for text in texts] == quick


def test_the_development_texts_are_found() -> None:
    """S4: a step back shows here."""
    figures = secrets.measure(secrets.labelled("dev"), "dev")
    assert figures["dev_found"] >= 98.5
    assert figures["dev_wrong"] <= 1


def seconds(action: Callable[[], object]) -> float:
    """Of our own work: what else the machine does is not counted."""
    start = time.thread_time()
    action()
    return time.thread_time() - start


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "=", "sk-", "eyJ", "4", "4111 ", "Aa1-", "a/", "\\", "'", "a://b:", "éñ", "key key "),
        *(
            "password=",
            "password='",
            'password: "\\"',
            "my password is ",
            "password for ",
            "hunter2 is my password ",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "authorization: ", "[secret: password]"),
        *(
            "q8Zr2LmX0vTb7KcN4wYd+/",
            "key=",
            "?key=",
            "code ",
            "door code 1234 ",
            "1234 is your code ",
            "12 ",
            "security question ",
        ),
        *(
            "recovery code ",
            "seed phrase ",
            "login / ",
            "passwords: a = ",
            "a@b.c / ",
            "docker -p ",
            "--password ",
        ),
        *(
            "a\n",
            "abcdefghijklmn1\n",
            "|password|\n",
            "https://a/hooks/",
            "session=",
            "密码是",
            "contraseña ",
            "tippe ",
        ),
        *(
            "password changed to ",
            "-----BEGIN CERTIFICATE-----",
            "eyJaaaaaaaaaaaaaa.",
            "$6$a$",
            "PuTTY-User-Key-File-2: ",
        ),
    ],
)
@pytest.mark.soak
def test_hostile_text_takes_time_by_its_length(unit: str) -> None:
    """S4: eight times the text takes about eight times as long, not sixty-four times. Both are looked at whole at
    once; `bench.hostile` takes longer ones."""
    short, long = (unit * (characters // len(unit)) for characters in (12_000, 96_000))
    least = min(seconds(lambda: find_secrets(short)) for _ in range(3))
    assert any(seconds(lambda: find_secrets(long)) < 30 * least for _ in range(2))
