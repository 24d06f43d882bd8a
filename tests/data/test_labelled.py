"""Tables of texts with labels, in every format, with the names and traps of real files."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.data import content_of, read, read_examples, read_labelled, read_sentences
from readlet.data.columns import DataFormat, parse_columns
from readlet.data.writing import write_sentences
from readlet.errors import InputError, ReadletError
from readlet.types import Sentence

ROWS = [
    Sentence("1", 'A "fine", long; walk', "good"),
    Sentence("2", "dull\tand\nslow", "bad"),
    Sentence("3", "é à ü", "so so"),
]
PAIRS = [Sentence("a", "It rains.", "1", "Rain falls."), Sentence("b", "No.", None, "Yes.")]


def labels(path: Path, **options: Any) -> list[str | None]:
    return [sentence.label for sentence in read_labelled(path, data_format=DataFormat(), **options)]


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.csv.gz", "a.jsonl.gz", "a.parquet"]
)
@pytest.mark.parametrize("rows", [ROWS, PAIRS], ids=["single", "pairs"])
def test_written_texts_are_read_back(tmp_path: Path, name: str, rows: list[Sentence]) -> None:
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    write_sentences(path, rows)
    assert list(read(path)) == rows
    assert content_of(path) == "texts"
    assert read_labelled(path, allow_unlabelled=True) == rows


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json"])
@given(pairs=st.lists(st.tuples(TEXT, st.sampled_from(["0", "1", 'a "b"', "x\ty"])), min_size=1))
def test_read_write_read_is_the_identity(
    name: str, pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [Sentence(f"id {n}", text, label) for n, (text, label) in enumerate(pairs)]
    path = tmp_path_factory.getbasetemp() / name
    write_sentences(path, rows)
    assert list(read(path)) == rows


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_what_a_table_cannot_store_is_refused(tmp_path: Path, name: str) -> None:
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    with pytest.raises(ReadletError, match=r"'a': .*single texts and pairs.*jsonl"):
        write_sentences(tmp_path / name, [*ROWS, *PAIRS])
    with pytest.raises(ReadletError, match=r"'h': .*unpaired surrogate.*jsonl"):
        write_sentences(tmp_path / name, [Sentence("h", "\ud83d", "1")])
    assert list(tmp_path.iterdir()) == []


# --- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("text,label", "fine,1", Sentence("1", "fine", "1")),
        ("review,sentiment", "fine,pos", Sentence("1", "fine", "pos")),
        ("Review Text;Category", "fine;pos", Sentence("1", "fine", "pos")),
        ("idx\tSentence\tClass", "7\tfine\tpos", Sentence("7", "fine", "pos")),
        ("premise|hypothesis|label", "a|b|0", Sentence("1", "a", "0", "b")),
        ("id,sentence1,sentence2,score", "x,a,b,2.5", Sentence("x", "a", "2.5", "b")),
        ("question1,question2,label", "a,b,0", Sentence("1", "a", "0", "b")),
        ("question,sentence,label", "a,b,0", Sentence("1", "a", "0", "b")),
        ("question,label", "Who?,person", Sentence("1", "Who?", "person")),
        ("text,text_pair,label", "a,b,0", Sentence("1", "a", "0", "b")),
        # Names of its own decide: the others may be anything.
        ("text,label,score,title", "fine,pos,0.3,t", Sentence("1", "fine", "pos")),
        (" text , label ", "fine,pos", Sentence("1", "fine", "pos")),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is read as")
def test_usual_names(tmp_path: Path, header: str, row: str, expected: Sentence) -> None:
    path = write(tmp_path / "rows", f"{header}\n{row}\n")
    assert list(read(path)) == [expected]
    assert content_of(path) == "texts"


@pytest.mark.parametrize(
    "header",
    [
        "question,context,answer",
        "question,text,answer",
        "question,passage,label",
        "query,text,answers,score",
        "question,document",
    ],
)
@pytest.mark.filterwarnings("ignore:.*is read as")
def test_questions_stay_questions(tmp_path: Path, header: str) -> None:
    cells = ["Ada came."] * (header.count(",") + 1)
    path = write(tmp_path / "rows", f"{header}\n{','.join(cells)}\n")
    assert content_of(path) == "questions"


def test_a_guess_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "review,stars\nfine,5\n")
    with pytest.warns(UserWarning, match="is read as") as caught:
        list(read(path))
    said = [str(warning.message) for warning in caught]
    assert said == [
        f"{path}: column 'review' is read as 'text'",
        f"{path}: column 'stars' is read as 'label'",
    ]


@pytest.mark.filterwarnings("error")
def test_the_question_about_the_content_warns_of_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "review,stars\nfine,5\n")
    assert content_of(path) == "texts"
    assert list(read(write(path, "sentence,label\nfine,5\n")))  # so plain that it is no guess


def test_named_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "text,label,titre,avis\nthe id,old,Fin,bon\n")
    columns = parse_columns(["text=titre", "second=text", "label=avis"])
    assert list(read(path, DataFormat(columns))) == [Sentence("1", "Fin", "bon", "the id")]
    assert content_of(path, DataFormat(columns)) == "texts"
    with pytest.raises(ReadletError, match=r"no column 'ton' .*--column label=NAME"):
        list(read(path, DataFormat({"label": "ton"})))
    with pytest.raises(ReadletError, match="'context' is a field of questions, 'text' of texts"):
        parse_columns(["text=a", "context=b"])
    with pytest.raises(ReadletError, match="--column names a field of questions"):
        read_labelled(path, data_format=DataFormat({"context": "text"}))


def test_ambiguous_names_are_not_guessed(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "text,sentiment,score\nfine,pos,0.9\n")
    with pytest.raises(ReadletError, match=r"no labels: no column 'label' .*--column label=NAME"):
        read_labelled(path, data_format=DataFormat())
    # Where columns cannot be named, they are to be renamed.
    with pytest.raises(ReadletError, match=r"readlet data convert .*--column label=NAME"):
        read_labelled(path)
    assert labels(path, allow_unlabelled=True) == [None]
    path = write(tmp_path / "rows.csv", "review,content,label\nfine,x,pos\n")
    with pytest.raises(ReadletError, match=r"no column 'text' .*--column text=NAME"):
        list(read(path))


def test_names_that_say_nothing(tmp_path: Path) -> None:
    """A table without a header, for example."""
    path = write(tmp_path / "rows.tsv", "a fine day\tpos\na dull day\tneg\n")
    with pytest.raises(ReadletError, match=r"no column 'question'.*texts .*--column text=NAME"):
        list(read(path))


# --- labels ---------------------------------------------------------------------------------------


def test_a_label_is_the_same_in_every_format(tmp_path: Path) -> None:
    """Whole numbers have no fraction: missing values in a table turn 1 into 1.0."""
    rows: list[tuple[Any, str]] = [
        (1, "1"), (1.0, "1"), (" 1.0 ", "1"), ("-2.00", "-2"), (2.5, "2.5"), ("2.5", "2.5"),
        ("v1.0", "v1.0"), ("a b", "a b"), ("None", "None"), (10**20, str(10**20)),
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": "t", "label": v}) + "\n" for v, _ in rows))
    assert labels(path) == [text for _, text in rows]
    path.write_text("text,label\n" + "".join(f"t,{value}\n" for value, _ in rows))
    assert labels(path) == [text for _, text in rows]
    assert labels(write(path, '{"text": "t", "label": true}\n')) == ["true"]


@pytest.mark.parametrize("missing", ["", "null", '""', '"  "', "NaN"])
def test_rows_without_a_label(tmp_path: Path, missing: str) -> None:
    field = f', "label": {missing}' if missing else ""
    text = f'{{"id": "a", "text": "t", "label": 1}}\n{{"id": "b", "text": "t"{field}}}\n'
    path = write(tmp_path / "rows.jsonl", text)
    assert labels(path, allow_unlabelled=True) == ["1", None]
    with pytest.raises(ReadletError, match=r"row 'b': has no label; .*data check"):
        read_labelled(path)


@pytest.mark.parametrize("value", ['["a", "b"]', '{"a": 1}'])
def test_several_labels(tmp_path: Path, value: str) -> None:
    path = write(tmp_path / "rows.jsonl", f'{{"text": "t", "label": {value}}}\n')
    with pytest.raises(ReadletError, match=r"line 1: 'label' is .*; give each row one label"):
        list(read(path))


def test_parquet_labels(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    table = {"text": ["a", "b", None, "d"], "label": [1.0, 0.0, 1.0, None], "idx": [5, 6, 7, 8]}
    parquet.write_table(arrow.table(table), path)
    faults: list[Exception] = []
    with pytest.warns(UserWarning, match="column 'idx' is read as 'id'"):
        found = list(read(path, on_fault=faults.append))
    assert found == [Sentence("5", "a", "1"), Sentence("6", "b", "0"), Sentence("8", "d", None)]
    assert [str(fault) for fault in faults] == [
        f"{path}: row 3: 'text' is missing; give every record a text 'text'"
    ]


def test_a_table_without_labels(tmp_path: Path) -> None:
    """For predictions: the columns do not say what it is, but the caller knows."""
    path = write(tmp_path / "rows.csv", "id,text\na,fine\n")
    assert read_labelled(path, allow_unlabelled=True) == [Sentence("a", "fine", None)]
    with pytest.raises(ReadletError, match="its texts have no labels: no column 'label'"):
        read_labelled(path)
    path = write(tmp_path / "rows.csv", "text\nfine\n\ndull\n")  # a single column
    assert [s.text for s in read_labelled(path, allow_unlabelled=True)] == ["fine", "dull"]
    path = write(tmp_path / "rows.tsv", "index\tsentence\n0\tfine\n")  # a test file of GLUE
    with pytest.warns(UserWarning, match="'index' is read as 'id'"):
        assert read_labelled(path, allow_unlabelled=True) == [Sentence("0", "fine", None)]


# --- encodings, compression, other structures -----------------------------------------------------


def test_encodings_and_compression(tmp_path: Path) -> None:
    text = "text;label\nÄ fein;gut\n"
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode("cp1252"))
    with pytest.raises(ReadletError, match="--encoding cp1252"):
        read_labelled(path, data_format=DataFormat())
    assert read_labelled(path, data_format=DataFormat(encoding="cp1252")) == [
        Sentence("1", "Ä fein", "gut")
    ]
    path.write_bytes(gzip.compress(text.encode("utf-16")))
    assert read_labelled(path) == [Sentence("1", "Ä fein", "gut")]


def test_json_lists(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": 0}, {"text": "b", "label": 1}]
    path = write(tmp_path / "rows.json", json.dumps({"version": 1, "data": rows}))
    assert labels(path) == ["0", "1"]
    path = write(tmp_path / "rows.json", json.dumps(rows, indent=1))
    assert labels(path) == ["0", "1"]
    row = {"data": "x", "text": "a", "label": 0}
    assert labels(write(tmp_path / "rows.jsonl", json.dumps(row))) == ["0"]


def test_hub(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    write_sentences(tmp_path / "train.jsonl", ROWS)
    assert read_labelled(f"hub:{tmp_path}@train") == ROWS


# --- quotes and tabs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        # A quote at the start of a cell opens nothing: the rows stay apart.
        ('"dull walk\tneg\nbright "\tpos\n', ['"dull walk', 'bright "']),
        ('"fine" day\tpos\n', ['"fine" day']),
        ('"whole"\tpos\n', ['"whole"']),
        ("a\u2028b\tpos\n", ["a\u2028b"]),  # no end of a line
    ],
)
def test_quotes_in_tsv(tmp_path: Path, rows: str, texts: list[str]) -> None:
    path = write(tmp_path / "rows.tsv", f"text\tlabel\n{rows}")
    assert [item.text for item in read_sentences(path)] == texts
    path = write(tmp_path / "rows.tsv", f"text\tlabel\n{rows}".replace("\n", "\r\n"))
    assert [item.text.replace("\r", "") for item in read_sentences(path)] == texts


@pytest.mark.parametrize(
    ("rows", "texts", "places"),
    [
        ('1\t"a\n0\tc "\n', ['"a', 'c "'], []),
        ('1\t"a\nb\n0\tc\n', ['"a', "c"], ["line 3"]),
        ("1\ta\tb\n0\tc\n", ["c"], ["line 2"]),
        ('1\t"a\tb\n0\tc "\n', ['c "'], ["line 2"]),  # not joined to one text
        ('"1\n0\tc\n', ["c"], ["line 2"]),
    ],
)
def test_text_in_the_last_column(
    tmp_path: Path, rows: str, texts: list[str], places: list[str]
) -> None:
    path = write(tmp_path / "rows.tsv", f"label\ttext\n{rows}")
    faults: list[Any] = []
    found = list(read(path, on_fault=faults.append))
    assert [item.text for item in found if isinstance(item, Sentence)] == texts
    assert [fault.place for fault in faults] == places


def test_a_stray_quote_takes_no_longer_than_another_row(tmp_path: Path) -> None:
    """It is not sought in the rest of the file, nor is any row after it lost."""
    path = write(tmp_path / "rows.tsv", "label\ttext\n" + '"oops\n' + "1\tfine\n" * 5000)
    faults: list[Any] = []
    assert len(list(read(path, on_fault=faults.append))) == 5000
    assert [fault.place for fault in faults] == ["line 2"]


def test_too_many_tabs(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.tsv", "text\tlabel\nfine\tpos\nnot\tfine\tneg\n")
    with pytest.raises(InputError) as caught:
        read_labelled(path)
    assert (caught.value.source, caught.value.place) == (path, "line 3")
    assert "data check" in caught.value.remedy


# --- validation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("text,label\nfine,1\n ,0\n", "row '2': the text is empty; correct or remove the row"),
        ("text,second,label\na,b,1\nc,,0\n", "row '2': the second text is empty"),
        ('{"text": "a", "second": "b", "label": 1}\n{"text": "c", "label": 1}\n', "no second text"),
        ("question,context,answer\nWho?,Ada.,Ada\n", "contains questions, not texts with labels"),
        ("text,label\n", "contains no texts"),
    ],
)
def test_invalid_texts(tmp_path: Path, text: str, fault: str) -> None:
    path = write(tmp_path / "rows", text)
    with pytest.raises(ReadletError, match=fault):
        read_labelled(path)


def test_squad_is_not_read_as_texts() -> None:
    with pytest.raises(ReadletError, match="contains questions, not texts with labels"):
        read_labelled("bundled:dev")
    assert content_of("bundled:dev") == "questions"


def test_texts_are_not_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "text,label\nfine,1\n")
    with pytest.raises(ReadletError, match="contains texts, not questions; give question data"):
        list(read_examples(path))


def test_several_files(tmp_path: Path) -> None:
    """Ids are made unique; columns apply to the files that have any."""
    one = write(tmp_path / "one.csv", "avis,label\nfine,1\ndull,0\n")
    cola = write(tmp_path / "cola.tsv", "a\t1\t\tGood.\n")
    with pytest.warns(UserWarning, match="1 × repeated id: a number is appended"):
        found = read_labelled(one, cola, data_format=DataFormat({"text": "avis"}))
    assert [(s.id, s.text) for s in found] == [("1", "fine"), ("2", "dull"), ("1-2", "Good.")]
    pairs = write(tmp_path / "pairs.csv", "text,second,label\na,b,1\n")
    with pytest.raises(ReadletError, match=rf"pairs.csv: has pairs of texts, unlike {cola}"):
        read_labelled(cola, pairs)
