"""Counters of the server, as text that Prometheus reads."""

import threading
from collections import defaultdict
from collections.abc import Mapping

_HELP = {
    "readlet_requests_total": ("counter", "Requests by path and status."),
    "readlet_request_seconds_total": ("counter", "Seconds that requests took, by path."),
    "readlet_questions_total": ("counter", "Questions or texts that a model has computed."),
    "readlet_batches_total": ("counter", "Batches that a model has computed."),
    "readlet_waiting": ("gauge", "Questions or texts that wait for a model."),
}
_Labels = tuple[tuple[str, str], ...]


class Counters:
    """Sums by name and labels; any thread may add to them."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, defaultdict[_Labels, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        self._lock = threading.Lock()

    def add(self, name: str, value: float, **labels: str) -> None:
        with self._lock:
            self._sums[name][tuple(labels.items())] += value

    def value(self, name: str, **labels: str) -> float:
        with self._lock:
            return self._sums[name][tuple(labels.items())]

    def text(self, waiting: Mapping[str, int]) -> str:
        """All sums, and the lengths of the queues by model."""
        with self._lock:
            sums = {name: dict(parts) for name, parts in self._sums.items()}
        sums["readlet_waiting"] = {(("model", name),): n for name, n in waiting.items()}
        lines = []
        for name, (kind, meaning) in _HELP.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            for labels, value in sorted(sums.get(name, {}).items()):
                named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
                lines.append(f"{name}{{{named}}} {value:.12g}")
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
