/* SPDX-License-Identifier: Apache-2.0
 * text/regex.c: PCRE2 behind a small door.
 * (1) Every match runs under a match, depth and heap limit; two fixed sets of
 * limits are made at compile time, so that matching creates no context.
 * (2) One match block (and for long subjects one set of limits) is kept per expression and
 * lent by an atomic exchange; a second thread that finds it lent makes its own for the time
 * of one match.
 * (3) Those limits count anew for each place at which a match may begin, and a
 * repeated character costs nothing. So a long subject is tried from some places at a
 * time, and given up when that has taken too long. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <pcre2.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "text/regex_int.h"

#define SHORT 2048u       /* subjects of which nothing takes long */
#define FIRST_PLACES 256u /* to begin at, before the clock is looked at */

struct spare {
    _Atomic(pcre2_match_data *) block;
    _Atomic(pcre2_match_context *) limits; /* of a long subject */
};

struct wbi_regex {
    pcre2_general_context *general;
    pcre2_code *code;
    pcre2_match_context *limits[2]; /* by enum wbi_regex_effort */
    struct spare *spare;
    uint32_t options;
    bool anywhere; /* a match may begin at any byte: not anchored, nor to the start of a line */
    bool refers;   /* back to a group: a step may look at all of the subject */
};

static void *block_alloc(size_t n, void *arg)
{
    (void)arg;
    return wbi_alloc(n);
}

static void block_free(void *p, void *arg)
{
    (void)arg;
    wbi_free(p);
}

static pcre2_match_context *limits_new(pcre2_general_context *general, uint32_t steps)
{
    pcre2_match_context *c = pcre2_match_context_create(general);

    if (c == NULL)
        return NULL;
    (void)pcre2_set_match_limit(c, steps);
    (void)pcre2_set_depth_limit(c, WBI_LIMIT_REGEX_DEPTH);
    (void)pcre2_set_heap_limit(c, WBI_LIMIT_REGEX_HEAP_KIB);
    return c;
}

static wb_rc compile_failed(struct wbi_error *err, int code, size_t offset, unsigned flags)
{
    PCRE2_UCHAR text[160] = "";

    if (code == PCRE2_ERROR_HEAP_FAILED)
        return wbi_fail_nomem(err);
    (void)pcre2_get_error_message(code, text, sizeof(text));
    if ((flags & WBI_REGEX_ECMA) != 0)
        return wbi_fail(err, WB_EUNSUPPORTED, "regular expression is not supported: %s",
                        (const char *)text);
    (void)wbi_fail(err, WB_EINPUT, "bad regular expression at byte %zu: %s", offset,
                   (const char *)text);
    if (err != NULL)
        err->offset = offset;
    return WB_EINPUT;
}

/* \G would match at each place that is gone on from. */
static void look_at(struct wbi_regex *re, struct wbi_str pattern)
{
    uint32_t options = 0, first = 0, back = 0;

    (void)pcre2_pattern_info(re->code, PCRE2_INFO_ALLOPTIONS, &options);
    (void)pcre2_pattern_info(re->code, PCRE2_INFO_FIRSTCODETYPE, &first);
    (void)pcre2_pattern_info(re->code, PCRE2_INFO_BACKREFMAX, &back);
    re->anywhere = (options & PCRE2_ANCHORED) == 0 && first != 2 &&
                   wbi_str_find(pattern, WBI_LIT("\\G")) == pattern.n;
    re->refers = back > 0;
}

static wb_rc compile_code(struct wbi_regex *re, struct wbi_str pattern, unsigned flags,
                          struct wbi_error *err)
{
    uint32_t options = PCRE2_DOLLAR_ENDONLY | PCRE2_USE_OFFSET_LIMIT;
    pcre2_compile_context *context = pcre2_compile_context_create(re->general);
    PCRE2_SIZE offset = 0;
    int code = 0;

    if (context == NULL)
        return wbi_fail_nomem(err);
    (void)pcre2_set_parens_nest_limit(context, WBI_LIMIT_REGEX_NESTING);
    options |= (flags & WBI_REGEX_BYTES) != 0 ? 0 : PCRE2_UTF;
    options |= (flags & (WBI_REGEX_BYTES | WBI_REGEX_ECMA)) != 0 ? 0 : PCRE2_UCP;
    options |= (flags & WBI_REGEX_CASELESS) != 0 ? PCRE2_CASELESS : 0;
    options |= (flags & WBI_REGEX_MULTILINE) != 0 ? PCRE2_MULTILINE : 0;
    options |= (flags & WBI_REGEX_ECMA) != 0 ? PCRE2_MATCH_UNSET_BACKREF : 0;
    re->options = (flags & WBI_REGEX_BYTES) != 0 ? 0 : PCRE2_NO_UTF_CHECK;
    re->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &code, &offset, context);
    pcre2_compile_context_free(context);
    if (re->code == NULL)
        return compile_failed(err, code, offset, flags);
    look_at(re, pattern);
    (void)pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE); /* without JIT it is only slower */
    return WB_OK;
}

