"""``proas env``: the environments, and a terminal to play them in."""

from __future__ import annotations

import typer

from proas.cli.env.listing import list_environments
from proas.cli.env.play import play as play_task

__all__ = ["app"]

app = typer.Typer(help="List the environments, and play a task with the graph's view beside it.", no_args_is_help=True)
app.command("list")(list_environments)
app.command("play")(play_task)
