"""The training loop: checkpoints, stopping and errors."""

import json
import math
import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from helpers.jobs import Sentences, run, weights_after
from helpers.training import (
    DROPOUT,
    end_of,
    leftovers,
    log_of,
    recipe_of,
    same_weights,
    settings,
    train_here,
    write_text,
)
from saccade.checksums import write_list
from saccade.data.batch_sampler import Cursor
from saccade.errors import CheckpointError, ConfigError, DataError, NumericsError
from saccade.runs.folder import load_task
from saccade.runs.training import train
from saccade.train import checkpoint, loop
from saccade.train.objective import losses_of


def test_half_batches_added_up_are_one_batch(tmp_path):
    options = {"optimizer": "sgd", "max_grad_norm": None}
    whole = weights_after(Sentences([[0, 1, 2, 3]]), tmp_path / "whole", **options)
    halves = weights_after(Sentences([[0, 1], [2, 3]]), tmp_path / "halves", accumulate=2, **options)
    started = checkpoint.weights_of(Sentences([]).model)
    for name, tensor in whole.items():
        torch.testing.assert_close(halves[name], tensor, rtol=1e-4, atol=1e-6)
    assert not same_weights(started, whole)
    assert log_of(tmp_path / "whole")[0]["loss"] == pytest.approx(log_of(tmp_path / "halves")[0]["loss"], rel=1e-6)


def test_the_longest_gradient_is_kept_to(tmp_path):
    before = checkpoint.weights_of(Sentences([]).model)
    after = weights_after(Sentences([[0, 1, 2, 3]]), tmp_path, optimizer="sgd", lr=1.0, max_grad_norm=0.01)
    moved = math.sqrt(sum(float((after[name] - before[name]).square().sum()) for name in before))
    assert moved == pytest.approx(0.01, rel=1e-3)


def test_own_words_come_slowly(tmp_path, monkeypatch):
    job = Sentences([[0, 1]])
    seen = []
    monkeypatch.setattr(
        job.objective, "_with_own_words", lambda batch: (seen.append(job.objective.own_words), batch)[1]
    )
    job.objective.scheduled_sampling = 0.5
    run(job, tmp_path, steps=4, scheduled_sampling=0.5)
    assert seen == [0.125, 0.25, 0.375, 0.5]


def test_the_best_is_exported_and_patience_ends_it(tmp_path):
    job = Sentences([[0, 1, 2]], losses=[3.0, 2.0, 2.5, 2.0, 1.9])
    outcome = run(job, tmp_path, steps=100, validate_every=2, patience=2)
    assert (outcome.why, outcome.progress.step) == ("early", 8)
    assert (outcome.progress.best, outcome.progress.best_step) == (2.0, 4)
    assert job.validations == [(2, True), (4, True), (6, False), (8, False)]
    assert len(job.exported) == 2
    assert checkpoint.latest(tmp_path / "checkpoints").name == "step-00000008"


def test_a_metric_may_rise(tmp_path):
    job = Sentences([[0]], losses=[{"loss": 1.0, "bleu": 5.0}, {"loss": 2.0, "bleu": 7.0}, {"loss": 0.5, "bleu": 6.0}])
    outcome = run(job, tmp_path, steps=3, validate_every=1, metric="bleu")
    assert (outcome.progress.best, outcome.progress.best_step) == (7.0, 2)


@pytest.mark.parametrize("metric", ["perplexity", "perplexity_per_word", "bits_per_character", "ter", "aer"])
def test_some_metrics_must_fall(tmp_path, metric):
    job = Sentences([[0]], losses=[{"loss": 1.0, metric: 5.0}, {"loss": 1.0, metric: 7.0}])
    assert run(job, tmp_path, steps=2, validate_every=1, metric=metric).progress.best_step == 1


def test_the_log_says_when_each_validation_was(tmp_path):
    run(Sentences([[0, 1]]), tmp_path, steps=4, validate_every=2)
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    seconds = [entry["seconds"] for entry in entries if "valid" in entry]
    assert len(seconds) == 2
    assert 0 < seconds[0] < seconds[1]


