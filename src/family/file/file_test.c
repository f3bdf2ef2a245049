/* SPDX-License-Identifier: Apache-2.0
 * family/file/file_test.c: the engines' promises on a real tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "family/file/file.h"
#include "family/file/glob.h"
#include "family/file/show.h"
#include "path/path.h"
#include "tree.h"

static struct tree tree;
static struct wbi_root *root;
static struct wbi_arena *arena;
static struct wbi_error err;

#define Z(s) wbi_str_z(s)

static int set_up(void **state)
{
    (void)state;
    if (!tree_make(&tree) || wbi_arena_new(512u << 20, &arena))
        return -1;
    return wbi_root_open(tree.root, WBI_ROOT_NO_SYNC, &err, &root);
}

static int tear_down(void **state)
{
    (void)state;
    wbi_root_unref(root);
    wbi_arena_free(arena);
    tree_remove(&tree);
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), "%s", name);
    assert_int_equal(
        wbi_path_write(root, Z(path), Z(text), WBI_WRITE_MKDIRS | WBI_WRITE_GRANT, &err), WB_OK);
}

/* ---- read ---- */

static void read_gives_lines_and_facts(void **state)
{
    struct wbi_read_result r;

    (void)state;
    put("a", "one\ntwo\r\nthree");
    assert_int_equal(
        wbi_file_read(root, &(struct wbi_read_request){.path = Z("a")}, arena, &err, &r), WB_OK);
    assert_int_equal(r.n_lines, 3);
    assert_true(wbi_str_eqz(r.lines[0].text, "one"));
    assert_true(wbi_str_eqz(r.lines[1].text, "two"));
    assert_true(wbi_str_eqz(r.lines[2].text, "three"));
    assert_true(r.crlf && r.at_end && r.counted && !r.final_newline);
    assert_int_equal(r.total_lines, 3);
    assert_int_equal(r.size, 14);
    assert_string_equal(r.encoding, "utf-8");
    assert_true(r.has_sha256);
    assert_null(r.next_token.p);
}

static void read_pages_by_lines_and_token(void **state)
{
    struct wbi_read_result r;
    struct wbi_read_request q = {.path = Z("a"), .first_line = 2, .max_lines = 2};
    char text[2000] = "";

    (void)state;
    for (int i = 1; i <= 10; i++)
        snprintf(text + strlen(text), 20, "line %d\n", i);
    put("a", text);
    assert_int_equal(wbi_file_read(root, &q, arena, &err, &r), WB_OK);
    assert_int_equal(r.first_line, 2);
    assert_true(wbi_str_eqz(r.lines[1].text, "line 3"));
    assert_false(r.at_end);
    assert_int_equal(r.total_lines, 10);
    for (unsigned next = 4; r.next_token.p != NULL; next += 2) {
        q.token = r.next_token;
        assert_int_equal(wbi_file_read(root, &q, arena, &err, &r), WB_OK);
        assert_int_equal(r.first_line, next);
    }
    assert_true(r.at_end);
    assert_true(wbi_str_eqz(r.lines[r.n_lines - 1].text, "line 10"));
    put("a", "changed\n");
    assert_int_equal(wbi_file_read(root, &q, arena, &err, &r), WB_EAGAIN);
    assert_int_equal(err.kind, WBI_KIND_FILE_CHANGED);
    q.token = Z("nonsense");
    assert_int_equal(wbi_file_read(root, &q, arena, &err, &r), WB_EINPUT);
}

static void read_refuses_binary_with_a_description(void **state)
{
    struct wbi_read_result r;

    (void)state;
    assert_true(tree_put(&tree, "work/png", "\x89PNG\r\n\x1a\n\0\0", 10));
    assert_true(tree_put(&tree, "work/bin", "a\0b", 3));
    assert_true(tree_put(&tree, "work/utf16",
                         "\xff\xfe"
                         "a\0",
                         4));
    assert_true(tree_put(&tree, "work/latin", "caf\xe9\n", 5));
    assert_true(tree_put(&tree, "work/bom", "\xef\xbb\xbfx\n", 5));
    assert_int_equal(
        wbi_file_read(root, &(struct wbi_read_request){.path = Z("png")}, arena, &err, &r),
        WB_EINPUT);
    assert_int_equal(err.kind, WBI_KIND_FILE_UNREADABLE);
    assert_non_null(strstr(err.text, "PNG image (10 bytes)"));
    assert_int_equal(
        wbi_file_read(root, &(struct wbi_read_request){.path = Z("bin")}, arena, &err, &r),
        WB_EINPUT);
    assert_int_equal(
        wbi_file_read(root, &(struct wbi_read_request){.path = Z("utf16")}, arena, &err, &r),
        WB_EINPUT);
    assert_int_equal(
        wbi_file_read(root, &(struct wbi_read_request){.path = Z("latin")}, arena, &err, &r),
        WB_OK);
    assert_string_equal(r.encoding, "unknown-8bit");
    assert_int_equal(
        wbi_file_read(root, &(struct wbi_read_request){.path = Z("bom")}, arena, &err, &r), WB_OK);
    assert_string_equal(r.encoding, "utf-8-bom");
    assert_true(wbi_str_eqz(r.lines[0].text, "x"));
}

