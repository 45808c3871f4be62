"""`providers:`: a user's own kinds of senders, and generic ones as an endpoint's `verify` says."""

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.inspect import StructType, Type, UnionType, type_info

from router.config.context import LoadContext
from router.config.language import json_value
from router.config.provider_schema import ProofEntry, ProviderEntry, VerifyEntry
from router.config.schema import EndpointEntry
from router.config.settings import shape
from router.config.spelling import ID
from router.model.settings import OWN
from router.providers import Definition, Provider
from router.providers.definition import VerifyRule
from router.providers.proof_validation import doubts, rule_problems
from router.providers.validation import problems, ways
from router.yaml_source import Entry, Node, SourceText, Table, keys_of, node_at

_AT = re.compile(r" - at `(\$[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")


def with_own(context: LoadContext) -> Mapping[str, Provider]:
    """The known providers and those of `providers:`; none of these may have a known name."""
    own = {}
    for name, entry in context.file.providers or ():
        shape(context, name, ID, "a provider")
        if name.value in context.providers or name.value == OWN:
            context.error("built-in-name", f"the provider '{name.value}' is built in", name)
            continue
        if (definition := _definition(context, name.value, entry)) is not None:
            own[name.value] = Provider(definition)
    # A ChainMap lists its last mapping first: the file's own providers, then the known ones.
    return ChainMap(context.providers, own) if own else context.providers  # type: ignore[arg-type]


def provider_of(context: LoadContext, entry: EndpointEntry) -> Provider | None:
    """The provider an endpoint names, with what its `verify` says, if it exists."""
    return context.reworked.get(
        entry.node.start, context.providers.get(entry.provider.value) if entry.provider else None
    )


def reworked(context: LoadContext, name: str, entry: EndpointEntry) -> Provider | None:
    """
    The provider of an endpoint whose `verify` has keys; None if it cannot be.

    It is called after both (`hmac@hook`), since it is this endpoint's alone.
    """
    base = context.providers.get(entry.provider.value) if entry.provider else None
    verify = entry.verify
    if base is None or verify is None or verify.mode is not None or _faulty(verify):
        return None
    if verify.signature is not None and base.definition.bearer:
        return _with_token(context, name, verify, base.definition)
    if verify.signature is not None and base.definition.generic:
        message = "'signature' is for senders that sign and can show a token as well"
        context.error("verify-fixed", message, verify.key_at("signature"))
        return None
    of_its_own = base.definition.generic and base.signed
    if not of_its_own and _further(context, entry, base) and not base.missing:
        return None
    _asked_as(context, verify)
    given = plain(context, verify)
    said = {"scheme": base.name} | given if of_its_own else _answered(base, given)
    rule = msgspec.convert(said, VerifyRule)
    faults = list(rule_problems(rule, base.definition))
    for key, text in faults:
        context.error("bad-provider", text, verify.at(key))
    if faults:
        return None
    for key, text in doubts(rule):
        context.warning("weak-proof", text, verify.at(key))
    names = (f"{base.name}@{name}",)
    return Provider(msgspec.structs.replace(base.definition, names=names, verify=rule))


def _with_token(
    context: LoadContext, name: str, verify: VerifyEntry, base: Definition
) -> Provider | None:
    """A sender that shows a token of the user's own issuer: beside its signature, or instead."""
    _asked_as(context, verify)
    given = plain(context, verify)
    required = given.pop("signature") == "required"
    scheme = "introspection" if "introspect" in given else "jwt"
    rule = msgspec.convert({"scheme": scheme} | given, VerifyRule)
    faults = list(rule_problems(rule, base))
    if not rule.keyless:
        faults.append(("signature", "who issues the token: name its `jwks_url` or `introspect`"))
    for key, text in faults:
        context.error("bad-provider", text, verify.at(key))
    if faults:
        return None
    ways = {"also": (rule,), "together": True} if required else {"verify": rule}
    names = (f"{base.names[0]}@{name}",)
    return Provider(msgspec.structs.replace(base, names=names, **ways))


def with_methods(context: LoadContext, name: str, entry: EndpointEntry) -> Provider | None:
    """The provider of an endpoint that says its `methods`; None, and why, if it cannot."""
    if entry.methods is None or (base := provider_of(context, entry)) is None:
        return None
    given = tuple(one.value for one in entry.methods)
    ways = () if is_open(entry) else base.definition.ways
    if any(rule.signs_body or rule.field or rule.body_hash for rule in ways):
        named = entry.provider.value if entry.provider else base.name
        message = f"'methods' needs a proof that is not over the body, and that of '{named}' is"
        context.error("not-for-provider", message, entry.key_at("methods"))
        return None
    names = (base.name if "@" in base.name else f"{base.name}@{name}",)
    definition = msgspec.structs.replace(base.definition, names=names, methods=given)
    faults = list(problems(definition))
    for fault in faults:
        context.error("bad-value", fault.message, entry.at("methods"), fault.hint)
    return None if faults else Provider(definition)


def is_open(entry: EndpointEntry) -> bool:
    """Does an endpoint let everybody in?"""
    return entry.verify is not None and entry.verify.mode == "none"