class Padded(Sentences):
    """Batches whose share of padding is a tenth of the number of their first sentence."""

    def _load(self, rows, place):
        return replace(super()._load(rows, place), padding=rows[0] / 10)


def test_an_entry_of_the_log_is_the_mean_since_the_one_before(tmp_path):
    options = {"steps": 5, "accumulate": 2, "validate_every": 9}
    for every in (1, 2):
        run(Padded([[0], [3], [2]]), tmp_path / str(every), log_every=every, **options)
    each, pairs = log_of(tmp_path / "1")[:-1], log_of(tmp_path / "2")[:-1]
    assert [entry["step"] for entry in pairs] == [2, 4, 5]
    sizes = [each[0]["tokens"], *(after["tokens"] - before["tokens"] for before, after in pairwise(each))]
    assert len(set(sizes)) > 1
    for entry, steps in zip(pairs, ([0, 1], [2, 3], [4]), strict=True):
        words = sum(sizes[step] for step in steps)
        assert entry["loss"] == pytest.approx(sum(each[step]["loss"] * sizes[step] for step in steps) / words)
        assert entry["padding"] == pytest.approx(sum(each[step]["padding"] for step in steps) / len(steps))
    fresh = Padded([])
    first = [fresh._load(rows, Cursor()) for rows in ([0], [3])]
    likelihood = sum(float(losses_of(fresh.objective.eval(), load.batch).plain) for load in first)
    assert each[0]["loss"] == pytest.approx(likelihood / sum(load.tokens for load in first), rel=1e-5)
    assert [entry["padding"] for entry in each] == pytest.approx([0.15, 0.1, 0.25, 0.15, 0.1])


def test_dropout_rests_while_a_model_is_validated(tmp_path, monkeypatch):
    job = Sentences([[0]])
    seen = []
    monkeypatch.setattr(job, "measure", lambda: seen.append(("validation", job.model.training)) or {"loss": 1.0})
    monkeypatch.setattr(job, "step", lambda entry: seen.append(("step", job.model.training)))
    run(job, tmp_path, steps=2, validate_every=1)
    assert seen == [("step", True), ("validation", False)] * 2


@pytest.mark.parametrize("rank", [0, 3])
def test_each_process_draws_numbers_of_its_own(tmp_path, monkeypatch, rank):
    monkeypatch.setattr(loop.Fabric, "global_rank", property(lambda self: rank))
    run(Sentences([[0]]), tmp_path, seed=5)
    assert torch.initial_seed() == 5 + rank


def test_a_model_that_never_was_the_best_is_exported_at_the_end(tmp_path):
    job = Sentences([[0]], losses=[math.nan, math.nan])
    run(job, tmp_path, steps=4, validate_every=2)
    assert job.validations == [(2, False), (4, False)]
    assert len(job.exported) == 1
    assert same_weights(job.exported[0], checkpoint.weights_of(job.model))


def test_a_validation_that_is_no_number_is_never_the_best(tmp_path):
    job = Sentences([[0]], losses=[math.nan, 2.0, math.nan])
    outcome = run(job, tmp_path, steps=3, validate_every=1)
    assert outcome.progress.best == 2.0
    assert job.validations == [(1, False), (2, True), (3, False)]


def test_plateaus_halve_the_rate(tmp_path):
    job = Sentences([[0]], losses=[1.0, 2.0, 2.0, 2.0, 2.0, 0.5, 2.0])
    run(job, tmp_path, steps=8, validate_every=1, schedule="plateau", plateau_patience=1, lr=0.8)
    assert job.rates == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.2])


def test_only_the_last_checkpoints_stay(tmp_path):
    run(Sentences([[0]]), tmp_path, steps=7, checkpoint_every=2, keep_checkpoints=3)
    kept = [path.name for path in checkpoint.checkpoints(tmp_path / "checkpoints")]
    assert kept == ["step-00000004", "step-00000006", "step-00000007"]