static void a14_huge_lines_and_sparse_files_are_bounded(void **state)
{
    struct wbi_read_result r;
    char *big = malloc(3 << 20);
    int fd;

    (void)state;
    memset(big, 'x', 3 << 20);
    big[1 << 20] = '\n';
    assert_true(tree_put(&tree, "work/long", big, 3 << 20));
    free(big);
    assert_int_equal(wbi_file_read(root,
                                   &(struct wbi_read_request){.path = Z("long"), .max_line = 100},
                                   arena, &err, &r),
                     WB_OK);
    assert_int_equal(r.n_lines, 2);
    assert_int_equal(r.cut_lines, 2);
    assert_int_equal(r.lines[0].text.n, 100);
    assert_int_equal(r.lines[0].length, 1 << 20);
    fd = open(tree_at(&tree, "work/sparse"), O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "text only at the start of it\n", 29, 0), 29);
    if (ftruncate(fd, (off_t)1 << 40) == 0) {
        /* NUL bytes: binary, said at once */
        assert_int_equal(
            wbi_file_read(root, &(struct wbi_read_request){.path = Z("sparse")}, arena, &err, &r),
            WB_EINPUT);
    }
    close(fd);
}

static void a15_a_file_cut_short_while_read_is_no_fault(void **state)
{
    struct wbi_read_result r;
    struct wbi_read_request q = {.path = Z("a"), .max_lines = 1};

    (void)state;
    put("a", "1\n2\n3\n");
    assert_int_equal(wbi_file_read(root, &q, arena, &err, &r), WB_OK);
    assert_int_equal(truncate(tree_at(&tree, "work/a"), 1), 0);
    q.token = r.next_token;
    assert_int_equal(wbi_file_read(root, &q, arena, &err, &r), WB_EAGAIN);
}

/* ---- list ---- */

static const char *listed(struct wbi_list_request q)
{
    static char out[4096];
    struct wbi_list_result r;

    out[0] = '\0';
    do {
        assert_int_equal(wbi_file_list(root, &q, arena, &err, &r), WB_OK);
        for (size_t i = 0; i < r.n_entries; i++)
            snprintf(out + strlen(out), sizeof(out) - strlen(out), "%.*s%s ",
                     WBI_FMT(r.entries[i].path), r.entries[i].type == 'd' ? "/" : "");
        q.token = r.next_token;
    } while (r.next_token.p != NULL);
    return out;
}

static void list_is_ordered_filtered_and_paged(void **state)
{
    (void)state;
    put("b/x.c", "");
    put("b/y.h", "");
    put("a.c", "");
    put("c/d/e.c", "");
    put(".hidden", "");
    assert_string_equal(listed((struct wbi_list_request){0}),
                        "a.c b/ b/x.c b/y.h c/ c/d/ c/d/e.c ");
    for (size_t page = 1; page < 9; page++)
        assert_string_equal(listed((struct wbi_list_request){.max_entries = page}),
                            "a.c b/ b/x.c b/y.h c/ c/d/ c/d/e.c ");
    assert_string_equal(listed((struct wbi_list_request){.max_depth = 1}), "a.c b/ c/ ");
    assert_string_equal(listed((struct wbi_list_request){.glob = Z("*.c")}), "a.c b/x.c c/d/e.c ");
    assert_string_equal(listed((struct wbi_list_request){.glob = Z("*.{h,md}")}), "b/y.h ");
    assert_string_equal(listed((struct wbi_list_request){.glob = Z("c/**/*.c")}), "c/d/e.c ");
    assert_string_equal(listed((struct wbi_list_request){.glob = Z("*.c"), .max_entries = 1}),
                        "a.c b/x.c c/d/e.c ");
    assert_string_equal(listed((struct wbi_list_request){.hidden = true, .max_depth = 1}),
                        ".hidden a.c b/ c/ ");
    assert_string_equal(listed((struct wbi_list_request){.path = Z("c"), .dirs_only = true}),
                        "d/ ");
}

