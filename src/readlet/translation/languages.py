"""Language codes: engines use those of two and of three letters, Readlet those of ISO 639-1."""

# Three letters to two, for the languages that Apertium and NLLB name by three.
_SHORT = dict(
    word.split("=")
    for word in """
    afr=af ara=ar arg=an arb=ar ast=ast bel=be ben=bn bre=br bul=bg cat=ca ces=cs cym=cy dan=da
    deu=de ell=el eng=en epo=eo est=et eus=eu fas=fa fin=fi fra=fr gle=ga glg=gl heb=he hin=hi
    hrv=hr hun=hu hye=hy ind=id isl=is ita=it jpn=ja kat=ka kaz=kk kor=ko lav=lv lit=lt mkd=mk
    mlt=mt nld=nl nno=nn nob=nb oci=oc pes=fa pol=pl por=pt ron=ro rus=ru slk=sk slv=sl sme=se
    spa=es sqi=sq srd=sc srp=sr swe=sv swh=sw tam=ta tat=tt tha=th tur=tr ukr=uk urd=ur vie=vi
    zho=zh
    """.split()
)


def short_code(code: str) -> str:
    """The code of two letters, where there is one: `eng` is `en`; `spa_Latn` is `es`."""
    language = code.split("_")[0]
    return _SHORT.get(language, language)
