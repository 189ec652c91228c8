"""Topics: what a speaker can tell, and how it is said, asked for and recalled.

In wordings, {value} is what is said and {thing} what it is about.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GREETINGS", "LOOKED_UP", "OWN_NAME", "SMALL_TALK", "TOPICS", "Topic"]


class Topic(NamedTuple):
    """A kind of fact.

    value: the kind of its value, a method of `Facts`. things: what such a fact can be about. tell: wordings, each with
    its reply. ask: wordings. answer: the reply to each of them; unknown: the reply if the fact was never stated.
    """

    value: str
    things: tuple[str, ...]
    tell: tuple[tuple[str, str], ...]
    ask: tuple[str, ...]
    answer: str
    unknown: str


NAME = Topic(
    "name",
    ("name",),
    (
        ("My name is {value} .", "Nice to meet you , {value} ."),
        ("I am {value} .", "Hello {value} , how are you ?"),
        ("You can call me {value} .", "All right , I will ."),
    ),
    ("What is my name ?", "Do you remember my name ?", "What did I say my name was ?"),
    "Your name is {value} .",
    "You have not told me your name .",
)
HOME = Topic(
    "place",
    ("home",),
    (
        ("I live in {value} .", "I would like to see {value} ."),
        ("My house is in {value} .", "That must be a quiet place ."),
    ),
    ("Where do I live ?", "Where did I say my house was ?"),
    "You live in {value} .",
    "You have not told me where you live .",
)
WORK = Topic(
    "place",
    ("work",),
    (
        ("I work in {value} .", "Is {value} far away ?"),
        ("My office is in {value} .", "Then you have to get up early ."),
    ),
    ("Where do I work ?", "Where did I say my office was ?"),
    "You work in {value} .",
    "You have not told me where you work .",
)
BIRTH = Topic(
    "place",
    ("birth",),
    (
        ("I was born in {value} .", "I have never been to {value} ."),
        ("I grew up in {value} .", "Do you often go back ?"),
    ),
    ("Where was I born ?", "Where do I come from ?"),
    "You come from {value} .",
    "You have not told me where you come from .",
)
CALLED = Topic(
    "name",
    ("sister", "brother", "friend", "boss", "neighbor", "dog", "cat", "daughter", "son"),
    (
        ("My {thing} is called {value} .", "{value} is a nice name ."),
        ("The name of my {thing} is {value} .", "I like that name ."),
    ),
    ("What is my {thing} called ?", "What was the name of my {thing} ?"),
    "Your {thing} is called {value} .",
    "You have not told me the name of your {thing} .",
)
START = Topic(
    "time",
    ("meeting", "concert", "film", "party", "lesson", "match"),
    (
        ("The {thing} starts at {value} .", "At {value} , I see ."),
        ("They moved the {thing} to {value} .", "Do not be late ."),
    ),
    ("When does the {thing} start ?", "At what time is the {thing} ?"),
    "The {thing} starts at {value} .",
    "You have not told me when the {thing} starts .",
)
LEAVE = Topic(
    "time",
    ("train", "bus", "ferry", "plane"),
    (
        ("My {thing} leaves at {value} .", "Then be there before {value} ."),
        ("I take the {thing} at {value} .", "Have a good trip ."),
    ),
    ("When does my {thing} leave ?", "Which {thing} do I take ?"),
    "Your {thing} leaves at {value} .",
    "You have not told me when your {thing} leaves .",
)
PRICE = Topic(
    "price",
    ("lamp", "chair", "coat", "bag", "watch", "book", "clock", "table"),
    (
        ("The {thing} costs {value} euros .", "I would not pay {value} euros ."),
        ("They want {value} euros for the {thing} .", "That is a lot of money ."),
    ),
    ("How much is the {thing} ?", "What did the {thing} cost ?"),
    "The {thing} costs {value} euros .",
    "You have not told me what the {thing} costs .",
)
TOPICS = (NAME, HOME, WORK, BIRTH, CALLED, START, LEAVE, PRICE)
"""Facts that the user can state."""

OWN_NAME = Topic(
    "name",
    ("own name",),
    (("Hello , I am {value} .", ""), ("Good morning , my name is {value} .", "")),
    ("What is your name ?", "Who are you ?"),
    "My name is {value} .",
    "I have no name .",
)
"""Facts that the model states when it opens a dialogue."""
LOOKED_UP = Topic(
    "place",
    ("museum", "station", "hotel", "school", "library", "market"),
    (("Please look up the {thing} .", "The {thing} is in {value} Street ."),),
    ("Where was the {thing} ?", "In which street is the {thing} ?"),
    "The {thing} is in {value} Street .",
    "I have not looked up the {thing} .",
)
"""Facts that the model states after looking them up."""
GREETINGS = ("Hello , can I help you ?", "Good morning .", "Hello , how are you ?")
"""Openings without a fact."""
SMALL_TALK = (
    ("It is raining again .", "Then take an umbrella ."),
    ("I am tired today .", "You should go to bed early ."),
    ("I like music .", "I like songs about the sea ."),
    ("The coffee is cold .", "I can make a fresh one ."),
    ("I have lost my keys .", "Did you look under the sofa ?"),
    ("What do you think of this town ?", "It has a fine old bridge ."),
    ("I am learning to swim .", "It gets easier every week ."),
    ("My bicycle is broken .", "I know a shop that can repair it ."),
    ("Do you like winter ?", "Only when there is snow ."),
    ("I bought some flowers .", "They smell wonderful ."),
    ("The soup was too hot .", "Next time wait a little ."),
    ("I am looking for my glasses .", "They are on your nose ."),
    ("It is late .", "Then let us be quick ."),
    ("I saw a fox in the garden .", "They come for the apples ."),
)
"""Small talk: turns with their replies, without facts."""