static void list_respects_ignore_files(void **state)
{
    (void)state;
    put(".gitignore", "*.o\n/build/\n!keep.o\n# comment\ndoc/*.tmp\n");
    put("sub/.gitignore", "!deep.o\nlocal\n");
    put("x.o", "");
    put("keep.o", "");
    put("sub/deep.o", "");
    put("sub/other.o", "");
    put("sub/local", "");
    put("build/out", "");
    put("sub/build/in", "");
    put("doc/a.tmp", "");
    put("doc/sub/a.tmp", "");
    put(".git/config", "");
    assert_string_equal(listed((struct wbi_list_request){.files_only = true}),
                        "doc/sub/a.tmp keep.o sub/build/in sub/deep.o ");
    assert_string_equal(listed((struct wbi_list_request){.files_only = true, .no_ignore = true}),
                        "build/out doc/a.tmp doc/sub/a.tmp keep.o sub/build/in sub/deep.o "
                        "sub/local sub/other.o x.o ");
}

static void a17_links_are_named_and_not_followed(void **state)
{
    (void)state;
    put("d/f", "");
    assert_int_equal(symlink("..", tree_at(&tree, "work/d/loop")), 0);
    assert_int_equal(symlink("../outside", tree_at(&tree, "work/out")), 0);
    assert_string_equal(listed((struct wbi_list_request){0}), "d/ d/f d/loop out ");
}

static void a16_large_and_deep_directories(void **state)
{
    struct wbi_list_result r;
    struct wbi_list_request q = {.max_entries = 1000};
    unsigned many = getenv("WAYBILL_SOAK") ? 1000000 : 70000, seen = 0;
    char name[32], last[64] = "";
    int fd, up;

    (void)state;
    assert_int_equal(mkdir(tree_at(&tree, "work/many"), 0755), 0);
    fd = open(tree_at(&tree, "work/many"), O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < many; i++) {
        snprintf(name, sizeof(name), "f%07u", i);
        int f = openat(fd, name, O_WRONLY | O_CREAT, 0644);
        assert_true(f >= 0);
        close(f);
    }
    close(fd);
    q.path = Z("many");
    q.max_entries = 10000;
    do {
        assert_int_equal(wbi_file_list(root, &q, arena, &err, &r), WB_OK);
        for (size_t i = 0; i < r.n_entries; i++) {
            snprintf(name, sizeof(name), "%.*s", WBI_FMT(r.entries[i].path));
            assert_true(strcmp(name, last) > 0);
            snprintf(last, sizeof(last), "%s", name);
            seen++;
        }
        q.token = r.next_token;
    } while (r.next_token.p != NULL);
    assert_int_equal(seen, many);
    up = open(tree.root, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(mkdirat(up, "deep", 0755), 0);
        fd = openat(up, "deep", O_RDONLY | O_DIRECTORY);
        assert_true(fd >= 0);
        close(up);
        up = fd;
    }
    close(up);
    q = (struct wbi_list_request){.glob = Z("deep")};
    assert_int_equal(wbi_file_list(root, &q, arena, &err, &r), WB_OK);
    assert_int_equal(r.too_deep, 1);
    assert_int_equal(r.n_entries, WBI_LIMIT_WALK_DEPTH);
    /* nftw cannot remove it: unnest by moving the inner half out again and again */
    for (;;) {
        char path[600] = "";
        struct stat st;

        snprintf(path, sizeof(path), "%s/deep/deep", tree.root);
        if (stat(path, &st) != 0)
            break;
        snprintf(name, sizeof(name), "inner");
        assert_int_equal(rename(path, tree_at(&tree, "work/inner")), 0);
        assert_int_equal(rmdir(tree_at(&tree, "work/deep")), 0);
        assert_int_equal(rename(tree_at(&tree, "work/inner"), tree_at(&tree, "work/deep")), 0);
    }
}

/* ---- search ---- */

