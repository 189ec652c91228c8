"""Shipped recipes are valid, all faults are reported at once, and saved recipes keep their meaning."""

import pytest

from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError
from saccade.recipes import RecipeText, parse_yaml, shipped, to_yaml
from saccade.runs.folder import build_task
from saccade.runs.recipe import load_recipe, parse_recipe

PLAIN = "task: translation\ndata: {corpus: english-french}\n"


def parsed(text):
    return parse_recipe(parse_yaml(text, "here.yaml"))


@pytest.mark.parametrize("name", shipped())
def test_every_recipe_that_ships_is_whole_and_says_what_it_is_for(name):
    recipe = load_recipe(name)
    assert recipe.note
    assert recipe.model_settings()


@pytest.mark.parametrize("name", shipped())
def test_the_model_of_every_recipe_can_be_built_and_guided_as_it_says(name):
    recipe = load_recipe(name)
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), ["a b c d"], "target")
    model = build_task(recipe, Tokenizers(tokenizer, tokenizer, ["bad", "good"])).model
    assert sum(parameter.numel() for parameter in model.parameters()) > 1000
    taught = recipe.objective.get("guided_alignment", {"site": None, "head": None})
    site, head = taught["site"], taught["head"]
    assert site is None or site in model.source_sites
    assert head is None or head < recipe.model["attention"]["heads"]


@pytest.mark.parametrize("name", shipped())
def test_a_resolved_recipe_is_its_own_recipe(name):
    recipe = load_recipe(name)
    again = parsed(to_yaml(recipe.dump()))
    assert again == recipe
    assert again.dump() == recipe.dump()


def test_a_preset_is_filled_in_and_can_be_changed():
    model = parsed(f"{PLAIN}model: {{preset: luong-general, encoder: {{layers: 1}}, decoder: {{layers: 1}}}}").model
    assert model["preset"] == "luong-general"
    assert model["attention"]["score"] == "general"
    assert (model["encoder"]["layers"], model["encoder"]["reverse"]) == (1, True)


def test_a_model_without_a_preset_is_recurrent():
    recipe = parsed(PLAIN)
    assert recipe.preset is None
    assert recipe.model["encoder"]["cell"] == "gru"


def test_three_typos_are_told_at_once_with_their_lines():
    wrong = (
        "task: translation\ndata: {corpus: english-frnch}\ntrain:\n  lr: 1e-3\n  stepps: 5\nmodel:\n\n  embeding: 4\n"
    )
    with pytest.raises(ConfigError) as caught:
        parsed(wrong)
    first, *faults = str(caught.value).splitlines()
    assert first == "here.yaml cannot be used as it is:"
    assert len(faults) == 3
    assert faults[0].startswith("- line 2, data: corpus 'english-frnch' does not exist. Did you mean 'english-french'?")
    assert faults[1].startswith("- line 5, train.stepps: setting 'stepps' does not exist. Did you mean 'steps'?")
    assert faults[2].startswith(
        "- line 8, model.embeding: setting 'embeding' does not exist. Did you mean 'embedding'?"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"- task: this setting is needed\n- data: this setting is needed"),
        (
            "task: translate\ndata: {corpus: reading}",
            r"line 1, task: task 'translate' does not exist. Did you mean 'translation'",
        ),
        ("task: language-modeling\ndata: {}", r"line 2, data: say where the data come from: .*there is nothing"),
        ("task: language-modeling\ndata: {corpus: reading, train: x}", r"there is corpus and train"),
        (
            "task: language-modeling\ndata: {corpus: english-french}",
            r"english-french has sentence pairs, but language-modeling needs texts",
        ),
        ("task: translation\ndata: {corpus: english-french, lengths: [2, 9]}", r"lengths are \[2, 9\], but must rise"),
        ("task: translation\ndata: {corpus: english-french, lengths: [9, 5]}", r"lengths are \[9, 5\], but must rise"),
        (f"{PLAIN}train: 5", r"line 3, train: Input should be .*it is 5"),
        (
            f"{PLAIN}train: {{lr: -1}}",
            r"train\.lr: Input should be greater than 0 \(it is -1\); for example lr: 0\.001",
        ),
        (f"{PLAIN}train: {{lr: .inf}}", r"train\.lr: Input should be a finite number"),
        (f"{PLAIN}train: {{precision: half}}", r"line 3, train\.precision: Input should be 'auto', 'fp32'"),
        (f"{PLAIN}model: 5", r"line 3, model: Input should be a valid dictionary \(it is 5\)"),
        (f"{PLAIN}model: {{preset: bahdanu}}", r"line 3, model\.preset: preset 'bahdanu' .* mean 'bahdanau'\?"),
        (f"{PLAIN}model: {{preset: [a]}}", r"model\.preset: preset \['a'\] does not exist"),
        (f"{PLAIN}model: {{encoder: {{cell: gruu}}}}", r"model\.encoder\.cell: cell 'gruu' .* mean 'gru'\?"),
        (f"{PLAIN}model: {{encoder: {{bidirectional: yes}}}}", r"it is 'yes'\); for example bidirectional: false"),
        (f"{PLAIN}model: {{attention: {{score: dott}}}}", r"model\.attention\.score: score 'dott' .* mean 'dot'\?"),
        (f"{PLAIN}search: {{beam: 2, nbest: 3}}", r"search: nbest is 3, but a beam of 2 finds at most 2: raise beam"),
        (f"{PLAIN}data2: 1", r"line 3, data2: setting 'data2' does not exist\. Did you mean 'data'\?"),
        (
            "task: translation\ndata:\n  train: 5",
            r"line 3, data\.train: Input should be a valid string \(it is 5\), or: Input should be a valid list",
        ),
        (
            "task: translation\ndata:\n  train: [a, 5]",
            r"line 3, data\.train\.1: Input should be a valid string \(it is 5",
        ),
        (
            "task: language-modeling\ndata: {corpus: reading}\ntrain: {horizontal_flip: 0.5}",
            r"line 3, train\.horizontal_flip: language-modeling has no images to flip: set it to 0",
        ),
        (
            "task: language-modeling\ndata: {corpus: reading}\ntrain: {guided_alignment: 1.0}",
            r"line 3, objective\.guided_alignment: language-modeling has no gold alignments: leave it out",
        ),
        (f"{PLAIN}model: {{preset: transformer-base, tied: true}}", r"model\.tied: one matrix for both sides needs"),
    ],
)
def test_faults_say_where_and_what(text, message):
    with pytest.raises(ConfigError, match=message):
        parsed(text)


def test_a_fault_of_the_command_line_names_no_line_of_the_file():
    with pytest.raises(ConfigError, match=r"- train\.lr: Input should be a valid number .*it is 'fast'"):
        load_recipe("english-french", ["train.lr=fast"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": {"metric": "blue"}}, r"train\.metric: metric of translation 'blue' .* Did you mean 'bleu'\?"),
        ({"train": {"metric": "accuracy"}}, r"metric of translation 'accuracy' does not exist"),
        ({"train": {"strategy": "fsdp", "ema": 0.9}}, r"ema keeps whole weights, which fsdp spreads"),
    ],
)
def test_what_cannot_work_is_told_before_training(change, message):
    settings = {"task": "translation", "data": {"corpus": "english-french"}, **change}
    with pytest.raises(ConfigError, match=message):
        parse_recipe(RecipeText(settings, "here"))
