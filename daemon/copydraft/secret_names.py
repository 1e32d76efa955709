"""Names of files that hold secrets: these are neither indexed nor sent from an editor unasked."""

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


def is_secret(path: str) -> bool:
    """Whether the name of a file, or of a directory above it, says that it holds secrets."""
    *above, name = path.split("/")
    return not _SECRET_DIRECTORIES.isdisjoint(above) or _SECRET.match_file(name.lower())
