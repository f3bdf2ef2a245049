/* SPDX-License-Identifier: Apache-2.0
 * tests/patch_golden_test.c: the cases of tests/golden/patch, in memory.
 * A file holds cases of directive lines and the text under them:
 *   %% case NAME            ends the case before
 *   %% file NAME [nonl] [crlf] [bom]     a file before; its text follows
 *   %% patch [nonl] [crlf]
 *   %% ok | %% error KIND [RULE]
 *   %% result NAME […]      a file after; %% gone NAME; %% exec NAME
 *   %% diag KIND            %% change A|M|D|R PATH… +N -N
 *   %% candidates LINE…     %% divergence CANDIDATE PREFIX FILE_LINE
 *   %% expected TEXT        %% actual TEXT
 * One empty line before a directive belongs to the format, not to the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "memfs.h"

struct run {
    struct wbi_arena *arena;
    struct memfs before, after;
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;
    struct wbi_error err;
    struct wbi_str patch, name;
    wb_rc rc;
    bool done, failed;
    unsigned cases, checks;
};

static bool take_word(struct wbi_str *s, struct wbi_str *ret)
{
    size_t n = wbi_str_index(*s, ' ');

    *ret = wbi_str_head(*s, n);
    *s = wbi_str_from(*s, n + 1);
    return ret->n > 0;
}

static bool has_word(struct wbi_str words, const char *word)
{
    struct wbi_str w;

    while (take_word(&words, &w))
        if (wbi_str_eqz(w, word))
            return true;
    return false;
}

static void complain(struct run *r, const char *what, struct wbi_str line)
{
    r->failed = true;
    print_error("%.*s: %s: %.*s\n    outcome: %s %s\n    rule %s\n", WBI_FMT(r->name), what,
                WBI_FMT(line), r->rc ? wbi_kind_row(r->err.kind)->kind : "ok", r->err.text,
                r->fault.rule ? r->fault.rule : "-");
}

/* Text as the flags say. */
static struct wbi_str shape(struct run *r, struct wbi_str text, struct wbi_str flags)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, 1 << 20);
    if (has_word(flags, "bom"))
        wbi_buf_addz(&b, "\xef\xbb\xbf");
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n' && has_word(flags, "crlf"))
            wbi_buf_addc(&b, '\r');
        if (text.p[i] != '\n' || i + 1 < text.n || !has_word(flags, "nonl"))
            wbi_buf_addc(&b, text.p[i]);
    }
    return wbi_buf_str(&b);
}

static void execute(struct run *r)
{
    struct wbi_patch_fs fs = memfs_fs(&r->after);

    if (r->done)
        return;
    r->done = true;
    r->after = r->before;
    r->err = (struct wbi_error){0};
    r->rc = wbi_patch_apply(r->patch, &fs, 0, r->arena, &r->err, &r->fault, &r->res);
    if (r->rc != WB_OK && r->after.commits != 0)
        complain(r, "changed something though it failed", WBI_NONE);
}

static void check_error(struct run *r, struct wbi_str args)
{
    struct wbi_str kind, rule, line = args;

    take_word(&args, &kind);
    if (r->rc == WB_OK || wbi_kind_by_name(kind) != r->err.kind)
        complain(r, "expected error", line);
    else if (take_word(&args, &rule) &&
             (r->fault.rule == NULL || !wbi_str_eqz(rule, r->fault.rule)))
        complain(r, "expected rule", line);
}

static void check_change(struct run *r, struct wbi_str args)
{
    static const char letters[] = {'A', 'M', 'D', 'R'};

    for (size_t i = 0; r->rc == WB_OK && i < r->res.n_changes; i++) {
        struct wbi_patch_change *c = &r->res.changes[i];
        struct wbi_str line =
            c->action == WBI_PATCH_MOVE
                ? wbi_arena_fmt(r->arena, "R %.*s -> %.*s +%u -%u", WBI_FMT(c->from_path),
                                WBI_FMT(c->path), c->added, c->removed)
                : wbi_arena_fmt(r->arena, "%c %.*s +%u -%u", letters[c->action], WBI_FMT(c->path),
                                c->added, c->removed);
        if (wbi_str_eq(line, args))
            return;
    }
    complain(r, "no such change", args);
}

static void check_list(struct run *r, struct wbi_str args, bool divergence)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, r->arena, 4096);
    if (divergence && r->fault.has_divergence)
        wbi_buf_addf(&b, "%u %u %u", r->fault.candidate_line, r->fault.matched_prefix_lines,
                     r->fault.file_line);
    for (size_t i = 0; !divergence && i < r->fault.n_candidates; i++)
        wbi_buf_addf(&b, "%s%u", i ? " " : "", r->fault.candidates[i].line);
    if (!wbi_str_eq(wbi_buf_str(&b), args))
        complain(r, divergence ? "divergence" : "candidates", wbi_buf_str(&b));
}

