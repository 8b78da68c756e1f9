"""Advantage shaping: arrays in, arrays out, no database."""
