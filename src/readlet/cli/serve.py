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
        str, typer.Option(help="Address to listen on. Any but the loopback ones needs a key.")
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
    device: Device = "auto",
    max_body_mb: Annotated[float, typer.Option(help="Megabytes of a request.")] = 10.0,
    max_passage: Annotated[int, typer.Option(help="Characters of a passage.")] = 50_000,
    max_question: Annotated[int, typer.Option(help="Characters of a question.")] = 1_000,
    max_text: Annotated[int, typer.Option(help="Characters of a text to classify.")] = 20_000,
    max_questions: Annotated[int, typer.Option(help="Questions or texts of a request.")] = 64,
    max_queue: Annotated[int, typer.Option(help="Questions that wait for one model.")] = 256,
    max_seconds: Annotated[float, typer.Option(help="Time of a request, waiting included.")] = 30.0,
    batch_window_ms: Annotated[
        float,
        typer.Option(
            help="How long a question waits for others to be computed with it.",
        ),
    ] = 4.0,
) -> None:
    """Serve readers and classifiers: an HTTP API, and a page."""
    from readlet.serve.limits import Limits
    from readlet.serve.server import (
        api_key,
        bound_socket,
        check_host,
        check_installed,
        serve,
    )

    check_installed()
    key = api_key(api_key_file)
    check_host(host, key)
    limits = Limits(
        body_bytes=round(max_body_mb * 1_000_000),
        passage_characters=max_passage,
        question_characters=max_question,
        text_characters=max_text,
        questions=max_questions,
        queue=max_queue,
        seconds=max_seconds,
        window_seconds=batch_window_ms / 1000,
    )
    chosen = models or ["bundled"]
    with bound_socket(host, port) as bound:
        from readlet.serve.registry import load_models

        loaded = load_models(chosen, device)
        serve(loaded, bound, host=host, key=key, limits=limits)
