"""A check of what should not be in a file: secrets."""

from router.config.checks.base import CompiledFile, Found, SourceSpan
from router.config.context import NAMING_HINT
from router.yaml_source.credentials import written_secrets


def secrets_in_file(file: CompiledFile) -> Found:
    """Credentials that are written down; those of tests and of providers' samples are made up."""
    entry = file.context.file
    apart = [test.node for test in entry.tests or ()]
    apart += [provider.node for _, provider in entry.providers or ()]
    for start, end in written_secrets(file.context.report.source.text):
        if not any(node.start <= start < node.end for node in apart):
            message = "this is a secret's value: whoever reads the file knows it"
            yield SourceSpan(start, end), message, NAMING_HINT
