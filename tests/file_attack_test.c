/* SPDX-License-Identifier: Apache-2.0
 * tests/file_attack_test.c: the attacks on paths, files and patches, each by its
 * number (reliability §3 A 1-30), through the tools of a running runtime. The
 * engines have their own tests beside them; here the whole journey must hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "racer.h"
#include "toolbox.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static int set_up(void **state)
{
    static struct toolbox box;

    toolbox_make(&box);
    assert_true(tree_puts(&box.tree, "outside/f", "secret\n"));
    assert_true(tree_puts(&box.tree, "work/a.txt", "one\ntwo\nthree\n"));
    *state = &box;
    return 0;
}

static int tear_down(void **state)
{
    struct toolbox *b = *state;

    assert_true(tree_is(&b->tree, "outside/f", "secret\n")); /* whatever was tried */
    toolbox_end(b);
    return 0;
}

static void refused(struct toolbox *b, const char *tool, const char *input, const char *kind)
{
    struct toolcall c = toolbox_call(b, tool, input);

    if (c.ok || strcmp(c.kind, kind) != 0)
        fail_msg("%s %s: %s instead of %s", tool, input, c.ok ? "success" : c.kind, kind);
    assert_true(wbi_str_find(c.receipt, WBI_LIT("secret\n")) == c.receipt.n);
}

/* The same path, given to every tool that takes one. */
static void refused_everywhere(struct toolbox *b, const char *path, const char *kind)
{
    char input[16384];

    snprintf(input, sizeof(input), "{\"path\":\"%s\"}", path);
    refused(b, "ReadFile", input, kind);
    refused(b, "ListFiles", input, kind);
    snprintf(input, sizeof(input), "{\"path\":\"%s\",\"pattern\":\"e\"}", path);
    refused(b, "SearchFiles", input, kind);
    snprintf(input, sizeof(input), "{\"path\":\"%s\",\"content\":\"x\",\"mode\":\"append\"}", path);
    refused(b, "WriteFile", input, kind);
    snprintf(
        input, sizeof(input),
        "{\"patch\":\"*** Begin Patch\\n*** Update File: %s\\n@@\\n-secret\\n+x\\n*** End Patch\"}",
        path);
    refused(b, "ApplyPatch", input, kind);
}

#define VIOLATION "execution_root_violation"

static void test_1_climbing(void **state)
{
    struct toolbox *b = *state;

    toolbox_open(b);
    refused_everywhere(b, "../outside/f", VIOLATION);
    assert_int_equal(mkdir(tree_at(&b->tree, "work/a"), 0755), 0);
    refused_everywhere(b, "a/../../outside/f", VIOLATION);
}

static void test_2_absolute_and_8_look_alike(void **state)
{
    struct toolbox *b = *state;
    char path[256];

    toolbox_open(b);
    refused_everywhere(b, "/etc/passwd", VIOLATION);
    snprintf(path, sizeof(path), "%s/f", b->tree.outside);
    refused_everywhere(b, path, VIOLATION);
    assert_int_equal(mkdir(tree_at(&b->tree, "work-secret"), 0755), 0);
    assert_true(tree_puts(&b->tree, "work-secret/x", "secret\n"));
    snprintf(path, sizeof(path), "%s-secret/x", b->tree.root);
    refused_everywhere(b, path, VIOLATION);
    snprintf(path, sizeof(path), "{\"path\":\"%s/a.txt\"}", b->tree.root);
    assert_true(toolbox_call(b, "ReadFile", path).ok); /* the root itself is a prefix */
}

static void test_3_links_to_the_outside(void **state)
{
    struct toolbox *b = *state;

    assert_int_equal(symlink("../outside/f", tree_at(&b->tree, "work/file")), 0);
    assert_int_equal(symlink("../outside", tree_at(&b->tree, "work/dir")), 0);
    toolbox_open(b);
    refused_everywhere(b, "file", VIOLATION);
    refused_everywhere(b, "dir/f", VIOLATION);
    refused(b, "WriteFile", "{\"path\":\"dir/new\",\"content\":\"x\"}", VIOLATION);
    assert_int_equal(access(tree_at(&b->tree, "outside/new"), F_OK), -1);
}

