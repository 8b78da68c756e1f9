"""Reference graphs of WebShop goals from their metadata."""

from proas.graph_builders.webshop.builder import WebShopBuilder, build_goal

__all__ = ["WebShopBuilder", "build_goal"]
