"""Names of joints and columns in other languages, word by word: Ellbogen links is left elbow.

Only a list of names that has a left and a right of one language is translated, so that no English
name is taken for another: ``main`` is a hand only beside ``gauche`` and ``droite``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_Words = dict[str, str]


def _of(sides: str, words: str) -> tuple[frozenset[str], frozenset[str], _Words]:
    """Words for left, words for right, and all words with their English ones: ``kopf=head``."""
    left, right = (frozenset(side.split("/")) for side in sides.split())
    table: _Words = dict.fromkeys(left, "left") | dict.fromkeys(right, "right")
    for entry in words.split():
        theirs, _, ours = entry.partition("=")
        table.update(dict.fromkeys(theirs.split("/"), ours.replace("_", " ")))
    return left, right, table


# Without accents; German also with ae, oe, ue and ss.
_LANGUAGES = (
    _of(  # German
        "links/linke/linker/linkes rechts/rechte/rechter/rechtes",
        "kopf=head scheitel=head_top nase=nose auge=eye ohr=ear mund=mouth kinn=chin hals/nacken=neck "
        "schulter/schultern=shoulder schluesselbein/schlusselbein=collar ellbogen/ellenbogen=elbow "
        "unterarm=forearm oberarm=upper_arm handgelenk=wrist hand=hand fingerspitze/handspitze=hand_tip "
        "daumen=thumb zeigefinger=index mittelfinger=middle ringfinger=ring kleinfinger=pinky "
        "brust/brustkorb/brustbein=chest rumpf/oberkoerper/oberkorper=torso bauch=belly "
        "wirbelsaeule/wirbelsaule=spine becken=pelvis huefte/hufte/hueften/huften=hip "
        "oberschenkel=thigh unterschenkel=shin knie=knee knoechel/knochel/sprunggelenk/fussgelenk=ankle "
        "ferse=heel fuss=foot fussspitze/zehe/zehen/zehenspitze=toe mitte/mittig/zentrum=center",
    ),
    _of(  # Dutch
        "links/linker/linker rechts/rechter",
        "hoofd=head neus=nose oog=eye oor=ear mond=mouth kin=chin nek/hals=neck schouder=shoulder "
        "sleutelbeen=collar elleboog=elbow onderarm=forearm bovenarm=upper_arm pols=wrist hand=hand "
        "duim=thumb wijsvinger=index middelvinger=middle ringvinger=ring pink=pinky borst=chest "
        "romp=torso wervelkolom/rug=spine bekken=pelvis heup=hip dijbeen=thigh knie=knee enkel=ankle "
        "hiel=heel voet=foot teen/tenen=toe midden/centrum=center",
    ),
    _of(  # French
        "gauche/gauches droite/droit/droites",
        "tete=head nez=nose oeil=eye oreille=ear bouche=mouth menton=chin cou/nuque=neck epaule=shoulder "
        "clavicule=collar coude=elbow avantbras=forearm bras=upper_arm poignet=wrist main=hand pouce=thumb "
        "index=index majeur=middle annulaire=ring auriculaire=pinky poitrine/sternum=chest tronc=torso "
        "colonne/dos=spine bassin/pelvis=pelvis hanche=hip cuisse=thigh genou=knee cheville=ankle "
        "talon=heel pied=foot orteil/orteils=toe centre/milieu=center",
    ),
    _of(  # Spanish
        "izquierda/izquierdo/izq derecha/derecho/der",
        "cabeza=head nariz=nose ojo=eye oreja=ear boca=mouth barbilla=chin cuello=neck hombro=shoulder "
        "clavicula=collar codo=elbow antebrazo=forearm brazo=upper_arm muneca=wrist mano=hand pulgar=thumb "
        "indice=index medio=middle anular=ring menique=pinky pecho=chest torso/tronco=torso "
        "columna/espalda=spine pelvis=pelvis cadera=hip muslo=thigh rodilla=knee tobillo=ankle talon=heel "
        "pie=foot dedo=toe centro=center",
    ),
    _of(  # Italian
        "sinistra/sinistro/sx destra/destro/dx",
        "testa=head naso=nose occhio=eye orecchio=ear bocca=mouth mento=chin collo=neck spalla=shoulder "
        "clavicola=collar gomito=elbow avambraccio=forearm braccio=upper_arm polso=wrist mano=hand "
        "pollice=thumb indice=index medio=middle anulare=ring mignolo=pinky petto/torace=chest tronco=torso "
        "colonna/schiena=spine bacino=pelvis anca=hip coscia=thigh ginocchio=knee caviglia=ankle "
        "tallone=heel piede=foot dita/punta=toe centro=center",
    ),
    _of(  # Portuguese
        "esquerda/esquerdo/esq direita/direito/dir",
        "cabeca=head nariz=nose olho=eye orelha=ear boca=mouth queixo=chin pescoco=neck ombro=shoulder "
        "clavicula=collar cotovelo=elbow antebraco=forearm braco=upper_arm pulso/punho=wrist mao=hand "
        "polegar=thumb indicador=index medio=middle anelar=ring minimo=pinky peito=chest tronco=torso "
        "coluna=spine pelve/bacia=pelvis quadril/anca=hip coxa=thigh joelho=knee tornozelo=ankle "
        "calcanhar=heel pe=foot dedo=toe centro=center",
    ),
)
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[^\W\d_A-ZÄÖÜ])(?=[A-ZÄÖÜ])")


def translated(names: Sequence[str]) -> list[str]:
    """The names with English words, where they have a left and a right of another language.

    >>> translated(["Hüfte Mitte", "Ellbogen links", "FußRechts", "Ball"])
    ['hip center', 'elbow left', 'foot right', 'Ball']
    >>> translated(["main", "left_hand", "right_hand"])
    ['main', 'left_hand', 'right_hand']
    """
    split = [_CAMEL.sub(" ", name) for name in names]
    words = [{_plain(word) for word in _WORD.findall(name)} for name in split]
    every = set().union(*words) if words else set()
    fitting = [table for left, right, table in _LANGUAGES if every & left and every & right]
    if not fitting or every & {"left", "right"}:
        return list(names)
    table = max(fitting, key=lambda table: len(every & table.keys()))

    def english(found: re.Match[str]) -> str:
        return table.get(_plain(found[0]), found[0])

    return [
        _WORD.sub(english, spaced).replace("_", " ") if own & table.keys() else name
        for name, spaced, own in zip(names, split, words, strict=True)
    ]


def _plain(word: str) -> str:
    """A word in lower case without accents."""
    bare = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return "".join(letter for letter in bare if not unicodedata.combining(letter))
