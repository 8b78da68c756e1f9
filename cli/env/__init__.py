"""``proas env``: the environments, a terminal to play them in, and a check of what they promise."""

from __future__ import annotations

import typer

from proas.cli.env.check import check
from proas.cli.env.listing import list_environments
from proas.cli.env.play import play as play_task

__all__ = ["app"]

app = typer.Typer(
    help="List the environments, play a task with the graph's view beside it, and check what they promise.",
    no_args_is_help=True,
)
app.command("list")(list_environments)
app.command("play")(play_task)
app.command("check")(check)
