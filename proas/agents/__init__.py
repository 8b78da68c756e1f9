"""Language models as players: prompts, replies, endpoints and engines."""
