"""How much something holds: what can be reached from it, and how often, by type."""

import gc
import types
from collections import Counter

CODE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.CodeType)


def held(*roots, but=()):
    """Return how many references objects of each type have, in all that can be reached.

    An entry more in a table is seen by its type, whatever it refers to. Classes, modules and
    functions, and what stands in `but`, are left out.
    """
    gc.collect()
    seen = {id(one) for one in but}
    found, count = list(roots), Counter()
    while found:
        one = found.pop()
        if id(one) in seen or isinstance(one, CODE):
            continue
        seen.add(id(one))
        referents = gc.get_referents(one)
        count[type(one).__name__] += len(referents)
        found += referents
    return count