static const char *found(struct wbi_search_request q)
{
    static char out[8192];
    struct wbi_search_result r;

    out[0] = '\0';
    do {
        if (wbi_file_search(root, &q, arena, &err, &r) != WB_OK)
            return err.text;
        for (size_t i = 0; i < r.n_files; i++) {
            snprintf(out + strlen(out), sizeof(out) - strlen(out), "%.*s",
                     WBI_FMT(r.files[i].path));
            if (q.mode == WBI_SEARCH_COUNT)
                snprintf(out + strlen(out), 32, "=%llu", (unsigned long long)r.files[i].matches);
            for (size_t k = 0; k < r.files[i].n_lines; k++)
                snprintf(out + strlen(out), sizeof(out) - strlen(out), "%c%llu",
                         r.files[i].lines[k].is_match ? ':' : '-',
                         (unsigned long long)r.files[i].lines[k].number);
            strcat(out, " ");
        }
        q.token = r.next_token;
    } while (r.next_token.p != NULL);
    return out;
}

static void search_finds_lines_groups_and_pages(void **state)
{
    (void)state;
    put("a.txt", "one\ntwo\nthree\nfour two\nfive\nsix\nseven\neight two\n");
    put("b/c.txt", "nothing\ntwo\r\n");
    put("bin", "two");
    assert_true(tree_put(&tree, "work/bin", "two\0two", 7));
    put(".gitignore", "*.log\n");
    put("x.log", "two\n");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("two")}),
                        "a.txt:2:4:8 b/c.txt:2 ");
    assert_string_equal(
        found((struct wbi_search_request){.pattern = Z("two"), .before = 1, .after = 1}),
        "a.txt-1:2-3:4-5-7:8 b/c.txt-1:2 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("t[wx]o$")}),
                        "a.txt:2:4:8 b/c.txt:2 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("^t\\w+")}),
                        "a.txt:2:3 b/c.txt:2 ");
    assert_string_equal(
        found((struct wbi_search_request){.pattern = Z("TWO"), .ignore_case = true}),
        "a.txt:2:4:8 b/c.txt:2 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("two"), .max_matches = 1}),
                        "a.txt:2 a.txt:4 a.txt:8 b/c.txt:2 ");
    assert_string_equal(found((struct wbi_search_request){
                            .pattern = Z("two"), .max_matches = 1, .mode = WBI_SEARCH_FILES}),
                        "a.txt b/c.txt ");
    assert_string_equal(
        found((struct wbi_search_request){.pattern = Z("two"), .mode = WBI_SEARCH_COUNT}),
        "a.txt=3 b/c.txt=1 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("two"), .glob = Z("c.*")}),
                        "b/c.txt:2 ");
    assert_string_equal(found((struct wbi_search_request){
                            .pattern = Z("two"), .max_matches = 1, .before = 1, .after = 1}),
                        "a.txt-1:2-3 a.txt:4-5 a.txt-7:8 b/c.txt-1:2 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("two"), .path = Z("b")}),
                        "c.txt:2 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("two"), .path = Z("a.txt")}),
                        "a.txt:2:4:8 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("four\\s+five")}), "");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("one\\s*")}), "a.txt:1 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("o."), .literal = true}),
                        "");
    assert_non_null(strstr(found((struct wbi_search_request){.pattern = Z("(")}), "pattern"));
    assert_int_equal(err.kind, WBI_KIND_INVALID_TOOL_INPUT);
}

static void search_keeps_context_across_pages_and_bounds_lines(void **state)
{
    struct wbi_search_result r;
    char *big = malloc(100001);

    (void)state;
    memset(big, 'x', 100000);
    memcpy(big + 50000, "needle", 6);
    big[100000] = '\0';
    put("long", big);
    free(big);
    assert_int_equal(wbi_file_search(root, &(struct wbi_search_request){.pattern = Z("needle")},
                                     arena, &err, &r),
                     WB_OK);
    assert_int_equal(r.n_files, 1);
    assert_true(r.files[0].lines[0].cut);
    assert_true(r.files[0].lines[0].text.n <= WBI_LIMIT_SEARCH_LINE);
    assert_memory_equal(r.files[0].lines[0].text.p + r.files[0].lines[0].from, "needle", 6);
    put("uni", "stra\xc3\x9f"
               "e\nSTRASSE\n");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("stra[\xc3\x9f]e")}),
                        "uni:1 ");
}

/* The text that every match must hold is looked for first: what may be absent, what stands in
 * classes, groups and repeats is no part of it, however the expression says so. */
