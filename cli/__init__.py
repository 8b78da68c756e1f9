"""The Typer application."""
