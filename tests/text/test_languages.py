"""Which language a text is in, and those of a question and its context."""

from typing import Any
from unicodedata import normalize

import pytest

from readlet.text.languages import guess_language
from readlet.text.word_features import TextLanguages
from readlet.types import Example

SENTENCES = {
    "en": "The mill is on the bank of the river and was built for the town.",
    "es": "El molino está en la orilla del río y fue construido por los vecinos.",
    "fr": "Le moulin est sur la rive et il appartient aux gens du village.",
    "de": "Die Mühle steht an dem Fluss und wurde von den Bauern für das Dorf gebaut.",
    "it": "Il mulino è sulla riva e non è della città ma dei contadini.",
    "pt": "O moinho fica na margem do rio e foi construído pelos moradores da vila.",
    "nl": "De molen staat aan de rivier en werd door de boeren voor het dorp gebouwd.",
    "ro": "Moara se află pe malul râului și a fost construită de locuitorii satului.",
    "sv": "Kvarnen står vid ån och byggdes av bönderna för att mala mjöl till byn.",
    "da": "Møllen står ved åen og blev bygget af bønderne, som ikke havde nogen anden.",
    "no": "Møllen står ved elven og ble bygget av bøndene, som ikke hadde noen annen.",
    "fi": "Mylly on joen rannalla, ja sen rakensivat talonpojat, jotka asuivat kylässä.",
    "pl": "Młyn stoi nad rzeką i został zbudowany przez mieszkańców, którzy tam żyli.",
    "cs": "Mlýn stojí u řeky a byl postaven sedláky, kteří žili ve vesnici.",
    "hu": "A malom a folyó partján áll, és a falu lakói építették, akik ott éltek.",
    "tr": "Değirmen nehrin kıyısında duruyor ve köylüler tarafından yapıldı.",
    "vi": "Cối xay nằm bên bờ sông và được xây dựng bởi những người dân trong làng.",
    "ja": "川のそばに水車があります。",
    "zh": "河边有一座磨坊。",
    "ko": "강가에 물레방아가 있다.",
    "th": "โรงสีอยู่ริมแม่น้ำ",
    "ar": "الطاحونة على ضفة النهر.",
    "he": "הטחנה נמצאת על גדת הנהר.",
    "hi": "चक्की नदी के किनारे है।",
    "ru": "Мельница стоит у реки.",
    "el": "Ο μύλος είναι στο ποτάμι.",
}
QUESTIONS = {
    "en": "Who built the mill?",
    "es": "¿Quién construyó el molino?",
    "fr": "Quand le moulin a-t-il brûlé ?",
    "de": "Wer hat die Mühle gebaut?",
    "it": "Quando è stato costruito il mulino?",
    "pt": "Quem construiu o moinho e em que ano?",
    "nl": "Wanneer werd de molen gebouwd?",
    "ro": "Când a fost construită moara?",
    "sv": "När byggdes kvarnen, och av vem?",
    "da": "Hvornår blev møllen bygget?",
    "no": "Hva het bonden som bygde møllen, og når ble den bygget?",
    "fi": "Kuka rakensi myllyn ja milloin?",
    "pl": "Kto zbudował młyn?",
    "cs": "Kdy byl mlýn postaven?",
    "hu": "Mikor építették a malmot, és hol van?",
    "tr": "Değirmeni kim yaptı?",
    "vi": "Ai đã xây cối xay?",
}


@pytest.mark.parametrize(("code", "text"), [*SENTENCES.items(), *QUESTIONS.items()])
def test_guess(text: str, code: str) -> None:
    assert guess_language(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "Zyx qwv.",
        "in",  # a word of several languages
        "",
        "1881 / 1904",
        "Млин стоїть біля річки.",  # Cyrillic, but not Russian
        "آسیاب در کنار رودخانه است و گندم را آرد می‌کند.",  # Persian, in Arabic letters
    ],
)
def test_unknown(text: str) -> None:
    assert guess_language(text) == "?"


def test_names_do_not_decide() -> None:
    listed = f"{'Ada Brook, ' * 60}: the keepers of the lamp and of the mill."
    assert guess_language(listed) == "en"
    teams = "The teams of the town are Los Altos, Los Robles, Los Olivos and Los Osos."
    assert guess_language(teams) == "en"


def test_letters_may_be_combining_characters() -> None:
    assert guess_language(normalize("NFD", QUESTIONS["tr"])) == "tr"
    assert guess_language(normalize("NFD", QUESTIONS["vi"])) == "vi"


def test_a_single_letter_is_not_french() -> None:
    assert guess_language("Keeper C of Cape Wick arrived in 1882.") == "?"
    assert guess_language("C'est d'ici.") == "fr"


ENGLISH, SPANISH = "Who built the mill?", "El molino fue construido por los vecinos."


def languages(question: str, context: str, known: str = "en es", **given: Any) -> tuple[str, str]:
    context_pair, question_pair = TextLanguages(known.split()).texts(
        Example("", question, context, **given)
    )
    assert (context_pair[0], question_pair[0]) == (context, question)
    return context_pair[1], question_pair[1]


def test_both_are_guessed() -> None:
    assert languages(ENGLISH, SPANISH) == ("es", "en")
    assert languages("1904?", SPANISH) == ("es", "es")  # nothing shows it: that of the context
    assert languages("1904?", "1904") == ("", "")


@pytest.mark.parametrize("given", ["es", "ES", "es-MX", "es_419", " es "])
def test_what_the_data_says_counts(given: str) -> None:
    assert languages("1904?", ENGLISH, language=given) == ("es", "es")
    assert languages(ENGLISH, SPANISH, question_language=given) == ("es", "es")
    assert languages(ENGLISH, SPANISH, language="en", question_language=given) == ("en", "es")


def test_a_language_that_the_reader_does_not_know_is_unknown() -> None:
    assert languages(ENGLISH, SPANISH, "de") == ("", "")
    assert languages("1904?", SPANISH, language="pt") == ("", "")
    assert languages(ENGLISH, SPANISH, language="pt") == ("", "en")
    assert languages(ENGLISH, SPANISH, question_language="pt") == ("es", "")


def test_what_is_no_code_is_not_given() -> None:
    assert languages(ENGLISH, SPANISH, language="Spanish", question_language="?") == ("es", "en")


def test_a_reader_without_languages_reads_all_alike() -> None:
    assert languages(ENGLISH, SPANISH, "", language="es") == ("", "")
