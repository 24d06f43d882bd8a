from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.evaluation.evaluation import TYPES, question_type

EXAMPLES = {
    # English
    "What is a lock gate?": "what",
    "What's left of the mill?": "what",
    "In what year was the canal dug?": "what",
    "WHO dug it?": "who",
    "Whose idea was the tunnel?": "who",
    "To whom was the mill sold?": "who",
    "When did the ferry sink?": "when",
    "Since when has it been closed?": "when",
    "Where does the path end?": "where",
    "Why did the miller leave?": "why",
    "Which village lies higher?": "which",
    "How is the salt dried?": "how",
    "How old is the oak?": "how",
    "How many boats were built?": "how many",
    "How much grain did they store?": "how many",
    "For how many years did it run?": "how many",
    "Name the oldest bridge.": "other",
    "Did the bridge hold?": "other",
    # "was" is not a question word here
    "The bridge was opened when?": "when",
    "The mill was sold to whom?": "who",
    "It was built of how many stones?": "how many",
    # Spanish
    "¿Qué es una esclusa?": "what",
    "¿En qué año se abrió el puente?": "what",
    "¿Quién pintó la barca?": "who",
    "¿Quiénes vivían en el molino?": "who",
    "¿Cuándo se hundió el barco?": "when",
    "¿Dónde termina el camino?": "where",
    "¿Adónde lleva el sendero?": "where",
    "¿Por qué se fue el molinero?": "why",
    "¿Cuál es el pueblo más alto?": "which",
    "¿Cuáles son los puertos?": "which",
    "¿Cómo se seca la sal?": "how",
    "¿Cuántos barcos había?": "how many",
    "¿Cuánta harina guardaban?": "how many",
    "Que comían los pescadores?": "what",
    "De los barcos que se hundieron, ¿cuántos eran nuevos?": "how many",
    "Nombra el puente.": "other",
    # French
    "Que transportait le bateau ?": "what",
    "Qu'est-ce qu'une écluse ?": "what",
    "Qu’est-ce que le sel ?": "what",
    "Qu'a vendu le meunier ?": "what",
    "De quoi vit le village ?": "what",
    "Qui a peint la barque ?": "who",
    "Quand le pont a-t-il ouvert ?": "when",
    "Où finit le sentier ?": "where",
    "D'où vient le vent ?": "where",
    "Pourquoi le meunier est-il parti ?": "why",
    "Quel village est le plus haut ?": "which",
    "Dans quelle ville habite-t-elle ?": "which",
    "Lesquels ? Laquelle des barques a coulé ?": "which",
    "Comment sèche-t-on le sel ?": "how",
    "Combien de bateaux y avait-il ?": "how many",
    "Nommez le pont.": "other",
    # German
    "Was ist eine Schleuse?": "what",
    "Als was diente der Turm?": "what",
    "Wer malte das Boot?": "who",
    "Wem gehörte die Mühle?": "who",
    "Wessen Idee war es?": "who",
    "Wann sank die Fähre?": "when",
    "Wo endet der Pfad?": "where",
    "Woher kommt der Wind?": "where",
    "Wohin führt der Weg?": "where",
    "Warum ging der Müller fort?": "why",
    "Weshalb blieb er?": "why",
    "Welcher Ort liegt höher?": "which",
    "In welchem Jahr brannte es?": "which",
    "Wie trocknet man Salz?": "how",
    "Wie viele Boote gab es?": "how many",
    "Wie viel Korn lag dort?": "how many",
    "Wieviel kostete es?": "how many",
    "Nenne die Brücke.": "other",
    # No question word
    "": "other",
    "?": "other",
    "' ’ ¿?": "other",
}


@pytest.mark.parametrize(("question", "expected"), EXAMPLES.items())
def test_examples(question: str, expected: str) -> None:
    assert question_type(question) == expected


def test_accents_may_be_combining_characters() -> None:
    for question, expected in EXAMPLES.items():
        assert question_type(normalize("NFD", question)) == expected


def test_every_type_has_an_example() -> None:
    assert set(EXAMPLES.values()) == set(TYPES)


@given(st.text())
def test_any_text_has_a_type(text: str) -> None:
    assert question_type(text) in TYPES
