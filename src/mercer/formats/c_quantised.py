"""The C99 source of a model with vectors in 8 or 16 bits."""

from typing import Any

from mercer.formats.c_source import Source, loop
from mercer.formats.quantised import Bytes
from mercer.formats.tracing import ordered

# AVR keeps tables in flash memory only in an address space with its own name.
_MEMORY = """\
#ifdef __AVR__
#define {0}_table static const __flash
#define {0}_read const __flash
#else
#define {0}_table static const
#define {0}_read const
#endif
"""
# Exponential, with a relative error below 1e-6.
_EXP = """\
static float {0}_exp(float t)
{{
    int k;
    if (!(t >= -87.0f))
        return t < 0 ? 0.0f : t;
    if (t > 88.0f)
        t = 88.0f;
    k = (int)(t * 1.44269504f + (t < 0.0f ? -0.5f : 0.5f));
    t = t - (float)k * 0.693359375f + (float)k * 2.12194440e-4f;
    t = 1 + t * (1 + t * (0.5f + t * (0.16666667f + t * (0.041666668f + t * (0.0083333f + t * 0.0013889f)))));
    return ldexpf(t, k);
}}
"""
# Number from its half precision.
_HALF = """\
static float {0}_half(uint16_t h)
{{
    const int exponent = (h >> 10) & 31, fraction = h & 1023;
    const float size = exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return h >> 15 ? -size : size;
}}
"""
# Code of a coordinate: 0 for NaN.
_CODE = """\
static int16_t {0}_code(float t)
{{
    if (!(t >= -32767.0f && t <= 32767.0f))
        return (int16_t)(t > 0 ? 32767 : t < 0 ? -32767 : 0);
    return (int16_t)(t + (t < 0 ? -0.5f : 0.5f));
}}
"""


class QuantisedSource(Source):
    """The C source of a Quantised model with codes of vectors."""

    def __init__(self, model: Any, prefix: str) -> None:
        super().__init__(model.exported, prefix)
        self._model = model
        self._bytes = any(isinstance(each, Bytes) for each in model.vectors.values())
        self._sum, self._table_of, self._read = "float", f"{prefix}_table", f"{prefix}_read"
        self._forms = self._forms | {"Exp": f"{prefix}_exp({{}})"}

    def _includes(self):
        used = {each.operation for each in ordered(self._exported.expression)}
        parts = [_MEMORY, *([_EXP] if "Exp" in used else []), _CODE if self._bytes else _HALF]
        return ["#include <math.h>", "#include <stdint.h>", "", *(part.format(self._prefix) for part in parts)]

    def _vectors(self, k, key, view):
        vectors = self._model.vectors[key]
        if not self._bytes:
            return self._table(f"points{k}", vectors.codes.view("uint16"))
        lines = self._table(f"points{k}", vectors.codes)
        tables = {"scale": vectors.scale, "centre": vectors.centre}
        tables |= {"norm": vectors.norms} if "sqdist" in view.inputs else {}
        tables |= {"shift": vectors.shifts} if "dot" in view.inputs else {}
        tables |= {"sqnorm_z": (vectors.points**2).sum(axis=1)} if "sqnorm_z" in view.inputs else {}
        return lines + [line for name, values in tables.items() for line in self._table(f"{name}{k}", values)]

    def _coefficients(self):
        return [*self._table("coef", self._model.coef_codes), *self._table("coef_scale", self._model.coef_scale)]

    def _start(self):
        return "sum[j] = 0;"

    def _end(self):
        return f"out[j] = sum[j] * {self._prefix}_coef_scale[j] + {self._prefix}_intercept[j];"

    def _before(self, k, view):
        lines = super()._before(k, view)
        if not (self._bytes and view.inputs & {"dot", "sqdist"}):
            return lines
        name, x, q = self._prefix, self._mapped(k, view), view.points.shape[1]
        limit = next(each.limit for each in self._model.vectors.values() if each.view is view)
        moved = f"const float t = {x}[j] - {name}_centre{k}[j];"
        lines += [f"int16_t u{k}[{q}];", f"float step{k} = 1e-30f;"]
        lines += [f"float {each}{k} = 0;" for each in self._sums(view)]
        body = [moved, f"step{k} = fmaxf(step{k}, fabsf(t * {name}_scale{k}[j]));"]
        body += [f"{each}{k} += {text.format(name, k)};" for each, text in self._sums(view).items()]
        lines += [*loop("j", q, *body), f"step{k} /= {limit}.0f;"]
        return [*lines, *loop("j", q, moved, f"u{k}[j] = {name}_code(t * {name}_scale{k}[j] / step{k});")]

    @staticmethod
    def _sums(view):
        """Return the sums over the coordinates t of a point from the centre, by name."""
        found = {"square": "t * t"} if "sqdist" in view.inputs else {}
        return found | ({"along": "t * {}_centre{}[j]"} if "dot" in view.inputs else {})

    def _pair(self, k, view):
        name, q, wanted = self._prefix, view.points.shape[1], sorted(view.inputs - {"sqnorm_x"})
        if not wanted:
            return []
        if not self._bytes:
            return super()._pair(k, view)
        lines = []
        if view.inputs & {"dot", "sqdist"}:
            lines += [f"{self._read} int8_t *z{k} = {name}_points{k} + {q} * i;", f"int32_t whole{k} = 0;"]
            lines += loop("j", q, f"whole{k} += (int32_t)u{k}[j] * z{k}[j];")
            lines += [f"const float product{k} = step{k} * (float)whole{k};"]
        values = {
            "sqdist": f"fmaxf(square{k} + {name}_norm{k}[i] - 2 * product{k}, 0)",
            "dot": f"product{k} + along{k} + {name}_shift{k}[i]",
            "sqnorm_z": f"{name}_sqnorm_z{k}[i]",
        }
        return lines + [f"const float {each}{k} = {values[each]};" for each in wanted]

    def _coordinate(self, k):
        return "uint16_t", f"{self._prefix}_half(z{k}[j])"
