"""Engines in files: `save` writes one, `load` reads it back or says why not."""

from resonate_lab.engine.saved.file import VERSION, load, save

__all__ = ["VERSION", "load", "save"]
