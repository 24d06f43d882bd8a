"""Languages as two-letter codes of ISO 639-1, their function words, and which one a text is in.

The guess is from the script, the most common words and rarer letters. It is only a hint: it knows
some thirty languages, and says "unknown" rather than name a wrong one.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any
from unicodedata import normalize

import regex

from readlet.errors import bad_input

LANGUAGES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
    dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia
    id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo
    lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl
    ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
    tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()
)


def language_code(language: str) -> str:
    """The code in what the data says, without region or script: es for es-MX. Empty if none."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return code if code in LANGUAGES else ""


def check_language(code: str, source: str | Path, place: str = "") -> None:
    """An unknown code is an error of one line."""
    if code not in LANGUAGES:
        remedy = "give a code of two letters such as en, es or fr"
        raise bad_input(source, place, f"unknown language {code!r:.40}", remedy)


def checked_codes(codes: Any) -> tuple[str, ...]:
    """Stored codes; anything else is a ValueError."""
    if not isinstance(codes, list) or not all(code in LANGUAGES for code in codes):
        raise ValueError(f"languages: {codes!r:.40} is not a list of codes")
    return tuple(codes)


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


# Besides the function words: articles, pronouns, auxiliary verbs and question words.
_MORE_WORDS = {
    "en": """a an he she they we you i his her its their our my your who what when where why how
        did does do has have had been would could should not or but than into about after these
        those there many much will can one all out up so if him them me whom whose how's what's i'm
        it's don't didn't can't won't isn't wasn't that's let's you're i've i'll he's she's never
        always very here now only some any no yes please said go went want know think name long
        often am is are us just like get got see come take make told tell say was this hasn't
        haven't doesn't wouldn't couldn't shouldn't aren't weren't who's where's there's we're
        they're i'd you've which whether every each other another both such because while during
        before between through against without under over again still even most more too also well
        really good time people something anything nothing everything""",
    "es": """no si sí pero o e u ni muy ya me te le les nos os mi tu sus mis yo él ella ellos
        nosotros usted ustedes este esta esto ese esa eso son era eran está están estaba ser estar
        ha han había he has hay tiene tenía quién quiénes cuándo dónde cuál cuáles cuánto cuántos
        cuántas cuánta cómo cuando donde porque entre sobre desde hasta sin también sólo todo todos
        hacer puede quiero nunca siempre aquí ahora algo nada estoy estás estamos quieres quiere
        tengo tienes tenemos vamos voy va fui sido gusta creo sabe sabes hace hizo dijo dice puedo
        puedes debe deberías haberlo hacerlo mucho mucha poco bien mal tan más otro otra otros cada
        mismo hoy ayer mañana casa años qué quizás favor gracias contra durante según así vio ver
        ellas suyo nuestra nuestro eres soy somos fueron gran vez dos""",
    "fr": """je tu nous vous ils elles on ce cet cette ces mon ton son ma ta sa mes tes ses notre
        votre leur leurs ne pas être sont était étaient été a ont avait avez avons ai suis êtes
        quel quelle quels quelles quand où comment pourquoi combien quoi qu c j n s l d m t qui
        mais ou donc si très bien aussi avec sans sous entre après avant fait faire peut y tout
        tous toute jamais toujours ici rien moi lui es vas va vais allez veux veut peux pouvez
        devez dois maintenant beaucoup peu trop personne quelque chose encore déjà deux autre
        autres même dit dire voir êtes-vous est-ce qu'est-ce avez-vous c'est j'ai d'un d'une n'est
        l'on qu'il qu'elle s'est cela ça celui celle étais serait sera fut eu lors depuis chez vers
        comme alors""",
    "de": """ich du er sie es wir ihr mich dich sich uns mir dir ihm ihn ihnen mein dein sein seine
        seinen seiner ihre ihren kein keine war waren wird werden wurden hat haben habe hatte
        hatten bin bist sind oder aber auch nach bei aus um über unter zwischen durch bis wer was
        wann wo warum wie welche welcher welches welchen wieviel viele wenn dass daß weil so nur
        noch schon sehr zur zum vom einen einem einer eines kann können muss nie immer hier jetzt
        nichts alles bitte ist hast habt euch eure dieser diese dieses diesem diesen jeder jede
        jedes mag will wollte wollen soll sollte möchte musst müssen darf lass gut mehr viel vielen
        dank heute gestern morgen welchem wen wem wofür woran worüber worauf womit wozu woher wohin
        lange oft würde wäre sei damit dann da doch ja nein man etwas jemand niemand ganz wieder
        machen gemacht geht gehen kommt sagte weiß zwei nachdem während seit gegen ohne""",
    "it": """io tu lui lei noi voi loro mi ti ci vi lo gli i ma o anche come quando dove chi cosa
        quale quali quanto quanti quante perché questo questa questi quello quella suo sua suoi sue
        mio mia nella nelle negli dal dalla delle degli dello allo al ai sul sulla era erano stato
        stata stati ha hanno ho aveva essere fu più molto tra fra dopo prima già ancora tutto tutti
        qui sempre mai niente sono sei siamo siete hai abbiamo avete fare fatto vuole voglio posso
        può puoi bene così ogni altro altra altri due anni c'è l'ha un'altra che cos'è venne furono
        senza sotto sopra contro durante fino oggi""",
    "pt": """eu tu ele ela nós você vocês eles elas me te lhe nos meu minha seu sua seus suas este
        esta isto esse essa isso aquele é são era eram está estão estava ser ter tem têm tinha há
        ou mas também quando onde quem qual quais quanto quantos quantas como porque entre sobre
        até sem muito pelo pela pelos pelas num numa às à aos já só ainda tudo nada nunca sempre
        aqui agora estou sou somos fui vai vou fazer fez pode posso quer quero bem mal então outro
        outra outros dois duas anos foram será seria havia após durante contra segundo desde
        através mesmo cada depois antes hoje ontem amanhã""",
    "nl": """ik jij je hij zij ze wij we jullie hun hem haar mij me mijn jouw uw ons onze dit deze
        er was waren wordt worden werden heeft hebben had hadden ben bent of maar om als naar uit
        over onder tussen na tot wie wat wanneer waar waarom hoe welke welk hoeveel geen nog al wel
        zo meer kan kunnen zou zal niets altijd nooit hier nu mensen moet moeten wil willen gaan
        gaat doet doen iets iemand niemand veel weinig heel erg goed dan toen omdat tijdens sinds
        tegen zonder volgens ook eerste twee jaar werd vanaf""",
    "ro": """eu tu el ea noi voi ei ele mă te se ne vă îl îi mi ți lor săi sa său sale acest
        această aceste acestei acel aceea sunt era erau fi fie am ai are avea aveau va vor ar să
        și-a s-a ca că dar iar când unde cine ce cum cât câți câte de-a care-i cărei cărui dintre
        după până între despre fără într-o într-un dintr-o printre al unui unei unor toate foarte
        numai doar este fost lui căror căreia câtă ale acestora dată anul doi două mult mulți multe
        nici aici acum nimic tot toți vreau pot poate face făcut trebuie merge bine fiind prin
        pentru asupra împotriva numele""",
    "sv": """jag du han hon vi ni dem mig dig sig oss min din sin sitt mitt ditt hans hennes deras
        detta denna dessa vara varit hade blev blir kan kunde ska skulle måste men eller när där
        vad vem vilka vilken vilket hur varför många mycket efter mellan under över vid genom också
        bara än då så inte någon något alla mot utan år""",
    "pl": """i ja ty on ona ono my wy oni one mnie mi ciebie ci jej jego ich im ten ta te tego tej
        tym są była było były być ma mają miał o u za przed po między ze we co kto kiedy gdzie
        dlaczego jak jaki jaka jakie który która które którego których ile czy ale lub albo także
        tylko bardzo już jeszcze może można tak nigdy zawsze jestem jesteś chcę wiem proszę dwa
        lata lat roku został została zostały przy bez pod nad ponieważ podczas według wszystko nic
        tu teraz jeśli gdy żeby""",
    "tr": """ve bir bu da de için ile olarak olan gibi daha çok en kadar sonra önce ne neden nasıl
        nerede nereye kim kimin hangi hangisi kaç kaçta değil var yok ben sen o biz siz onlar beni
        seni onu bana sana ona benim senin onun bizim mi mı mu mü ama veya ya her tüm bütün şey
        arasında tarafından göre ise oldu olduğu olduğunu edildi eden etti idi vardır zaman ilk iki
        diğer yıl yılında ki hiç şimdi burada nedir neydi kimdir nelerdir kimdi yılda olur olmuştur
        edilmiştir kullanılan yapılan istiyorum iyi güzel seviyorum geldi gitti dedi üzerinde
        içinde altında karşı çünkü""",
    "vi": """và của là có được trong cho các những một không này đã với từ người khi ở như đến vào
        ra về tại bởi theo cũng nhiều nhất năm gì ai nào đâu sao bao nhiêu tôi anh chị em họ chúng
        ông bà nó thì mà đó sẽ rất lại phải để nhưng hoặc nếu trên dưới sau trước giữa hơn số đang
        làm""",
    "cs": """a v ve na se si je že to s z ze k ke o i do pro po od u byl byla bylo byly jsou být
        jsem jsi jste jako ale nebo který která které kterou kterého kdo co kdy kde proč jak kolik
        jaký jaká jaké tento tato toto ten ta ty mě mi mu ji jeho její jejich já on ona oni my vy
        má měl není také jen již už ještě mezi před podle při roce by aby když nic vždy""",
    "da": """og i at det er en et den de til på af for med som der var har blev bliver ikke jeg du
        han hun vi mig dig sig os min din sin deres hans hendes dette denne disse være været havde
        kan kunne skal skulle vil ville men eller når hvor hvad hvem hvornår hvilken hvilke hvilket
        hvordan hvorfor mange meget efter mellem under over ved gennem også kun end om fra nogen
        noget alle mod uden nu nogle""",
    "no": """og i at det er en et den de til på av for med som var har ble blir ikke jeg du han hun
        vi meg deg seg oss min din sin deres hans hennes dette denne disse være vært hadde kan
        kunne skal skulle vil ville men eller når hvor hva hvem hvilken hvilke hvilket hvordan
        hvorfor mange mye etter mellom under over ved gjennom også bare enn om fra noen noe alle
        mot uten nå""",
    "fi": """ja on oli ovat olivat ei että se ne hän he minä sinä me te tämä tässä tuo joka jotka
        jonka mutta tai kuin myös kun jos niin vain hänen sen minun sinun mikä mitä kuka missä
        milloin miksi miten kuinka monta mistä mihin olla ollut olen olet en et eivät ole hyvin
        vuonna sekä kanssa jälkeen ennen välillä mukaan joissa jossa jota jolla mukana nyt kaikki
        mitään aina""",
    "hu": """a az és hogy nem egy is volt van voltak vannak ez azt ezt ezek azok ki mi mit mikor
        hol miért hogyan hány melyik milyen kinek én te ő ti ők engem téged neki nekem csak már még
        mint vagy de ha után előtt között által szerint pedig meg el fel be le lett lesz lehet kell
        amely amelyek aki akik ahol amikor minden sok nagyon több első két éves nincs soha mindig
        itt most""",
}
# Letters that few languages use, in lower case.
_LETTERS = {
    "es": "ñ¿¡áéíóú",
    "fr": "éèêçœûîôàù",
    "de": "ßäöü",
    "it": "èéìòàù",
    "pt": "ãõçêôàâáéíóú",
    "ro": "șțşţăâî",
    "sv": "åäö",
    "pl": "łąęśćńźż",
    "tr": "ığşçöü",
    "vi": "ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    "cs": "řěůčšžýďťňáéí",
    "da": "æøå",
    "no": "æøå",
    "fi": "äö",
    "hu": "őűáéíóöü",
}