static void test_4_a_chain_of_links(void **state)
{
    struct toolbox *b = *state;
    char from[32], to[32];

    for (int i = 0; i < 41; i++) {
        snprintf(from, sizeof(from), "work/l%d", i);
        snprintf(to, sizeof(to), i == 40 ? "a.txt" : "l%d", i + 1);
        assert_int_equal(symlink(to, tree_at(&b->tree, from)), 0);
    }
    toolbox_open(b);
    assert_false(toolbox_call(b, "ReadFile", "{\"path\":\"l0\"}").ok);
    assert_true(toolbox_call(b, "ReadFile", "{\"path\":\"l30\"}").ok);
}

static void test_6_magic_links(void **state)
{
    static const char *const targets[] = {"/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0"};
    struct toolbox *b = *state;

    toolbox_open(b);
    for (size_t i = 0; i < LEN(targets); i++) {
        (void)unlink(tree_at(&b->tree, "work/p"));
        assert_int_equal(symlink(targets[i], tree_at(&b->tree, "work/p")), 0);
        refused_everywhere(b, "p", VIOLATION);
        refused_everywhere(b, "p/etc/passwd", VIOLATION);
    }
}

/* The file outside keeps its content: the name gets a new file. */
static void test_7_hard_links(void **state)
{
    struct toolbox *b = *state;

    assert_int_equal(link(tree_at(&b->tree, "outside/f"), tree_at(&b->tree, "work/h")), 0);
    toolbox_open(b);
    assert_true(toolbox_call(b, "WriteFile",
                             "{\"path\":\"h\",\"content\":\"mine\\n\","
                             "\"mode\":\"append\"}")
                    .ok);
    assert_true(tree_is(&b->tree, "work/h", "secret\nmine\n"));
    assert_int_equal(link(tree_at(&b->tree, "outside/f"), tree_at(&b->tree, "work/h2")), 0);
    assert_true(toolbox_call(b, "ApplyPatch",
                             "{\"patch\":\"*** Begin Patch\\n*** Update File: h2\\n@@\\n-secret\\n"
                             "+patched\\n*** End Patch\"}")
                    .ok);
    assert_true(tree_is(&b->tree, "work/h2", "patched\n"));
}

static void test_9_nul_and_10_long_names(void **state)
{
    static char path[5001], input[5200];
    struct toolbox *b = *state;

    toolbox_open(b);
    refused(b, "ReadFile", "{\"path\":\"a.txt\\u0000x\"}", "invalid_tool_input");
    refused(b, "ListFiles", "{\"path\":\".\\u0000x\"}", "invalid_tool_input");
    refused(b, "SearchFiles", "{\"path\":\".\\u0000x\",\"pattern\":\"x\"}", "invalid_tool_input");
    refused(b, "WriteFile", "{\"path\":\"n\\u0000x\",\"content\":\"x\"}", "invalid_tool_input");
    assert_int_equal(access(tree_at(&b->tree, "work/n"), F_OK), -1);
    memset(path, 'x', sizeof(path) - 1);
    for (size_t i = 100; i < sizeof(path) - 1; i += 100)
        path[i] = '/';
    snprintf(input, sizeof(input), "{\"path\":\"%s\"}", path);
    refused(b, "ReadFile", input, "invalid_tool_input");
    memset(path, 'x', 300);
    snprintf(input, sizeof(input), "{\"path\":\"%.300s\",\"content\":\"x\"}", path);
    refused(b, "WriteFile", input, "invalid_tool_input");
}

