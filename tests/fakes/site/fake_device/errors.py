"""``cudaError_t`` and its texts, as recorded from the real bindings."""

from __future__ import annotations

import recorded_symbols


class FastEnum(int):
    """An enumeration as cuda-bindings has it: an int with a name, not subscriptable."""

    name: str

    def __new__(cls, value: int) -> FastEnum:
        for member in cls.__dict__.values():
            if type(member) is cls and int(member) == int(value):
                return member
        raise ValueError(f"{value} is not a valid {cls.__name__}")

    value = property(int)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {int(self)}>"

    __str__ = int.__repr__


def fast_enum(name: str) -> type[FastEnum]:
    cls = type(name, (FastEnum,), {})
    for member, value in recorded_symbols.cuda_surface().enums[name].items():
        made = int.__new__(cls, value)
        made.name = member
        setattr(cls, member, made)
    return cls


Error = fast_enum("cudaError_t")
TEXTS: dict[str, str] = recorded_symbols.read(recorded_symbols.CUDA)["error_strings"]
