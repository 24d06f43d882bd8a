import numpy as np

from readlet.translation.links import links_from_attention
from readlet.translation.losses import loss_of
from readlet.translation.routes import composed, route_to
from readlet.translation.types import LanguagePair, Link, Loss


def test_links_follow_attention_summed_over_pieces() -> None:
    # "red wine" in pieces red, wi, ne; "vino tinto" in pieces vino, tin, to.
    attention = np.array([[0.1, 0.45, 0.45], [0.6, 0.2, 0.2], [0.3, 0.5, 0.2]], np.float32)
    links = links_from_attention(
        attention, "red wine", [(0, 3), (4, 6), (6, 8)], "vino tinto", [(0, 4), (5, 8), (8, 10)]
    )
    # tinto: 0.6 + 0.3 for red against 0.4 + 0.7 for wine.
    assert links == (Link((4, 8), (0, 4)), Link((4, 8), (5, 10)))


def test_pieces_that_begin_with_a_space_belong_to_their_word() -> None:
    attention = np.array([[0.2, 0.8], [0.9, 0.1]], np.float32)
    links = links_from_attention(attention, "a b", [(0, 1), (1, 3)], "c d", [(0, 1), (1, 3)])
    assert links == (Link((2, 3), (0, 1)), Link((0, 1), (2, 3)))


def test_links_over_two_legs() -> None:
    first = (Link((0, 3), (5, 9)), Link((4, 8), (0, 4)))
    second = (Link((0, 4), (0, 2)), Link((5, 9), (3, 6)), Link((5, 9), (7, 8)))
    assert composed(first, second) == (
        Link((0, 3), (3, 6)),
        Link((0, 3), (7, 8)),
        Link((4, 8), (0, 2)),
    )
    assert composed(first, None) is None


def test_pivots() -> None:
    def pairs(*names: str) -> set[LanguagePair]:
        return {LanguagePair(*name.split("-")) for name in names}

    wanted = LanguagePair("fr", "de")
    there = pairs("fr-es", "es-de", "fr-en", "en-de")
    assert route_to(wanted, there | {wanted}) == (wanted,)
    assert route_to(wanted, there) == (LanguagePair("fr", "en"), LanguagePair("en", "de"))
    assert route_to(wanted, pairs("fr-es", "es-de")) is not None
    assert route_to(wanted, pairs("fr-es", "de-es")) is None


def test_losses() -> None:
    assert loss_of("Hello", " ") is Loss.EMPTY
    assert loss_of("", "") is None
    assert loss_of("A dog", "un perro " * 8) is Loss.REPEATED
    assert loss_of("One million", "1000000") is None
    assert loss_of("ha " * 20, "ja " * 20) is None
    assert loss_of("A long line", "Una línea larga y larga y larga") is None
