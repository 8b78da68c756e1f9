"""What Neo4j Browser needs to show a graph well: a style sheet, saved queries and a guide, served on this machine."""

from __future__ import annotations

from proas.browser.guide import GuideFacts, guide_page
from proas.browser.serving import AssetServer, browser_address

__all__ = ["AssetServer", "GuideFacts", "browser_address", "guide_page"]