/* Shown escaped, carried as bytes: a page token made of such a name still works. */
static void test_11_hostile_names(void **state)
{
    static const char *const names[] = {"work/n\nl", "work/e\033[31m", "work/i\xff\xfe",
                                        "work/r\xe2\x80\xae"
                                        "gpj"};
    struct toolbox *b = *state;
    struct toolcall c;
    size_t seen = 0;
    char token[256] = "";

    for (size_t i = 0; i < LEN(names); i++)
        assert_true(tree_puts(&b->tree, names[i], "x\n"));
    toolbox_open(b);
    do {
        c = toolbox_callf(b, "ListFiles", "{\"max_entries\":1%s%s%s}",
                          *token ? ",\"pageToken\":\"" : "", token, *token ? "\"" : "");
        assert_true(c.ok);
        seen += wbi_json_count(wbi_json_get(c.result, "entries"));
        for (size_t i = 0; i < c.receipt.n; i++)
            assert_true((uint8_t)c.receipt.p[i] >= 0x20 || c.receipt.p[i] == '\n');
        snprintf(token, sizeof(token), "%.*s", WBI_FMT(wbi_json_get_str(c.result, "nextToken")));
    } while (*token && seen < 20);
    assert_int_equal(seen, LEN(names) + 1);
}

static void test_12_and_27_guarded_names(void **state)
{
    static const char *const names[] = {
        ".git/hooks/pre-commit", ".GIT/config",    ".Git/hooks/x",       "sub/.git/config",
        ".claude/settings.json", ".mcp.json",      ".vscode/tasks.json", ".waybill/x",
        "waybill.json",          "tools.d/t.json", ".g\\u200cit/config"};
    struct toolbox *b = *state;

    toolbox_open(b);
    for (size_t i = 0; i < LEN(names); i++) {
        char input[512];

        snprintf(input, sizeof(input), "{\"path\":\"%s\",\"content\":\"x\"}", names[i]);
        refused(b, "WriteFile", input, "forbidden");
        snprintf(input, sizeof(input),
                 "{\"patch\":\"*** Begin Patch\\n*** Update File: a.txt\\n*** Move to: %s\\n@@\\n"
                 "-one\\n+1\\n*** End Patch\"}",
                 names[i]);
        refused(b, "ApplyPatch", input, "forbidden");
    }
    assert_true(tree_is(&b->tree, "work/a.txt", "one\ntwo\nthree\n"));
}

static void test_13_no_regular_files(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct toolbox *b = *state;
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(mkfifo(tree_at(&b->tree, "work/fifo"), 0644), 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", tree_at(&b->tree, "work/sock"));
    assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
    toolbox_open(b);
    refused(b, "ReadFile", "{\"path\":\"fifo\"}", "file_not_text");
    refused(b, "ReadFile", "{\"path\":\"sock\"}", "file_not_text");
    assert_false(toolbox_call(b, "WriteFile",
                              "{\"path\":\"fifo\",\"content\":\"x\","
                              "\"mode\":\"append\"}")
                     .ok);
    assert_true(toolbox_call(b, "SearchFiles", "{\"pattern\":\"x\"}").ok); /* passes them over */
    close(s);
}

static void test_14_a_sparse_file(void **state)
{
    static char text[16384];
    struct toolbox *b = *state;
    struct toolcall c;
    int fd;

    memset(text, 'a', sizeof(text));
    for (size_t i = 79; i < sizeof(text); i += 80)
        text[i] = '\n';
    assert_true(tree_put(&b->tree, "work/sparse", text, sizeof(text)));
    fd = open(tree_at(&b->tree, "work/sparse"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)1 << 40) != 0)
        print_message("the file system takes no file of 1 TiB\n");
    close(fd);
    toolbox_open(b);
    c = toolbox_call(b, "ReadFile", "{\"path\":\"sparse\",\"max_lines\":3}");
    assert_true(c.ok);
    assert_non_null(wbi_json_get_str(c.result, "nextToken").p);
    c = toolbox_call(b, "SearchFiles", "{\"pattern\":\"aaa\",\"max_matches\":1}");
    assert_true(c.ok);
}

