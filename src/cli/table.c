/* SPDX-License-Identifier: Apache-2.0
 * cli/table.c: the same JSON as one document for scripts or a table for people. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

static size_t terminal_width(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 40)
        return 80;
    return size.ws_col;
}

static int print_within(const struct args *a, const char *json, size_t size,
                        const char *const *columns, size_t count, size_t width)
{
    wb_error *error = NULL;
    size_t n;
    char *text;

    if (a->json) {
        (void)put_line(json, size); /* finish_output tells */
        return EXIT_OK;
    }
    if (wb_json_table(json, size, columns, count, width, &text, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    (void)put(text, n); /* finish_output tells */
    wb_free(text);
    return EXIT_OK;
}

int print_table(const struct args *a, const char *json, size_t size, const char *const *columns,
                size_t count)
{
    return print_within(a, json, size, columns, count, terminal_width());
}

int print_list(const struct args *a, const char *json, size_t size, const char *const *columns,
               size_t count, const char *none)
{
    if (a->json || strcmp(json, "[]") != 0)
        return print_table(a, json, size, columns, count);
    note(a, "%s", none);
    return EXIT_OK;
}

int print_whole_list(const struct args *a, const char *json, size_t size,
                     const char *const *columns, size_t count, const char *none)
{
    if (a->json || strcmp(json, "[]") != 0)
        return print_within(a, json, size, columns, count, 0);
    note(a, "%s", none);
    return EXIT_OK;
}

int print_pretty(const struct args *a, const char *json, size_t size)
{
    wb_error *error = NULL;
    size_t n;
    char *text;

    if (a->json) {
        (void)put_line(json, size); /* finish_output tells */
        return EXIT_OK;
    }
    if (wb_json_pretty(json, size, &text, &n, &error) != WB_OK)
        return fail(a, NULL, error);
    (void)put_line(text, n); /* finish_output tells */
    wb_free(text);
    return EXIT_OK;
}
