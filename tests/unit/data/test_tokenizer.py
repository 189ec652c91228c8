"""Text to tokens and back, exactly; which word each token belongs to; and every way a tokenizer can be refused."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saccade.batch import BOS, EOS, PAD, SPECIALS, UNK
from saccade.config import parse
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.errors import CheckpointError, ConfigError, DataError

LINES = [
    "the black cat sat on the mat , and the dog  sat beside it .",
    "l'accord coûte 3,14 euros , dit-il .",
    "naïve café — « quoted » <eos> <pad>  twice\tonce\n",
    "שלום עולם 😀 e\u0301 n\u0303",
] * 4
EXACT = ("bpe", "unigram")
KINDS = ("word", "char", *EXACT)
ODD = [
    "",
    " ",
    "   ",
    "  two  leading and  trailing  ",
    "\ttab\nnew line\r\n",
    "line\u2028paragraph\u2029nbsp\u00a0wide\u3000end",
    "😀 👩‍👩‍👧 🇫🇷",
    "e\u0301\u0323 \u0301alone",
    "שלום עולם \u202bright\u202c",
    "<eos> <pad> <bos> <unk>",
    "a<eos>b ▁ Ġ ĠA",
    "\x00\x01\x1c\x1d a \x85b\u200b",
    "İI ΑΣ Σ",
]
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.text("ab' ,3<>\n\t\u2028\x1c é😀", max_size=30),
    st.lists(st.sampled_from(["the", "cat", "l'accord", "3,14", "😀", "<eos>"]), max_size=8).map(" ".join),
    st.sampled_from(ODD),
)


def trained(kind, lines=LINES, **options):
    return Tokenizer.train(TokenizerConfig(kind=kind, **options), lines)


@pytest.fixture(scope="module")
def made():
    """One tokenizer of each kind; that of characters knows those of ODD."""
    return {kind: trained(kind, LINES + ODD if kind == "char" else LINES) for kind in KINDS}


@pytest.mark.parametrize("kind", EXACT)
@given(text=texts)
@settings(max_examples=60)
def test_pieces_spell_every_text_exactly(made, kind, text):
    tokens = made[kind].encode(text).tokens
    assert made[kind].decode(tokens) == text
    assert min(tokens, default=UNK + 1) > UNK


@given(text=st.text(sorted({letter for text in LINES + ODD for letter in text}), max_size=30))
def test_known_characters_spell_a_text_exactly(made, text):
    tokens = made["char"].encode(text).tokens
    assert len(tokens) == len(text)
    assert made["char"].decode(tokens) == text


@pytest.mark.parametrize("kind", ["char", *EXACT])
@pytest.mark.parametrize("text", ODD)
def test_odd_texts_come_back(made, kind, text):
    assert made[kind].decode(made[kind].encode(text).tokens) == text


def test_words_are_joined_with_single_spaces(made):
    assert made["word"].decode(made["word"].encode("  the\tblack \n cat ").tokens) == "the black cat"


def test_what_training_did_not_see_is_unknown_to_words_and_characters(made):
    assert made["word"].encode("the zebra sat").tokens[1] == UNK
    assert made["word"].decode(made["word"].encode("the zebra sat").tokens) == "the <unk> sat"
    assert made["char"].encode("catΩ").tokens[3] == UNK
    assert UNK not in made["char"].encode("cat").tokens


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_have_the_first_numbers(made, kind):
    assert made[kind].pieces([PAD, BOS, EOS, UNK]) == list(SPECIALS)
    assert len(made[kind]) > len(SPECIALS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("punctuation", ["split", "keep"])
@given(text=texts)
@settings(max_examples=10)
def test_text_never_makes_special_tokens(kind, punctuation, text):
    tokenizer = trained_once(kind, punctuation)
    for line in (text, " ".join(SPECIALS), "".join(SPECIALS)):
        found = tokenizer.encode(line).tokens
        assert not {PAD, BOS, EOS} & set(found)
        assert tokenizer.tokens([line]) == [found]


_trained = {}


def trained_once(kind, punctuation):
    """Trained on text that is full of special-looking words."""
    if (kind, punctuation) not in _trained:
        lines = [*LINES, *["<pad> <bos> <eos> <unk> <pad><eos>"] * 50]
        _trained[kind, punctuation] = trained(kind, lines, punctuation=punctuation)
    return _trained[kind, punctuation]


def test_special_looking_words_in_the_training_text_do_not_move_the_special_tokens():
    tokenizer = trained("word", ["<pad> a <eos> b"] * 3, punctuation="keep")
    assert tokenizer.pieces(range(len(tokenizer))) == [*SPECIALS, "a", "b"]
    assert tokenizer.encode("<pad> a <unk> b <bos>").tokens == [UNK, 4, UNK, 5, UNK]


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@settings(max_examples=40)
def test_tokens_belong_to_the_words_that_split_gives(made, kind, text):
    encoded = made[kind].encode(text)
    words = words_of(text)
    assert words == text.split()
    assert len(encoded.words) == len(encoded.tokens)
    assert encoded.words == sorted(encoded.words)
    assert set(encoded.words) == set(range(len(words))) or (not words and set(encoded.words) <= {0})


@pytest.mark.parametrize("kind", EXACT)
@given(text=texts)
@settings(max_examples=40)
def test_each_word_is_spelled_by_its_tokens(made, kind, text):
    encoded = made[kind].encode(text)
    for number, word in enumerate(text.split()):
        own = [token for token, at in zip(encoded.tokens, encoded.words, strict=True) if at == number]
        assert made[kind].decode(own).strip() == word


@pytest.mark.parametrize("kind", ["char", *EXACT])
@given(text=texts)
@example(text="   ")
@settings(max_examples=40)
def test_words_of_decoded_tokens_are_those_of_the_text(made, kind, text):
    encoded = made[kind].encode(text)
    if UNK not in encoded.tokens:
        assert made[kind].spelled(encoded.tokens)[1] == encoded


def test_words_of_decoded_words(made):
    encoded = made["word"].encode("the black cat")
    assert made["word"].spelled(encoded.tokens)[1] == encoded
    assert encoded.words == [0, 1, 2]


@pytest.mark.parametrize("kind", ["word", *EXACT])
@given(lines=st.lists(texts, max_size=6))
@settings(max_examples=40)
def test_cutting_word_by_word_changes_nothing(made, kind, lines):
    assert made[kind].encode_all(lines) == made[kind].encode_whole(lines)
    assert made[kind].tokens(lines) == [encoded.tokens for encoded in made[kind].encode_whole(lines)]


def test_few_words_are_remembered_and_forgotten_without_harm(made, monkeypatch):
    monkeypatch.setattr("saccade.data.tokenizer._MAX_CACHED_WORDS", 3)
    tokenizer = Tokenizer.restore(made["bpe"].state())
    for line in LINES:
        plain = " ".join(line.split())
        assert tokenizer.encode(plain) == tokenizer.encode_whole([plain])[0]
        assert len(tokenizer._known) <= 3 + len(plain.split())


@given(tokens=st.lists(st.integers(0, 255), max_size=12))
@settings(max_examples=60)
def test_any_bytes_a_model_may_write_have_words(made, tokens):
    found = made["bpe"].spelled([token + len(SPECIALS) for token in tokens])[1]
    words = made["bpe"].decode([token + len(SPECIALS) for token in tokens]).split()
    assert len(found.words) == len(tokens)
    assert found.words == sorted(found.words)
    assert max(found.words, default=0) <= max(len(words) - 1, 0)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=30)
def test_the_text_is_the_same_whether_words_are_asked_for(made, kind, data):
    tokens = data.draw(st.lists(st.integers(0, len(made[kind]) - 1), max_size=12))
    assert made[kind].spelled(tokens, words=False)[0] == made[kind].spelled(tokens)[0]


def test_broken_letters_do_not_shift_the_words_after_them(made):
    tokenizer = made["bpe"]
    broken = tokenizer.encode("👽").tokens[2:3] * 3  # bytes from inside a letter
    tokens = [*broken, *tokenizer.encode("the cat").tokens]
    assert tokenizer.decode(tokens) == "��� the cat"
    assert tokenizer.spelled(tokens)[1].words == [0, 0, 0, 1, 2]


def test_decoding_ends_at_the_end_and_skips_padding(made):
    for kind in KINDS:
        tokens = made[kind].encode("the cat").tokens
        assert made[kind].decode([BOS, *tokens, EOS, *tokens]) == "the cat"
        assert made[kind].spelled([BOS, *tokens, PAD])[1].tokens == tokens


def test_pieces_show_spaces(made):
    assert made["word"].pieces(made["word"].encode("the cat").tokens) == ["the", "cat"]
    assert made["char"].pieces(made["char"].encode("a b").tokens) == ["a", "▁", "b"]
    assert made["bpe"].pieces(made["bpe"].encode("the cat").tokens) == ["▁the", "▁cat"]
    assert "".join(made["unigram"].pieces(made["unigram"].encode("the cat").tokens)) == "▁the▁cat"
    assert "".join(made["bpe"].pieces(made["bpe"].encode("coûte").tokens)).replace("�", "") in ("▁coûte", "▁cote")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("l'accord", ["l'", "accord"]),
        ("aujourd’hui", ["aujourd’", "hui"]),
        ("3,14 1.000.000", ["3,14", "1.000.000"]),
        ("dit-il.", ["dit-il", "."]),
        ("(a, b)", ["(", "a", ",", "b", ")"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
    ],
)
def test_signs_stand_alone(text, pieces):
    tokenizer = trained("word", [text])
    assert tokenizer.pieces(tokenizer.encode(text).tokens) == pieces


def test_signs_may_be_kept():
    tokenizer = trained("word", ["l'accord, 3,14."], punctuation="keep")
    assert tokenizer.pieces(tokenizer.encode("l'accord, 3,14.").tokens) == ["l'accord,", "3,14."]


@pytest.mark.parametrize("kind", KINDS)
def test_lowercase(kind):
    tokenizer = trained(kind, ["The CAT"] * 2, lowercase=True)
    assert tokenizer.decode(tokenizer.encode("THE Cat").tokens) == "the cat"


def test_vocabularies_of_words_and_characters_have_at_most_their_size():
    tokenizer = trained("word", ["a a a b b c"], size=6)
    assert tokenizer.pieces(range(len(tokenizer))) == [*SPECIALS, "a", "b"]
    assert len(trained("word", ["a a a b b c"], size=100)) == 7
    assert len(trained("char", ["abc"], size=5)) == 5


@pytest.mark.parametrize("kind", ["word", "char"])
def test_what_is_rare_is_unknown(kind):
    tokenizer = trained(kind, ["a", "a", "b"], min_count=2)
    assert tokenizer.encode("b").tokens == [UNK]
    assert tokenizer.encode("a").tokens == [4]


def test_pieces_seen_less_often_are_not_merged():
    sizes = [len(trained("bpe", ["abc"] * 3, min_count=count)) for count in (1, 3, 4)]
    assert sizes == [263, 263, 260]


@pytest.mark.parametrize("kind", EXACT)
def test_pieces_have_exactly_their_size(kind):
    lines = ["the cat sat on the mat", "that hat is the thing that sat there", "other things gather there"] * 20
    assert len(trained(kind, lines, size=270)) == 270


@pytest.mark.parametrize("kind", EXACT)
def test_a_size_that_the_text_cannot_fill(kind):
    most = len(trained(kind))
    with pytest.raises(DataError, match=f"size is 5000, but the fr side has text for only {most} {kind} subwords"):
        Tokenizer.train(TokenizerConfig(kind=kind, size=5000), LINES, "fr")
    if kind == "bpe":
        assert len(trained(kind, size=most)) == most


@pytest.mark.parametrize("kind", EXACT)
def test_a_size_that_bytes_alone_would_fill(kind):
    with pytest.raises(ConfigError, match=rf"tokenizer.size is 260, but {kind} needs more than 260: 256 bytes"):
        trained(kind, size=260)
    assert len(trained(kind, size=261)) == 261


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [[], [""], ["  ", "\t"]])
def test_nothing_to_learn_from(kind, lines):
    with pytest.raises(DataError, match="the en side holds no text to make a tokenizer from"):
        Tokenizer.train(TokenizerConfig(kind=kind), lines, "en")


def test_nothing_seen_often_enough():
    with pytest.raises(DataError, match=r"nothing on the text side is seen 5 times.*Lower tokenizer.min_count"):
        trained("word", ["a b"], min_count=5)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_while_reading_the_text_is_told(kind):
    def lines():
        yield "some text"
        raise DataError("line 2 is not UTF-8")

    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        Tokenizer.train(TokenizerConfig(kind=kind), lines())


@pytest.mark.parametrize("text", ["a\ud800b", "a  \ud800"])
def test_half_a_character(made, text):
    for kind in KINDS:
        for encode in (made[kind].encode_all, made[kind].tokens):
            with pytest.raises(DataError, match=r"half a character, \\ud800"):
                encode(["fine", text])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_makes_the_same_vocabulary(kind):
    states = [json.dumps(trained(kind).state(), sort_keys=True) for _ in range(3)]
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize(
    "settings", [{"kind": "bytes"}, {"size": 4}, {"min_count": 0}, {"punctuation": "drop"}, {"sise": 3}]
)
def test_settings_that_do_not_exist(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        parse(TokenizerConfig, settings, "recipe.yaml")


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_apart(made, kind):
    kept = Tokenizers(made[kind], Tokenizer.restore(made["word"].state()))
    back = Tokenizers.parse(kept.dump(), "tokenizer.json")
    assert not back.shared
    assert (back.source.kind, back.target.kind, back.labels) == (kind, "word", None)
    for text in ODD:
        assert back.source.encode(text) == made[kind].encode(text)
        assert back.target.tokens([text]) == made["word"].tokens([text])
    assert back.dump() == kept.dump()


def test_saved_and_loaded_shared(made):
    back = Tokenizers.parse(Tokenizers(made["bpe"], made["bpe"]).dump(), "tokenizer.json")
    assert back.shared
    assert back.source is back.target


def test_saved_and_loaded_with_one_side(made):
    back = Tokenizers.parse(Tokenizers(None, made["char"]).dump(), "tokenizer.json")
    assert back.source is None
    assert back.target.encode("cat") == made["char"].encode("cat")
    back = Tokenizers.parse(Tokenizers(made["char"], None, ["good", "été"]).dump(), "tokenizer.json")
    assert back.target is None
    assert back.labels == ["good", "été"]


def changed(**changes):
    return json.dumps(json.loads(Tokenizers(trained("word"), None).dump()) | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"saccade_tokenizer": 1}',
        '{"model": "another tool\'s"}',
        changed()[:-200],
        changed(source={"kind": "word", "vocabulary": {}}),
        changed(source={"kind": "word"}),
        changed(source={**trained("word").state(), "kind": "syllables"}),
        changed(
            source={"kind": "word", "vocabulary": json.loads(json.dumps(trained("word").state()["vocabulary"]))}
        ).replace('"<pad>"', '"<pat>"'),
        changed(saccade_tokenizer="one"),
    ],
)
def test_what_is_no_tokenizer(text):
    with pytest.raises(CheckpointError, match=r"runs/a/tokenizer\.json is not a tokenizer of saccade, or is cut short"):
        Tokenizers.parse(text, "runs/a/tokenizer.json")


def test_a_newer_tokenizer():
    with pytest.raises(CheckpointError, match=r"tokenizer\.json was written by a newer saccade"):
        Tokenizers.parse(changed(saccade_tokenizer=2), "tokenizer.json")
