"""Tables of texts with labels, in every format, with the names and traps of real files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.data import content_of, read, read_labelled, read_sentences
from readlet.data.columns import DataFormat, parse_columns
from readlet.data.writing import write_examples
from readlet.errors import ReadletError
from readlet.types import Sentence

ROWS = [
    Sentence("1", 'A "fine", long; walk', "good"),
    Sentence("2", "dull\tand\nslow", "bad"),
    Sentence("3", "é à ü", "so so"),
]
PAIRS = [Sentence("a", "It rains.", "1", "Rain falls."), Sentence("b", "No.", None, "Yes.")]


def labels(path: Path, **options: Any) -> list[str | None]:
    return [sentence.label for sentence in read_sentences(path, **options)]


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
    write_examples(path, rows)
    assert list(read(path)) == rows
    assert content_of(path) == "texts"
    assert list(read_sentences(path, allow_unlabelled=True)) == rows


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json"])
@given(pairs=st.lists(st.tuples(TEXT, st.sampled_from(["0", "1", 'a "b"', "x\ty"])), min_size=1))
def test_read_write_read_is_the_identity(
    name: str, pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [Sentence(f"id {n}", text, label) for n, (text, label) in enumerate(pairs)]
    path = tmp_path_factory.getbasetemp() / name
    write_examples(path, rows)
    assert list(read(path)) == rows


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


def test_named_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "text,label,titre,avis\nthe id,old,Fin,bon\n")
    columns = parse_columns(["text=titre", "second=text", "label=avis"])
    assert list(read(path, DataFormat(columns))) == [Sentence("1", "Fin", "bon", "the id")]
    assert content_of(path, DataFormat(columns)) == "texts"
    with pytest.raises(ReadletError, match=r"no column 'ton' .*--column label=NAME"):
        list(read(path, DataFormat({"label": "ton"})))
    with pytest.raises(ReadletError, match=r"'context' .*'text'"):
        parse_columns(["text=a", "context=b"])
    with pytest.raises(ReadletError, match="--column"):
        read_labelled(path, data_format=DataFormat({"context": "text"}))


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
    with pytest.raises(ReadletError, match="row 'b': "):
        read_labelled(path)


def test_parquet_labels(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    table = {"text": ["a", "b", None, "d"], "label": [1.0, 0.0, 1.0, None], "idx": [5, 6, 7, 8]}
    parquet.write_table(arrow.table(table), path)
    faults: list[Any] = []
    with pytest.warns(UserWarning, match="column 'idx' is read as 'id'"):
        found = list(read(path, on_fault=faults.append))
    assert found == [Sentence("5", "a", "1"), Sentence("6", "b", "0"), Sentence("8", "d", None)]
    assert [fault.place for fault in faults] == ["row 3"]


def test_a_table_without_labels(tmp_path: Path) -> None:
    """For predictions: the columns do not say what it is, but the caller knows."""
    path = write(tmp_path / "rows.csv", "id,text\na,fine\n")
    assert list(read_sentences(path, allow_unlabelled=True)) == [Sentence("a", "fine", None)]
    with pytest.raises(ReadletError, match="has no label"):
        read_labelled(path)
    path = write(tmp_path / "rows.csv", "text\nfine\n\ndull\n")  # a single column
    assert [s.text for s in read_sentences(path, allow_unlabelled=True)] == ["fine", "dull"]
    path = write(tmp_path / "rows.tsv", "index\tsentence\n0\tfine\n")  # a test file of GLUE
    with pytest.warns(UserWarning, match="'index' is read as 'id'"):
        assert list(read_sentences(path, allow_unlabelled=True)) == [Sentence("0", "fine", None)]


# --- encodings, compression, other structures -----------------------------------------------------


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


# --- validation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("text,label\nfine,1\n ,0\n", "row '2': "),
        ("text,second,label\na,b,1\nc,,0\n", "row '2': "),
        ('{"text": "a", "second": "b", "label": 1}\n{"text": "c", "label": 1}\n', "row '2': "),
        ("question,context,answer\nWho?,Ada.,Ada\n", "questions"),
        ("text,label\n", "contains no texts"),
    ],
)
def test_invalid_texts(tmp_path: Path, text: str, fault: str) -> None:
    path = write(tmp_path / "rows", text)
    with pytest.raises(ReadletError, match=fault):
        read_labelled(path)


def test_several_files(tmp_path: Path) -> None:
    """Ids are made unique; columns apply to the files that have any."""
    one = write(tmp_path / "one.csv", "avis,label\nfine,1\ndull,0\n")
    cola = write(tmp_path / "cola.tsv", "a\t1\t\tGood.\n")
    with pytest.warns(UserWarning, match="1 × repeated id: a number is appended"):
        found = read_labelled(one, cola, data_format=DataFormat({"text": "avis"}))
    assert [(s.id, s.text) for s in found] == [("1", "fine"), ("2", "dull"), ("1-2", "Good.")]
    pairs = write(tmp_path / "pairs.csv", "text,second,label\na,b,1\n")
    with pytest.raises(ReadletError, match=r"pairs\.csv: .* has pairs of texts"):
        read_labelled(cola, pairs)
