"""Traces: a prediction as a file, read by the page, notebooks, the terminal, figures and tests. Needs no torch."""

from saccade.trace.format import About, Beams, BeamStep, Glimpses, Side, Site, Step, Trace
from saccade.trace.packed import Packed, pack

__all__ = ["About", "BeamStep", "Beams", "Glimpses", "Packed", "Side", "Site", "Step", "Trace", "pack"]
