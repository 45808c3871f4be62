"""
A declarative, rules-based webhook router.

A delivery enters by one door and walks forward only. The map of the house, bottom to top (imports
point down):

    errors, clock        every exception and the Diagnostic value; time as a parameter
    legible              text from strangers, for terminals and pages
    log, metrics         one logging set-up; counters as values
    secrets, egress      references to values; which addresses may be called
    model/               NOUNS: frozen values: delivery, job, rule, call
    plugin, plugin_http  all that a plugin author imports; the client behind the egress rules
    refusals             the last refused requests, where the operator wants them kept
    plugin_host/         the child process that runs plugins, imports little
    yaml_source/         YAML text to positioned, bounded nodes to typed values, all faults kept
    expressions/         LANGUAGE: parse with positions, compile, functions, templates
    providers/           JUDGE: definitions as data, verify, split, sign; no I/O
    rules/               ROUTER: match, plan, render; no I/O, no clock
    config/              READING ROOM: text in; ruleset or diagnostics out
    store/               LEDGER: the Store protocol and SQLite
    intake               CORRIDOR IN: judge, read, route, commit, answer
    dispatch/            CORRIDOR OUT: lease, limits, act, settle, upkeep
    replay               the operator's verbs
    rehearsal/           rules tried without the world: the tests of a rules file
    actions/             TOOL SHED: an action runs a Call; one kind a file
    web/                 DOOR AND WINDOWS: the only room that knows Litestar
    serving              the living process: signals, file watch, the live ruleset, drain
    wiring               the only place that constructs concrete things
    cli/                 DOORBELL: one file a command group
"""

__version__ = "0.1.0"
