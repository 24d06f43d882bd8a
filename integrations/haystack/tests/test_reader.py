"""ReadletReader: alone, and in a pipeline with a retriever."""

from itertools import pairwise

import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.readers.readlet import ReadletReader

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
BAKERY = "The bakery opens at six. Its bread is sold out by noon."
DOCUMENTS = [Document(content=BAKERY), Document(content=None), Document(content=KILN)]


@pytest.fixture(scope="module")
def reader() -> ReadletReader:
    return ReadletReader("bundled")


def test_the_best_answer_comes_first_with_its_place(reader: ReadletReader) -> None:
    best, *others = reader.run(query="Who built the kiln?", documents=DOCUMENTS)["answers"]
    assert (best.query, best.data) == ("Who built the kiln?", "Ada Brook")
    assert best.document is DOCUMENTS[2]
    assert best.document_offset is not None
    assert KILN[best.document_offset.start : best.document_offset.end] == best.data
    assert all(0 <= other.score <= best.score <= 1 for other in others)


def test_answers_of_a_document_do_not_overlap(reader: ReadletReader) -> None:
    found = reader.run(query="When was the kiln built?", documents=[DOCUMENTS[2]])["answers"]
    spans = sorted((a.document_offset.start, a.document_offset.end) for a in found)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_documents_without_the_answer_are_left_out(reader: ReadletReader) -> None:
    question = "How high is the tower of the cathedral?"
    assert reader.run(query=question, documents=DOCUMENTS)["answers"] == []
    always = ReadletReader("bundled", min_confidence="always")
    assert always.run(query=question, documents=DOCUMENTS, top_k=2)["answers"]


def test_no_answer_is_what_the_others_leave() -> None:
    reader = ReadletReader("bundled", no_answer=True, top_k=1)
    best, none = reader.run(query="Who built the kiln?", documents=DOCUMENTS)["answers"]
    assert none.data is None
    assert none.score == pytest.approx(1 - best.score)


def test_several_queries_on_the_same_documents(reader: ReadletReader) -> None:
    queries = ["Who built the kiln?", "When does the bakery open?"]
    found = reader.run(queries=queries, documents=DOCUMENTS, top_k=1)["answers"]
    assert [(a.query, a.data) for a in found] == [(queries[0], "Ada Brook"), (queries[1], "six")]
    with pytest.raises(ValueError, match="query"):
        reader.run(documents=DOCUMENTS)


def test_answers_have_the_page_of_their_document(reader: ReadletReader) -> None:
    document = Document(content=f"{BAKERY}\f{KILN}", meta={"page_number": 7})
    (best, *_) = reader.run(query="Who built the kiln?", documents=[document])["answers"]
    assert best.meta["answer_page_number"] == 8


def test_a_pipeline_is_stored_and_read_again() -> None:
    store = InMemoryDocumentStore()
    store.write_documents([document for document in DOCUMENTS if document.content])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("reader", ReadletReader("bundled", top_k=1))
    pipeline.connect("retriever", "reader")
    question = "Who built the kiln?"
    asked = {"retriever": {"query": question}, "reader": {"query": question}}
    (answer,) = pipeline.run(asked)["reader"]["answers"]
    assert answer.data == "Ada Brook"
    reader = ReadletReader.from_dict(pipeline.get_component("reader").to_dict())
    assert reader.to_dict() == pipeline.get_component("reader").to_dict()
    assert pipeline.dumps() == Pipeline.loads(pipeline.dumps()).dumps()
