"""The documented walks through the code are those that a batch, an update and a prediction really take.

python tests/test_walk.py        write docs/explanation/walk.md again
"""

import os
import re
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
ROOT = Path(__file__).parent.parent
SOURCE = str(ROOT / "src" / "saccade") + os.sep
PAGE = ROOT / "docs" / "explanation" / "walk.md"
HEAD = """# Through the code

The files that a batch, an update and a prediction run, in the order in which their code is first called, for a
recurrent translator with additive attention on the CPU. `tests/test_walk.py` follows them and compares; `python
tests/test_walk.py` writes this page again.
"""


class Walk:
    """Collects the files of saccade that are entered inside it, in the order of their first call."""

    def __enter__(self):
        self.files = []
        sys.setprofile(self._enter)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def _enter(self, frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE) and name not in self.files:
            self.files.append(name)

    @property
    def names(self):
        return [name.removeprefix(SOURCE).replace(os.sep, "/") for name in self.files]


def walks(folder):
    """(title, files) of each walk."""
    from helpers.recipes import recipe_of, translation
    from saccade.api import Model
    from saccade.data.batch_sampler import Cursor
    from saccade.runs.corpus import Corpus
    from saccade.runs.folder import build_task
    from saccade.runs.training import TrainingJob
    from saccade.train import loop
    from saccade.train.log import TrainingCallback

    recipe = recipe_of(translation(folder))
    corpus = Corpus(recipe)
    job = TrainingJob(build_task(recipe, corpus.tokenizers()), corpus, folder)
    loader = job.loader(0, 1, rounded=False)
    next(loader.epoch(0))
    with Walk() as batch:
        load = next(loader.epoch(1))
    config = recipe.train.model_copy(update={"steps": 100, "precision": "fp32", "device": "cpu"})
    with loop.launched(config, "32-true") as fabric:
        run = loop._Run(job, config, folder / "run", TrainingCallback(), fabric, "32-true")
        run.objective.train()
        run._update([load])
        assert load.place == Cursor(*load.place)
        with Walk() as update:
            run._update([load])
    model = Model(job.task)
    model("ant bee")
    with Walk() as prediction:
        model("ant bee cat")
    return [("A batch", batch.names), ("An update", update.names), ("A prediction", prediction.names)]


def page(found):
    sections = [f"## {title}\n\n" + "\n".join(f"1. `{name}`" for name in names) for title, names in found]
    return "\n\n".join([HEAD.rstrip(), *sections]) + "\n"


def test_the_walks_are_as_documented(tmp_path):
    found = walks(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for title, names in found:
        section = text.split(f"## {title}\n")[1].split("\n## ")[0]
        assert re.findall(r"`([\w/.]+)`", section) == names, f"{title}: run python tests/test_walk.py"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    with tempfile.TemporaryDirectory() as place:
        PAGE.write_text(page(walks(Path(place))), encoding="utf-8")
