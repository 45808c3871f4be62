"""`router schema`."""

import click

from router.cli.output import print_exact


@click.command()
@click.option("--tests", is_flag=True, help="Of files of tests (NAME.test.yaml).")
def schema(*, tests: bool) -> None:
    """
    Print the JSON Schema of rules files, for editors: keys, words, providers and events.

    Keep it beside your rules and name it in their first line:

    \b
      router schema > rules.schema.json
      # yaml-language-server: $schema=rules.schema.json
    """
    from router import providers
    from router.config.json_schema import schema_of_rules, schema_of_tests

    make = schema_of_tests if tests else schema_of_rules
    print_exact(make(providers.builtin()))