def test_the_average_of_the_last_is_exported(tmp_path):
    job = Sentences([[0, 1]])
    run(job, tmp_path, steps=6, checkpoint_every=2, keep_checkpoints=3, average=2)
    paths = checkpoint.checkpoints(tmp_path / "checkpoints")[-2:]
    one, other = (checkpoint.read_weights(path / "weights.safetensors") for path in paths)
    for name, tensor in job.exported[-1].items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    assert not same_weights(one, other)


def test_the_running_mean_is_what_is_validated_and_exported(tmp_path, monkeypatch):
    job = Sentences([[0, 1]])
    validated = []
    monkeypatch.setattr(
        job,
        "measure",
        lambda: validated.append(checkpoint.weights_of(job.model)["output.weight"].clone()) or {"loss": 1},
    )
    run(job, tmp_path, steps=5, ema=0.9)
    state = checkpoint.load(checkpoint.latest(tmp_path / "checkpoints"))
    assert torch.equal(job.exported[-1]["output.weight"], state.ema["output.weight"])
    assert torch.equal(validated[-1], state.ema["output.weight"])
    assert not torch.equal(state.weights["output.weight"], state.ema["output.weight"])
    assert torch.equal(checkpoint.weights_of(job.model)["output.weight"], state.weights["output.weight"])


def test_an_interrupt_at_the_last_step_is_none(tmp_path, monkeypatch):
    job = Sentences([[0]])
    monkeypatch.setattr(job, "step", lambda entry: signal.raise_signal(signal.SIGINT))
    assert run(job, tmp_path, steps=1).why == "finished"
    outcome = run(Sentences([[0]]), tmp_path / "2", steps=1)
    assert outcome.why == "finished"


