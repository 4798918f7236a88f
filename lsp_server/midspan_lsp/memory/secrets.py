"""What looks like a secret is neither remembered nor offered: files by their names, lines by their text. Pure."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

_FILE_PATTERNS = """
    *.asc *.env *.gpg *.jks *.kdb *.kdbx *.key *.keystore *.ovpn *.p12 *.p8 *.pem *.pfx *.pkcs12 *.ppk
    *.tfstate *.tfvars .dockercfg .env .env.* .envrc .git-credentials .htpasswd .netrc .npmrc .pgpass .pypirc
    .yarnrc _netrc .boto .s3cfg credential credentials credential.* credentials.* credentials-* credentials_*
    *[-_.]credential *[-_.]credentials *[-_.]credential.* *[-_.]credentials.* id_dsa* id_ecdsa* id_ed25519*
    id_rsa* kubeconfig secret secrets secret.* secrets.* secrets-* secrets_* *[-_.]secret *[-_.]secrets
    *[-_.]secret.* *[-_.]secrets.* htpasswd passwd password password.* passwords passwords.*
    service-account*.json service_account*.json token token.json tokens.json
"""
_SECRET_NAMES = _FILE_PATTERNS.split()
_SECRET_FOLDERS = frozenset({".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh", ".secrets", "secrets"})

_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\Z)")
_SECRET_LINE = re.compile(
    r"-----(?:BEGIN|END) [A-Z0-9 ]*PRIVATE KEY"
    r"|(?i:passw(?:or)?d|passphrase|secret|token|api_?-?key|access_?-?key|private_?-?key|auth_?-?key|credentials?)"
    r"(?:[\w-]{0,40})[\"']?\]?\s{0,8}(?::[\w\s\[\].|]{0,40})?(?:=|:|:=|=>|,)\s{0,8}[bru&]{0,2}[\"'`](?=[^\"'`\s]{6})[^\"'`\s]+[\"'`]"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\bsk-[\w-]{20,}|\b[rsp]k_(?:live|test)_\w{10,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}"
    r"|://[^\s/:@\"']{1,80}:[^\s/@\"'{}$%<]{3,80}@"
)
# some of these stands in every line that the pattern above finds; looking for them first is ten times as fast
_HINTS_TEXT = """
    passw passphrase secret token apikey api_key api-key accesskey access_key access-key privatekey private_key
    private-key authkey auth_key auth-key credential akia asia ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox sk-
    k_live_ k_test_ npm_ pypi- aiza eyj -----begin -----end
"""
_HINTS = _HINTS_TEXT.split()
_LONG_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{32,}={0,2}")


def is_secret_file(name: str) -> bool:
    """Whether a path, a Windows one too, looks like that of a file that holds secrets."""
    *folders, last = name.lower().replace("\\", "/").split("/")
    return not _SECRET_FOLDERS.isdisjoint(folders) or any(fnmatchcase(last, pattern) for pattern in _SECRET_NAMES)


def holds_secret(text: str) -> bool:
    """Whether some line of a text looks as if it held a password, a token or a key."""
    lower = text.lower()
    hinted = ("://" in lower and "@" in lower) or any(hint in lower for hint in _HINTS)
    return (hinted and _SECRET_LINE.search(text) is not None) or any(_is_random(run) for run in _LONG_RUN.findall(text))


def without_secrets(text: str) -> str:
    """The same text, with the lines emptied that look as if they held a secret."""
    if not holds_secret(text):
        return text
    text = without_keys(text)
    lines = re.split(r"(\r\n|\n|\r)", text)
    return "".join(line if number % 2 or not holds_secret(line) else "" for number, line in enumerate(lines))


def without_keys(text: str) -> str:
    """The same text, with the lines of private keys emptied."""
    if "PRIVATE KEY" not in text:
        return text
    return _KEY_BLOCK.sub(lambda block: re.sub(r"[^\r\n]+", "", block[0]), text)


def _is_random(run: str) -> bool:
    """Whether a long run of letters and digits looks drawn by chance: digits among letters of both cases, or hex."""
    n_digits = sum(character.isdigit() for character in run)
    if n_digits < 3:
        return False
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", run):
        return n_digits < len(run)
    words = re.findall(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}", run)
    return (
        sum(map(len, words)) < len(run) / 2
        and any(character.islower() for character in run)
        and any(character.isupper() for character in run)
    )
