"""Traces: a prediction as a file that page, notebook, terminal, figures and tests all read. No torch."""

from saccade.trace.format import About, Beams, BeamStep, Side, Site, Step, Trace
from saccade.trace.packed import Packed, pack

__all__ = ["About", "BeamStep", "Beams", "Packed", "Side", "Site", "Step", "Trace", "pack"]