def test_an_interrupt_stops_after_the_step_and_a_second_one_at_once(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT)  # a shell's background job ignores it
    job = Sentences([[0]])
    monkeypatch.setattr(job, "step", lambda entry: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(job, "note", job.notes.append)
    outcome = run(job, tmp_path, steps=9)
    assert (outcome.why, outcome.progress.step, job.exported) == ("interrupted", 1, [])
    assert job.notes == ["Finishing this step and writing a checkpoint; press Ctrl-C again not to wait."]
    monkeypatch.setattr(job, "measure", lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(job, tmp_path / "again", steps=9, validate_every=1)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_metric_that_is_not_there_is_refused(tmp_path):
    job = Sentences([[0]], losses=[{"loss": 1.0, "bleu": 5.0}])
    with pytest.raises(ConfigError, match=r"train\.metric 'belu' does not exist\. Did you mean 'bleu'\?"):
        run(job, tmp_path, metric="belu")


def test_a_run_that_diverges_tells_where_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    job = Sentences([[0, 2], [1, 3]])

    def poison(entry):
        if entry["step"] == 3:
            with torch.no_grad():
                job.model.output.weight[0, 0] = math.nan

    monkeypatch.setattr(job, "step", poison)
    with pytest.raises(
        NumericsError,
        match=r"diverged at step 4: the loss is nan.*the sentences 2, 4 of .*last good checkpoint is .*step-00000002\. "
        r"Lower train\.lr \(it was 0\.1 here\)",
    ):
        run(job, tmp_path, steps=9, checkpoint_every=2)
    state = checkpoint.load(checkpoint.latest(tmp_path / "checkpoints"))
    assert all(bool(tensor.isfinite().all()) for tensor in state.weights.values())


@pytest.mark.parametrize("norm", [1.0, None])
def test_a_gradient_without_end_changes_no_weight(tmp_path, norm):
    job = Sentences([[0, 1]])
    before = checkpoint.weights_of(job.model)["output.weight"].clone()
    job.model.output.weight.register_hook(lambda grad: torch.full_like(grad, math.inf))
    with pytest.raises(NumericsError, match=r"diverged at step 1: the loss is [\d.]+ and the gradient norm inf"):
        run(job, tmp_path, max_grad_norm=norm)
    assert torch.equal(checkpoint.weights_of(job.model)["output.weight"], before)


def test_a_validation_that_draws_leaves_the_random_numbers_of_training_alone(tmp_path):
    class Drawing(Sentences):
        def measure(self):
            torch.rand(3)
            return super().measure()

    options = {"steps": 4, "validate_every": 1}
    silent, drawing = (
        weights_after(kind([[0, 1], [2, 3]], word_dropout=0.5), tmp_path / kind.__name__, **options)
        for kind in (Sentences, Drawing)
    )
    assert same_weights(silent, drawing)


@pytest.mark.parametrize("share", ["all", "one"])
@pytest.mark.parametrize("every", ["checkpoint_every", "validate_every"])
def test_weights_that_are_no_numbers_are_neither_saved_nor_exported(tmp_path, monkeypatch, every, share):
    job = Sentences([[0]])
    spoilt = job.model.output.weight.data if share == "all" else job.model.output.weight.data[:1, :1]
    monkeypatch.setattr(job, "step", lambda entry: spoilt.fill_(math.inf))
    with pytest.raises(NumericsError, match=r"diverged at step 1: the update was so large.*No checkpoint had been"):
        run(job, tmp_path, steps=2, **{every: 1})
    assert checkpoint.checkpoints(tmp_path / "checkpoints") == []
    assert leftovers(tmp_path) == []
    assert job.exported == []


def test_a_huge_rate_is_found_out(tmp_path):
    with pytest.raises(NumericsError, match=r"training diverged at step \d+.*sentences \d+, .*No checkpoint.*1e\+06"):
        train_here(
            tmp_path,
            lr=1e6,
            optimizer="sgd",
            schedule="constant",
            max_grad_norm=1e6,
            checkpoint_every=100,
            validate_every=9,
        )


def test_many_sentences_are_not_all_named(tmp_path):
    job = Sentences([[0] * 15])
    with torch.no_grad():
        job.model.output.weight.fill_(math.nan)
    with pytest.raises(NumericsError, match=r"sentences 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 and 3 more of"):
        run(job, tmp_path)


def test_a_translator_is_trained_logged_and_loadable(tmp_path):
    outcome = train_here(tmp_path, metric="bleu", steps=6, validate_every=3, log_every=4)
    entries = log_of(tmp_path / "out")
    assert [entry["step"] for entry in entries] == [3, 4, 6, 6]
    assert set(entries[1]) == {"step", "loss", "lr", "tokens", "epoch", "padding"}
    assert {"loss", "bleu", "chrf", "ter"} < set(entries[0]["valid"])
    assert {"attention/entropy", "attention/coverage", "attention/end_share"} < set(entries[0]["valid"])
    assert outcome.progress.best == max(entry["valid"]["bleu"] for entry in entries if "valid" in entry)
    assert load_task(tmp_path / "out").predict(["ant bee"], recipe_of(settings(tmp_path)).search)[0].text is not None


def test_the_first_steps_get_no_advice_about_attention(tmp_path, monkeypatch):
    job, told = Sentences([[0]], losses=[{"loss": 1.0, "notes": ["almost uniform"]}] * 20), []
    monkeypatch.setattr(job, "note", told.append)
    monkeypatch.setattr(job, "validated", lambda entry: told.append(entry["step"]))
    run(job, tmp_path, steps=20, validate_every=1)
    assert told[:3] == [1, 2, "almost uniform"]
    assert told.count("almost uniform") == 19
    told.clear()
    run(job, tmp_path / "short", steps=100, minutes=1e-9)
    assert told == [1], "the time was up after the first of 100 steps"


def test_a_model_without_attention_has_no_health_to_log(tmp_path):
    train_here(tmp_path, model={"preset": "cho", "attention": None}, steps=2, validate_every=2)
    assert set(log_of(tmp_path / "out")[-1]["valid"]) == {"loss"}


RANDOM = {"ema": 0.9, "accumulate": 2, "scheduled_sampling": 0.5, "word_dropout": 0.1, "steps": 10, "validate_every": 4}


def test_a_finished_part_goes_on_to_the_same_end(tmp_path, monkeypatch):
    """The schedule is constant, so that it does not depend on the number of steps."""
    random = {**RANDOM, "schedule": "constant", "scheduled_sampling": 0.0, "log_every": 3}
    train_here(tmp_path, "whole", model=DROPOUT, **random)
    train_here(tmp_path, "parts", model=DROPOUT, **(random | {"steps": 5}))
    train_here(tmp_path, "parts", model=DROPOUT, resume=True, **random)
    assert end_of(tmp_path / "parts") == end_of(tmp_path / "whole")
    whole, parts = log_of(tmp_path / "whole"), log_of(tmp_path / "parts")
    assert [entry for entry in parts if entry["step"] > 6] == [entry for entry in whole if entry["step"] > 6]


def test_precision_that_was_chosen_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "choose_precision", lambda *_: "bf16-mixed")
    train_here(tmp_path, steps=2, precision="auto")
    monkeypatch.setattr(loop, "choose_precision", lambda *_: pytest.fail("asked again"))
    train_here(tmp_path, steps=3, precision="auto", resume=True)
    last = checkpoint.latest(tmp_path / "out" / "checkpoints")
    assert checkpoint.read_progress(last).precision == {"cpu": "bf16-mixed"}


def test_a_run_resumed_when_it_is_done_changes_nothing(tmp_path):
    train_here(tmp_path, steps=4)
    before = end_of(tmp_path / "out")
    assert train_here(tmp_path, steps=4, resume=True).why == "finished"
    assert end_of(tmp_path / "out") == before


def test_what_killed_runs_left_is_swept_away(tmp_path):
    out = tmp_path / "out"
    train_here(tmp_path, steps=2, checkpoint_every=1)
    (out / ".model.safetensors.12345678.saccade.part").write_text("half")
    (out / "checkpoints" / ".step-00000003.12345678.saccade.part").mkdir()
    (out / ".film.part").write_text("not ours")
    train_here(tmp_path, steps=2, checkpoint_every=1, resume=True)  # there is no step left, and nothing to save
    assert leftovers(out) == [".film.part"]


def spoil(out, name, change):
    """Change a file of the last checkpoint and update its checksum."""
    folder = checkpoint.latest(out / "checkpoints")
    change(folder / name)
    (folder / "SHA256SUMS").unlink()
    write_list(folder)
    return folder


def change_progress(**changes):
    def change(path):
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"moon": 1},
            r"step-00000002/progress\.json is damaged, or was written by another version of saccade: moon: Extra",
        ),
        ({"version": 3}, r"another version of saccade: version: Input should be 1 or 2"),
        ({"place": [0, 3]}, r"step-00000002 is damaged: 2 steps cannot have reached \(0, 3\) in the data"),
        ({"place": [3, 0]}, r"2 steps cannot have reached \(3, 0\) in the data"),
    ],
)
def test_progress_that_cannot_be_is_refused(tmp_path, changes, message):
    train_here(tmp_path, steps=2)
    spoil(tmp_path / "out", "progress.json", change_progress(**changes))
    with pytest.raises(CheckpointError, match=message):
        train_here(tmp_path, steps=3, resume=True)


