"""References to values: what the secrets of a ruleset are, now."""

from collections.abc import Callable, Mapping
from pathlib import Path

from router.errors import Diagnostic, SecretMissing, UsageError
from router.model.settings import SecretRef
from router.rules.live import Secrets
from router.rules.ruleset import Ruleset
from router.secrets import resolve, weak
from router.wiring.dev import DevFile
from router.yaml_source import Mapping as MappingNode
from router.yaml_source import Report, Scalar, Source, read

_PUBLIC_KEY_SCHEMES = ("ecdsa", "ed25519")


def resolve_secrets(
    ruleset: Ruleset,
    *,
    environ: Mapping[str, str],
    dev_file: DevFile | None,
    path: Path | None = None,
) -> tuple[Secrets, list[str]]:
    """
    Every secret's value, and warnings for weak or mended ones.

    With a `dev_file`, secrets that are not set come from it (invented there when new).

    Raises:
        SecretMissing: one or more are not set or unusable; a line for each says which variable
            or file, and where it is named: in the rules file at `path`, if that is given.
    """
    values: dict[str, bytes] = {}
    problems: dict[str, str] = {}
    for ref in ruleset.secrets.values():
        try:
            values[ref.name] = _value(ref, environ)
        except SecretMissing as error:
            problems[ref.name] = str(error)
    if dev_file is not None:
        dev_file.ensure(ruleset, list(problems))
        values |= {name: dev_file.verify[name] for name in problems}
        problems = {}
    warnings = _judge(ruleset, values, problems)
    if problems:
        raise SecretMissing(_told(problems, ruleset, path))
    return Secrets(values, {n: r.until for n, r in ruleset.secrets.items()}), warnings


def _told(problems: Mapping[str, str], ruleset: Ruleset, path: Path | None) -> str:
    """A line for each problem, in the order of the file."""
    entries = _entries(ruleset.text, path) if path else None
    lines = []
    for name in ruleset.secrets:
        if name in problems:
            where = f"{entries(name)}: " if entries else ""
            lines.append(f"{where}secrets.{name}: {problems[name]}")
    return "\n".join(lines)


def _entries(text: str, path: Path) -> Callable[[str], str]:
    """Says where a secret's entry stands: file:line:column."""
    source = Source(text, str(path))
    section = _section(source)

    def place(name: str) -> str:
        key = section.key(name) if section else None
        if key is None:
            return str(path)
        line, column = source.position(key.start)
        return f"{path}:{line}:{column}"

    return place


def _section(source: Source) -> MappingNode | None:
    top = read(Report(source))
    section = top.get("secrets") if isinstance(top, MappingNode) else None
    return section if isinstance(section, MappingNode) else None


def unset_variables(text: str, path: Path, environ: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """
    The variables of secrets that are not set, for a file that gives no ruleset because others
    are not: so that all of them are told in one run.
    """
    report = Report(Source(text, str(path)))
    for name, entry in _section(report.source) or ():
        variable = entry.get("env") if isinstance(entry, MappingNode) else None
        if isinstance(variable, Scalar) and not environ.get(variable.value):
            message = f"secrets.{name.value}: environment variable {variable.value} is not set"
            report.error("variable-not-set", message, variable.start, variable.end)
    return report.sorted()


def _judge(ruleset: Ruleset, values: dict[str, bytes], problems: dict[str, str]) -> list[str]:
    """Ask each endpoint's provider whether it can use its secrets; mend, warn, or refuse."""
    warnings = []
    for endpoint in ruleset.endpoints.values():
        provider = ruleset.providers[endpoint.provider]
        for name in endpoint.secrets:
            if name not in values:
                continue
            verdict = provider.check_secret(values[name])
            if not verdict.ok:
                place = _place(ruleset.secrets[name])
                problems[name] = f"{place}: {verdict.error} (endpoint {endpoint.name})"
            elif verdict.warning:
                warnings.append(f"secret {name} (endpoint {endpoint.name}): {verdict.warning}")
    warnings += [
        f"secret {name} is shorter than 16 bytes"
        for name, value in values.items()
        if weak(value) and not any(name in w for w in warnings)
    ]
    return warnings


def signing_key(
    ruleset: Ruleset,
    endpoint: str,
    *,
    environ: Mapping[str, str],
    dev_file: DevFile | None,
    key_file: Path | None = None,
) -> bytes:
    """
    What `send` signs with for an endpoint.

    Raises:
        UsageError: no key is to be had; the text says how to give one.
    """
    if key_file is not None:
        try:
            return key_file.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read {key_file}: {error.strerror}") from None
    names = ruleset.endpoints[endpoint].secrets
    provider = ruleset.providers[ruleset.endpoints[endpoint].provider]
    public_key = provider.definition.verify.scheme in _PUBLIC_KEY_SCHEMES
    for name in names:
        if not public_key:
            try:
                return _value(ruleset.secrets[name], environ)
            except SecretMissing:
                pass  # not set in this shell: the dev file may have it
        if dev_file is not None and name in dev_file.sign:
            return dev_file.sign[name]
    if public_key:
        raise UsageError("a public key cannot sign; give the private one with --key private.pem")
    wanted = ", ".join(_place(ruleset.secrets[n]) for n in names)
    raise UsageError(f"no secret to sign with: set {wanted}, or start `router serve --dev` first")


def _value(ref: SecretRef, environ: Mapping[str, str]) -> bytes:
    return resolve(
        env=ref.env,
        file=ref.file,
        credential=ref.credential,
        environ=environ,
        read_file=lambda path: Path(path).read_bytes(),
        credentials_directory=environ.get("CREDENTIALS_DIRECTORY"),
    )


def _place(ref: SecretRef) -> str:
    return ref.env or ref.file or ref.credential or ref.name
