"""A reader as a component: questions and documents in, answers with their places out."""

import math
from typing import Any, Literal

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ExtractedAnswer

from readlet import AnswerOptions, Prediction, Reader


@component
class ReadletReader:
    """Finds the answers to a query in documents, or finds that they are not there.

    `model` is a reader's folder, a name on the Hugging Face hub, or `bundled`.
    Documents in which the reader abstains are left out, unless `min_confidence` is `always`. The
    `top_k` best answers are returned, with at most `answers_per_document` of each document, which
    do not overlap. With `no_answer` there is one more, without data: its score is the probability
    that all others are wrong.
    """

    def __init__(
        self,
        model: str = "bundled",
        *,
        top_k: int = 20,
        answers_per_document: int = 3,
        min_confidence: float | Literal["always", "balanced", "strict"] = "balanced",
        unanswerable_share: float | None = None,
        no_answer: bool = False,
        device: str = "auto",
    ) -> None:
        self.model = model
        self.top_k = top_k
        self.answers_per_document = answers_per_document
        self.min_confidence = min_confidence
        self.unanswerable_share = unanswerable_share
        self.no_answer = no_answer
        self.device = device
        self._reader: Reader | None = None

    def warm_up(self) -> None:
        """Load the reader; `run` does so itself the first time."""
        if self._reader is None:
            self._reader = Reader.load(self.model, device=self.device)

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(
            self,
            model=self.model,
            top_k=self.top_k,
            answers_per_document=self.answers_per_document,
            min_confidence=self.min_confidence,
            unanswerable_share=self.unanswerable_share,
            no_answer=self.no_answer,
            device=self.device,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ReadletReader":
        return default_from_dict(cls, data)

    @component.output_types(answers=list[ExtractedAnswer])
    def run(
        self,
        documents: list[Document],
        query: str = "",
        queries: list[str] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[ExtractedAnswer]]:
        """The answers to one query, or to several, in their order; documents without text are
        left out."""
        asked = [*([query] if query else []), *(queries or [])]
        if not asked:
            raise ValueError("give a query, or queries")
        self.warm_up()
        assert self._reader is not None
        read = [document for document in documents if (document.content or "").strip()]
        options = AnswerOptions(
            n_best=max(5, self.answers_per_document),
            min_confidence=self.min_confidence,
            unanswerable_share=self.unanswerable_share,
        )
        pairs = [(one, document.content or "") for one in asked for document in read]
        found = list(self._reader.answer_batch(pairs, options))
        answers: list[ExtractedAnswer] = []
        for number, one in enumerate(asked):
            own = found[number * len(read) : (number + 1) * len(read)]
            answers += self._best(one, read, own, self.top_k if top_k is None else top_k)
        return {"answers": answers}

    def _best(
        self, query: str, documents: list[Document], found: list[Prediction], top_k: int
    ) -> list[ExtractedAnswer]:
        ranked = [
            ExtractedAnswer(
                query=query,
                score=candidate.score,
                data=candidate.text,
                document=document,
                context=document.content,
                document_offset=ExtractedAnswer.Span(candidate.start, candidate.end),
                context_offset=ExtractedAnswer.Span(candidate.start, candidate.end),
                meta={"no_answer": prediction.no_answer, **_page(document, candidate.start)},
            )
            for document, prediction in zip(documents, found, strict=True)
            if not prediction.abstained
            for candidate in prediction.n_best[: self.answers_per_document]
        ]
        ranked.sort(key=lambda answer: -answer.score)
        best = ranked[:top_k]
        if self.no_answer:
            score = math.prod(1 - answer.score for answer in best)
            best.append(ExtractedAnswer(query=query, score=score))
            best.sort(key=lambda answer: -answer.score)
        return best


def _page(document: Document, start: int) -> dict[str, int]:
    """The page of an answer, where the document begins at one and form feeds separate them."""
    first = document.meta.get("page_number")
    if not isinstance(first, int):
        return {}
    return {"answer_page_number": first + (document.content or "").count("\f", 0, start)}
