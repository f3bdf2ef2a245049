/* SPDX-License-Identifier: Apache-2.0
 * text/preview_quote.c: what compilers and traces quote of a program. Words in it are names,
 * or tell what might go wrong; none of it did. */
#include "text/preview_int.h"

#define COMMENT_INDENT 8u /* less may be the diagnostics of a test within a test */

/* With the number of its line and a bar before it. */
static bool is_numbered(struct wbi_str s)
{
    size_t i = 0;

    while (i < s.n && (uint8_t)(s.p[i] - '0') < 10)
        i++;
    return i > 0 && wbi_str_starts(wbi_str_from(s, i), WBI_LIT(" |"));
}

static bool is_comment(struct wbi_str s, uint8_t indent)
{
    return wbi_str_ends(s, WBI_LIT("*/")) ||
           (indent >= COMMENT_INDENT &&
            (wbi_str_starts(s, WBI_LIT("# ")) || wbi_str_starts(s, WBI_LIT("// "))));
}

bool wbi_announces(struct wbi_str line, size_t start)
{
    static const struct wbi_str openings[] = {
        WBI_LIT_INIT("# Subtest: "), WBI_LIT_INIT("=== RUN "),   WBI_LIT_INIT("=== CONT "),
        WBI_LIT_INIT("=== PAUSE "),  WBI_LIT_INIT("[ RUN     "), WBI_LIT_INIT("RUNS  ")};

    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++)
        if (wbi_str_starts(wbi_str_from(line, start), openings[i]))
            return true;
    return false;
}

bool wbi_quotes_code(struct wbi_str line, size_t start, uint8_t indent)
{
    static const struct wbi_str statements[] = {
        WBI_LIT_INIT("return "), WBI_LIT_INIT("raise "),  WBI_LIT_INIT("except "),
        WBI_LIT_INIT("except:"), WBI_LIT_INIT("throw "),  WBI_LIT_INIT("goto "),
        WBI_LIT_INIT("} catch"), WBI_LIT_INIT("catch ("), WBI_LIT_INIT("if "),
        WBI_LIT_INIT("elif "),   WBI_LIT_INIT("} else"),  WBI_LIT_INIT("while "),
        WBI_LIT_INIT("assert "), WBI_LIT_INIT("def ")};
    struct wbi_str s = wbi_str_trim(wbi_str_from(line, start));

    if (s.n == 0)
        return false;
    if (s.p[s.n - 1] == ';' || s.p[s.n - 1] == '{' || is_numbered(s) || is_comment(s, indent))
        return true;
    if (memchr("acdegirtw}", s.p[0], 10) == NULL) /* what one of them begins with */
        return false;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (wbi_str_starts(s, statements[i]))
            return true;
    return false;
}
