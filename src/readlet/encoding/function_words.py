"""The most frequent words of some languages: they identify the language and carry no content."""

_COMMON_WORDS = {
    "en": "the of and to in is was that for it with as by on were are from at which this be his",
    "es": "el la los las de del y en que es un una por con se para fue su como más al qué lo",
    "fr": "le la les des de du et en est un une que qui dans pour par sur au aux il elle plus",
    "de": "der die das und in den von zu mit ist des dem ein eine im für auf wurde nicht als",
    "it": "il la di che e in un una per è del della con non sono gli alla dei nel le si da",
    "pt": "o a os as de do da e em que um uma para por com não foi no na dos mais se ao",
    "nl": "de het een van en in is dat op te zijn met voor die werd aan door niet ook bij",
    "ro": "și de în la a cu din pe care este un o nu pentru mai au fost ale prin sau lui",
    "sv": "och att det som en på är av för med den till ett var om har inte de från",
    "pl": "w na z do się nie jest to że jako po od przez był oraz dla roku jego",
}
FUNCTION_WORDS = {code: frozenset(words.split()) for code, words in _COMMON_WORDS.items()}