static void search_requires_no_more_than_the_pattern(void **state)
{
    static const struct {
        const char *pattern, *line;
    } cases[] = {
        {"^caf\xc3\xa9?s$", "cafs"},
        {"^caf\xc3\xa9*s$", "cafs"},
        {"^caf\xc3\xa9{0,2}s$", "caf\xc3\xa9\xc3\xa9s"},
        {"^\xe6\x97\xa5?$", ""},
        {"^a\xf0\x9f\x98\x80?b$", "ab"},
        {"^[[:digit:]abc]$", "5"},
        {"^[^[:digit:]abc]$", "x"},
        {"^x[abc[:space:]def]y$", "x y"},
        {"^[^]abc]$", "x"},
        {"^[]abc]$", "]"},
        {"^[\\]abc]$", "]"},
        {"^[^\\]abc]$", "x"},
        {"^[\\c]abc]$", "b"},
        {"^x{(}abc)?$", "x{"},
        {"^x{2,3}y$", "xxy"},
        {"^ab\\E?c$", "ac"},
        {"^a(bcd)*e$", "ae"},
        {"^ab+c$", "abbc"},
    };

    (void)state;
    put("other", "nothing of it\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];

        (void)snprintf(text, sizeof(text), "%s\n", cases[i].line);
        put("f", text);
        print_message("%s\n", cases[i].pattern); /* the last one said is the one that failed */
        assert_string_equal(
            found((struct wbi_search_request){.pattern = wbi_str_z(cases[i].pattern)}), "f:1 ");
    }
}

static void search_reads_octal_numbers_as_characters(void **state)
{
    (void)state;
    put("f", "\xc3\xa9\n\xc4\x80\n");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("^\\351$")}), "f:1 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("^[\\351]$")}), "f:1 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("^\\400$")}), "f:2 ");
}

/* A pattern sees one line: neither its end nor what stands before it or behind. */
static void search_looks_at_each_line_by_itself(void **state)
{
    static const struct {
        const char *pattern, *found;
    } cases[] = {
        {"foo(?!\\s)", "f:1:3 "},  {"foo(?=\\s)", "f:2 "},    {"(?<=\\s)foo", "f:3 "},
        {"(?<!\\s)foo", "f:1:2 "}, {"(*plb:\\s)foo", "f:3 "}, {"foo(?![\\s\\S])", "f:1:3 "},
        {"\\Afoo", "f:1:2 "},      {"\\Gfoo", "f:1:2 "},      {"foo\\z", "f:1:3 "},
        {"foo\\Z", "f:1:3 "},      {"foo\\s*+$", "f:1:3 "},   {"(?>foo\\s*)$", "f:1:3 "},
        {"\\z", "f:1:2:3:4 "},     {"\\s\\Kfoo", "f:3 "},
    };

    (void)state;
    put("f", "foo\nfoo bar\nx foo\n\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].pattern); /* the last one said is the one that failed */
        assert_string_equal(
            found((struct wbi_search_request){.pattern = wbi_str_z(cases[i].pattern)}),
            cases[i].found);
    }
}

/* As ReadFile shows it and a patch names it. */
static void search_sees_the_first_line_without_its_mark(void **state)
{
    (void)state;
    put("bom", "\xef\xbb\xbf#include <a>\nb\n");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("^#include")}), "bom:1 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("\xef\xbb\xbf")}), "");
}

/* CR LF ends a line as LF does; a CR elsewhere is text. */
static void search_sees_lines_without_their_ends(void **state)
{
    (void)state;
    put("crlf", "int a;\r\n\r\nint b;\r\nx\ry;\nend;\r");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z(";$")}), "crlf:1:3:4 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("^$")}), "crlf:2 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("x.y")}), "crlf:4 ");
    assert_string_equal(found((struct wbi_search_request){.pattern = Z("\\r")}), "crlf:4:5 ");
}

/* ---- write ---- */

