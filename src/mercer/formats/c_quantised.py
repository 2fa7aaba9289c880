"""The C99 source of a model with vectors in 8 or 16 bits."""

from mercer._compute.symbols import ordered
from mercer.formats.c_source import Source, loop, place_of_vector
from mercer.formats.quantised import PARTS, VALUE, Quantised

# AVR keeps tables in flash memory only in an address space with its own name.
_MEMORY = """\
#ifdef __AVR__
#define {0}_table static const __flash
#define {0}_read const __flash
#else
#define {0}_table static const
#define {0}_read const
#endif
#ifdef __GNUC__
#define {0}_apart static __attribute__((noinline))
#else
#define {0}_apart static
#endif
"""
# Exponential, with a relative error below 1e-5. Of t / log(2) in steps of 2^-20 four bits select a power of 2 from a
# table, in steps of 2^-23, and the 16 bits of r give 2^r - 1, in steps of 2^-20, by a polynomial of degree 2. Their sum
# becomes the bits of an IEEE float.
_EXP = """\
{0}_table uint32_t {0}_powers[16] = {{
    8388608, 8760003, 9147842, 9552851, 9975793, 10417459, 10878679, 11360319,
    11863283, 12388515, 12937001, 13509770, 14107898, 14732507, 15384770, 16065911
}};

static float {0}_exp(float t)
{{
    uint32_t place, power;
    uint16_t rest;
    union {{
        uint32_t bits;
        float number;
    }} found;
    if (!(fabsf(t) <= 87.0f))
        return t < 0 ? 0.0f : t > 0 ? 6.0760302e37f : t;
    place = (uint32_t)((int32_t)(t * 1512775.4f) + 134217728);
    rest = (uint16_t)place;
    power = {0}_powers[(place >> 16) & 15];
    rest = (uint16_t)(((uint32_t)rest * 45427u >> 16) + (((uint32_t)rest * rest >> 16) * 998u >> 16));
    power += (uint32_t)(uint16_t)(power >> 8) * rest >> 12;
    found.bits = ((place & 0xfff00000u) << 3) + power - 16777216u;
    return found.number;
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
# Codes of numbers of parts, 0 for NaN, and sums of products of codes. AVR multiplies 8 bits at a time; loops in
# separate functions keep their sums in registers.
_CODES = """\
static int16_t {0}_code(float t)
{{
    return (int16_t)(((int32_t)(fabsf(t) < 8388608.0f ? t : 0.0f) + 128) >> 8);
}}

{0}_apart void {0}_codes(const float *scaled, float inverse, int8_t *high, uint8_t *low, int n)
{{
    for (; n > 0; n--) {{
        const int16_t code = {0}_code(*scaled++ * inverse);
        *high++ = (int8_t)(code >> 8);
        *low++ = (uint8_t)code;
    }}
}}

{0}_apart int32_t {0}_product(const int8_t *high, const uint8_t *low, {0}_read int8_t *z, int n)
{{
    int32_t upper = 0;
    uint32_t lower = 0;
    for (; n > 0; n--) {{
        const int8_t code = *z++;
        const int32_t part = (int16_t)(*low++ * code);
        upper += (int16_t)(*high++ * code);
        lower += (uint32_t)part;
    }}
    return (int32_t)((uint32_t)upper * 256u + lower);
}}

