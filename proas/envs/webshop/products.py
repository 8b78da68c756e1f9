"""Products and their attributes, read from the original's data files.

Formats: ``items_shuffle*.json`` is a list of products, ``items_ins_v2*.json`` maps a product's number (ASIN) to its
attributes and synthetic instruction, ``items_human_ins.json`` maps it to a list of people's instructions
(Yao et al., 2022).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proas.errors import DataError
from proas.rollouts import Reject

__all__ = ["Catalogue", "Product", "ShopFiles", "find_files", "load_catalogue", "sample_root"]

_PRICE_UNKNOWN = 100.0
_NO_ATTRIBUTES = ("DUMMY_ATTR",)
_NOT_PRICE = re.compile(r"[^\d.]")


@dataclass(frozen=True, slots=True)
class Product:
    """What the shop knows of a product.

    Attributes:
        asin: Its number, ten characters.
        title: Its name.
        category: One of the shop's five departments.
        query: The search that the product was first found with, in small letters.
        product_category: Path of categories, parted by ``›``.
        description: Description; may be empty.
        features: Bullet points.
        attributes: Attributes that were mined from its text.
        options: Option groups by name in small letters, each with its values as the page shows them.
        prices: One price, or the lowest and the highest.
        price_tag: The price as the page shows it.
        instruction: Synthetic instruction, if it has one.
        instruction_attributes: Attributes that the synthetic instruction asks for.
        human_instructions: People's instructions for it.
    """

    asin: str
    title: str
    category: str
    query: str
    product_category: str
    description: str
    features: tuple[str, ...]
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    prices: tuple[float, ...]
    price_tag: str
    instruction: str = ""
    instruction_attributes: tuple[str, ...] = ()
    human_instructions: tuple[HumanInstruction, ...] = ()


@dataclass(frozen=True, slots=True)
class HumanInstruction:
    """A person's instruction for a product.

    Attributes:
        text: The instruction.
        attributes: Attributes it asks for.
        options: Option values it asks for.
    """

    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShopFiles:
    """Where a shop's data files lie.

    Attributes:
        products: ``items_shuffle*.json``.
        attributes: ``items_ins_v2*.json``.
        human: ``items_human_ins.json``; people's goals need it.
    """

    products: Path
    attributes: Path
    human: Path | None = None


@dataclass(frozen=True)
class Catalogue:
    """The products of a shop in their order, and what was wrong with others.

    Attributes:
        products: By number, in the order of the file.
        rejects: Records that are no products, each with its reason.
        source: Where they come from.
    """

    products: Mapping[str, Product]
    rejects: tuple[Reject, ...] = ()
    source: str = ""

    def __iter__(self) -> Iterator[Product]:
        """The products in order."""
        return iter(self.products.values())

    def __len__(self) -> int:
        """Number of products."""
        return len(self.products)


def sample_root() -> Path:
    """Folder of the product set that ships with this package: invented products in the original's format."""
    return Path(__file__).parent / "data" / "samples"


