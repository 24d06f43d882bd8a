"""`readlet serve`: readers and classifiers over HTTP, with a page."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.options import Device


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[READER...]",
            help="Readers or classifiers: folders, `bundled` (the default) or `baseline`. The "
            "first one answers requests that name none.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. All except loopback addresses need a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")
    ] = 8000,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file with the key that requests must send. The environment variable "
            "READLET_API_KEY does the same.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str],
        typer.Option(
            metavar="ORIGIN",
            help="Another site whose pages may use the API, such as https://example.org; "
            "repeatable.",
        ),
    ] = [],  # noqa: B006  typer copies it
    device: Device = "auto",
    max_body_mb: Annotated[int, typer.Option(help="Megabytes of a request.")] = 10,
    max_passage: Annotated[int, typer.Option(help="Characters of a passage.")] = 50_000,
    max_questions: Annotated[int, typer.Option(help="Questions or texts of a request.")] = 64,
    max_seconds: Annotated[float, typer.Option(help="Time of a request, waiting included.")] = 30.0,
) -> None:
    """Serve readers and classifiers: an HTTP API, and a page."""
    from readlet.errors import extra_needed

    with extra_needed("serve", "serve"):
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    from readlet.serve.messages import Limits
    from readlet.serve.registry import load_models
    from readlet.serve.server import api_key, bound_socket, check_host, check_origins, serve

    key = api_key(api_key_file)
    check_host(host, key)
    origins = check_origins(allow_origin)
    limits = Limits(
        body_bytes=max_body_mb * 1_000_000,
        passage_characters=max_passage,
        questions=max_questions,
        queue=4 * max_questions,
        seconds=max_seconds,
    )
    with bound_socket(host, port) as bound:
        loaded = load_models(models or ["bundled"], device)
        serve(loaded, bound, host=host, key=key, limits=limits, origins=origins)
