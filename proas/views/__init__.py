"""Pages and pictures of reference graphs, of what they learnt, and of training runs.

A page is one HTML file that works without a network: everything that it needs is inside it. Nothing here prints or asks
for options; ``proas.cli`` does.
"""

from __future__ import annotations
