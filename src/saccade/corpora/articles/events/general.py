"""Sentences that fit every event, and sentences that an article may begin with before it says what happened."""

from __future__ import annotations

from saccade.corpora.articles.script import script

__all__ = ["GENERAL", "OPENINGS"]

OPENINGS = script(
    """
It was the news that all of {place} talked about .

People in {place} had expected a quiet week .

Few days in the history of {place} were as full as this one .

{new.person} , who writes about the region for a newspaper , could hardly type fast enough .

The people of {new.place} looked at their neighbors in {place} with surprise .

{place} is a small town between the hills and the {new.thing} .
"""
)

GENERAL = script(
    """
Local radio reported on it all day .

The news spread quickly .

Two television teams came from {new.place} .

The newspaper {new.thing} printed a special edition .

The town has about {new.number} thousand people .

{place} was last in the news in {new.year} .

{place} lies on the road from {new.place} to {new.place} .

" I will tell my grandchildren about it , " said {new.person} .

More details are expected soon .

The mayor of {new.place} sent a short message .

A comment from {new.firm} could not be obtained .

In {new.place} people followed the news with interest .

Some residents did not hear of it until the next morning .

In other news , {new.person} was named head of the library in {new.place} .

In other news , {new.firm} will open a shop in {new.place} .

Elsewhere in the region , a small fire broke out in {new.place} .

Elsewhere in the region , {new.number} trees were planted along the {new.thing} .

The school choir of {new.place} had to cancel a trip because {new.few} singers were ill .

{new.person} from {new.place} asked in a letter for more benches in the park .

The market in {new.place} will open an hour later next week .

The ferry on the {new.thing} is out of service until further notice .

A gray cat that had been missing in {new.place} for {new.few} weeks was found at the station .
"""
)
