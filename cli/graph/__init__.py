"""``proas graph``: build, read, compare, merge and move reference graphs."""

from __future__ import annotations

import typer

from proas.cli.graph import build, distances, exchange, layers, lift, read, viz

__all__ = ["app"]

app = typer.Typer(help="Build, read, compare, merge and move reference graphs.", no_args_is_help=True)
app.command("build")(build.build)
app.command("lift")(lift.lift)
app.command("list")(read.list_graphs)
app.command("stats")(read.stats)
app.command("show")(read.show)
app.command("verify")(read.verify)
app.command("diff")(read.diff)
app.command("viz")(viz.viz)
app.command("distances")(distances.distances)
app.command("create")(layers.create)
app.command("promote")(layers.promote)
app.command("drop")(layers.drop)
app.command("export")(exchange.export_graph)
app.command("import")(exchange.import_graph)