def _by_sign(signs: dict[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code, listed in signs.items():
        for sign in listed:
            found[sign] = (*found.get(sign, ()), code)
    return found


LANGUAGES_OF_WORD = _by_sign(
    {
        code: frozenset(words.split()) | FUNCTION_WORDS.get(code, frozenset())
        for code, words in _MORE_WORDS.items()
    }
)
"""The languages in which a word is frequent."""
LANGUAGES_OF_LETTER = _by_sign({code: frozenset(letters) for code, letters in _LETTERS.items()})
"""The languages that use a letter."""


_SCRIPTS = {
    "ja": regex.compile(r"[\p{Hiragana}\p{Katakana}]"),
    "zh": regex.compile(r"\p{Han}"),
    "ko": regex.compile(r"\p{Hangul}"),
    "th": regex.compile(r"\p{Thai}"),
    "ar": regex.compile(r"\p{Arabic}"),
    "he": regex.compile(r"\p{Hebrew}"),
    "el": regex.compile(r"\p{Greek}"),
    "ru": regex.compile(r"\p{Cyrillic}"),
    "hi": regex.compile(r"\p{Devanagari}"),
}
# Letters of other languages in the same script: Ukrainian, Serbian and Kazakh; Persian and Urdu;
# Yiddish; Marathi.
_FOREIGN = {
    "ru": frozenset("іїєґўђјљњћџѓќѕәғқңөұүһ"),
    "ar": frozenset("پچژگکیےٹڈڑںھہ"),
    "hi": frozenset("ळ"),
}
_LETTER = regex.compile(r"\p{L}")
_WORD = regex.compile(r"[\p{L}\p{M}]++(?:-[\p{L}\p{M}]++)*+|[¿¡]")
_WITH_APOSTROPHE = regex.compile(r"[\p{L}\p{M}]++'[\p{L}\p{M}]++")
_ELIDED = frozenset("cdjlmnst")  # words of French and Italian, before an apostrophe only
_SAMPLE = 1000  # characters: a list of names may precede the first common words
# A word of one language alone counts 1, one of n languages 1/n; a rarer letter counts half of that.
_LETTER_WEIGHT = 0.5
_LEAST_WEIGHT = 0.9
_LEAST_LEAD = 1.25  # over the next language
UNKNOWN = "?"


def guess_language(text: str) -> str:
    """A two-letter code, or "?" if unknown."""
    sample = normalize("NFC", text[:_SAMPLE])
    if not sample.isascii():
        letters = len(_LETTER.findall(sample))
        for code, script in _SCRIPTS.items():
            found = len(script.findall(sample))
            # Japanese also uses Chinese characters, so a tenth of kana is enough.
            if found and found >= letters * (0.1 if code == "ja" else 0.4):
                is_foreign = not _FOREIGN.get(code, frozenset()).isdisjoint(sample.lower())
                return UNKNOWN if is_foreign else code
    return _by_words(sample.replace("İ", "i").lower().replace("’", "'"))


def _by_words(sample: str) -> str:
    weights: defaultdict[str, float] = defaultdict(float)
    # Each word once: a name that a text repeats is no more evidence than one that it does not.
    for word in {*_WORD.findall(sample), *_WITH_APOSTROPHE.findall(sample)}:
        codes = LANGUAGES_OF_WORD.get(word, ())
        if word in _ELIDED and f"{word}'" not in sample:
            codes = tuple(code for code in codes if code not in ("fr", "it"))
        if codes:
            for code in codes:
                weights[code] += 1.0 / len(codes)
        elif not word.isascii():
            for letter in word:
                codes = LANGUAGES_OF_LETTER.get(letter, ())
                for code in codes:
                    weights[code] += _LETTER_WEIGHT / len(codes)
    ranked = sorted(((weight, code) for code, weight in weights.items()), reverse=True)
    (weight, best), (second, _) = [*ranked, (0.0, UNKNOWN), (0.0, UNKNOWN)][:2]
    return best if weight >= max(_LEAST_WEIGHT, _LEAST_LEAD * second) else UNKNOWN
