"""ProAS in verl: a plug-in that verl finds by itself, agent loops, and presets. Nothing here imports verl by itself.

``proas.integrations.verl.plugin`` is the entry point of the group ``verl.plugins``. ``docs/verl.md`` is the guide.
"""
