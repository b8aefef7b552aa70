"""Conversations in many languages, made up, and good summaries of them in many shapes, each with a name."""

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart


__all__ = ["FAIR", "TALKS"]


def _talk(*texts: str) -> tuple[Message, ...]:
    return tuple(
        (Message.assistant if number % 2 else Message.user)(text)
        for number, text in enumerate(texts)
    )


TALKS = {
    "greenhouse": (
        *_talk(
            "The sensors of greenhouse 4 stopped sending at night. The gateway runs on Debian and the service "
            "is greenhouse-relay-north. Please find the reason and repair it, but never restart the pumps.",
        ),
        Message.assistant(
            "The log comes first.",
            tool_calls=[ToolCallPart("g1", "shell", '{"command": "journalctl -u relay | tail"}')],
        ),
        Message.tool(
            "g1",
            "02:14 relay: queue full, 2.4 million frames dropped\n02:15 relay: reading /etc/relay/limits.toml\n"
            "version v1.9.3, build 7c1e9ab04d52f6638810aa95be07c4d2f1e6b3a0",
        ),
        *_talk(
            "There is more.",
            "The relay drops frames because its queue holds only 512 of them, and the north hall sends in bursts "
            "when the ventilation closes. A larger queue in limits.toml would help, or a second worker process.",
            "Take the larger queue, memory is cheap. Ticket #417 is about it, and Dr. Okafor wants a short report "
            "on Friday. The model of the humidity sensors is called Halden, and they must be calibrated again.",
            "The queue is 8192 now in /etc/relay/limits.toml, and the change is on branch fix/larger-queue. What is "
            "left are the calibration and the report.",
        ),
    ),
    "german": _talk(
        "Unser Chor singt am 14. Dezember in der Lukaskirche, und ich muss die Probenwoche planen. Wir sind 38 "
        "Leute, die Orgel wird noch gestimmt, und die Heizung der Kirche läuft erst ab 17 Uhr. Der Pfarrer gibt "
        "uns die Schlüssel am 2. Dezember.",
        "Dann schlage ich drei Proben vor: am 3. Dezember nur die Männerstimmen, am 7. Dezember alle ohne "
        "Orchester und am 12. Dezember die Generalprobe. Noten fehlen noch für die Sopranistinnen, das sind elf "
        "Hefte. Die Bläser brauchen einen geheizten Raum zum Einspielen.",
        "Die Noten bringt Frau Hartwig mit, sie bekommt 64 Euro dafür. Am 7. Dezember ist der Gemeindesaal "
        "belegt, nimm lieber den achten. Das Plakat druckt die Firma Blöm, Auftrag BL-5502.",
    ),
    "danish": _talk(
        "Vi skal sætte et nyt køkken op i foreningens hus ved havnen inden den 20. maj. Komfuret er fra 1987, "
        "gulvet er skævt, og der er kun to medlemmer, som kan lægge fliser. Budgettet er 34500 kroner.",
        "Jeg foreslår at rette gulvet op først og bestille skabene samtidig, for leveringen tager tre uger. "
        "Elektrikeren skal flytte stikkontakten bag komfuret, inden fliserne bliver lagt.",
        "Elektrikeren hedder Bent Lund og kommer den 3. maj. Skabene er bestilt hos Nordlys Træ. Køleskabet kan "
        "vi låne af roklubben, men det skal hentes med trailer.",
    ),
    "norwegian": _talk(
        "Hytta vår trenger nytt tak før vinteren. Taket er 96 kvadratmeter, bjelkene er fra 1961 og veien er "
        "stengt for lastebiler etter 15. oktober. Naboen har en traktor som vi kan bruke.",
        "Da bør platene kjøres opp i september. Ta ned den gamle torven først og legg presenning over natten. "
        "Skorsteinen må tettes av en murer, ellers lekker det igjen.",
        "Mureren heter Solveig Haug og tar 8200 kroner. Platene kommer 9. september klokken sju. Torven kjører "
        "vi til komposten på gården.",
    ),
    "italian": _talk(
        "Devo organizzare la mostra di fotografie della scuola nel chiostro di San Domenico dal 6 al 18 giugno. "
        "Le fotografie sono 72, i pannelli soltanto 30 e il custode chiude alle 19. La dottoressa Ferrante non "
        "vuole chiodi nei muri.",
        "Si possono appendere due fotografie per pannello e usare il corridoio nord per quelle grandi. Per la "
        "luce bastano dodici faretti a batteria. Serve una polizza per le opere e un turno di volontari.",
        "I volontari sono sedici, la polizza costa 210 euro. I faretti li presta il teatro, vanno ritirati "
        "il 4 giugno dal signor Conti. Il catalogo lo stampa mia sorella.",
    ),
    "polish": _talk(
        "Przygotowujemy rajd rowerowy dla seniorów wokół jeziora 22 czerwca. Zapisało się 54 uczestników, trasa "
        "ma 31 kilometrów, a jeden mostek jest w remoncie. Pani Zawadzka zajmuje się herbatą i kanapkami.",
        "Proponuję objazd przez wieś Lipowo, to dwa kilometry więcej. Potrzebne są trzy punkty z wodą oraz "
        "samochód z częściami zamiennymi na końcu kolumny. Karetka powinna stać przy plaży.",
        "Karetkę zapewnia pan Mazur, koszt to 640 złotych. Na objazd zgodził się sołtys. Numery startowe "
        "drukuje biblioteka, będą gotowe 18 czerwca.",
    ),
    "spanish": _talk(
        "Quiero montar un taller de cerámica para niños en el barrio durante agosto. Hay 26 inscritos, dos hornos "
        "pequeños y un patio con sombra. El ayuntamiento paga 1.850 euros y exige un seguro.",
        "Conviene hacer tres grupos por edades y cocer las piezas por la noche, cuando la luz es más barata. El "
        "barro se pide con dos semanas de antelación. Hace falta una persona para vigilar los hornos.",
        "Vigilará los hornos mi vecino Anselmo, que es bombero. El barro llega el 28 de julio. El seguro lo "
        "tramita Rosario y cuesta 95 euros.",
    ),
    "french": _talk(
        "Nous voulons rouvrir le refuge du col pour l'hiver. Il y a 18 couchettes, un poêle à bois et une citerne "
        "de 3000 litres qui gèle. L'hélicoptère monte une seule fois, le 24 octobre.",
        "Il faut isoler la citerne avec de la laine de bois et monter quatre stères de bûches avec l'hélicoptère. "
        "Les matelas peuvent attendre le printemps. Prévoyez une radio de secours pour le gardien.",
        "Le gardien sera Étienne Vallat. La radio vient du peloton de montagne. La laine de bois coûte 780 euros, "
        "la commune en paie la moitié. Il manque encore un ramoneur.",
    ),
    "dutch": _talk(
        "De volkstuin krijgt een nieuwe waterpomp voor 5 april. De oude pomp levert nog 900 liter per uur en het "
        "filter zit vol zand. Er zijn 63 tuinen en maar één sleutel van het pomphuis.",
        "Laat eerst de put schoonmaken en meet daarna de diepte. Een zonnepaneel kan de pomp overdag voeden, dan "
        "is er geen aggregaat nodig. De sleutel kan in een kastje met een code.",
        "De put wordt op 19 maart schoongemaakt door de firma Dekker, dat kost 370 euro. Het zonnepaneel betaalt "
        "de gemeente. Mevrouw Smit beheert het kastje.",
    ),
    "russian": _talk(
        "Мы готовим школьный спектакль к 27 марта. В пьесе 23 роли, костюмы хранятся в подвале, а прожекторы "
        "перегорели. Директор просит закончить репетиции до семи вечера.",
        "Предлагаю сначала проверить костюмы, затем заказать шесть ламп и разделить репетиции на две группы. "
        "Декорации можно собрать из старых школьных парт и ткани.",
        "Лампы стоят 4300 рублей, их привезёт Тимур. Ткань подарит ателье. Афишу рисует Вера, её надо напечатать "
        "к 15 марта.",
    ),
    "japanese": _talk(
        "町内会の夏祭りを準備しています。会場は川沿いの公園で、来場者は約1500人、屋台は18店です。雨の場合は体育館に移りますが、"
        "体育館では火が使えません。",
        "屋台を火を使う店と使わない店に分けて、雨の日の配置図を二枚作りましょう。電源は発電機を三台借りるのがよいです。ごみの分別は"
        "中学生に頼めます。",
        "発電機は佐藤さんの会社から借ります。費用は6万円です。花火は予算が足りないので中止にしました。配置図は金曜日までにお願いします。",
    ),
    "finnish": _talk(
        "Kyläyhdistys kunnostaa vanhan laiturin ennen 10. kesäkuuta. Laituri on 24 metriä pitkä, lankuista puolet "
        "on lahonnut ja pohja on kivinen. Vene saa tulla rantaan vain iltaisin.",
        "Lankut kannattaa tilata sahalta heti, koska toimitus kestää kaksi viikkoa. Kivet siirretään talkoilla ja "
        "ponttonit tarkistetaan sukeltamalla. Kaide tehdään lopuksi.",
        "Sukeltaja on Ilkka Rantanen ja hän veloittaa 260 euroa. Saha lupasi lankut 28. toukokuuta. Kahvit keittää "
        "Marjatta.",
    ),
}  # fmt: skip