def find_files(folder: Path) -> ShopFiles:
    """The data files in a folder; of several product sets, the largest.

    Raises:
        DataError: The folder is absent, or products or attributes are missing.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder", hint="give the folder that holds items_shuffle*.json")
    products = _largest(folder, "items_shuffle*.json")
    suffix = products.stem.removeprefix("items_shuffle")
    paired = folder / f"items_ins_v2{suffix}.json"
    attributes = paired if paired.is_file() else _largest(folder, "items_ins_v2*.json")
    human = folder / "items_human_ins.json"
    return ShopFiles(products, attributes, human if human.is_file() else None)


def _largest(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern), key=lambda path: (path.stat().st_size, path.name))
    if not found:
        raise DataError(f"{folder}: no {pattern}", hint="the original's setup script downloads the data files")
    return found[-1]


def load_catalogue(files: ShopFiles, *, limit: int | None = None) -> Catalogue:
    """Read a shop's products.

    Records without a proper number, or with one that came before, are left out as in the original; malformed ones are
    kept aside with their reason.

    Args:
        files: Where the data lies.
        limit: Take the first so many records only, as the original's ``num_products``.

    Raises:
        DataError: A file cannot be read, or is not of the expected form as a whole.
    """
    records = _read(files.products, list)
    mined: dict[str, Any] = _read(files.attributes, dict)
    human: dict[str, Any] = _read(files.human, dict) if files.human is not None else {}
    products: dict[str, Product] = {}
    rejects: list[Reject] = []
    for number, record in enumerate(records[:limit]):
        asin = record.get("asin") if isinstance(record, dict) else None
        if not isinstance(asin, str) or asin == "nan" or not 0 < len(asin) <= 10:
            rejects.append(Reject(f"record {number}: no product number", source=str(files.products)))
            continue
        if asin in products:
            continue
        try:
            products[asin] = _product(record, asin, mined.get(asin, {}), human.get(asin, ()))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"record {number}: {type(error).__name__}: {error}"
            rejects.append(Reject(reason, source=str(files.products), id=asin))
    if not products:
        raise DataError(f"{files.products}: holds no product")
    return Catalogue(MappingProxyType(products), tuple(rejects), str(files.products))


def _read(path: Path, kind: type) -> Any:  # JSON of a known outer type; records are checked one by one
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: is not JSON: {error}", hint="fetch the file again") from error
    if not isinstance(document, kind):
        raise DataError(f"{path}: holds a {type(document).__name__}, not a {kind.__name__}")
    return document


def _product(record: Mapping[str, Any], asin: str, mined: Mapping[str, Any], human: Any) -> Product:
    features = record["small_description"]
    prices, tag = _pricing(record.get("pricing"))
    return Product(
        asin=asin,
        title=_text(record["name"]),
        category=_text(record["category"]),
        query=_text(record["query"]).lower().strip(),
        product_category=_text(record["product_category"]),
        description=_text(record["full_description"] or ""),
        features=tuple(map(_text, features)) if isinstance(features, list) else (_text(features or ""),),
        attributes=tuple(map(_text, mined.get("attributes", _NO_ATTRIBUTES))),
        options=_options(record.get("customization_options")),
        prices=prices,
        price_tag=tag,
        instruction=_text(mined.get("instruction") or ""),
        instruction_attributes=tuple(map(_text, mined.get("instruction_attributes") or ())),
        human_instructions=tuple(
            HumanInstruction(
                _text(given["instruction"]),
                tuple(map(_text, given["instruction_attributes"])),
                tuple(map(_text, given["instruction_options"])),
            )
            for given in human
        ),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        msg = f"{value!r:.60} is not a text"
        raise TypeError(msg)
    return value


def _pricing(pricing: object) -> tuple[tuple[float, ...], str]:
    """Prices and the tag that shows them: ``$9.99`` or ``$9.99 to $12.5``; $100.0 where none is given."""
    if not pricing:
        return (_PRICE_UNKNOWN,), f"${_PRICE_UNKNOWN}"
    prices = tuple(float(_NOT_PRICE.sub("", part)) for part in _text(pricing).split("$")[1:])[:2]
    if not prices:
        msg = f"no price in {pricing!r:.60}"
        raise ValueError(msg)
    return prices, " to ".join(f"${price}" for price in prices)


def _options(given: object) -> Mapping[str, tuple[str, ...]]:
    """Option groups as the page shows them: small letters, slashes spelled `` | ``."""
    if not given:
        return MappingProxyType({})
    if not isinstance(given, dict):
        msg = f"options are a {type(given).__name__}"
        raise TypeError(msg)
    groups: dict[str, tuple[str, ...]] = {}
    for name, contents in given.items():
        if contents is not None:
            values = tuple(_text(content["value"]).strip().replace("/", " | ").lower() for content in contents)
            groups[_text(name).lower()] = values
    return MappingProxyType(groups)