def _asked_as(context: LoadContext, proof: ProofEntry) -> None:
    """Who is asked about tokens is shown a secret that the file names."""
    if proof.introspect is not None:
        context.secret(proof.introspect.client_secret)


def _further(context: LoadContext, entry: EndpointEntry, base: Provider) -> bool:
    """Report what an endpoint's `verify` says beyond what its provider asks; is there any?"""
    asked = {name.partition(".")[0] for name in base.definition.verify.ask}
    verify, named = entry.verify, entry.provider.value if entry.provider else base.name
    further = [name for name in plain(context, verify) if name not in asked] if verify else []
    if further:
        context.error(
            "verify-fixed",
            f"the provider '{named}' says itself how its sender signs",
            verify.key_at(further[0]) if asked and verify else entry.key_at("verify"),
            f"an endpoint says only: {', '.join(base.definition.verify.ask)}"
            if asked
            else "write your own under 'providers', or use hmac, token, basic or jwt",
        )
    return bool(further)


def _answered(base: Provider, given: Mapping[str, Any]) -> dict[str, Any]:
    """The rule of a provider with what an endpoint answers to `ask`; what it does not stays."""
    rule = base.definition.verify
    known = {name: given[name] for name in given if name in {a.partition(".")[0] for a in rule.ask}}
    claims = dict(known.get("claims", {}))
    flat = known.keys() | {f"claims.{name}" for name in claims}
    unanswered = [name for name in rule.ask if name not in flat]
    said: dict[str, Any] = msgspec.to_builtins(rule)
    return said | known | {"ask": unanswered, "claims": rule.claims | claims}


def _definition(context: LoadContext, name: str, entry: ProviderEntry) -> Definition | None:
    """The entry as a definition; None with every fault reported."""
    if _faulty(entry):
        return None
    for proof in filter(None, (entry.verify, *(entry.also or ()))):
        _asked_as(context, proof)
    data = {"names": [name], "label": name} | plain(context, entry)
    data["events"] = [_group(group) for group in data.get("events", ())]
    try:
        definition = msgspec.convert(data, Definition)
    except msgspec.ValidationError as error:
        _not_converted(context, entry, str(error))
        return None
    faults = problems(definition)
    for fault in faults:
        at = node_at(entry.node, fault.place, of_key=fault.of_key)
        context.error("bad-provider", fault.message, at, fault.hint)
    if faults:
        return None
    for way, rule in ways(definition):
        for key, text in doubts(rule):
            context.warning("weak-proof", text, node_at(entry.node, (*way, key)))
    return definition


def _not_converted(context: LoadContext, entry: ProviderEntry, error: str) -> None:
    """Report what a definition cannot hold, as it is said of its plain data."""
    message, *at = _AT.split(error)[:2]  # `$.api.ranges[0]`
    place = [name or int(index) for name, index in _STEP.findall("".join(at))]
    unknown = _UNKNOWN.search(message)
    if unknown is None:
        context.error("bad-provider", message, node_at(entry.node, place))
        return
    name, known = unknown[1], _keys_at(type_info(Definition), place)
    hint = context.suggest.hint(name, known) or f"known: {', '.join(known)}"
    key = node_at(entry.node, [*place, name], of_key=True)
    context.error("bad-provider", f"unknown key '{name}'", key, hint)


def _keys_at(kind: Type, place: Iterable[str | int]) -> list[str]:
    """The keys of the structure at a place of another."""
    kinds = kind.types if isinstance(kind, UnionType) else (kind,)
    steps = list(place)
    for one in kinds:
        if isinstance(one, StructType):
            fields = {field.encode_name: field.type for field in one.fields}
            if not steps:
                return list(fields)
            return _keys_at(fields[str(steps[0])], steps[1:])
        inner = getattr(one, "item_type", None) or getattr(one, "value_type", None)
        if inner is not None and steps:
            return _keys_at(inner, steps[1:])
    return []


def _group(group: dict[str, Any]) -> dict[str, Any]:
    """A group of the catalogue; a lone name makes one."""
    if "name" in group:
        return {"group": "Events", "names": [group["name"]]}
    return {"group": "Events"} | group


def _faulty(entry: Entry) -> bool:
    """Has anything in an entry been reported already?"""
    if entry.broken:
        return True
    for value in (getattr(entry, field) for field in entry.__struct_fields__):
        members = [one for _, one in value] if isinstance(value, Table) else value
        for one in members if isinstance(members, list) else [members]:
            if isinstance(one, Entry) and _faulty(one):
                return True
    return False


def plain(context: LoadContext, entry: Entry) -> dict[str, Any]:
    """What an entry says as plain data, by the keys that the file uses."""
    given = [(key.name, getattr(entry, key.field)) for key in keys_of(type(entry))]
    return {name: decoded_value(context, value) for name, value in given if value is not None}


def decoded_value(context: LoadContext, value: Any) -> Any:
    """A value of an entry as plain data."""
    if isinstance(value, SourceText):
        return value.value
    if isinstance(value, Entry):
        return plain(context, value)
    if isinstance(value, Table):
        return {name.value: decoded_value(context, each) for name, each in value}
    if isinstance(value, list):
        return [decoded_value(context, each) for each in value]
    return json_value(context, value) if isinstance(value, Node) else value
