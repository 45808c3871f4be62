"""Every code a diagnostic can have (docs/diagnostics.md is made of them), and its page."""

from pathlib import Path

import msgspec

from router.config.checks import CHECKS
from router.errors import Severity


class Code(msgspec.Struct, frozen=True):
    """
    What a code says, and how serious it is.

    `meant`: whether somebody can mean it so, and a pragma may set it aside; by default every
    warning and no error. An error can only be meant if the file could be used all the same.
    """

    about: str
    severity: Severity = "error"
    meant: bool | None = None

    @property
    def ignorable(self) -> bool:
        """Whether `# check: ignore` may name it."""
        return self.severity == "warning" if self.meant is None else self.meant


YAML = {
    "unreadable-text": Code("The file is not UTF-8, or has a character that YAML does not allow."),
    "too-big": Code("A limit is exceeded: 16 MiB, 64 levels, 2,000,000 nodes or 100 aliases."),
    "empty-file": Code("The file is empty."),
    "yaml-syntax": Code("The text is not YAML at this place."),
    "needs-quotes": Code(
        "An expression or template conflicts with YAML's own syntax; quote all of it."
    ),
    "yaml-tag": Code(
        "YAML tags are not supported; an expression that begins with `!` needs quotes."
    ),
    "merge-key": Code("Merge keys (`<<`) are not supported."),
    "second-document": Code("A rules file is one YAML document."),
    "duplicate-key": Code("The same key appears twice in one mapping."),
    "key-not-text": Code("A key is a number, a boolean, null, a list or a mapping."),
    "bad-alias": Code("An alias names no earlier anchor, or is inside its own."),
    "cut-by-comment": Code("A ` #` begins a comment inside an expression that has no quotes."),
}
SHAPE = {
    "unknown-key": Code("This mapping has no such key."),
    "missing-key": Code("A required key is missing."),
    "wrong-type": Code(
        "A list, mapping, text, number or boolean is used where another is expected."
    ),
    "unknown-value": Code("The text is not one of the allowed words."),
    "bad-value": Code("A duration, size, rate, day, status or number is not written correctly."),
    "exactly-one": Code("Exactly one of several keys is expected."),
    "not-available": Code("This is planned, but not available in this version of the router."),
    "bad-shapes": Code("A file in `shapes/` is wrong."),
    "bad-include": Code("This file cannot be included, or this cannot be in an included file."),
    "includes-nothing": Code("No file fits a pattern of `include`.", "warning"),
    "unknown-version": Code("`version` is not one this router reads."),
}
NAMES = {
    "bad-name": Code("A name has characters that names cannot have, or is reserved."),
    "duplicate-name": Code("Two included files give the same name to two things."),
    "bad-provider": Code(
        "A definition under `providers`, or an endpoint's `verify`, contradicts itself."
    ),
    "verify-fixed": Code(
        "An endpoint's `verify` has keys, but its provider says itself how it signs."
    ),
    "built-in-name": Code("A retry policy or a provider has the name of a built-in one."),
    "bad-variable": Code("This cannot be an environment variable, or the router sets it itself."),
    "variable-not-set": Code("An environment variable is not set and has no default."),
    "unknown-endpoint": Code("`from` names an endpoint that the file does not have."),
    "unknown-provider": Code("`provider` is not a known provider."),
    "unknown-secret": Code("A secret is named that the file does not have."),
    "unknown-target": Code("A target is named that the file does not have."),
    "unknown-retry": Code("A retry policy is named that neither the file nor the router has."),
}
PLACES = {
    "bad-url": Code("This is not an http or https address, or one that is never called."),
    "password-in-url": Code("An address holds a user or password."),
    "bad-address": Code("This is not an address to listen on, or the name of a host."),
    "admin-without-token": Code(
        "The admin listener is open to other machines, and `server.admin.tokens` is empty."
    ),
    "bad-store": Code("This is not a store."),
    "bad-range": Code("This is not a range of addresses in CIDR notation."),
    "nothing-verified": Code("An endpoint has neither `secrets` nor `verify: none`."),
    "verify-conflict": Code("An endpoint has both `secrets` and `verify: none`."),
    "address-unknown": Code("The sender signs the address that it was told, and none is given."),
    "weak-proof": Code("A signature of your own definition proves less than it could.", "warning"),
    "not-for-provider": Code("This key or value means nothing for the endpoint's provider."),
    "no-address": Code("An endpoint has neither `id` nor `paths`."),
    "bad-endpoint-id": Code("An endpoint id has characters that it cannot have, or is too long."),
    "short-endpoint-id": Code("An endpoint id is short enough to be guessed.", "warning"),
    "bad-path": Code("This cannot be the path of an endpoint."),
    "shared-address": Code("Two endpoints have the same address."),
    "bad-redact": Code("`redact` names what is no single value of what its endpoint stores."),
    "bad-header": Code(
        "A header's name is not one, its value has several lines, or the router sets it itself."
    ),
}
EXPRESSIONS = {
    "expression-syntax": Code("The expression or template has a syntax error."),
    "expression-too-complex": Code("The expression is longer or deeper than is allowed."),
    "unknown-function": Code("There is no such function."),
    "function-arity": Code("A function is called with too few or too many arguments."),
    "bad-pattern": Code(
        "A regular expression is not written in the call itself, or cannot be used."
    ),
    "function-argument": Code("A function's argument can never be of the right type."),
    "unknown-root": Code("The first name of a path cannot be read here."),
    "root-not-here": Code("A secret or result is read where it may not be."),
    "bare-word": Code("A word without quotes, or in double quotes, is a field, not a text."),
    "unknown-name": Code("`var`, `def`, `secret`, `delivery` or a closed object has no such name."),
    "secret-not-named": Code("`secret` is read without the name of one."),
    "result-not-named": Code("`results` is read without the id of an action."),
    "secret-not-whole": Code("In a url a secret must be the whole text."),
    "template-not-here": Code(
        "A template is used in a script or other code, a scheme, a host or another fixed place."
    ),
}
RULES = {
    "misspelt-event": Code("An event name is close to one that the provider has.", meant=True),
    "unknown-own-event": Code("The router has no such event of its own: see own-events.md."),
    "unknown-event": Code("The provider's catalogue has no such event.", "warning"),
    "glob-without-event": Code("No event of the provider's catalogue fits the pattern.", "warning"),
    "action-kind": Code("An action has no kind, or several."),
    "unknown-predecessor": Code("`after` names no other action of the same rule."),
    "chain-cycle": Code("An action would have to wait for itself."),
    "halt-without-queue": Code("`on_dead: halt` goes with `on_busy: queue`."),
    "duplicate-action": Code("Two actions of one rule have the same id."),
    "path-without-target": Code("`path` goes with `target`; with `url` it is part of the url."),
    "two-bodies": Code("Only one of `json`, `form`, `text`, `body` can be the body."),
    "bad-repository": Code("A repository is not written OWNER/REPO."),
    "tls-incomplete": Code(
        "`tls` names nothing, has a `key` without its `cert`, or is used with an http address."
    ),
    "sign-incomplete": Code("`sign` names no secret, or mixes a scheme with a header of your own."),
    "unknown-shared-action": Code("`use` names a shared action that the file does not have."),
    "with-without-use": Code("`with` goes with `use`."),
    "not-shared": Code("A shared action has a key that belongs to the rule that uses it."),
    "missing-parameter": Code("A shared action reads a parameter that its use does not pass."),
    "unknown-parameter": Code("A shared action is passed a parameter that it does not read."),
    "unused-action": Code("A shared action is used nowhere.", "warning"),
    "bad-program": Code("`argv` is empty, or its program would come from the event."),
    "interpreter-without-script": Code("`interpreter` goes with `script`."),
    "program-not-there": Code(
        "A program is a path, or one word with its arguments, and is not there or cannot be run.",
        "warning",
    ),
    "folder-not-there": Code("`cwd` names a folder that is not there.", "warning"),
    "template-fails-on-sample": Code(
        "An action cannot be rendered on the sample of an event that its rule is for.",
        "warning",
    ),
}
PLUGINS = {
    "bad-plugin-call": Code("`call` is not written MODULE:FUNCTION."),
    "unknown-plugin": Code("There is no such file in `plugins/`, and no such entry point."),
    "plugin-name-taken": Code("A plugin has the name of an installed module, which would win."),
    "plugin-unreadable": Code("A plugin's source is not Python, or cannot be read."),
    "unknown-plugin-function": Code("The plugin has no such function at its top level."),
    "plugin-arguments": Code("`args` do not fit the parameters of the plugin's function."),
}
TESTS = {
    "duplicate-test": Code("Two tests have the same name."),
    "unknown-rule": Code("A test names a rule that the file does not have."),
    "unknown-action": Code("A test names an action that the file does not have."),
    "bad-step": Code("A test cannot send this."),
    "bad-case": Code("The cases of a test do not fit what it names."),
    "bad-reply": Code("An action of this kind cannot have this reply."),
    "bad-expectation": Code("Nothing is expected, or something that can never happen."),
}
TYPES = {
    "misspelt-field": Code("A field's name is close to one that the payload has.", meant=True),
    "unknown-field": Code(
        "The payload of these events has no known field of this name.", "warning"
    ),
    "field-of-list": Code(
        "A field of a list is read; its elements have fields, the list has none.", meant=True
    ),
    "field-of-value": Code("A field of a text, a number or a boolean is read.", meant=True),
    "not-a-list": Code("Elements of something that is not a list are read.", meant=True),
    "misspelt-value": Code("A text is close to one of the known values of a field.", meant=True),
    "value-not-known": Code("A text is not one of the known values of a field.", "warning"),
    "provider-alias": Code(
        "`provider` is compared with another name of the sender than the one endpoints use.",
        meant=True,
    ),
    "never-equal": Code("Two values are compared whose types are never equal.", meant=True),
    "text-as-number": Code(
        "A text is compared or calculated with as if it were a number.", meant=True
    ),
    "wrong-argument": Code("A function's argument has a type that it does not take.", meant=True),
    "always-fails": Code("A call fails whatever comes.", meant=True),
    "wrong-format": Code(
        "A text is compared with one that is never written so: other letters, another form.",
        "warning",
    ),
    "never-ordered": Code("`<` or `>` compares values that are not numbers.", meant=True),
    "nullable-argument": Code(
        "A function's argument may be null or absent, and then it fails.", "warning"
    ),
    "nullable-template": Code(
        "What must not be null may be null or absent: a template, a group, a key.", "warning"
    ),
    "part-of-joined": Code(
        "`contains` searches a text of comma-separated parts, and finds parts of parts.", "warning"
    ),
    "regex-in-glob": Code(
        "The pattern of `glob` is a regular expression; there `*` alone has a meaning.", "warning"
    ),
    "number-as-condition": Code("A number is used as a condition; 0 is true as well.", "warning"),
    "not-before-comparison": Code("`!` before a comparison negates only its left side.", "warning"),
    "root-in-filter": Code(
        "Inside `[?…]` a root needs `$`: a bare name is the element's field.", meant=True
    ),
    "never-true": Code("A condition can never be true for the events of its rule.", "warning"),
    "always-true": Code("A condition is always true, so it decides nothing.", "warning"),
    "never-false": Code(
        "A condition is true of every value, so it asks only whether its fields are there.",
        "warning",
    ),
}
WHOLE = {one.code: Code(one.about, one.severity, one.meant) for one in CHECKS}
PRAGMAS = {
    "pragma-bad": Code(
        "A `# check: ignore` has no code, no reason, or a code that cannot be ignored.",
        "warning",
        meant=False,
    ),
    "pragma-unused": Code(
        "The code that a `# check: ignore` names is not reported there.", "warning", meant=False
    ),
}
SECTIONS: dict[str, dict[str, Code]] = {
    "YAML": YAML,
    "Keys and values": SHAPE,
    "Names": NAMES,
    "Addresses and endpoints": PLACES,
    "Expressions and templates": EXPRESSIONS,
    "Types and shapes": TYPES,
    "Rules and actions": RULES,
    "The whole file": WHOLE,
    "Plugins": PLUGINS,
    "Tests": TESTS,
    "Pragmas": PRAGMAS,
}
CODES: dict[str, Code] = {k: v for table in SECTIONS.values() for k, v in table.items()}

_ROUTER = Path(__file__).parents[1]
_PLACES = (_ROUTER / "pages", _ROUTER.parent / "docs" / "codes")
"""Where an installed package and a clone keep the same files (see pyproject.toml)."""


def page(code: str) -> str:
    """The page of a known code as Markdown; its row of the table where the pages are missing."""
    for folder in _PLACES:
        try:
            return (folder / f"{code}.md").read_text("utf-8")
        except OSError:
            continue
    return f"# {code}\n\n{CODES[code].severity}: {CODES[code].about}\n"
