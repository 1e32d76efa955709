"""Which files hold secrets, by their names or their text: these are neither indexed nor kept."""

from __future__ import annotations

from pathspec import GitIgnoreSpec

_SECRET = GitIgnoreSpec.from_lines(
    [
        # Keys and what holds them.
        *("*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.keytab"),
        *("*.kdbx", "*.gpg", "*.asc", "*.ovpn", "wg[0-9]*.conf"),
        *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
        # Variables of a deployment.
        *(".env*", "*.env", ".renviron", "*.tfstate*", "*.tfvars", "*.tfvars.json"),
        *("secrets.*", ".secrets", ".secrets.*", "*.secret", "*.secrets"),
        *("*secret.json", "*secret.toml", "*secret.yaml", "*secret.yml"),
        *("*secrets.json", "*secrets.toml", "*secrets.yaml", "*secrets.yml"),
        # Accounts at a service.
        *("*credentials", "*credentials.json", "*credentials.xml", "*credentials.csv"),
        *("*credentials.yaml", "*credentials.yml", "*credentials.toml", "*credentials.ini"),
        *("credentials.tfrc.json", "client_secret*.json", "*firebase-adminsdk*.json"),
        *("*service-account*.json", "*service_account*.json"),
        *("kubeconfig", "kubeconfig.*", "*.kubeconfig", "*-kubeconfig.*"),
        # Settings of programs that may hold a password or a token.
        *(".netrc", "_netrc", ".authinfo", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf"),
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", "auth.json", ".dockercfg", ".s3cfg"),
        *(".boto", "rclone.conf", ".databrickscfg", ".terraformrc", "terraform.rc", ".htpasswd"),
        *(".vault-token", ".vault-pass*", ".vault_pass*", ".curlrc", ".wgetrc", ".msmtprc"),
        ".*_history",
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