static void check_result(struct run *r, struct wbi_str args, struct wbi_str text)
{
    struct wbi_str name;
    int at;

    take_word(&args, &name);
    at = memfs_find(&r->after, name);
    if (at < 0)
        complain(r, "no such file afterwards", name);
    else if (!wbi_str_eq(r->after.data[at], shape(r, text, args)))
        complain(r, "content differs, got", r->after.data[at]);
}

static void check_diag(struct run *r, struct wbi_str args)
{
    for (size_t i = 0; r->rc == WB_OK && i < r->res.n_diagnostics; i++)
        if (wbi_str_eqz(args, r->res.diagnostics[i].kind))
            return;
    complain(r, "no such diagnostic", args);
}

static void directive(struct run *r, struct wbi_str line, struct wbi_str text)
{
    struct wbi_str word, name, args = line;

    take_word(&args, &word);
    if (wbi_str_eqz(word, "case")) {
        memset(&r->before, 0, sizeof(r->before));
        r->done = false;
        r->name = args;
        r->cases++;
        return;
    }
    if (wbi_str_eqz(word, "file")) {
        take_word(&args, &name);
        memfs_put(&r->before, name, shape(r, text, args));
        return;
    }
    if (wbi_str_eqz(word, "patch")) {
        r->patch = shape(r, text, args);
        return;
    }
    execute(r);
    r->checks++;
    if (wbi_str_eqz(word, "ok")) {
        if (r->rc != WB_OK)
            complain(r, "expected success", line);
    } else if (wbi_str_eqz(word, "error"))
        check_error(r, args);
    else if (wbi_str_eqz(word, "result"))
        check_result(r, args, text);
    else if (wbi_str_eqz(word, "gone")) {
        if (memfs_find(&r->after, args) >= 0)
            complain(r, "still there", args);
    } else if (wbi_str_eqz(word, "exec")) {
        if (memfs_find(&r->after, args) < 0 || !r->after.exec[memfs_find(&r->after, args)])
            complain(r, "not executable", args);
    } else if (wbi_str_eqz(word, "diag"))
        check_diag(r, args);
    else if (wbi_str_eqz(word, "change"))
        check_change(r, args);
    else if (wbi_str_eqz(word, "candidates") || wbi_str_eqz(word, "divergence"))
        check_list(r, args, word.p[0] == 'd');
    else if (wbi_str_eqz(word, "expected")) {
        if (r->fault.n_expected == 0 || !wbi_str_eq(args, r->fault.expected[0]))
            complain(r, "expected line", args);
    } else if (wbi_str_eqz(word, "actual")) {
        if (r->fault.n_actual == 0 || !wbi_str_eq(args, r->fault.actual[0]))
            complain(r, "actual line", args);
    } else
        complain(r, "unknown directive", line);
}

static void run_text(struct run *r, struct wbi_str all)
{
    size_t at = wbi_str_find(all, WBI_LIT("\n%% "));

    while (at < all.n) {
        struct wbi_str rest = wbi_str_from(all, at + 4);
        size_t n = wbi_str_index(rest, '\n');
        struct wbi_str text = wbi_str_from(rest, n + 1);
        size_t end = wbi_str_find(wbi_str_make(rest.p + n, rest.n - n), WBI_LIT("\n%% "));
        bool last = end == rest.n - n;

        /* text keeps the newline of its last line */
        text.n = last ? text.n : end;
        if (text.n >= 1 && text.p[text.n - 1] == '\n' &&
            (text.n == 1 || text.p[text.n - 2] == '\n') && !last)
            text.n--;
        directive(r, wbi_str_head(rest, n), text);
        if (last)
            break;
        all = wbi_str_make(rest.p + n, rest.n - n);
        at = end;
    }
}

static void every_case_holds(void **state)
{
    static const char *const files[] = {"codex", "unified", "bytes", "errors", "sloppy"};
    static char data[1 << 18];
    struct run r = {0};

    (void)state;
    assert_int_equal(wbi_arena_new(256u << 20, &r.arena), WB_OK);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[512];
        FILE *f;
        size_t n;

        snprintf(path, sizeof(path), "%s/tests/golden/patch/%s.txt", WAYBILL_SOURCE, files[i]);
        f = fopen(path, "rb");
        assert_non_null(f);
        n = fread(data, 1, sizeof(data), f);
        fclose(f);
        run_text(&r, wbi_arena_str(r.arena, wbi_str_make(data, n)));
    }
    print_message("%u cases, %u checks\n", r.cases, r.checks);
    wbi_arena_free(r.arena);
    assert_false(r.failed);
    assert_true(r.cases > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_holds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
