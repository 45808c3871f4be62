"""
A declarative, rules-based webhook router.

A delivery enters by one door and walks forward only. The map of the house, bottom to top (imports
point down):

    structure            how much structure a body holds, before anything decodes it
    errors, clock        every exception and the Diagnostic value; time as a parameter
    legible              text from strangers, for terminals and pages
    suggest              did you mean …: the nearest of the right names
    undumpable           a process that others of its user cannot look into
    log/, metrics/        one logging set-up; counters as values
    secrets, egress      references to values; which addresses may be called
    model/               NOUNS: frozen values: delivery, event, job, target, settings
    refusals             the last refused requests, where the operator wants them kept
    plugin_http, plugin  the client behind the egress rules; all that a plugin author imports
    plugin_host/         the child process that runs plugins, imports little
    yaml_source/         YAML text to positioned, bounded nodes to typed values, all faults kept
    expressions/         the language: parse with positions, compile, functions, templates
    typing/              types and shapes of expressions over payloads
    kinds/               kinds of action: spec, call, render, facts; one kind a file, one table
    providers/           senders as data: definitions, verify, read, sign; no I/O
    diagnosis/           why a request was refused, which scheme would fit; pure
    rules/               index, match, plan, render, explain; no I/O, no clock
    config/              text in; a ruleset or diagnostics out
    store/               what is durable: a protocol for each user; SQLite
    intake/              judge, read, route, commit, answer
    dispatch/            lease, limits, act, settle, due times
    operator/            the operator's verbs: look for work, replay, cancel, revive
    rehearsal/           rules tried without the world: tests of a rules file, diff
    actions/             what runs a Call; one kind a file, one table
    provider_calls/      MANAGEMENT: sends the requests that providers/ builds; address ranges
    web/                 the listeners: ingest, and by Litestar the admin API, live feed, pages
    serving/             the living process: signals, reload, upkeep, what it tells of itself, drain
    wiring/              the only place that constructs concrete things
    cli/                 DOORBELL: one file a command group
"""

__version__ = "0.1.0"