@pytest.mark.parametrize("random", [{}, {"cpu-0": torch.ones(3)}])
def test_random_states_that_cannot_be_used_are_refused(tmp_path, random):
    train_here(tmp_path, steps=2)
    spoil(tmp_path / "out", "random.safetensors", lambda path: save_file(random, path))
    with pytest.raises(CheckpointError, match="is damaged: its random state of process 0 cannot be used"):
        train_here(tmp_path, steps=3, resume=True)


def test_a_run_that_began_on_a_gpu_goes_on_without(tmp_path, monkeypatch):
    train_here(tmp_path, steps=2)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda *given: pytest.fail("there is no GPU"))
    states = {"cpu-0": torch.get_rng_state(), "cuda-0": torch.zeros(16, dtype=torch.uint8)}
    spoil(tmp_path / "out", "random.safetensors", lambda path: save_file(states, path))
    assert train_here(tmp_path, steps=3, resume=True).progress.step == 3


def test_every_update_goes_along_its_own_gradient_alone(tmp_path):
    """Two steps of SGD, computed manually."""
    job, twin = Sentences([[0], [1]]), Sentences([[0], [1]])
    run(job, tmp_path, steps=2, optimizer="sgd", max_grad_norm=None, lr=0.5)
    for number in (0, 1):
        load = twin._load([number], Cursor())
        loss = losses_of(twin.objective.train(), load.batch).total / load.tokens
        slopes = torch.autograd.grad(loss, list(twin.model.parameters()), allow_unused=True)
        with torch.no_grad():
            for parameter, slope in zip(twin.model.parameters(), slopes, strict=True):
                parameter.sub_(0.0 if slope is None else 0.5 * slope)
    for name, tensor in checkpoint.weights_of(twin.model).items():
        torch.testing.assert_close(checkpoint.weights_of(job.model)[name], tensor)


