"""References to values: what the secrets of a ruleset are, now."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from router import log as logs
from router.errors import Diagnostic, SecretMissing, UsageError, os_errors_refused
from router.model.settings import SecretRef
from router.rules.live import SecretValues
from router.rules.ruleset import Ruleset
from router.secrets import resolve, weak
from router.wiring.dev import DevFile
from router.yaml_source import Mapping as MappingNode
from router.yaml_source import Report, Scalar, Source, read


def resolve_secrets(
    ruleset: Ruleset,
    *,
    environ: Mapping[str, str],
    dev_file: DevFile | None,
    path: Path | None = None,
) -> tuple[SecretValues, list[str]]:
    """
    Every secret's value, and warnings for weak or mended ones.

    They are masked in logs and outputs from now on. With a `dev_file`, secrets that are not set
    come from it (invented there when new).

    Raises:
        SecretMissing: one or more are not set or unusable; a line for each says which variable
            or file, and where it is named: in the rules file at `path`, if that is given.
    """
    values: dict[str, bytes] = {}
    problems: dict[str, str] = {}
    for ref in ruleset.secrets.values():
        try:
            values[ref.name] = secret_value(ref, environ)
        except SecretMissing as error:
            problems[ref.name] = str(error)
    if dev_file is not None:
        dev_file.ensure(ruleset, list(problems))
        values |= {name: dev_file.verify[name] for name in problems}
        problems = {}
    warnings = _judge(ruleset, values, problems)
    if problems:
        places = _places(ruleset, path) if path else {}
        lines = (
            f"{f'{places.get(name, path)}: ' if path else ''}secrets.{name}: {problems[name]}"
            for name in ruleset.secrets
            if name in problems
        )
        raise SecretMissing("\n".join(lines))
    logs.keep_secret(values.values())
    return SecretValues(values, {n: r.until for n, r in ruleset.secrets.items()}), warnings


def _places(ruleset: Ruleset, path: Path) -> dict[str, str]:
    """Where each secret's entry stands, in the rules file or what it includes: file:line:column."""
    included = ruleset.context.get("files", {}).items()
    files = [(path, ruleset.text), *((path.parent / name, text) for name, text in included)]
    found = {}
    for file, text in files:
        source = Source(text, str(file))
        for key, _ in _section(source) or ():
            line, column = source.position(key.start)
            found[key.value] = f"{file}:{line}:{column}"
    return found


def _section(source: Source) -> MappingNode | None:
    top = read(Report(source))
    section = top.get("secrets") if isinstance(top, MappingNode) else None
    return section if isinstance(section, MappingNode) else None


def unset_variables(
    files: Sequence[tuple[Path, str]], environ: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """
    The variables of secrets that are not set, for files that give no ruleset because others are
    not: so that one run names all of them.
    """
    found: list[Diagnostic] = []
    for path, text in files:
        report = Report(Source(text, str(path)))
        for name, entry in _section(report.source) or ():
            variable = entry.get("env") if isinstance(entry, MappingNode) else None
            if isinstance(variable, Scalar) and not environ.get(variable.value):
                message = f"secrets.{name.value}: environment variable {variable.value} is not set"
                report.error("variable-not-set", message, variable.start, variable.end)
        found += report.sorted()
    return tuple(found)


def _judge(ruleset: Ruleset, values: dict[str, bytes], problems: dict[str, str]) -> list[str]:
    """Ask each endpoint's provider whether it can use its secrets; mend, warn, or refuse."""
    warnings = []
    for endpoint in ruleset.endpoints.values():
        provider = ruleset.providers[endpoint.provider]
        for name in (one for one in endpoint.secrets if one in values):
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
    names = ruleset.endpoints[endpoint].secrets
    provider = ruleset.providers[ruleset.endpoints[endpoint].provider]
    if key_file is not None:
        with os_errors_refused(f"cannot read {key_file}"):
            return key_file.read_bytes()
    public_key = False
    for name in names:
        try:
            value = secret_value(ruleset.secrets[name], environ)
        except SecretMissing:
            pass  # not set in this shell: the dev file may have it
        else:
            if provider.can_sign(value):
                return value
            public_key = True
        if dev_file is not None and name in dev_file.sign:
            return dev_file.sign[name]
    if public_key:
        raise UsageError("a public key cannot sign; give the private one with --key private.pem")
    if not provider.shares_secrets:
        raise UsageError(
            "no private key to sign with: give it with --key private.pem, or start "
            "`router serve --dev` first"
        )
    wanted = ", ".join(_place(ruleset.secrets[n]) for n in names)
    raise UsageError(f"no secret to sign with: set {wanted}, or start `router serve --dev` first")


def secret_value(ref: SecretRef, environ: Mapping[str, str]) -> bytes:
    """
    The value of one secret, now.

    Raises:
        SecretMissing: it is not set or empty; the text says what to set.
    """
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