static wb_rc regex_new(struct wbi_str pattern, unsigned flags, struct wbi_regex **ret,
                       struct wbi_error *err)
{
    struct wbi_regex *re = wbi_zalloc(sizeof(*re));
    wb_rc rc;

    if (re == NULL)
        return wbi_fail_nomem(err);
    re->general = pcre2_general_context_create(block_alloc, block_free, NULL);
    re->spare = wbi_zalloc(sizeof(*re->spare));
    if (re->general != NULL) {
        re->limits[WBI_REGEX_QUICK] = limits_new(re->general, WBI_LIMIT_REGEX_QUICK);
        re->limits[WBI_REGEX_FULL] = limits_new(re->general, WBI_LIMIT_REGEX_FULL);
    }
    if (re->spare == NULL || re->limits[0] == NULL || re->limits[1] == NULL)
        rc = wbi_fail_nomem(err);
    else
        rc = compile_code(re, pattern, flags, err);
    if (rc != WB_OK) {
        wbi_regex_free(re);
        return rc;
    }
    *ret = re;
    return WB_OK;
}

wb_rc wbi_regex_compile(struct wbi_str pattern, unsigned flags, struct wbi_regex **ret,
                        struct wbi_error *err)
{
    struct wbi_buf rewritten;
    wb_rc rc;

    if (pattern.n > WBI_LIMIT_REGEX_PATTERN)
        return wbi_fail(err, WB_ELIMIT, "regular expression of %zu bytes is over the limit of %u",
                        pattern.n, WBI_LIMIT_REGEX_PATTERN);
    if ((flags & WBI_REGEX_ECMA) == 0)
        return regex_new(pattern, flags, ret, err);
    wbi_buf_init(&rewritten, WBI_LIMIT_REGEX_PATTERN * 64u);
    rc = wbi_regex_rewrite(pattern, &rewritten, err);
    if (rc == WB_OK)
        rc = regex_new(wbi_buf_str(&rewritten), flags, ret, err);
    wbi_buf_fini(&rewritten);
    return rc;
}

void wbi_regex_free(struct wbi_regex *re)
{
    if (re == NULL)
        return;
    if (re->spare != NULL) {
        pcre2_match_data_free(atomic_load(&re->spare->block));
        pcre2_match_context_free(atomic_load(&re->spare->limits));
    }
    wbi_free(re->spare);
    pcre2_match_context_free(re->limits[0]);
    pcre2_match_context_free(re->limits[1]);
    pcre2_code_free(re->code);
    pcre2_general_context_free(re->general);
    wbi_free(re);
}

static pcre2_match_data *borrow(const struct wbi_regex *re)
{
    pcre2_match_data *block = atomic_exchange(&re->spare->block, NULL);

    return block != NULL ? block : pcre2_match_data_create_from_pattern(re->code, re->general);
}

static void give_back(const struct wbi_regex *re, pcre2_match_data *block)
{
    pcre2_match_data *other = atomic_exchange(&re->spare->block, block);

    pcre2_match_data_free(other);
}

static int match_once(const struct wbi_regex *re, struct wbi_str subject, size_t from,
                      uint32_t options, pcre2_match_data *block, pcre2_match_context *limits)
{
    PCRE2_SPTR p = (PCRE2_SPTR)(subject.p != NULL ? subject.p : "");
    int n = pcre2_match(re->code, p, subject.n, from, options, block, limits);

    /* The JIT's small stack was not enough: the interpreter keeps its own. */
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(re->code, p, subject.n, from, options | PCRE2_NO_JIT, block, limits);
    return n;
}

static int64_t cpu_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Places to begin at between two looks at the clock, at most. */
static size_t most_places(const struct wbi_regex *re, size_t rest)
{
    size_t n = WBI_LIMIT_REGEX_LOOKS / rest;

    if (!re->anywhere)
        return rest + 1; /* it begins at few of them */
    n = re->refers ? n / rest : n;
    return n > 0 ? n : 1;
}

/* Whether it has taken too long; *end is 0 before the first look. The time of this thread is
 * all that says how much work it was. */
