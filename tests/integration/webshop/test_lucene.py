"""The ranking beside Lucene's own: the server's full-text index is Lucene, with the same English analysis."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest

from proas.envs.webshop import Catalogue, Shop, WebShopGoal
from proas.envs.webshop.search import Bm25Search, product_text
from proas.localdb import ServerInfo

SPECIAL = re.compile(r'([+\-&|!(){}\[\]^"~*?:\\/])')
OPERATORS = re.compile(r"\b(and|or|not)\b", re.IGNORECASE)


@pytest.fixture
def lucene(neo4j_server: ServerInfo, real_shop: tuple[Shop, tuple[WebShopGoal, ...]]) -> Iterator[Any]:
    """Searches the real products by Lucene: words in, product numbers out."""
    name = f"Shelf{uuid.uuid4().hex[:8]}"
    catalogue = real_shop[0].catalogue
    auth = (neo4j_server.username, neo4j_server.password.get_secret_value())
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=auth) as driver:

        def run(statement: str, **values: object) -> list[neo4j.Record]:
            return driver.execute_query(statement, values, database_=neo4j_server.database).records  # type: ignore[arg-type]

        rows = [[product.asin, place, product_text(product)] for place, product in enumerate(catalogue)]
        try:
            run(f"UNWIND $rows AS r CREATE (:{name} {{asin: r[0], place: r[1], text: r[2]}})", rows=rows)
            config = "{indexConfig: {`fulltext.analyzer`: 'english'}}"
            run(f"CREATE FULLTEXT INDEX {name} FOR (n:{name}) ON EACH [n.text] OPTIONS {config}")
            run("CALL db.awaitIndexes(60)")
            found = (
                "CALL db.index.fulltext.queryNodes($name, $words) YIELD node, score "
                "RETURN node.asin AS asin ORDER BY score DESC, node.place LIMIT 50"
            )

            def search(words: str) -> list[str]:
                escaped = SPECIAL.sub(r"\\\1", OPERATORS.sub(" ", words))
                return [record["asin"] for record in run(found, name=name, words=escaped)]

            yield search
        finally:
            run(f"DROP INDEX {name} IF EXISTS")
            run(f"MATCH (n:{name}) DETACH DELETE n")


def test_the_ranking_is_close_to_lucene(
    lucene: Any, real_shop: tuple[Shop, tuple[WebShopGoal, ...]], webshop_data: Path
) -> None:
    catalogue: Catalogue = real_shop[0].catalogue
    ours = Bm25Search(catalogue, k1=1.2, b=0.75)  # what the server's Lucene is set to
    queries = json.loads((webshop_data / "human_goals.json").read_text(encoding="utf-8"))[:150]
    asked = json.loads((webshop_data / "goal_query_map.json").read_text(encoding="utf-8"))
    queries += [words[0] for words in list(asked.values())[:150]]
    first = shared = compared = 0.0
    for words in queries:
        theirs, mine = lucene(words)[:10], list(ours.search(words))[:10]
        if theirs:
            compared += 1
            first += theirs[0] == mine[0]
            shared += len(set(theirs) & set(mine)) / len(theirs)
    assert compared >= 290
    assert first / compared >= 0.95
    assert shared / compared >= 0.97