{0}_apart void {0}_add(int16_t value, {0}_read int16_t *coef, int32_t *sum{1})
{{
    int j;
{2}
}}
"""
# The lines that turn a point into codes: its size, and sums over its coordinates t from the centre.
_POINT = """\
int8_t high{k}[{q}];
uint8_t low{k}[{q}];
float scaled{k}[{q}];
float step{k} = 1e-30f;
for (j = 0; j < {q}; j++) {{
    const float t = {x}[j] - {name}_centre{k}[j];
    scaled{k}[j] = t * {name}_scale{k}[j];
    if (fabsf(scaled{k}[j]) > step{k})
        step{k} = fabsf(scaled{k}[j]);
{added}}}
{name}_codes(scaled{k}, {parts}.0f / step{k}, high{k}, low{k}, {q});
step{k} /= {limit}.0f;
"""
# The name and the terms of the sum that an input of the kernel needs.
_SUMS = {"sqdist": ("square", "t * t"), "dot": ("along", "t * {name}_centre{k}[j]")}


class QuantisedSource(Source):
    """The C source of a Quantised model with codes of vectors; a class for each type of codes has its functions."""

    _functions = ""

    def __init__(self, model: Quantised, prefix: str) -> None:
        super().__init__(model.exported, prefix)
        self._model = model
        self._codes = list(model.vectors.values())
        self._table_of = f"{prefix}_table"
        self._read = f"{prefix}_read"
        self._forms = self._forms | {"Exp": f"{prefix}_exp({{}})"}

    def _includes(self):
        used = {
            each.operation for term in self._exported.terms for each in ordered(term.expression)
        }
        parts = [_MEMORY, *([_EXP] if "Exp" in used else []), self._functions]
        own = "" if self._exported.counts is None else ", int own"
        added = self._added(f"(int32_t)value * coef[j] / {self._model.divisor}")
        body = "\n".join(f"    {line}" for line in added)
        parts = [part.format(self._prefix, own, body) for part in parts]
        return ["#include <math.h>", "#include <stdint.h>", "", *parts]

    def _coefficients(self):
        return {"coef": self._model.coef_codes, "coef_scale": self._model.coef_scale}

    def _start(self):
        return "sum[j] = 0;"

    def _end(self, total="sum[j]"):
        return f"out[j] = {total} * {self._prefix}_coef_scale[j] + {self._prefix}_intercept[j];"


class HalvesSource(QuantisedSource):
    """The C source of a model with vectors in half precision."""

    _sum = "float"
    _functions = _HALF

    def _vectors(self, k, view):
        return {"points": self._codes[k].codes.view("uint16"), "centre": self._codes[k].centre}

    def _coordinate(self, k):
        return "uint16_t", f"{self._prefix}_centre{k}[j] + {self._prefix}_half(z{k}[j])"


class BytesSource(QuantisedSource):
    """The C source of a model with vectors in 8 bits, whose products are sums of integers."""

    _sum = "int32_t"
    _functions = _CODES

    def _vectors(self, k, view):
        vectors = self._codes[k]
        tables = {"points": vectors.codes, "scale": vectors.scale, "centre": vectors.centre}
        tables |= {"norm": vectors.norms} if "sqdist" in view.inputs else {}
        tables |= {"shift": vectors.shifts} if "dot" in view.inputs else {}
        tables |= {"sqnorm_z": (vectors.points**2).sum(axis=1)} if "sqnorm_z" in view.inputs else {}
        return tables

    def _summed(self, terms):
        name = self._prefix
        n, width = self._exported.coef.shape
        lines = [f"float values[{n}];", "float largest = 1e-30f;"]
        for term, inner, value in terms:
            place = f"values[{place_of_vector(term)}]"
            kept = [
                f"{place} = {value};",
                f"if (fabsf({place}) > largest)",
                f"    largest = fabsf({place});",
            ]
            lines += loop("i", term.last - term.first, *inner, *kept)
        lines += [
            *loop("j", self._m, self._start()),
            f"const float inverse = {VALUE * PARTS}.0f / largest;",
        ]
        own = "" if self._exported.counts is None else ", own"
        added = (
            f"{name}_add({name}_code(values[i] * inverse), {name}_coef + {width} * i, sum{own});"
        )
        lines += [*self._over_vectors(n, added), f"largest *= {self._model.divisor / VALUE!r}f;"]
        return [*lines, *loop("j", self._m, self._end("(float)sum[j] * largest"))]

    def _before(self, k, view):
        lines = super()._before(k, view)
        if not view.inputs & {"dot", "sqdist"}:
            return lines
        names = {
            "k": k,
            "name": self._prefix,
            "x": self._mapped(k, view),
            "q": view.points.shape[1],
        }
        limit = self._codes[k].limit
        used = [_SUMS[each] for each in ("sqdist", "dot") if each in view.inputs]
        added = "".join(f"    {name}{{k}} += {term};\n" for name, term in used).format(**names)
        source = "".join(f"float {name}{k} = 0;\n" for name, _ in used)
        source += _POINT.format(added=added, limit=limit, parts=limit * PARTS, **names)
        source += f"const float twice{k} = 2 * step{k};\n" if "sqdist" in view.inputs else ""
        return lines + source.splitlines()

    def _pair(self, k, view):
        name = self._prefix
        values = {
            "dot": f"step{k} * whole{k} + along{k} + {name}_shift{k}[i]",
            "sqdist": f"fmaxf(square{k} + {name}_norm{k}[i] - twice{k} * whole{k}, 0)",
            "sqnorm_z": f"{name}_sqnorm_z{k}[i]",
        }
        q = view.points.shape[1]
        whole = f"const float whole{k} = (float){name}_product(high{k}, low{k}, {name}_points{k} + {q} * i, {q});"
        lines = [whole] if view.inputs & {"dot", "sqdist"} else []
        return lines + [
            f"const float {each}{k} = {text};"
            for each, text in values.items()
            if each in view.inputs
        ]


# The source of each type of codes.
SOURCES: dict[str, type[QuantisedSource]] = {"float16": HalvesSource, "int8": BytesSource}
