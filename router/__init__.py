"""
A declarative, rules-based webhook router.

A request is received by `web`, stored by `intake`, and its jobs are run by `dispatch`. The
packages, bottom to top; each imports only those above it in this list (checked by import-linter):

    structure            how deep and large a JSON body is, counted before anything decodes it
    errors, clock        every exception and the Diagnostic value; time as a parameter
    legible              untrusted text made safe for terminals and pages; cutting long text
    suggest              did you mean …: the nearest of the right names
    undumpable           keeps the memory of this process from other processes of its user
    egress, secrets      which addresses may be called; references to values
    log/, metrics/       the one logging set-up; counters
    model/               frozen values: delivery, event, job, target, settings
    plugin_http          the HTTP client of plugins, behind the egress rules
    refusals             the last refused requests, where the operator wants them kept
    plugin               all that a plugin author imports
    plugin_host/         the child process that runs plugins; imports little
    yaml_source/         YAML text to positioned, bounded nodes to typed values; collects all faults
    expressions/         the language: parse with positions, compile, functions, templates
    typing/              types and shapes of expressions over payloads
    kinds/               action kinds, the pure part: spec, call, render; a file each, one table
    providers/           senders as data: definitions, verify, read, sign; no I/O
    diagnosis/           why a request was refused, which scheme would fit; pure
    rules/               index, match, plan, render, explain; no I/O, no clock
    config/              text in; a ruleset or diagnostics out
    store/               what is durable: a protocol for each user; SQLite, PostgreSQL
    intake/              verify, read, match, commit, answer
    dispatch/            lease, limits, run, settle, due times
    operator/            the operator's questions and verbs: list, show, replay, cancel, revive
    rehearsal/           rules tried without effects: tests of a rules file, diff
    actions/             action kinds, the runners: what performs a call; a file each, one table
    provider_calls/      sends the requests that providers/ builds; address ranges
    web/                 the listeners: ingest, and by Litestar the admin API, signal, pages
    serving/             the running process: signals, reload, upkeep, own events, drain
    wiring/              the only place that constructs concrete things
    cli/                 the command line: one file a command group
    asgi                 the router as an application for another ASGI server
    pytest_plugin        tests of rules files as pytest's items; `-p router.pytest_plugin`
"""

try:
    from router import _version
except ImportError:  # a copy that nobody installed
    __version__, __commit__ = "0.0", ""
else:
    __version__, __commit__ = _version.version, _version.commit
