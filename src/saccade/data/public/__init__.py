"""Public data sets that recipes use: where to get them, their licenses, and how to convert them.

saccade neither includes nor downloads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from saccade.data.public.alignment import convert_alignment
from saccade.data.public.cnn_dailymail import convert_cnn_dailymail
from saccade.data.public.flickr8k import convert_flickr8k
from saccade.data.public.fsdd import convert_fsdd
from saccade.data.public.hansards import convert_hansards
from saccade.data.public.mnist import convert_mnist
from saccade.data.public.omniglot import convert_omniglot
from saccade.data.public.tatoeba import convert_tatoeba
from saccade.data.public.trees import convert_trees

__all__ = ["PUBLIC", "PublicSet", "public_set"]


@dataclass(frozen=True)
class PublicSet:
    """A published data set.

    get: how to get it, in a sentence or two. convert(origin, out): writes the files of a recipe from the published
    ones, and returns their paths; None if recipes read the published files.
    """

    about: str
    task: str
    address: str
    licence: str
    get: str
    recipes: str
    convert: Callable[[Path, Path], list[Path]] | None = None

    def instructions(self, name: str) -> str:
        """Return instructions for getting the data set and training on it."""
        lines = [self.about, f"From: {self.address}", f"License: {self.licence}", self.get]
        folder = "DIR"
        if self.convert is not None:
            lines.append(f"Then: saccade data {name} --from DIR --out {name}")
            folder = name
        lines.append(f"Train: saccade train {self.recipes} --set data.folder={folder}")
        return "\n".join(lines)


PUBLIC: dict[str, PublicSet] = {
    "multi30k": PublicSet(
        "Captions of images in English, German and French, 29,000 for training.",
        "translation",
        "https://github.com/multi30k/dataset",
        "not stated there; generally taken as CC BY-NC-SA 4.0, English from Flickr30k, for research",
        "Clone it; DIR is its folder data/task1/raw. Other directions: --set data.placeholders.target=fr.",
        "multi30k-transformer",
    ),
    "tatoeba": PublicSet(
        "Short English-French sentences, and longer ones joined from them.",
        "translation",
        "https://www.manythings.org/anki/fra-eng.zip",
        "CC BY 2.0 (credit tatoeba.org and manythings.org/anki)",
        "Unpack it; DIR is the folder with fra.txt.",
        "tatoeba-bahdanau",
        convert_tatoeba,
    ),
    "ptb": PublicSet(
        "The Penn Treebank as Mikolov prepared it for language models: 10,000 words, lower case.",
        "language-modeling",
        "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz",
        "the text belongs to the LDC (LDC99T42): for experiments only",
        "Unpack it; DIR is its folder data, with ptb.train.txt.",
        "ptb-lstmn",
    ),
    "sst": PublicSet(
        "The Stanford Sentiment Treebank: sentences of film reviews, five grades or two.",
        "classification",
        "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
        "not stated; for research, cite Socher et al. 2013",
        "Unpack it; DIR is its folder trees. Files named stsa.fine.train and so on need no conversion.",
        "sst-lstmn",
        convert_trees,
    ),
    "flickr8k": PublicSet(
        "Photographs with five English captions each: 6,000 for training, 1,000 for validation, 1,000 for testing.",
        "captioning",
        "https://forms.illinois.edu/sec/1713398",
        "for non-commercial research and education; the photographs belong to those who took them",
        "Request it there, and unpack Flickr8k_Dataset.zip and Flickr8k_text.zip; DIR is the folder with both. Larger "
        "images: --set data.image_size=224.",
        "flickr8k",
        convert_flickr8k,
    ),
    "hansards": PublicSet(
        "Sentences of the Canadian parliament, English and French, with manual word alignments.",
        "translation",
        "http://web.eecs.umich.edu/~mihalcea/wpt/",
        "not stated; the gold standard of the HLT-NAACL 2003 shared task",
        "Unpack the English-French trial or test data; DIR has FILE.e, FILE.f and FILE.wa. It is for "
        "evaluation: its training data is the set alignment, which needs this one.",
        "alignment-additive",
        convert_hansards,
    ),
    "scitldr": PublicSet(
        "Abstracts of 3,200 papers on computer science, with summaries of one sentence.",
        "summarization",
        "https://github.com/allenai/scitldr",
        "Apache 2.0",
        "Clone it; DIR is its folder SciTLDR-Data/SciTLDR-A, with train.jsonl and dev.jsonl.",
        "scitldr-pointer",
    ),
    "cnn-dailymail": PublicSet(
        "News stories of CNN and the Daily Mail, 312,000, with highlights of about four sentences.",
        "summarization",
        "https://github.com/abisee/cnn-dailymail",
        "not stated; the text belongs to its publishers: for research",
        "The page links the stories; DIR holds the folders cnn/stories and dailymail/stories, and url_lists of that "
        "page, which says which story belongs to which split.",
        "cnn-dailymail",
        convert_cnn_dailymail,
    ),
    "squad": PublicSet(
        "SQuAD 1.1: 100,000 questions on paragraphs of Wikipedia, each answered by a span of its paragraph.",
        "questions",
        "https://rajpurkar.github.io/SQuAD-explorer/",
        "CC BY-SA 4.0",
        "Download the training and the development set, version 1.1; DIR has train-v1.1.json and dev-v1.1.json. "
        "Version 2.0 has unanswerable questions: --set data.train=train-v2.0.json --set data.valid=dev-v2.0.json.",
        "squad",
    ),
    "omniglot": PublicSet(
        "Omniglot: 1,623 handwritten characters of 50 alphabets, each drawn by 20 people, for few-shot learning.",
        "episodes",
        "https://github.com/brendenlake/omniglot",
        "MIT",
        "Unpack python/images_background.zip; DIR is the folder that holds images_background, or images_background.npz "
        "with the array images (characters, drawers, height, width). Eight tenths of the characters are for training.",
        "omniglot",
        convert_omniglot,
    ),
    "mnist": PublicSet(
        "Handwritten digits, 28 × 28 pixels: 60,000 for training and 10,000 for testing.",
        "glimpses",
        "http://yann.lecun.com/exdb/mnist",
        "not stated there; generally taken as CC BY-SA 3.0",
        "DIR is a folder with train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and, for testing, the two files "
        "t10k-…, also uncompressed. On larger fields: mnist-ram-translated and mnist-ram-cluttered.",
        "mnist-ram",
        convert_mnist,
    ),
    "dailydialog": PublicSet(
        "Dialogues of everyday English, 13,118 of about 8 turns each.",
        "chat",
        "http://yanran.li/dailydialog",
        "CC BY-NC-SA 4.0",
        "Unpack it and the archives in it; DIR is a folder with dialogues_train.txt, dialogues_validation.txt and "
        "dialogues_test.txt. Splits of the original share dialogues.",
        "dailydialog",
    ),
    "fsdd": PublicSet(
        "The Free Spoken Digit Dataset: 3,000 recordings of English digits by six speakers, 8 kHz.",
        "speech",
        "https://github.com/Jakobovski/free-spoken-digit-dataset",
        "CC BY-SA 4.0",
        "Clone it; DIR is the clone, with its folder recordings. The conversion joins recordings to strings of one to "
        "seven digits. With a speaker held out for the test: --set data.folder=fsdd/without-theo.",
        "fsdd",
        convert_fsdd,
    ),
    "alignment": PublicSet(
        "English-French sentences of multi30k and tatoeba, tokenized like the Hansards' gold alignments.",
        "translation",
        "made from three of the others",
        "those of its parts",
        "DIR holds the folders multi30k and tatoeba as published, and hansards, also as made by this command.",
        "alignment-additive",
        convert_alignment,
    ),
}


def public_set(recipe: str) -> str | None:
    """Return the name of the public data set that a shipped recipe reads, judging by the recipe's name."""
    return max((name for name in PUBLIC if f"{recipe}-".startswith(f"{name}-")), key=len, default=None)
