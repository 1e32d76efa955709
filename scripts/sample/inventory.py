"""Stock of a small shop: what is there, what it is worth, what has to be ordered."""

import csv
from collections import defaultdict


class OutOfStock(Exception):
    """More was asked for than the shop has."""


class Item:
    """One article on the shelves."""

    def __init__(self, sku, name, quantity, unit_price, reorder_level=5):
        self.sku = sku
        self.name = name
        self.quantity = quantity
        self.unit_price = unit_price
        self.reorder_level = reorder_level

    def value(self):
        return self.quantity * self.unit_price

    def needs_reorder(self):
        return self.quantity <= self.reorder_level


class Inventory:
    """All articles, by their stock keeping unit."""

    def __init__(self):
        self.items = {}
        self.reservations = defaultdict(int)

    def add(self, item):
        if item.sku in self.items:
            self.items[item.sku].quantity += item.quantity
        else:
            self.items[item.sku] = item

    def remove(self, sku, quantity):
        item = self.items[sku]
        if item.quantity < quantity:
            raise OutOfStock(f"only {item.quantity} of {item.name} left")
        item.quantity -= quantity
        return item

    def reserve(self, sku, quantity):
        available = self.available(sku)
        if available < quantity:
            raise OutOfStock(f"only {available} of {sku} can be reserved")
        self.reservations[sku] += quantity

    def available(self, sku):
        return self.items[sku].quantity - self.reservations[sku]

    def total_value(self):
        return sum(item.value() for item in self.items.values())

    def to_reorder(self):
        return [item for item in self.items.values() if item.needs_reorder()]


def load(path):
    """Read an inventory from a CSV file with a header line."""
    inventory = Inventory()
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            inventory.add(
                Item(
                    sku=row["sku"],
                    name=row["name"],
                    quantity=int(row["quantity"]),
                    unit_price=float(row["unit_price"]),
                )
            )
    return inventory


def report(inventory):
    """Print what there is and what should be ordered."""
    for item in sorted(inventory.items.values(), key=lambda item: item.name):
        print(f"{item.name:<30} {item.quantity:>6} {item.value():>10.2f}")
    print(f"{'total':<30} {'':>6} {inventory.total_value():>10.2f}")
    for item in inventory.to_reorder():
        print(f"order {item.name}: {item.quantity} left")
