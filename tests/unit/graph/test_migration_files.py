"""Reading migrations: splitting, checksums, numbering, names."""

from __future__ import annotations

import re

import pytest

from proas.errors import GraphVersionError
from proas.graph.migrations import REQUIRED_CONSTRAINTS, Migration, shipped_migrations, split_statements


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", ()),
        ("RETURN 1", ("RETURN 1",)),
        ("RETURN 1;\nRETURN 2;\n", ("RETURN 1", "RETURN 2")),
        ("RETURN ';'; RETURN \"a;b\"", ("RETURN ';'", 'RETURN "a;b"')),
        ("RETURN `a;b``;c`; RETURN 2", ("RETURN `a;b``;c`", "RETURN 2")),
        ("// first; second\nRETURN 1; /* ; \n ; */ RETURN 2", ("RETURN 1", "RETURN 2")),
        (r"RETURN 'it\'s; fine'; RETURN 2", (r"RETURN 'it\'s; fine'", "RETURN 2")),
        ("RETURN 'http://x;y'; RETURN 2 // end;", ("RETURN 'http://x;y'", "RETURN 2")),
        ("RETURN 4 / 2; RETURN 'unclosed", ("RETURN 4 / 2", "RETURN 'unclosed")),
    ],
)
def test_statements_end_at_semicolons_outside_quotes_and_comments(text, statements):
    assert split_statements(text) == statements


def test_line_ends_do_not_change_a_checksum():
    plain = Migration.parse("V0001__a.cypher", "RETURN 1;\nRETURN 2;\n")
    assert Migration.parse("V0001__a.cypher", "RETURN 1;\r\nRETURN 2;").checksum == plain.checksum
    assert Migration.parse("V0001__a.cypher", "RETURN 1;\nRETURN 3;\n").checksum != plain.checksum


@pytest.mark.parametrize(
    "name", ["V1__a.cypher", "V0001_a.cypher", "V0001__a b.cypher", "V0001__a.cypher\n", "a.cypher"]
)
def test_a_bad_file_name_is_refused(name):
    with pytest.raises(GraphVersionError):
        Migration.parse(name, "RETURN 1")


def test_the_shipped_schema_is_named_and_repeatable():
    statements = [text for migration in shipped_migrations() for text in migration.statements]
    names = {re.match(r"CREATE (?:CONSTRAINT|INDEX) (\w+) IF NOT EXISTS", text).group(1) for text in statements}
    assert len(names) == len(statements)
    assert names >= REQUIRED_CONSTRAINTS