/* No file of others is mapped: one that shrinks under a read does no harm. */
static void test_15_a_file_that_shrinks(void **state)
{
    static char text[262144];
    struct toolbox *b = *state;
    pid_t pid;

    memset(text, 'a', sizeof(text));
    assert_true(tree_put(&b->tree, "work/moving", text, sizeof(text)));
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            (void)!truncate(tree_at(&b->tree, "work/moving"), 10);
            (void)!truncate(tree_at(&b->tree, "work/moving"), sizeof(text));
        }
    }
    toolbox_open(b);
    for (int i = 0; i < 100; i++) {
        (void)toolbox_call(b, "ReadFile", "{\"path\":\"moving\"}");
        assert_true(toolbox_call(b, "SearchFiles", "{\"pattern\":\"b\"}").ok);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_16_many_and_deep(void **state)
{
    struct toolbox *b = *state;
    struct toolcall c;
    char name[64];
    int dir = open(b->tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;

    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "work/many-%04d", i);
        assert_true(tree_puts(&b->tree, name, ""));
    }
    for (int i = 0; i < 400; i++) {
        assert_int_equal(mkdirat(dir, "d", 0755), 0);
        next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(dir);
        dir = next;
    }
    close(dir);
    toolbox_open(b);
    c = toolbox_call(b, "ListFiles", "{\"path\":\"d\"}");
    assert_true(c.ok);
    assert_non_null(wbi_json_get(c.result, "too_deep_directories"));
    c = toolbox_call(b, "ListFiles", "{\"glob\":\"many-*\"}");
    assert_true(c.ok);
    assert_non_null(wbi_json_get_str(c.result, "nextToken").p);
    assert_true(wbi_json_count(wbi_json_get(c.result, "entries")) < 3000);
}

static void test_17_a_loop_of_links(void **state)
{
    struct toolbox *b = *state;
    struct toolcall c;

    assert_int_equal(symlink(".", tree_at(&b->tree, "work/self")), 0);
    toolbox_open(b);
    c = toolbox_call(b, "ListFiles", "{}");
    assert_int_equal(wbi_json_count(wbi_json_get(c.result, "entries")), 2);
    c = toolbox_call(b, "SearchFiles", "{\"pattern\":\"two\"}");
    assert_int_equal(wbi_json_count(wbi_json_get(c.result, "files")), 1);
}

/* Patches that are refused as a whole; `made` would be in their first file. */
static void test_18_19_20_21_22_23_hostile_patches(void **state)
{
#define MADE "--- /dev/null\\n+++ b/made\\n@@ -0,0 +1 @@\\n+x\\n"
    static const struct {
        const char *patch, *kind;
    } rows[] = {
        {MADE "--- a/../outside/f\\n+++ b/../outside/f\\n@@ -1 +1 @@\\n-secret\\n+x\\n",
         VIOLATION}, /* 18 */
        {MADE "--- \\\"a/\\\\056\\\\056/outside/f\\\"\\n+++ \\\"b/\\\\056\\\\056/outside/f\\\"\\n"
              "@@ -1 +1 @@\\n-secret\\n+x\\n",
         VIOLATION},
        {MADE "--- /etc/passwd\\n+++ /etc/passwd\\n@@ -1 +1 @@\\n-root\\n+x\\n", VIOLATION},
        {MADE
         "diff --git a/l b/l\\nnew file mode 120000\\n--- /dev/null\\n+++ b/l\\n@@ -0,0 +1 @@\\n"
         "+../outside\\n\\\\ No newline at end of file\\n--- /dev/null\\n+++ b/l/f\\n@@ -0,0 +1 "
         "@@\\n+x\\n",
         "invalid_patch_syntax"}, /* 19 */
        {MADE
         "diff --git a/a.txt b/a.txt\\ndeleted file mode 100644\\n--- a/a.txt\\n+++ /dev/null\\n"
         "@@ -1,3 +0,0 @@\\n-one\\n-two\\n-three\\n--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 "
         "@@\\n-one\\n+1\\n",
         "invalid_patch_syntax"}, /* 20 */
        {MADE "diff --git a/m b/m\\nnew file mode 160000\\n--- /dev/null\\n+++ b/m\\n@@ -0,0 +1 "
              "@@\\n+x\\n",
         "invalid_patch_syntax"}, /* 21 */
        {MADE "diff --git a/s b/s\\nnew file mode 104755\\n--- /dev/null\\n+++ b/s\\n@@ -0,0 +1 "
              "@@\\n+x\\n",
         "invalid_patch_syntax"},
        {MADE "--- a/a.txt\\n+++ b/a.txt\\n@@ -2147483648,1 +1,4294967297 @@\\n-one\\n+1\\n",
         "invalid_patch_syntax"}, /* 22 */
        {MADE "--- a/a.txt\\n+++ b/a.txt\\n@@ --1,1 +1,1 @@\\n-one\\n+1\\n",
         "invalid_patch_syntax"},
        {"1c\\nx\\n.\\nw !touch made\\nq\\n", "invalid_patch_syntax"}, /* 23 */
    };
    struct toolbox *b = *state;
    char input[2048];

    toolbox_open(b);
    for (size_t i = 0; i < LEN(rows); i++) {
        snprintf(input, sizeof(input), "{\"patch\":\"%s\"}", rows[i].patch);
        refused(b, "ApplyPatch", input, rows[i].kind);
        assert_int_equal(access(tree_at(&b->tree, "work/made"), F_OK), -1);
        assert_int_equal(access(tree_at(&b->tree, "work/l"), F_OK), -1);
    }
    assert_true(tree_is(&b->tree, "work/a.txt", "one\ntwo\nthree\n"));
}

