"""What rooms hold: receptacles, objects, their properties and what goes where. Tables for the generator.

Kinds are spelled as the simulator spells them (``CounterTop``), because ids and PDDL types are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["OBJECTS", "RECEPTACLES", "ROOMS", "ObjectKind", "ReceptacleKind", "Room", "RoomName", "spoken"]

RoomName = Literal["kitchen", "living room", "bedroom", "bathroom"]
Group = Literal["food", "dish", "tool", "linen", "small", "large", "wash", "hung", "roll", "lamp", "fixed"]


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """Properties of a kind of object.

    Attributes:
        group: Which receptacles take it.
        traits: PDDL predicates that hold of it, of ``pickupable``, ``heatable``, ``coolable``, ``cleanable``,
            ``sliceable``, ``toggleable`` and ``isReceptacleObject``.
    """

    group: Group
    traits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReceptacleKind:
    """Properties of a kind of receptacle.

    Attributes:
        accepts: Groups of objects that it takes.
        openable: Share of its kind that opens; 1.0 where all do.
        height: Height of its surface in metres.
        part: What the simulator appends to its id, for a basin inside a sink.
    """

    accepts: tuple[Group, ...]
    openable: float = 0.0
    height: float = 0.9
    part: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """What a kind of room holds.

    Attributes:
        scenes: First scene number of our rooms of this kind; the release uses numbers below 500.
        furniture: Receptacle kinds and how many there are at least and at most.
        things: Object kinds that are found here and how many there are at most.
        scenery: Kinds that stand about and can be neither taken nor used.
    """

    scenes: int
    furniture: tuple[tuple[str, int, int], ...]
    things: tuple[tuple[str, int], ...]
    scenery: tuple[str, ...]


def _food(*traits: str) -> ObjectKind:
    return ObjectKind("food", ("pickupable", "heatable", "coolable", "cleanable", *traits))


def _plain(group: Group) -> ObjectKind:
    return ObjectKind(group, ("pickupable",))


def _washable(group: Group, *traits: str) -> ObjectKind:
    return ObjectKind(group, ("pickupable", "cleanable", *traits))


OBJECTS: Mapping[str, ObjectKind] = {
    "Apple": _food("sliceable"),
    "Potato": _food("sliceable"),
    "Tomato": _food("sliceable"),
    "Lettuce": ObjectKind("food", ("pickupable", "coolable", "cleanable", "sliceable")),
    "Bread": ObjectKind("food", ("pickupable", "heatable", "coolable", "sliceable")),
    "Egg": _food(),
    "Cup": _washable("dish", "heatable", "coolable", "isReceptacleObject"),
    "Mug": _washable("dish", "heatable", "coolable", "isReceptacleObject"),
    "Plate": _washable("dish", "heatable", "coolable", "isReceptacleObject"),
    "Bowl": _washable("dish", "coolable", "isReceptacleObject"),
    "Pan": _washable("dish", "coolable", "isReceptacleObject"),
    "Pot": _washable("dish", "coolable", "isReceptacleObject"),
    "Kettle": _washable("dish"),
    "Knife": _washable("tool"),
    "ButterKnife": _washable("tool"),
    "Fork": _washable("tool"),
    "Spoon": _washable("tool"),
    "Spatula": _washable("tool"),
    "Ladle": _washable("tool"),
    "DishSponge": _washable("wash"),
    "SoapBar": _washable("wash"),
    "Cloth": _washable("wash"),
    "SaltShaker": _plain("small"),
    "PepperShaker": _plain("small"),
    "SoapBottle": _plain("small"),
    "SprayBottle": _plain("small"),
    "WineBottle": ObjectKind("small", ("pickupable", "coolable")),
    "Candle": _plain("small"),
    "TissueBox": _plain("small"),
    "CreditCard": _plain("small"),
    "KeyChain": _plain("small"),
    "RemoteControl": _plain("small"),
    "Watch": _plain("small"),
    "CellPhone": _plain("small"),
    "CD": _plain("small"),
    "Pen": _plain("small"),
    "Pencil": _plain("small"),
    "AlarmClock": _plain("small"),
    "Book": _plain("small"),
    "Newspaper": _plain("small"),
    "Vase": _plain("small"),
    "Statue": _plain("small"),
    "Laptop": _plain("large"),
    "Box": _plain("large"),
    "Pillow": _plain("large"),
    "BasketBall": _plain("large"),
    "HandTowel": _plain("hung"),
    "Towel": _plain("linen"),
    "ToiletPaper": _plain("roll"),
    "DeskLamp": ObjectKind("lamp", ("toggleable",)),
    "FloorLamp": ObjectKind("fixed", ("toggleable",)),
    "HousePlant": ObjectKind("fixed", ()),
    "Window": ObjectKind("fixed", ()),
    "Painting": ObjectKind("fixed", ()),
    "LightSwitch": ObjectKind("fixed", ()),
    "StoveKnob": ObjectKind("fixed", ()),
    "Mirror": ObjectKind("fixed", ()),
}

_SURFACE: tuple[Group, ...] = ("food", "dish", "tool", "small", "large", "wash", "roll", "lamp")

RECEPTACLES: Mapping[str, ReceptacleKind] = {
    "Cabinet": ReceptacleKind(("dish", "small", "wash", "roll"), openable=0.85, height=1.4),
    "CounterTop": ReceptacleKind(_SURFACE),
    "Drawer": ReceptacleKind(("tool", "small", "wash", "roll"), openable=0.9, height=0.6),
    "Fridge": ReceptacleKind(("food", "dish"), openable=1.0, height=1.1),
    "Microwave": ReceptacleKind(("food", "dish"), openable=1.0, height=1.0),
    "SinkBasin": ReceptacleKind(("food", "dish", "tool", "wash"), part="Sink"),
    "StoveBurner": ReceptacleKind(("dish",)),
    "CoffeeMachine": ReceptacleKind(("dish",), height=1.0),
    "Toaster": ReceptacleKind((), height=1.0),
    "GarbageCan": ReceptacleKind(("food", "small", "wash", "roll"), height=0.4),
    "DiningTable": ReceptacleKind(_SURFACE, height=0.75),
    "SideTable": ReceptacleKind(_SURFACE, height=0.7),
    "CoffeeTable": ReceptacleKind(_SURFACE, height=0.5),
    "Desk": ReceptacleKind(_SURFACE, height=0.75),
    "Dresser": ReceptacleKind(_SURFACE, height=0.9),
    "TVStand": ReceptacleKind(_SURFACE, height=0.6),
    "Shelf": ReceptacleKind(("dish", "small", "wash", "roll", "lamp"), height=1.2),
    "Sofa": ReceptacleKind(("small", "large"), height=0.4),
    "ArmChair": ReceptacleKind(("small", "large"), height=0.4),
    "Bed": ReceptacleKind(("small", "large"), height=0.5),
    "Safe": ReceptacleKind(("small",), openable=1.0, height=0.3),
    "LaundryHamper": ReceptacleKind(("linen", "wash"), height=0.5),
    "Toilet": ReceptacleKind(("small", "wash", "roll"), height=0.5),
    "BathtubBasin": ReceptacleKind(("wash", "linen"), part="Bathtub", height=0.4),
    "HandTowelHolder": ReceptacleKind(("hung",), height=1.3),
    "TowelHolder": ReceptacleKind(("linen",), height=1.2),
    "ToiletPaperHanger": ReceptacleKind(("roll",), height=0.8),
    "Cart": ReceptacleKind(("small", "wash", "roll", "linen"), height=0.7),
}

ROOMS: Mapping[RoomName, Room] = {
    "kitchen": Room(
        500,
        (
            ("Cabinet", 4, 9),
            ("CounterTop", 1, 3),
            ("Drawer", 3, 8),
            ("Fridge", 1, 1),
            ("Microwave", 1, 1),
            ("SinkBasin", 1, 1),
            ("StoveBurner", 4, 4),
            ("CoffeeMachine", 1, 1),
            ("Toaster", 1, 1),
            ("GarbageCan", 1, 1),
            ("DiningTable", 0, 2),
            ("SideTable", 0, 1),
            ("Shelf", 0, 3),
        ),
        (
            *((kind, 2) for kind in ("Apple", "Potato", "Tomato", "Lettuce", "Bread", "Egg", "Plate", "Bowl", "Pan")),
            *((kind, 3) for kind in ("Cup", "Mug", "Knife", "ButterKnife", "Fork", "Spoon")),
            *((kind, 2) for kind in ("Spatula", "Ladle", "Pot", "SaltShaker", "PepperShaker", "SoapBottle")),
            *((kind, 1) for kind in ("Kettle", "DishSponge", "WineBottle", "Vase")),
        ),
        ("Window", "LightSwitch", "StoveKnob", "HousePlant"),
    ),
    "living room": Room(
        600,
        (
            ("Sofa", 1, 1),
            ("ArmChair", 1, 2),
            ("CoffeeTable", 1, 2),
            ("SideTable", 1, 2),
            ("TVStand", 1, 1),
            ("Drawer", 2, 5),
            ("Shelf", 1, 5),
            ("Cabinet", 0, 3),
            ("DiningTable", 0, 1),
            ("Safe", 0, 1),
            ("GarbageCan", 1, 1),
        ),
        (
            *((kind, 2) for kind in ("Newspaper", "RemoteControl", "CreditCard", "KeyChain", "Laptop", "TissueBox")),
            *((kind, 2) for kind in ("Pillow", "Vase", "Statue", "Watch", "Candle", "CellPhone", "Book", "Box")),
        ),
        ("Window", "LightSwitch", "Painting", "HousePlant"),
    ),
    "bedroom": Room(
        700,
        (
            ("Bed", 1, 1),
            ("Desk", 1, 2),
            ("Drawer", 3, 8),
            ("Shelf", 1, 4),
            ("Dresser", 0, 1),
            ("SideTable", 1, 2),
            ("ArmChair", 0, 1),
            ("Safe", 0, 1),
            ("LaundryHamper", 0, 1),
            ("GarbageCan", 1, 1),
        ),
        (
            *((kind, 3) for kind in ("CD", "Pen", "Pencil", "CellPhone", "CreditCard", "KeyChain", "Book")),
            *((kind, 2) for kind in ("AlarmClock", "Laptop", "Pillow", "Mug", "Bowl", "BasketBall", "Box", "Statue")),
        ),
        ("Window", "LightSwitch", "Painting", "Mirror"),
    ),
    "bathroom": Room(
        800,
        (
            ("SinkBasin", 1, 2),
            ("CounterTop", 1, 1),
            ("Toilet", 1, 1),
            ("BathtubBasin", 0, 1),
            ("HandTowelHolder", 1, 2),
            ("TowelHolder", 1, 1),
            ("ToiletPaperHanger", 1, 1),
            ("Cabinet", 1, 4),
            ("Drawer", 0, 3),
            ("Shelf", 0, 2),
            ("Cart", 0, 1),
            ("GarbageCan", 1, 1),
        ),
        (
            *((kind, 3) for kind in ("SoapBar", "Cloth", "ToiletPaper", "Candle")),
            *((kind, 2) for kind in ("SoapBottle", "SprayBottle", "TissueBox", "HandTowel", "DishSponge")),
            ("Towel", 1),
        ),
        ("Mirror", "LightSwitch", "Window"),
    ),
}

_SPOKEN: Mapping[str, tuple[str, ...]] = {
    "CounterTop": ("counter", "countertop", "kitchen counter"),
    "SinkBasin": ("sink", "basin"),
    "BathtubBasin": ("bathtub", "tub"),
    "GarbageCan": ("garbage can", "trash can", "bin"),
    "StoveBurner": ("stove", "burner"),
    "Fridge": ("fridge", "refrigerator"),
    "Sofa": ("sofa", "couch"),
    "SideTable": ("side table", "small table", "end table"),
    "TVStand": ("TV stand", "television stand"),
    "ToiletPaperHanger": ("toilet paper holder",),
    "HandTowelHolder": ("hand towel holder",),
    "CD": ("CD", "disc"),
    "CellPhone": ("cell phone", "phone"),
    "RemoteControl": ("remote", "remote control"),
    "KeyChain": ("keys", "key chain"),
    "ToiletPaper": ("roll of toilet paper", "toilet paper"),
    "SoapBar": ("bar of soap", "soap"),
    "DishSponge": ("sponge", "dish sponge"),
    "DeskLamp": ("desk lamp", "lamp"),
    "FloorLamp": ("floor lamp", "standing lamp"),
}


def spoken(kind: str) -> tuple[str, ...]:
    """What people call a kind, the commonest first: ``ButterKnife`` is a ``butter knife``."""
    if kind in _SPOKEN:
        return _SPOKEN[kind]
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind).strip()
    return (words,)
