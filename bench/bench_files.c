/* SPDX-License-Identifier: Apache-2.0
 * bench/bench_files.c: SearchFiles' engine against `grep -rn` and `rg -j1` on a
 * generated tree of 50 MB, and a patch of 100 files against `git apply` with
 * syncing off, the durable cost apart. Everything is warm; best of several
 * rounds in turn.
 * WAYBILL_BENCH_DIR: where (default /tmp). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "family/file/file.h"
#include "family/file/patch.h"
#include "json/write.h"
#include "path/path.h"
#include "waybill/waybill.h"

#define FILES 5000
#define FILE_BYTES 10000
#define ROUNDS 9
#define PATCHED 100

static char top[256];
static uint64_t state = 88172645463325252ull;

static void stop(const char *what)
{
    fprintf(stderr, "bench_files: %s failed\n", what);
    exit(1);
}

static unsigned dice(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % n);
}

__attribute__((format(printf, 1, 2))) static int run(const char *fmt, ...)
{
    char cmd[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(cmd, sizeof(cmd), fmt, ap);
    va_end(ap);
    return system(cmd);
}

static void one_file(const char *path, unsigned number)
{
    static const char *const words[] = {"struct", "return", "static", "buffer", "context", "result",
                                        "length", "while",  "error",  "const",  "value",   "index"};
    FILE *f = fopen(path, "w");
    long n = 0;

    if (f == NULL)
        stop("making the tree");
    for (unsigned line = 0; n < FILE_BYTES; line++) {
        n += fprintf(f, "%*s%s_%s(%s, %u);", (int)dice(4) * 4, "", words[dice(12)], words[dice(12)],
                     words[dice(12)], dice(100000));
        if (number % 50 == 0 && line == 40)
            n += fprintf(f, " /* wombat_handler_%u */", number);
        n += fprintf(f, "\n");
    }
    fclose(f);
}

static void make_tree(void)
{
    char path[400];

    for (unsigned i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "%s/tree/d%u/e%u", top, i / 500, i / 50 % 10);
        if (i % 50 == 0 && run("mkdir -p %s", path) != 0)
            stop("making the tree");
        snprintf(path, sizeof(path), "%s/tree/d%u/e%u/f%u.c", top, i / 500, i / 50 % 10, i);
        one_file(path, i);
    }
}

/* ---- what something costs: its time, and the processors' time of this process
 * and of the commands it has run, which other load disturbs less ---- */

struct cost {
    double wall, cpu; /* ms */
};