static bool is_late(int64_t *end)
{
    int64_t now = cpu_ns();

    if (*end == 0)
        *end = now + WBI_LIMIT_REGEX_CPU_NS;
    return now > *end;
}

/* From some places at a time. */
static int match_long(const struct wbi_regex *re, struct wbi_str subject, size_t from,
                      enum wbi_regex_effort effort, uint32_t options, pcre2_match_data *block)
{
    pcre2_match_context *own = atomic_exchange(&re->spare->limits, NULL);
    size_t most = most_places(re, subject.n - from), step = WBI_MIN(most, FIRST_PLACES);
    size_t steps = effort == WBI_REGEX_QUICK ? WBI_LIMIT_REGEX_QUICK : WBI_LIMIT_REGEX_FULL;
    int64_t end = 0;
    int n = PCRE2_ERROR_NOMATCH;

    if (own == NULL)
        own = pcre2_match_context_copy(re->limits[effort]);
    if (own == NULL)
        return PCRE2_ERROR_NOMEMORY;
    if (re->refers)
        steps = WBI_MIN(steps, 16 * WBI_LIMIT_REGEX_LOOKS / (subject.n - from));
    (void)pcre2_set_match_limit(own, (uint32_t)steps);
    while (n == PCRE2_ERROR_NOMATCH && from <= subject.n) {
        (void)pcre2_set_offset_limit(own, from + step - 1);
        n = match_once(re, subject, from, options, block, own);
        from += step;
        while (re->options != 0 && from < subject.n && ((uint8_t)subject.p[from] & 0xc0) == 0x80)
            from++; /* characters are not begun within */
        if (n == PCRE2_ERROR_NOMATCH && from <= subject.n && is_late(&end))
            n = PCRE2_ERROR_MATCHLIMIT;
        step = WBI_MIN(most, step * 8);
    }
    pcre2_match_context_free(atomic_exchange(&re->spare->limits, own));
    return n;
}

static int match(const struct wbi_regex *re, struct wbi_str subject, size_t from,
                 enum wbi_regex_effort effort, uint32_t more, pcre2_match_data *block)
{
    uint32_t options = re->options | more;

    if (subject.n - from > SHORT)
        return match_long(re, subject, from, effort, options, block);
    return match_once(re, subject, from, options, block, re->limits[effort]);
}

static enum wbi_regex_verdict verdict(int n)
{
    if (n >= 0)
        return WBI_REGEX_YES;
    return n == PCRE2_ERROR_NOMATCH ? WBI_REGEX_NO : WBI_REGEX_LIMIT;
}

enum wbi_regex_verdict wbi_regex_test(const struct wbi_regex *re, struct wbi_str subject,
                                      enum wbi_regex_effort effort)
{
    pcre2_match_data *block = borrow(re);
    enum wbi_regex_verdict v;

    if (block == NULL)
        return WBI_REGEX_LIMIT;
    v = verdict(match(re, subject, 0, effort, 0, block));
    give_back(re, block);
    return v;
}

static enum wbi_regex_verdict find(const struct wbi_regex *re, struct wbi_str subject, size_t from,
                                   uint32_t more, struct wbi_regex_span *spans, size_t n_spans)
{
    pcre2_match_data *block;
    const PCRE2_SIZE *offsets;
    int n;

    if (from > subject.n)
        return WBI_REGEX_NO;
    block = borrow(re);
    if (block == NULL)
        return WBI_REGEX_LIMIT;
    n = match(re, subject, from, WBI_REGEX_FULL, more, block);
    offsets = pcre2_get_ovector_pointer(block);
    for (size_t i = 0; i < n_spans; i++) {
        bool known = n > 0 && i < (size_t)n && offsets[2 * i] != PCRE2_UNSET;
        spans[i].from = known ? offsets[2 * i] : WBI_REGEX_UNSET;
        spans[i].to = known ? offsets[2 * i + 1] : WBI_REGEX_UNSET;
    }
    give_back(re, block);
    return verdict(n);
}

enum wbi_regex_verdict wbi_regex_find(const struct wbi_regex *re, struct wbi_str subject,
                                      size_t from, struct wbi_regex_span *spans, size_t n_spans)
{
    return find(re, subject, from, 0, spans, n_spans);
}

enum wbi_regex_verdict wbi_regex_find_part(const struct wbi_regex *re, struct wbi_str part,
                                           size_t from, bool goes_on, struct wbi_regex_span *span)
{
    return find(re, part, from, goes_on ? PCRE2_NOTEOL : 0, span, 1);
}
