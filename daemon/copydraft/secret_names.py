"""Which files hold secrets, by their names or their text: these are neither indexed nor kept."""

from __future__ import annotations

from pathspec import GitIgnoreSpec

_SECRET = GitIgnoreSpec.from_lines(
    [
        *(".env*", "*.env", "*.pem", "*.key", "*.ppk", "*.p12"),
        *("*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.gpg", "*.asc"),
        *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc"),
        *(".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials", ".vault-token"),
        *("secrets.*", "*.secret", "*.secrets", "*.tfstate*", "*.tfvars", "credentials"),
        *("*credentials.json", "*credentials.xml", "*credentials.csv", "service-account*.json"),
    ]
)
"""Whatever git says of them."""

_SECRET_DIRECTORIES = {".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"}

_PRIVATE_KEY = "PRIVATE KEY-----"
"""The end of a key's first line, whatever kind of key it is."""


def is_secret(path: str) -> bool:
    """Whether the name of a file, or of a directory above it, says that it holds secrets."""
    *above, name = path.split("/")
    return not _SECRET_DIRECTORIES.isdisjoint(above) or _SECRET.match_file(name.lower())


def has_private_key(text: str) -> bool:
    """Whether a private key stands in a text, as programs write them (RFC 7468, PGP, OpenSSH)."""
    return _PRIVATE_KEY in text
