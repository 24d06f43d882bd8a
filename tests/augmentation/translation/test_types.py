from readlet.augmentation.translation.batch_translator import composed, route_to
from readlet.augmentation.translation.types import LanguagePair, Link, Loss, loss_of


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
