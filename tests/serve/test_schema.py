"""Requests generated from the OpenAPI schema: every answer is one that the schema lists."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from readlet.inference.baseline import LexicalBaseline
from readlet.inference.classifier import Classifier

schemathesis = pytest.importorskip("schemathesis")
GET = ("/readers", "/passages", "/health", "/metrics")
# Requests of each kind, valid and invalid; a PDF takes a process.
POST = {"/answer": 40, "/ask": 40, "/classify": 40, "/text": 8}


@pytest.fixture(scope="module")
def served(
    start: Callable[..., Any],
    random_encoder_reader: Callable[..., Any],
    random_classifier: Path,
) -> Any:
    models = {"layered": random_encoder_reader(), "plain": LexicalBaseline()}
    return start(
        models | {"classes": Classifier.load(random_classifier, device="cpu")},
        body_bytes=20_000,
        questions=4,
    )


@pytest.fixture(scope="module")
def schema(served: Any) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", served.client.app)


@pytest.mark.parametrize(
    "refused",
    [
        {"question": " "},
        {"question": []},
        {"passage": ["Ada lit it.", ""]},
        {"min_confidence": "bold"},
        {"min_confidence": 1.5},
        {"unanswerable_share": 1},
    ],
)
def test_what_is_always_rejected_is_not_promised(served: Any, refused: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    described = served.client.get("/openapi.json").json()
    valid = jsonschema.Draft202012Validator(
        {"$ref": "#/components/schemas/AnswerRequest", "components": described["components"]}
    ).is_valid
    body = {"question": "Who lit it?", "passage": "Ada lit it."}
    assert valid(body | {"min_confidence": "strict", "unanswerable_share": 0})
    assert not valid(body | refused)
    assert served.post("/answer", **body | refused).status_code == 422
    file = described["paths"]["/text"]["post"]["requestBody"]
    assert file["required"]
    assert file["content"]["application/pdf"]["schema"]["minLength"] == 1


@pytest.mark.parametrize("path", [*GET, *POST])
def test_answers_are_as_described(schema: Any, path: str) -> None:
    """No error of the server, a status of the schema, and the body that it describes."""
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as of_openapi

    checks = (
        not_a_server_error,
        of_openapi.status_code_conformance,
        of_openapi.content_type_conformance,
        of_openapi.response_schema_conformance,
    )
    statuses: set[int] = set()
    for mode in GenerationMode if path in POST else [GenerationMode.POSITIVE]:
        operation = schema[path]["POST" if path in POST else "GET"]

        @seed(1)
        @settings(
            max_examples=POST.get(path, 1),
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            response = case.call()
            case.validate_response(response, checks=checks)
            statuses.add(response.status_code)

        ask()
    expected = {200, 422} if path in POST else {200}
    assert expected <= statuses