_COMMIT = "7c1e9ab04d52"

FAIR = {
    "an account in the first person": ("greenhouse", (
        "I was asked to find out why the sensors of greenhouse 4 stop at night, without restarting the pumps. I "
        "found that the queue of greenhouse-relay-north holds only 512 frames. I set it to 8192 in "
        "/etc/relay/limits.toml. I will calibrate the Halden sensors next and then write the report."
    )),
    "an account to the user": ("greenhouse", (
        "You asked me to repair the relay of greenhouse 4 and never to restart the pumps. The queue was too small "
        "for the bursts of the north hall. You decided on a larger queue. The calibration and your report for "
        "Friday are left."
    )),
    "notes with labels": ("greenhouse", (
        "Goal: sensors of greenhouse 4 send at night again\nCause: queue of 512 frames, bursts from the north hall\n"
        "Rule: pumps are never restarted\nSystem: Debian, service greenhouse-relay-north\nModel: Halden humidity "
        "sensors\nDone: queue of 8192 in /etc/relay/limits.toml (fix/larger-queue)\nNext: calibrate the sensors; "
        "write the report that Dr. Okafor wants on Friday"
    )),
    "bold labels": ("greenhouse", (
        "**User:** wants the sensors of greenhouse 4 repaired without a restart of the pumps.\n**System:** Debian "
        "gateway with the service greenhouse-relay-north.\n**Assistant:** found a full queue and made it larger.\n"
        "**Open:** calibration, report for Dr. Okafor."
    )),
    "tags": ("greenhouse", (
        "<summary>\n<goal>Make the sensors of greenhouse 4 send at night, never restart the pumps.</goal>\n"
        "<state>The queue is 8192 in /etc/relay/limits.toml; ticket #417.</state>\n<next_steps>Calibrate the Halden "
        "sensors, write the report for Friday.</next_steps>\n</summary>"
    )),
    "one line of JSON": ("greenhouse", (
        '{"name": "sensor repair", "goal": "greenhouse 4 sends at night again", "rules": ["never restart the '
        'pumps"], "done": ["queue 512 to 8192 in /etc/relay/limits.toml"], "open_tasks": ["calibration", "report"]}'
    )),
    "YAML": ("greenhouse", (
        "goal: sensors of greenhouse 4 send at night\nconstraints:\n  - pumps are never restarted\ncause: queue of "
        "512 frames was full\nfiles_changed:\n  - /etc/relay/limits.toml\nnext_steps:\n  - calibrate Halden sensors"
        "\n  - report on Friday"
    )),
    "short ids and round numbers": ("greenhouse", (
        f"The relay v1.9.3 (build {_COMMIT[:7]}) dropped 2,400,000 frames at night, as 512 places are too few for "
        "the north hall. The queue has 8192 now. The user wants the sensors calibrated and a report on Friday."
    )),
    "a path at the end": ("greenhouse", (
        "The relay of greenhouse 4 lost frames because its queue was too small. The pumps must not be restarted. "
        "The larger queue has been set, and the file in which it stands is /etc/relay/limits.toml"
    )),
    "an exclamation": ("greenhouse", (
        "Sensors of greenhouse 4 stopped at night because the queue of the relay was full. Never restart the pumps! "
        "The queue is larger now. Still to do: the calibration and the report for Dr. Okafor!"
    )),
    "a next step of mine": ("greenhouse", (
        "Frames were dropped because the queue of the relay holds 512. It holds 8192 now, in limits.toml. The pumps "
        "stay as they are. My next step: the calibration of the Halden sensors, then the report."
    )),
    "wrapped at eighty": ("greenhouse", (
        "The user wants the sensors of greenhouse 4 repaired and forbids any restart of\nthe pumps. The relay "
        "dropped frames, since its queue was too small for the bursts\nof the north hall; the assistant made it "
        "larger. Dr. Okafor expects a report on\nFriday, and the humidity sensors have to be calibrated."
    )),
    "a table": ("greenhouse", (
        "| topic | state |\n|---|---|\n| queue | 8192 in /etc/relay/limits.toml |\n| pumps | never restart |\n"
        "| Halden sensors | to be calibrated |\n| report | for Dr. Okafor, Friday |"
    )),
    "numbered sections": ("greenhouse", (
        "1. Request:\n   The sensors of greenhouse 4 shall send at night again, without a restart of the pumps.\n"
        "2. Findings:\n   - queue of the relay was full, 512 frames\n3. Changes:\n   - /etc/relay/limits.toml: 8192\n"
        "4. Pending:\n   - calibration and report"
    )),
    "German nouns": ("german", (
        "Chorkonzert am 14. Dezember in der Lukaskirche, 38 Leute. Schlüssel am 2. Dezember, Proben am 3. Dezember "
        "und am 12. Dezember, die dritte am achten. Noten von Frau Hartwig (64 Euro), Plakat: Firma Blöm, BL-5502."
    )),
    "German, they and theirs": ("german", (
        "Der Chor probt dreimal, und alle bringen ihre Noten mit. Frau Hartwig besorgt elf Hefte; die Firma Blöm und "
        "ihr Auftrag BL-5502 sind für das Plakat. Die Bläser brauchen einen geheizten Raum, den der Pfarrer ihnen zeigt."
    )),
    "German short days": ("german", (
        "Konzert 14.12. in der Lukaskirche, Schlüssel 02.12., Männerstimmen 03.12., Generalprobe 12.12., Heizung ab "
        "17 Uhr. Gemeindesaal am 7.12. belegt. Plakat BL-5502."
    )),
    "German sections": ("german", (
        "## Decisions\n- Keine Probe im Gemeindesaal, denn er ist belegt\n## Open tasks\n- Raum für die Bläser "
        "suchen\n## Narrative\nDer Chor singt mit 38 Leuten. Die Sopranistinnen bekommen ihre Hefte von Frau Hartwig."
    )),
    "German labels": ("german", (
        "Ziel: Probenwoche für das Konzert am 14. Dezember\nOrt: Lukaskirche, Heizung ab 17 Uhr\nErledigt: Auftrag "
        "BL-5502 für das Plakat\nOffen: geheizter Raum für die Bläser, Probe am achten statt am 7. Dezember"
    )),
    "open question": ("german", (
        "## Stand\nDer Chor singt am 14. Dezember in der Lukaskirche, das Plakat ist BL-5502.\n## Offene Fragen\n"
        "Wo proben die Bläser?"
    )),
    "German formality": ("german", (
        "Stand:\n- Chorkonzert am 14. Dezember in der Lukaskirche\n- Plakat BL-5502\nVorgaben: Heizung ab 17 Uhr, per "
        "Sie, geheizter Raum für die Bläser"
    )),
    "English of a German talk": ("german", (
        "The user plans rehearsals of a choir of 38 people for a concert on December 14 in the Lukaskirche. The keys "
        "come on December 2. Mrs. Hartwig brings the scores for 64 euros. The poster is order BL-5502."
    )),
    "Danish": ("danish", (
        "Køkkenet i foreningens hus er under planlægning og skal være færdigt inden den 20. maj. Gulvet rettes op "
        "først, og skabene er bestilt hos Nordlys Træ. Bent Lund er elektriker og kommer den 3. maj."
    )),
    "Danish sections": ("danish", (
        "## Decisions\n- Gulvet rettes op, før fliserne bliver lagt\n## Open tasks\n- Hente køleskabet hos roklubben "
        "med trailer\n## Narrative\nBudgettet er 34500 kroner, og der er to medlemmer, som lægger fliser."
    )),
    "Danish labels": ("danish", (
        "Mål: nyt køkken ved havnen inden den 20. maj\nBudget: 34500 kroner\nBestilt: skabe hos Nordlys Træ\nÅbent: "
        "køleskab fra roklubben er ikke hentet"
    )),
    "Norwegian": ("norwegian", (
        "Hytta skal få nytt tak på 96 kvadratmeter før vinteren. Platene er bestilt til 9. september og kjøres opp "
        "med naboens traktor, for veien er stengt etter 15. oktober. Skorsteinen er ikke tettet; Solveig Haug tar den."
    )),
    "Norwegian notes": ("norwegian", (
        "- Platene kommer 9. september klokken sju\n- Torven er til komposten\n- Presenning over natten er viktig\n"
        "- Mureren Solveig Haug: 8200 kroner"
    )),
    "Italian, she": ("italian", (
        "Mostra della scuola nel chiostro di San Domenico dal 6 al 18 giugno. La dottoressa Ferrante vieta i chiodi, "
        "e lei controlla i muri. Due fotografie per pannello; i faretti del teatro si ritirano il 4 giugno dal sig. "
        "Conti. La polizza costa 210 euro."
    )),
    "Italian notes": ("italian", (
        "Obiettivo: mostra di 72 fotografie su 30 pannelli\nVincoli: niente chiodi, chiusura alle 19\nFatto: sedici "
        "volontari trovati\nDa fare: ritirare i faretti, firmare la polizza"
    )),
    "Italian, asked": ("italian", (
        "Mi è stato chiesto di organizzare la mostra di fotografie nel chiostro. Ho proposto due fotografie per "
        "pannello e dodici faretti a batteria. Restano il catalogo e la polizza da 210 euro."
    )),
    "Polish, with titles": ("polish", (
        "Rajd rowerowy seniorów odbędzie się 22 czerwca, zapisało się 54 uczestników. Objazd prowadzi przez wieś "
        "Lipowo. Pani Zawadzka przygotowuje herbatę, a karetkę za 640 złotych zapewnia pan Mazur."
    )),
    "Polish notes": ("polish", (
        "- Trasa: 31 kilometrów i objazd przez Lipowo\n- Karetka przy plaży, pan Mazur\n- Numery startowe 18 czerwca\n"
        "- Do zrobienia: trzy punkty z wodą"
    )),
    "Spanish": ("spanish", (
        "Se organiza un taller de cerámica en agosto para 26 niños, en tres grupos por edades. Anselmo vigila los "
        "hornos, que se encienden por la noche. El barro llega el 28 de julio y Rosario tramita el seguro de 95 euros."
    )),
    "Spanish labels": ("spanish", (
        "Objetivo: taller de cerámica en el barrio\nPresupuesto: 1.850 euros del ayuntamiento\nHecho: Anselmo vigila "
        "los hornos\nPendiente: seguro (Rosario), barro el 28 de julio"
    )),
    "Spanish, asked": ("spanish", (
        "Me pidieron ayuda con un taller de cerámica para 26 niños. Propuse tres grupos y cocer las piezas por la "
        "noche. El seguro cuesta 95 euros y lo tramita Rosario."
    )),
    "French": ("french", (
        "Réouverture du refuge du col pour l'hiver, 18 couchettes. La citerne de 3000 litres sera isolée avec de la "
        "laine de bois (780 euros, dont la moitié payée par la commune). L'hélicoptère monte le 24 octobre. Il manque "
        "un ramoneur; le gardien, M. Vallat, reçoit une radio."
    )),
    "French sections": ("french", (
        "## Decisions\n- Les matelas attendent le printemps\n## Open tasks\n- Trouver un ramoneur\n## Narrative\nLe "
        "ton des échanges était pressé: l'hélicoptère ne monte qu'une fois, le 24 octobre, avec quatre stères de bois."
    )),
    "Dutch": ("dutch", (
        "De volkstuin krijgt voor 5 april een nieuwe waterpomp. De put wordt op 19 maart schoongemaakt door Dekker "
        "voor 370 euro. Het zonnepaneel betaalt de gemeente, en mevr. Smit beheert het kastje met de sleutel."
    )),
    "Dutch notes": ("dutch", (
        "Doel: nieuwe pomp voor 63 tuinen\nAfgesproken: put schoonmaken op 19 maart, kosten 370 euro\nOpen: diepte van "
        "de put meten"
    )),
    "Russian": ("russian", (
        "Школьный спектакль назначен на 27 марта, в нём 23 роли. Тимур привезёт шесть ламп за 4300 руб. Декорации "
        "собирают из старых парт и ткани. Афишу рисует Вера, её надо напечатать к 15 марта."
    )),
    "Russian, a next step": ("russian", (
        "Репетиции делятся на две группы и заканчиваются до семи вечера. Костюмы в подвале ещё не проверены, лампы "
        "стоят 4300 рублей. Мой следующий шаг: список костюмов для 23 ролей."
    )),
    "Japanese": ("japanese", (
        "町内会の夏祭りの準備。会場は川沿いの公園で、雨の場合は体育館に移る。発電機三台は佐藤さんの会社から借り、費用は60,000円。"
        "花火は中止。雨の日の配置図は金曜日まで。"
    )),
    "English of a Japanese talk": ("japanese", (
        "A summer festival with 18 stalls and about 1,500 visitors is planned in a park by the river. If it rains, it "
        "moves to the gym, where no fire is allowed. Three generators are rented for 60,000 yen; the fireworks are off."
    )),
    "Finnish": ("finnish", (
        "Vanha laituri kunnostetaan ennen 10. kesäkuuta. Saha toimittaa lankut 28. toukokuuta, kivet siirretään "
        "talkoilla ja Ilkka Rantanen sukeltaa 260 eurolla. Kaide on vielä tekemättä."
    )),
}  # fmt: skip
"""Summaries that have to stand whole: the name of a talk, and the text."""