static void write_creates_replaces_and_appends(void **state)
{
    struct wbi_write_result w, w2;

    (void)state;
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){
                                        .path = Z("d/a"), .data = Z("one\n"), .make_dirs = true},
                                    arena, &err, &w),
                     WB_OK);
    assert_true(w.created);
    assert_int_equal(w.lines, 1);
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z("d/a"), .data = Z("x")},
                                    arena, &err, &w2),
                     WB_EEXISTS);
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z("d/a"),
                                                                .data = Z("two"),
                                                                .mode = WBI_FILE_APPEND,
                                                                .expected_sha256 = Z(w.sha256)},
                                    arena, &err, &w2),
                     WB_OK);
    assert_true(tree_is(&tree, "work/d/a", "one\ntwo"));
    assert_int_equal(w2.lines, 2);
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z("d/a"),
                                                                .data = Z("x"),
                                                                .mode = WBI_FILE_REPLACE,
                                                                .expected_sha256 = Z(w.sha256)},
                                    arena, &err, &w),
                     WB_EAGAIN);
    assert_int_equal(err.kind, WBI_KIND_FILE_CHANGED);
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z("d/a"),
                                                                .data = Z("new"),
                                                                .mode = WBI_FILE_REPLACE,
                                                                .expected_sha256 = Z(w2.sha256)},
                                    arena, &err, &w),
                     WB_OK);
    assert_true(tree_is(&tree, "work/d/a", "new"));
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z("none"),
                                                                .data = Z("new"),
                                                                .mode = WBI_FILE_REPLACE},
                                    arena, &err, &w),
                     WB_ENOTFOUND);
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z("log"),
                                                                .data = Z("first\n"),
                                                                .mode = WBI_FILE_APPEND},
                                    arena, &err, &w),
                     WB_OK);
    assert_true(w.created);
    assert_int_equal(wbi_file_write(root,
                                    &(struct wbi_write_request){.path = Z(".git/hooks/x"),
                                                                .data = Z("x"),
                                                                .make_dirs = true},
                                    arena, &err, &w),
                     WB_EDENIED);
}

static void globs_know_stars_classes_and_escapes(void **state)
{
    static const struct {
        const char *p, *s;
        bool yes;
    } cases[] = {
        {"a", "a", true},
        {"*", "abc", true},
        {"*", "a/b", false},
        {"a/*", "a/b", true},
        {"a/*", "a/b/c", false},
        {"**/c", "a/b/c", true},
        {"**/c", "c", true},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**/c", "a/c", true},
        {"a/**/c", "a/x/y/c", true},
        {"a/**/c", "a/x/y/d", false},
        {"*.c", "x.c.c", true},
        {"?", "ab", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[!a-c]x", "dx", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"[]]", "]", true},
        {"[a", "[a", true},
        {"**", "a/b", true},
        {"**/**", "", true}, /* what a rule leaves of the file it names before its stars */
        {"a**b", "axxb", true},
        {"*a*b*c*", "xxaxxbxxcxx", true},
        {"**/a/**/b", "x/a/y/z/b", true},
        {"?", "/", false},
        {"**/x*y/**", "a/xzy/q", true},
        {"*", "", true},
        {"a*", "b", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (wbi_path_glob(Z(cases[i].p), Z(cases[i].s)) != cases[i].yes)
            fail_msg("%s against %s", cases[i].p, cases[i].s);
}

/* Letters stand for themselves, which is shorter; what a copy might change does not. */
static void tokens_keep_letters_and_come_back(void **state)
{
    static const struct {
        const char *raw, *token;
    } cases[] = {{"src/a b.c", "src/a%20b.c"},
                 {"100%\"\\", "100%25%22%5C"},
                 {"\xe4\xb8\xad/\xd0\xb9/\xc3\xa9", "\xe4\xb8\xad/\xd0\xb9/\xc3\xa9"},
                 {"e\xcc\x81\xe2\x80\x8b", "e%CC%81%E2%80%8B"},
                 {"\xef\xa4\x80\xff\xe4\xb8", "%EF%A4%80%FF%E4%B8"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wbi_str token = wbi_token_encode(arena, wbi_str_z(cases[i].raw));

        assert_string_equal(wbi_arena_strz(arena, token), cases[i].token);
        assert_true(wbi_str_eqz(wbi_token_decode(arena, token), cases[i].raw));
    }
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(read_gives_lines_and_facts),
        EACH(read_pages_by_lines_and_token),
        EACH(read_refuses_binary_with_a_description),
        EACH(a14_huge_lines_and_sparse_files_are_bounded),
        EACH(a15_a_file_cut_short_while_read_is_no_fault),
        EACH(list_is_ordered_filtered_and_paged),
        EACH(tokens_keep_letters_and_come_back),
        EACH(list_respects_ignore_files),
        EACH(a17_links_are_named_and_not_followed),
        EACH(a16_large_and_deep_directories),
        EACH(search_finds_lines_groups_and_pages),
        EACH(search_sees_lines_without_their_ends),
        EACH(search_sees_the_first_line_without_its_mark),
        EACH(search_requires_no_more_than_the_pattern),
        EACH(search_reads_octal_numbers_as_characters),
        EACH(search_looks_at_each_line_by_itself),
        EACH(search_keeps_context_across_pages_and_bounds_lines),
        EACH(write_creates_replaces_and_appends),
        EACH(globs_know_stars_classes_and_escapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