static void test_24_bytes_are_kept(void **state)
{
    struct toolbox *b = *state;

    assert_true(tree_puts(&b->tree, "work/crlf", "one\r\ntwo\r\nthree"));
    assert_true(tree_puts(&b->tree, "work/bom", "\xef\xbb\xbfone\ntwo\n"));
    toolbox_open(b);
    assert_true(
        toolbox_call(b, "ApplyPatch",
                     "{\"patch\":\"*** Begin Patch\\n*** Update File: crlf\\n@@\\n one\\n-two\\n"
                     "+2\\n*** Update File: bom\\n@@\\n one\\n-two\\n+2\\n*** End Patch\"}")
            .ok);
    assert_true(tree_is(&b->tree, "work/crlf", "one\r\n2\r\nthree"));
    assert_true(tree_is(&b->tree, "work/bom", "\xef\xbb\xbfone\n2\n"));
}

static void test_26_what_has_changed_is_not_overwritten(void **state)
{
    struct toolbox *b = *state;
    struct toolcall c;
    char sha[80];

    toolbox_open(b);
    c = toolbox_call(b, "ReadFile", "{\"path\":\"a.txt\"}");
    snprintf(sha, sizeof(sha), "%.*s", WBI_FMT(wbi_json_get_str(c.result, "sha256")));
    assert_true(tree_puts(&b->tree, "work/a.txt", "of somebody else\n"));
    c = toolbox_callf(b, "WriteFile",
                      "{\"path\":\"a.txt\",\"content\":\"x\",\"mode\":\"replace\","
                      "\"expected_sha256\":\"%s\"}",
                      sha);
    assert_string_equal(c.kind, "file_changed");
    assert_true(tree_is(&b->tree, "work/a.txt", "of somebody else\n"));
}

