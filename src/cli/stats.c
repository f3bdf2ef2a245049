/* SPDX-License-Identifier: Apache-2.0
 * cli/stats.c: tables, and plots made of block characters. */
#include "cli/stats.h"

#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 64

static char *member(const char *json, size_t size, const char *pointer)
{
    char *text = NULL;

    if (wb_json_pointer(json, size, pointer, &text, NULL, NULL) != WB_OK)
        return NULL;
    return text;
}

/* "[1,2,3]" */
static size_t read_numbers(const char *text, double ret[POINTS_MAX])
{
    size_t n = 0;

    while (text != NULL && n < POINTS_MAX && (*text == '[' || *text == ',')) {
        char *end;
        double v = strtod(text + 1, &end);
        if (end == text + 1)
            break;
        ret[n++] = v;
        text = end;
    }
    return n;
}

static void plot(const double *values, size_t n)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    for (size_t i = 0; i < n; i++) {
        int level = most > 0 ? (int)(values[i] / most * 8 + 0.5) : 0;
        if (level == 0 && values[i] > 0)
            level = 1; /* something happened */
        (void)fputs(blocks[level], stdout);
    }
    (void)fputc('\n', stdout);
}

static void plot_member(const char *json, size_t size, const char *pointer, const char *head)
{
    char *text = member(json, size, pointer);
    double values[POINTS_MAX];
    size_t n = read_numbers(text, values);

    if (n > 0) {
        printf("%s%s%s", style("dim"), head, style("reset"));
        plot(values, n);
    }
    wb_free(text);
}

static void print_value(const char *json, size_t size, const char *pointer, const char *name)
{
    char *text = member(json, size, pointer);

    if (text != NULL)
        printf("  %-22s %s\n", name, text);
    wb_free(text);
}

static int print_part(const struct args *a, const char *json, size_t size, const char *pointer,
                      const char *head, const char *const *columns, size_t count)
{
    char *part = member(json, size, pointer);
    int code = EXIT_OK;

    if (part != NULL && strcmp(part, "[]") != 0) {
        printf("\n%s%s%s\n", style("bold"), head, style("reset"));
        code = print_table(a, part, strlen(part), columns, count);
    }
    wb_free(part);
    return code;
}

#define COUNT(x) (sizeof(x) / sizeof((x)[0]))

int print_stats(const struct args *a, const char *json, size_t size)
{
    static const char *const tools[] = {"tool=TOOL",
                                        "calls=CALLS",
                                        "errors=ERRORS",
                                        "/latency_ms/p50=P50 MS",
                                        "/latency_ms/p99=P99 MS",
                                        "/latency_ms/max=MAX MS",
                                        "/tokens/shown=SHOWN",
                                        "/tokens/kept_away=KEPT AWAY"};
    static const char *const kinds[] = {"kind=KIND", "count=COUNT"};
    static const char *const largest[] = {"id=ID", "tool=TOOL", "bytes=BYTES",
                                          "tokens_shown=TOKENS SHOWN"};
    int code;

    if (a->json)
        return print_pretty(a, json, size);
    printf("%scalls%s\n", style("bold"), style("reset"));
    print_value(json, size, "/calls", "calls");
    print_value(json, size, "/errors", "errors");
    print_value(json, size, "/time/first", "first");
    print_value(json, size, "/time/last", "last");
    print_value(json, size, "/latency_ms/p50", "latency p50 (ms)");
    print_value(json, size, "/latency_ms/p90", "latency p90 (ms)");
    print_value(json, size, "/latency_ms/p99", "latency p99 (ms)");
    print_value(json, size, "/tokens/shown", "tokens shown");
    print_value(json, size, "/tokens/kept_away", "tokens kept away");
    plot_member(json, size, "/time/calls", "  over time              ");
    plot_member(json, size, "/histogram/doublings", "  latency, log scale     ");
    code = print_part(a, json, size, "/tools", "tools", tools, COUNT(tools));
    if (code == EXIT_OK)
        code = print_part(a, json, size, "/errors_by_kind", "errors", kinds, COUNT(kinds));
    if (code == EXIT_OK)
        code = print_part(a, json, size, "/largest", "largest results", largest, COUNT(largest));
    return code;
}
