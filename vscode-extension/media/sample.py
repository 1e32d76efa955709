def total(items):
    amount = 0
    for item in items:
        amount += item["price"] * item["count"]
    return amount


def cheapest(items):
    best = None
    for item in items:
        if best is None or item["price"] < best["price"]:
            best = item
    return best


def names(items):
    return [item["name"] for item in items]