static void test_28_set_id_bits_and_29_temporary_names(void **state)
{
    struct toolbox *b = *state;
    struct toolcall c;
    struct stat st;

    assert_int_equal(chmod(tree_at(&b->tree, "work/a.txt"), 06755), 0);
    toolbox_open(b);
    c = toolbox_call(b, "WriteFile",
                     "{\"path\":\"a.txt\",\"content\":\"x\\n\",\"mode\":\"replace\"}");
    assert_true(c.ok);
    assert_int_equal(stat(tree_at(&b->tree, "work/a.txt"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    c = toolbox_call(b, "ListFiles",
                     "{\"hidden\":true,\"ignored\":true,\"glob\":\".waybill-tmp-*\"}");
    assert_int_equal(wbi_json_count(wbi_json_get(c.result, "entries")), 0);
}

/* 5: no escape, whatever the swapping directory is at the moment. One call in fifty writes,
 * since writing waits for the disk; the engines' own test does the whole number of each way. */
static const struct {
    const char *tool, *input;
} ways_in[] = {
    {"ReadFile", "{\"path\":\"swap/f\"}"},
    {"SearchFiles", "{\"path\":\"swap\",\"pattern\":\"secret\"}"},
    {"ListFiles", "{\"path\":\"swap\"}"},
    {"WriteFile", "{\"path\":\"swap/w\",\"content\":\"x\",\"mode\":\"append\"}"},
    {"ApplyPatch", "{\"patch\":\"*** Begin Patch\\n*** Update File: swap/f\\n@@\\n-inside\\n"
                   "+inside\\n*** End Patch\"}"},
};

static bool escaped(const struct toolcall *c, size_t way)
{
    if (way == 1) /* its receipt repeats the pattern */
        return wbi_json_count(wbi_json_get(c->result, "files")) > 0;
    return wbi_str_find(c->receipt, WBI_LIT("secret")) < c->receipt.n ||
           wbi_str_find(c->receipt, WBI_LIT("marker")) < c->receipt.n;
}

static void test_5_a_swapping_directory(void **state)
{
    static struct racer r;
    static struct toolbox b;
    unsigned long rounds = soak(RACER_ROUNDS / 5), good[LEN(ways_in)] = {0},
                  bad[LEN(ways_in)] = {0};

    (void)state;
    chance_start();
    assert_true(racer_start(&r));
    b = (struct toolbox){.tree = r.tree, .ids = 1, .no_ledger = true};
    assert_int_equal(mkdir(tree_at(&b.tree, "home"), 0700), 0);
    assert_int_equal(setenv("HOME", tree_at(&b.tree, "home"), 1), 0);
    assert_int_equal(wbi_arena_new(WBI_LIMIT_CALL_ARENA, &b.arena), WB_OK);
    toolbox_open(&b);
    for (unsigned long i = 0; i < rounds; i++) {
        size_t way = chance(50) ? chance(3) : 3 + chance(2);
        struct toolcall c = toolbox_call(&b, ways_in[way].tool, ways_in[way].input);

        *(c.ok ? &good[way] : &bad[way]) += 1;
        if (escaped(&c, way))
            fail_msg("%s: %.*s", ways_in[way].tool, WBI_FMT(c.receipt));
        wbi_arena_reset(b.arena);
    }
    racer_stop(&r);
    for (size_t way = 0; way < LEN(ways_in); way++) {
        print_message("%s: %lu inside, %lu refused, 0 escaped\n", ways_in[way].tool, good[way],
                      bad[way]);
        assert_true(way > 2 || (good[way] > 0 && bad[way] > 0)); /* few calls write */
    }
    assert_true(racer_outside_is_whole(&r));
    toolbox_close(&b);
    wbi_arena_free(b.arena);
    tree_remove(&r.tree);
}

#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_1_climbing),
        ROW(test_2_absolute_and_8_look_alike),
        ROW(test_3_links_to_the_outside),
        ROW(test_4_a_chain_of_links),
        cmocka_unit_test(test_5_a_swapping_directory),
        ROW(test_6_magic_links),
        ROW(test_7_hard_links),
        ROW(test_9_nul_and_10_long_names),
        ROW(test_11_hostile_names),
        ROW(test_12_and_27_guarded_names),
        ROW(test_13_no_regular_files),
        ROW(test_14_a_sparse_file),
        ROW(test_15_a_file_that_shrinks),
        ROW(test_16_many_and_deep),
        ROW(test_17_a_loop_of_links),
        ROW(test_18_19_20_21_22_23_hostile_patches),
        ROW(test_24_bytes_are_kept),
        ROW(test_26_what_has_changed_is_not_overwritten),
        ROW(test_28_set_id_bits_and_29_temporary_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