def test_a_running_mean_that_is_missing_is_refused(tmp_path):
    train_here(tmp_path, steps=2, ema=0.9)
    spoil(tmp_path / "out", "ema.safetensors", Path.unlink)
    with pytest.raises(CheckpointError, match="its running mean has other weights"):
        train_here(tmp_path, steps=3, ema=0.9, resume=True)


def test_a_place_beyond_the_data_is_refused(tmp_path):
    train_here(tmp_path, steps=20, tokens_per_batch=400)
    spoil(tmp_path / "out", "progress.json", change_progress(place=[0, 20]))
    with pytest.raises(
        DataError, match=r"cannot resume after batch 20 of epoch 0, which has \d batches\. The training data"
    ):
        train_here(tmp_path, steps=21, tokens_per_batch=400, resume=True)


def test_a_changed_recipe_is_refused_with_all_that_changed(tmp_path):
    train_here(tmp_path, steps=2)
    with pytest.raises(ConfigError) as told:
        train_here(tmp_path, model={"embedding": 9}, steps=4, lr=0.5, max_grad_norm=None, resume=True)
    assert (
        "- model.embedding: was 8, is 9\n- train.lr: was 0.01, is 0.5\n- train.max_grad_norm: was 1.0, is None\n"
        in str(told.value)
    )
    assert "steps" not in str(told.value)
    assert train_here(tmp_path, steps=3, log_every=7, keep_checkpoints=5, resume=True).progress.step == 3


def test_a_model_is_not_overwritten(tmp_path):
    train_here(tmp_path, steps=2)
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match=r"out already holds a trained model\. Continue it with --resume"):
        train_here(tmp_path, steps=4)
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_classifier_and_a_language_model_are_trained_too(tmp_path):
    source, _ = write_text(tmp_path / "text")
    lines = Path(source).read_text().splitlines()
    (tmp_path / "labels.tsv").write_text(
        "".join(f"{'even' if len(line.split()) % 2 == 0 else 'odd'}\t{line}\n" for line in lines)
    )
    made = settings(tmp_path, steps=3)
    for task, files in (("classification", str(tmp_path / "labels.tsv")), ("language-modeling", source)):
        recipe = recipe_of(made | {"task": task, "data": made["data"] | {"train": files}})
        assert train(recipe, tmp_path / task).progress.best is not None


def test_updates_count_as_changes_of_the_weights(tmp_path):
    """A fused optimizer does not bump tensor versions, so weight caches would become stale."""
    job = Sentences([[0, 1]])
    before = [parameter._version for parameter in job.model.parameters()]
    run(job, tmp_path, steps=2, validate_every=5, checkpoint_every=5)
    assert all(parameter._version > old for parameter, old in zip(job.model.parameters(), before, strict=True))