static struct cost now(void)
{
    struct wbi_clock clock = wbi_clock_system();
    struct timespec own;
    struct rusage u;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    getrusage(RUSAGE_CHILDREN, &u);
    return (struct cost){
        (double)wbi_now_ns(&clock) / 1e6,
        (double)own.tv_sec * 1e3 + (double)own.tv_nsec / 1e6 +
            (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
            (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3,
    };
}

static void keep_best(struct cost *best, struct cost from)
{
    struct cost to = now();

    if (best->wall == 0 || to.wall - from.wall < best->wall)
        best->wall = to.wall - from.wall;
    if (best->cpu == 0 || to.cpu - from.cpu < best->cpu)
        best->cpu = to.cpu - from.cpu;
}

/* ---- search ---- */

static void search_engine(struct wbi_root *root, const char *pattern, struct cost *best)
{
    struct wbi_search_request q = {.pattern = wbi_str_z(pattern)};
    struct wbi_search_result r;
    struct wbi_arena *arena;
    struct cost from = now();

    if (wbi_arena_new(256u << 20, &arena) != WB_OK ||
        wbi_file_search(root, &q, arena, NULL, &r) != WB_OK)
        stop("searching");
    wbi_arena_free(arena);
    keep_best(best, from);
}

static void search_command(const char *tool, const char *pattern, struct cost *best)
{
    struct cost from = now();

    if (run("cd %s/tree && { %s '%s' . > /dev/null || true; }", top, tool, pattern) != 0)
        stop(tool);
    keep_best(best, from);
}

/* The same through the tools of a running runtime. */
static wb_runtime *open_runtime(const char *root)
{
    wb_options *o = wb_options_new();
    wb_runtime *runtime = NULL;

    if (o == NULL || wb_options_set(o, WB_OPT_ROOT, root) != WB_OK ||
        wb_runtime_new(o, &runtime, NULL) != WB_OK)
        stop("opening a runtime");
    wb_options_free(o);
    return runtime;
}

static void call(wb_runtime *runtime, const char *tool, const char *input, struct cost *best)
{
    wb_request *request = wb_request_new(tool);
    wb_result *result = NULL;
    struct cost from = now();

    if (request == NULL || wb_request_set(request, WB_FIELD_INPUT, input) != WB_OK ||
        wb_call_run(runtime, request, &result) != WB_OK || !wb_result_ok(result))
        stop(tool);
    wb_result_free(result);
    wb_request_free(request);
    keep_best(best, from);
}

/* All in turn, so that what else the machine does meets each alike. */
static void bench_pattern(struct wbi_root *root, wb_runtime *runtime, const char *pattern)
{
    struct cost tool = {0}, engine = {0}, grep = {0}, rg = {0};
    bool have_rg = run("command -v rg > /dev/null") == 0;
    char input[256];

    snprintf(input, sizeof(input), "{\"pattern\":\"%s\"}", pattern);
    for (int i = 0; i < ROUNDS; i++) {
        call(runtime, "SearchFiles", input, &tool);
        search_engine(root, pattern, &engine);
        search_command("grep -rnE", pattern, &grep);
        if (have_rg)
            search_command("rg -j1 -n", pattern, &rg);
    }
    printf("%-26s %9.1f %9.1f %9.1f %9.1f %7.2f ", pattern, tool.wall, engine.wall, grep.wall,
           rg.wall, tool.wall / grep.wall);
    if (have_rg)
        printf("%7.2f %7.2f\n", tool.wall / rg.wall, tool.cpu / rg.cpu);
    else
        printf("%7s\n", "no rg");
}

static void bench_search(void)
{
    static const char *const patterns[] = {"wombat_handler", "wombat_[a-z]+_[0-9]+0 ",
                                           "[a-z]+_handler", "xyzzy_nowhere"};
    struct wbi_root *root;
    struct wbi_error err;
    wb_runtime *runtime;
    char path[300];

    snprintf(path, sizeof(path), "%s/tree", top);
    if (wbi_root_open(path, 0, &err, &root) != WB_OK)
        stop("opening the tree");
    runtime = open_runtime(path);
    printf("%-26s %9s %9s %9s %9s %7s %7s %7s\n", "search, 50 MB, 5,000 files", "tool ms",
           "engine ms", "grep ms", "rg -j1 ms", "/grep", "/rg", "/rg CPU");
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        bench_pattern(root, runtime, patterns[i]);
    wb_runtime_free(runtime);
    wbi_root_unref(root);
}

/* ---- patch ---- */

static char *read_text(const char *path, size_t *ret_n)
{
    static char text[8 << 20];
    FILE *f = fopen(path, "r");

    if (f == NULL)
        stop("reading the patch");
    *ret_n = fread(text, 1, sizeof(text), f);
    fclose(f);
    return text;
}

/*
 * Both appliers work in the same directories in every round. On a disk the
 * figure is still a lottery: where the place the file system picked for the
 * directory is full, each new file costs ten times as much, and ours makes
 * all of them before it removes one. In memory every file costs the same.
 */
static void put_back(void)
{
    if (run("cd %s && mkdir -p work journal && rm -rf work/* journal/* && cp old/*.c work/", top) !=
        0)
        stop("copying");
}

static void patch_engine(struct wbi_str patch, unsigned flags, struct cost *best)
{
    struct wbi_patch_disk disk = {0};
    struct wbi_patch_fs fs = wbi_patch_fs_path(&disk);
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;
    struct wbi_error err;
    struct wbi_arena *arena;
    struct cost from;
    char path[300];

    put_back();
    snprintf(path, sizeof(path), "%s/work", top);
    if (wbi_root_open(path, flags, &err, &disk.root) != WB_OK)
        stop("opening");
    snprintf(path, sizeof(path), "%s/journal", top);
    if (wbi_root_open(path, flags | WBI_ROOT_GRANT, &err, &disk.journal) != WB_OK)
        stop("opening");
    from = now();
    if (wbi_arena_new(256u << 20, &arena) != WB_OK ||
        wbi_patch_apply(patch, &fs, 0, arena, &err, &fault, &res) != WB_OK)
        stop(err.text);
    wbi_arena_free(arena);
    keep_best(best, from);
    wbi_root_unref(disk.root);
    wbi_root_unref(disk.journal);
}

static void patch_git(struct cost *best)
{
    struct cost from;

    put_back();
    from = now();
    if (run("cd %s/work && GIT_CEILING_DIRECTORIES=%s git apply ../patch", top, top) != 0)
        stop("git apply");
    keep_best(best, from);
}

/* The whole call, recorded and durable. */
static void patch_call(wb_runtime *runtime, const char *input, struct cost *best)
{
    if (run("cp %s/old/*.c %s/tool/", top, top) != 0)
        stop("copying the files");
    call(runtime, "ApplyPatch", input, best);
}

static void bench_rounds(const char *where, struct wbi_str patch)
{
    struct cost ours = {0}, git = {0}, durable = {0}, whole = {0};
    struct wbi_buf input;
    wb_runtime *runtime;
    char path[300];

    wbi_buf_init(&input, 64u << 20);
    wbi_buf_addz(&input, "{\"patch\":");
    wbi_json_quote(&input, patch);
    wbi_buf_add(&input, "}", 2);
    snprintf(path, sizeof(path), "%s/tool", top);
    if (run("mkdir -p %s/tool", top) != 0 || wbi_buf_rc(&input) != WB_OK)
        stop("making the files");
    runtime = open_runtime(path);
    for (int i = 0; i < ROUNDS; i++) {
        patch_engine(patch, WBI_ROOT_NO_SYNC, &ours);
        patch_git(&git);
        patch_engine(patch, 0, &durable);
        patch_call(runtime, input.p, &whole);
    }
    wb_runtime_free(runtime);
    wbi_buf_fini(&input);
    printf(
        "\npatch of %d files %s: ours %.1f ms (journalled, no sync), git apply %.1f ms (with its "
        "start), ratio %.2f, of CPU %.2f; durable %.1f ms; as a recorded call of ApplyPatch "
        "%.1f ms\n",
        PATCHED, where, ours.wall, git.wall, ours.wall / git.wall, ours.cpu / git.cpu, durable.wall,
        whole.wall);
}

static void bench_patch(const char *where)
{
    char path[300], old[300];
    size_t n;
    struct wbi_str patch;

    if (run("mkdir -p %s/old %s/new", top, top) != 0)
        stop("making the files");
    for (unsigned i = 0; i < PATCHED; i++) {
        snprintf(old, sizeof(old), "%s/old/f%u.c", top, i);
        one_file(old, i + 1);
        snprintf(path, sizeof(path), "%s/new/f%u.c", top, i);
        if (run("sed -e '20s/.*/changed line/' -e '100s/$/ more/' %s > %s", old, path) != 0)
            stop("making the files");
    }
    run("cd %s && git diff --no-index old new | sed -E "
        "'/^(diff --git|---|\\+\\+\\+) /s#(a/|b/)(old|new)/#\\1#g' > patch",
        top);
    snprintf(path, sizeof(path), "%s/patch", top);
    patch.p = read_text(path, &n);
    patch.n = n;
    bench_rounds(where, patch);
}

static void enter(const char *dir)
{
    snprintf(top, sizeof(top), "%s/waybill-bench-XXXXXX", dir);
    if (mkdtemp(top) == NULL)
        stop("making a directory");
}

static void leave(void)
{
    if (run("rm -rf %s", top) != 0)
        stop("removing a directory");
}

int main(void)
{
    const char *dir = getenv("WAYBILL_BENCH_DIR");

    enter(dir ? dir : "/tmp");
    make_tree();
    bench_search();
    bench_patch("on disk");
    leave();
    if (access("/dev/shm", W_OK) != 0)
        return 0;
    enter("/dev/shm");
    bench_patch("in memory");
    leave();
    return 0;
}
