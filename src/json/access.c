/* SPDX-License-Identifier: Apache-2.0
 * json/access.c: looking at values; see json.h for the contracts. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "json/json.h"

/* yyjson ends a number that is kept as text with a NUL. The host's locale may have another
 * point than JSON. */
static double number_of(const char *text)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double d;

    if (c == (locale_t)0)
        return strtod(text, NULL);
    d = strtod_l(text, NULL, c);
    freelocale(c);
    return d;
}

double wbi_json_num(const wbi_json *v)
{
    if (wbi_json_is(v, WBI_JSON_BIG))
        return number_of(v->uni.str);
    return yyjson_get_num((yyjson_val *)(uintptr_t)v);
}

const char *wbi_json_type_name(const wbi_json *v)
{
    static const char *const names[] = {"nothing", "null",   "boolean", "integer", "number",
                                        "integer", "string", "array",   "object"};

    return names[wbi_json_type(v)];
}

static bool whole_number(double d, int64_t *ret)
{
    if (d != floor(d) || d < -9223372036854775808.0 || d >= 9223372036854775808.0)
        return false;
    *ret = (int64_t)d;
    return true;
}

/* Small, and perhaps "2.0" or "1e3", where numbers are kept as written; else beyond 2^53, and
 * exact or nothing. */
static bool kept_i64(const wbi_json *v, int64_t *ret)
{
    double d;

    if (wbi_parse_i64(wbi_json_str(v), ret))
        return true;
    d = wbi_json_num(v);
    return fabs(d) <= 9007199254740991.0 && whole_number(d, ret);
}

bool wbi_json_i64(const wbi_json *v, int64_t *ret)
{
    if (wbi_json_is(v, WBI_JSON_REAL))
        return whole_number(wbi_json_num(v), ret);
    if (wbi_json_is(v, WBI_JSON_BIG))
        return kept_i64(v, ret);
    if (!wbi_json_is(v, WBI_JSON_INT))
        return false;
    if (yyjson_get_subtype((yyjson_val *)(uintptr_t)v) == YYJSON_SUBTYPE_UINT &&
        v->uni.u64 > INT64_MAX)
        return false;
    *ret = v->uni.i64;
    return true;
}

bool wbi_json_u64(const wbi_json *v, uint64_t *ret)
{
    int64_t i;

    if (wbi_json_is(v, WBI_JSON_INT) &&
        yyjson_get_subtype((yyjson_val *)(uintptr_t)v) == YYJSON_SUBTYPE_UINT) {
        *ret = v->uni.u64;
        return true;
    }
    if (wbi_json_is(v, WBI_JSON_REAL)) {
        double d = wbi_json_num(v);
        if (d != floor(d) || d < 0 || d >= 18446744073709551616.0)
            return false;
        *ret = (uint64_t)d;
        return true;
    }
    if (!wbi_json_i64(v, &i) || i < 0)
        return false;
    *ret = (uint64_t)i;
    return true;
}

const wbi_json *wbi_json_getn(const wbi_json *v, struct wbi_str name)
{
    return yyjson_obj_getn((yyjson_val *)(uintptr_t)v, name.p ? name.p : "", name.n);
}

const wbi_json *wbi_json_at(const wbi_json *v, size_t i)
{
    return yyjson_arr_get((yyjson_val *)(uintptr_t)v, i);
}
