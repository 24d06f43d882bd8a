import pytest

from readlet.inspection.languages import guess_language


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The mill is on the bank of the river and was built for the town.", "en"),
        ("El molino está en la orilla del río y fue construido por los vecinos.", "es"),
        ("Le moulin est sur la rive et il appartient aux gens du village.", "fr"),
        ("Die Mühle steht an dem Fluss und wurde von den Bauern für das Dorf gebaut.", "de"),
        ("Il mulino è sulla riva e non è della città ma dei contadini.", "it"),
        ("川のそばに水車があります。", "ja"),
        ("河边有一座磨坊。", "zh"),
        ("강가에 물레방아가 있다.", "ko"),
        ("Мельница стоит у реки.", "ru"),
        ("Ο μύλος είναι στο ποτάμι.", "el"),
        (f"{'Ada Brook, ' * 60}: the keepers of the lamp and of the mill.", "en"),
        ("Zyx qwv.", "?"),
        ("the", "?"),  # one word is not enough
        ("", "?"),
        ("1881 / 1904", "?"),
    ],
)
def test_guess(text: str, code: str) -> None:
    assert guess_language(text) == code
