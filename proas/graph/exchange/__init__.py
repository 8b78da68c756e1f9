"""Graphs as files: Parquet and JSON lines that come back as the identical graph, GraphML for other tools."""

from proas.graph.exchange.exporting import ExportReport, export_graph
from proas.graph.exchange.formats import ExchangeFormat
from proas.graph.exchange.importing import ImportReport, import_graph

__all__ = ["ExchangeFormat", "ExportReport", "ImportReport", "export_graph", "import_graph"]
