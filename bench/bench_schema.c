/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_schema.c: JSON Schema on cases made by schema_cases.mjs.
 * usage: bench_schema CASES.json             one JSON line of times a case
 *        bench_schema --verdicts CASES.json  one line a schema: 1 valid, 0 not
 * Times are the best of several rounds, so that other work on the machine
 * counts little; schema_ajv.mjs measures ajv the same way and compares. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "json/write.h"
#include "schema/schema.h"

#define ROUNDS 15
#define ROUND_NS 2000000

struct one {
    const wbi_json *schema_json;
    const wbi_json *instance;
    struct wbi_str text;
    struct wbi_schema *schema;
    struct wbi_arena *arena;
    bool valid;
};

static void validate(struct one *c)
{
    c->valid = wbi_schema_valid(c->schema, c->instance);
}

static void from_bytes(struct one *c)
{
    const wbi_json *v;

    wbi_arena_reset(c->arena);
    if (wbi_json_read(c->arena, c->text, WBI_JSON_STRICT, &v, NULL) == WB_OK)
        c->valid = wbi_schema_valid(c->schema, v);
}

static void compile(struct one *c)
{
    struct wbi_schema *s;

    if (wbi_schema_compile(c->schema_json, NULL, &s, NULL) == WB_OK)
        wbi_schema_free(s);
}

static int64_t now(void)
{
    struct wbi_clock clock = wbi_clock_system();

    return wbi_now_ns(&clock);
}

static double best_ns(void (*fn)(struct one *), struct one *c)
{
    double best = 1e18;
    long n = 1;

    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = now(), spent;
        for (long i = 0; i < n; i++)
            fn(c);
        spent = now() - start;
        if ((double)spent / (double)n < best)
            best = (double)spent / (double)n;
        if (spent < ROUND_NS) {
            n = spent < ROUND_NS / 16 ? n * 16 : n * 2;
            round -= n < (1L << 28);
        }
    }
    return best;
}

static int run_instance(struct one *c, const wbi_json *name, struct wbi_arena *arena)
{
    struct wbi_buf text;

    wbi_buf_init_arena(&text, arena, WBI_MIB);
    wbi_json_write(&text, c->instance);
    c->text = wbi_buf_str(&text);
    printf("{\"name\":\"%.*s\",\"bytes\":%zu,", WBI_FMT(wbi_json_str(name)), c->text.n);
    printf("\"validate_ns\":%.1f,\"bytes_ns\":%.1f,\"compile_ns\":%.1f,", best_ns(validate, c),
           best_ns(from_bytes, c), best_ns(compile, c));
    printf("\"valid\":%s}\n", c->valid ? "true" : "false");
    return 0;
}

static int run_case(const wbi_json *c, bool verdicts, struct wbi_arena *arena,
                    struct wbi_arena *scratch)
{
    struct one one = {.schema_json = wbi_json_get(c, "schema"), .arena = scratch};
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *timed = wbi_json_get(c, "timed");

    if (wbi_schema_compile(one.schema_json, NULL, &one.schema, &err) != WB_OK) {
        fprintf(stderr, "%.*s: %s\n", WBI_FMT(wbi_json_get_str(c, "name")), err.text);
        return 1;
    }
    if (verdicts) {
        printf("%.*s ", WBI_FMT(wbi_json_get_str(c, "name")));
        WBI_JSON_EACH (wbi_json_get(c, "instances"), e) {
            putchar(wbi_schema_valid(one.schema, e) ? '1' : '0');
        }
        putchar('\n');
    } else {
        WBI_JSON_EACH (timed, e) {
            one.instance = e;
            run_instance(&one, wbi_json_get(c, "name"), arena);
        }
    }
    wbi_schema_free(one.schema);
    return 0;
}

static const wbi_json *read_file(const char *path, struct wbi_arena *arena)
{
    FILE *f = fopen(path, "rb");
    const wbi_json *v = NULL;
    struct wbi_buf text;
    char block[8192];
    size_t n;

    if (f == NULL)
        return NULL;
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    while ((n = fread(block, 1, sizeof(block), f)) > 0)
        wbi_buf_add(&text, block, n);
    fclose(f);
    if (wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &v, NULL) != WB_OK)
        v = NULL;
    wbi_buf_fini(&text);
    return v;
}

int main(int argc, char **argv)
{
    bool verdicts = argc == 3 && strcmp(argv[1], "--verdicts") == 0;
    struct wbi_arena *arena = NULL, *scratch = NULL;
    const wbi_json *cases;
    int failed = 0;

    if (argc != 2 + verdicts) {
        fprintf(stderr, "usage: bench_schema [--verdicts] CASES.json (see bench/schema.sh)\n");
        return 2;
    }
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK ||
        wbi_arena_new(WBI_LIMIT_CALL_ARENA, &scratch) != WB_OK)
        return 1;
    cases = read_file(argv[argc - 1], arena);
    if (cases == NULL) {
        fprintf(stderr, "cannot read %s\n", argv[argc - 1]);
        return 1;
    }
    WBI_JSON_EACH (cases, c) {
        failed |= run_case(c, verdicts, arena, scratch);
    }
    wbi_arena_free(scratch);
    wbi_arena_free(arena);
    return failed;
}
