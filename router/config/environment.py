"""Settings that are a text or an environment variable."""

from router.config.context import LoadContext
from router.config.server_schema import SettingEntry
from router.config.spelling import VARIABLE
from router.yaml_source import SourceText


def setting(
    context: LoadContext, entry: SettingEntry | None, *, kept: bool = True
) -> SourceText | None:
    """
    A text, or the value of the variable it names, or None with the fault reported. Unless `kept`
    that value is this machine's own and no part of the generation.
    """
    if entry is None:
        return None
    if entry.text is not None:
        return entry.text
    if entry.env is None:
        if "env" not in entry.broken:
            context.error(
                "missing-key", f"{entry.called} needs a text or the key 'env'", entry.node
            )
        return None
    return from_env(context, entry.env, entry.default, kept=kept)


def from_env(
    context: LoadContext, name: SourceText, default: SourceText | None, *, kept: bool = True
) -> SourceText | None:
    """The value of a variable, or its default; an error naming the variable if neither is there."""
    if not VARIABLE.fullmatch(name.value):
        context.error("bad-variable", f"'{name.value}' cannot be the name of a variable", name)
        return None
    if (value := context.variable(name, default, kept=kept)) is None:
        context.error(
            "variable-not-set",
            f"environment variable '{name.value}' is not set and has no default",
            name,
            "set it, or write a 'default' beside 'env'",
        )
        return None
    return SourceText(value, name.node)
